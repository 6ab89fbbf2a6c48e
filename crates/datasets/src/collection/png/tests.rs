use std::io::Write;

use flate2::{Compression, Crc, write::ZlibEncoder};

use super::*;

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], body: &[u8]) {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(body);
    png.extend((body.len() as u32).to_be_bytes());
    png.extend(kind);
    png.extend(body);
    png.extend(crc.sum().to_be_bytes());
}

/// A PNG of these scanlines, filter bytes included.
fn png(
    size: [u32; 2],
    depth: u8,
    colour: u8,
    interlaced: u8,
    extra: &[(&[u8; 4], &[u8])],
    lines: &[u8],
) -> Vec<u8> {
    let mut bytes = SIGNATURE.to_vec();
    let mut header = [size[0].to_be_bytes(), size[1].to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, interlaced]);
    chunk(&mut bytes, b"IHDR", &header);
    extra.iter().for_each(|(kind, body)| chunk(&mut bytes, kind, body));
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(lines).unwrap();
    let packed = packed.finish().unwrap();
    // Two pieces: a picture may be spread over any number of them.
    let (first, second) = packed.split_at(packed.len() / 2);
    chunk(&mut bytes, b"IDAT", first);
    chunk(&mut bytes, b"IDAT", second);
    chunk(&mut bytes, b"IEND", &[]);
    bytes
}

#[track_caller]
fn check(bytes: &[u8], channels: usize, pixels: &[u8]) {
    let picture = decode(bytes).unwrap();
    assert_eq!((picture.channels, &picture.pixels[..]), (channels, pixels));
    let head = head(bytes).unwrap();
    assert_eq!((head.channels, head.height, head.width), (channels, picture.height, picture.width));
}

#[test]
fn pictures_come_back_from_what_is_written() {
    for channels in [1, 3] {
        let pixels = (0..channels * 7 * 5).map(|i| (i * 37 % 251) as u8).collect();
        let picture = Image::new(channels, 7, 5, pixels);
        assert_eq!(decode(&encode(&picture)).unwrap(), picture);
    }
}

#[test]
fn every_colour_type_and_depth() {
    check(&png([3, 2], 8, 0, 0, &[], &[0, 1, 2, 3, 0, 4, 5, 6]), 1, &[1, 2, 3, 4, 5, 6]);
    check(&png([5, 1], 1, 0, 0, &[], &[0, 0b1010_1000]), 1, &[255, 0, 255, 0, 255]);
    check(&png([3, 1], 2, 0, 0, &[], &[0, 0b0001_1100]), 1, &[0, 85, 255]);
    check(&png([3, 1], 4, 0, 0, &[], &[0, 0x0f, 0x80]), 1, &[0, 255, 136]);
    check(&png([2, 1], 16, 0, 0, &[], &[0, 18, 99, 200, 1]), 1, &[18, 200]);
    check(&png([2, 1], 8, 2, 0, &[], &[0, 1, 2, 3, 4, 5, 6]), 3, &[1, 4, 2, 5, 3, 6]);
    check(&png([1, 1], 16, 2, 0, &[], &[0, 7, 0, 8, 0, 9, 0]), 3, &[7, 8, 9]);
    // Alpha blends with black, whether it comes with the pixel, the palette or as one colour.
    check(&png([2, 1], 8, 4, 0, &[], &[0, 200, 255, 200, 51]), 1, &[200, 40]);
    check(&png([1, 1], 8, 6, 0, &[], &[0, 10, 100, 200, 0]), 3, &[0, 0, 0]);
    let palette: &[u8] = &[9, 8, 7, 100, 50, 20];
    check(
        &png([4, 1], 2, 3, 0, &[(b"PLTE", palette), (b"tRNS", &[255, 51])], &[0, 0b0001_0001]),
        3,
        &[9, 20, 9, 20, 8, 10, 8, 10, 7, 4, 7, 4],
    );
    check(&png([2, 1], 8, 3, 0, &[(b"PLTE", &[4, 4, 4, 9, 9, 9])], &[0, 1, 0]), 1, &[9, 4]);
    check(&png([2, 1], 8, 0, 0, &[(b"tRNS", &[0, 7])], &[0, 7, 8]), 1, &[0, 8]);
}

#[test]
fn every_filter_is_undone() {
    // The same 3 x 2 pixels [10 20 30 / 40 60 90] under each filter, by the formulas of the specification.
    let lines: [&[u8]; 4] = [
        &[0, 10, 20, 30, 1, 40, 20, 30],
        &[1, 10, 10, 10, 2, 30, 40, 60],
        &[0, 10, 20, 30, 3, 35, 30, 45],
        &[4, 10, 10, 10, 4, 30, 20, 30],
    ];
    for line in lines {
        check(&png([3, 2], 8, 0, 0, &[], line), 1, &[10, 20, 30, 40, 60, 90]);
    }
}

#[test]
fn interlaced_parts_find_their_places() {
    // 5 x 3 pixels numbered 0 to 14; parts 2 and 3 have one column and no line.
    let numbered: Vec<u8> = (0..15).collect();
    let parts: [&[&[u8]]; 7] =
        [&[&[0]], &[&[4]], &[], &[&[2]], &[&[10, 12, 14]], &[&[1, 3], &[11, 13]], &[&[5, 6, 7, 8, 9]]];
    let lines: Vec<u8> =
        parts.iter().flat_map(|part| part.iter().flat_map(|line| [&[0], *line].concat())).collect();
    check(&png([5, 3], 8, 0, 1, &[], &lines), 1, &numbered);
}

#[test]
fn damage_is_described_and_never_a_panic() {
    let sound = png([3, 2], 8, 0, 0, &[], &[0, 1, 2, 3, 0, 4, 5, 6]);
    for length in 0..sound.len() {
        assert!(decode(&sound[..length]).is_err(), "{length} bytes");
    }
    for at in 0..sound.len() {
        for change in [1, 0x20, 0x80] {
            let mut spoilt = sound.clone();
            spoilt[at] ^= change;
            assert!(decode(&spoilt).is_err(), "byte {at}"); // every byte is under a sum
        }
    }
    let says = |bytes: Vec<u8>, part: &str| {
        let why = decode(&bytes).unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    says(png([3, 2], 8, 0, 0, &[], &[0, 1, 2, 3]), "4 bytes, expected 8");
    says(png([3, 2], 8, 0, 0, &[], &[0; 9]), "9 bytes, expected 8");
    says(png([1, 1], 8, 0, 0, &[], &[5, 0]), "filter method 5");
    says(png([1, 1], 8, 3, 0, &[], &[0, 0]), "palette is missing");
    says(png([1, 1], 8, 3, 0, &[(b"PLTE", &[0; 3])], &[0, 1]), "colour 1");
    says(png([1, 1], 4, 2, 0, &[], &[0, 0]), "Rgb/Four");
    says(png([0, 1], 8, 0, 0, &[], &[]), "dimensions");
    // Refused for what it holds, before memory is allocated for what it promises.
    says(png([1 << 14, 1 << 14], 16, 6, 0, &[], &[0; 99]), "99 bytes, expected 2147500032");
    says(png([1 << 20, 1 << 20], 8, 0, 0, &[], &[]), "1048576");
    says(b"hello, I am a text".to_vec(), "does not start");
}
