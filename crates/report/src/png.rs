//! The smallest PNG writer that serves: 8-bit grey, colour or palette, deflate *stored* blocks.
//!
//! Decision regions and digit thumbnails are tiny rasters that live inside an SVG as `data:` URIs. Stored
//! blocks cost one byte a pixel, which for a 100 x 100 map is less than a compressor would add in code.
//!
//! Layout: signature, IHDR, (PLTE, tRNS), IDAT = zlib(stored blocks of filter-0 scanlines), IEND.

/// The first eight bytes of every PNG.
const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// A stored deflate block counts its bytes in a u16.
const STORED_MAX: usize = 65_535;

/// How a pixel byte becomes a colour.
pub(crate) enum Pixels<'a> {
    /// 0 black to 255 white.
    Grey,
    /// Red, green and blue bytes of each pixel.
    Rgb,
    /// An index into red, green, blue, alpha entries (at most 256).
    Palette(&'a [[u8; 4]]),
}

/// A PNG of `width * height` pixels, row-major from the top left.
pub(crate) fn encode(width: usize, height: usize, bytes: &[u8], pixels: &Pixels) -> Vec<u8> {
    let samples = if matches!(pixels, Pixels::Rgb) { 3 } else { 1 };
    debug_assert_eq!(bytes.len(), samples * width * height);
    let mut png = SIGNATURE.to_vec();
    let colour_type = match pixels {
        Pixels::Grey => 0,
        Pixels::Rgb => 2,
        Pixels::Palette(_) => 3,
    };
    let mut header = Vec::with_capacity(13);
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    header.extend([8, colour_type, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    if let Pixels::Palette(entries) = pixels {
        let rgb: Vec<u8> = entries.iter().flat_map(|e| [e[0], e[1], e[2]]).collect();
        let alpha: Vec<u8> = entries.iter().map(|e| e[3]).collect();
        chunk(&mut png, b"PLTE", &rgb);
        chunk(&mut png, b"tRNS", &alpha);
    }
    let mut scanlines = Vec::with_capacity(height * (samples * width + 1));
    for row in bytes.chunks((samples * width).max(1)) {
        scanlines.push(0); // filter type: none
        scanlines.extend(row);
    }
    chunk(&mut png, b"IDAT", &zlib_stored(&scanlines));
    chunk(&mut png, b"IEND", &[]);
    png
}

/// A PNG as text an `href` can hold.
pub(crate) fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(png))
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], body: &[u8]) {
    png.extend((body.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(kind);
    png.extend(body);
    let crc = crc32(&png[start..]);
    png.extend(crc.to_be_bytes());
}

fn zlib_stored(raw: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = raw.chunks(STORED_MAX).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none())); // the "final block" bit, block type 00
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(adler32(raw).to_be_bytes());
    out
}

/// CRC-32 (ISO 3309), bit by bit: our rasters are too small for a table to matter.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16) | a
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, i| (w << 8) | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let sextet = (word >> (18 - 6 * i)) & 63;
            out.push(if i <= three.len() { ALPHABET[sextet as usize] as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads back the chunks of a PNG, checking every CRC.
    fn chunks(png: &[u8]) -> Vec<(String, Vec<u8>)> {
        assert_eq!(png[..8], SIGNATURE);
        let (mut at, mut found) = (8, Vec::new());
        while at < png.len() {
            let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
            let body = &png[at + 4..at + 8 + length];
            let crc = u32::from_be_bytes(png[at + 8 + length..at + 12 + length].try_into().unwrap());
            assert_eq!(crc, crc32(body));
            found.push((String::from_utf8(body[..4].to_vec()).unwrap(), body[4..].to_vec()));
            at += 12 + length;
        }
        found
    }

    /// Inflates stored blocks only, checking lengths and the Adler sum.
    fn inflate_stored(zlib: &[u8]) -> Vec<u8> {
        let (mut at, mut raw) = (2, Vec::new());
        loop {
            let last = zlib[at] == 1;
            let length = u16::from_le_bytes([zlib[at + 1], zlib[at + 2]]);
            assert_eq!(u16::from_le_bytes([zlib[at + 3], zlib[at + 4]]), !length);
            raw.extend(&zlib[at + 5..at + 5 + length as usize]);
            at += 5 + length as usize;
            if last {
                break;
            }
        }
        assert_eq!(zlib[at..], adler32(&raw).to_be_bytes());
        raw
    }

    #[test]
    fn checksums_match_the_published_check_values() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        assert_eq!(["", "f", "fo", "foo"].map(|s| base64(s.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v"]);
    }

    #[test]
    fn pixels_survive_the_round_trip_across_several_blocks() {
        let (width, height) = (300, 250); // 75 250 bytes of scanlines: two stored blocks
        let bytes: Vec<u8> = (0..width * height).map(|i| (i * 7 % 251) as u8).collect();
        let png = encode(width, height, &bytes, &Pixels::Grey);
        let found = chunks(&png);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["IHDR", "IDAT", "IEND"]);
        let raw = inflate_stored(&found[1].1);
        let decoded: Vec<u8> = raw.chunks(width + 1).flat_map(|row| row[1..].to_vec()).collect();
        assert_eq!(decoded, bytes);
    }

    #[test]
    fn a_palette_is_split_into_colours_and_alpha() {
        let png = encode(2, 1, &[0, 1], &Pixels::Palette(&[[1, 2, 3, 4], [5, 6, 7, 8]]));
        let found = chunks(&png);
        assert_eq!(found[1], ("PLTE".into(), vec![1, 2, 3, 5, 6, 7]));
        assert_eq!(found[2], ("tRNS".into(), vec![4, 8]));
    }
}
