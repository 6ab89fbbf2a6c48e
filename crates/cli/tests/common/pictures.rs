//! Tiny sets of pictures in every form the program reads: level and upright bars with noise.

use std::{fs, path::Path};

use flowgmm::data::Image;

use super::Bench;

pub const HEIGHT: usize = 8;
pub const WIDTH: usize = 10;
/// Settings of a model so small that a fit takes a second or two.
pub const TINY: &str = "[architecture]\ndepth = 2\nhidden = [16]\n[architecture.image]\n\
                        stages = [{ couplings = 1, hidden = 6 }, { couplings = 1, hidden = 8 }]\n\
                        [train]\nsteps = 120\nbatch_labelled = 16\nbatch_unlabelled = 16\n";

/// Image `at` of class 0 (level bars) or 1 (upright ones), of any size; a function of its arguments alone.
pub fn bars(class: usize, at: usize, channels: usize, height: usize, width: usize) -> Image {
    let noise = |i: usize| {
        let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ ((at as u64) << 7) ^ class as u64);
        (mixed >> 40) as u8 % 60
    };
    let pixel = |i: usize| {
        let (y, x) = (i / width % height, i % width);
        let along = if class == 0 { y * 8 / height } else { x * 8 / width };
        let ink = if (along + at).is_multiple_of(4) || (along + at + 1).is_multiple_of(4) { 190 } else { 0 };
        ink + noise(i)
    };
    Image::new(channels, height, width, (0..channels * height * width).map(pixel).collect())
}

/// Writes a picture as PNG.
pub fn write_png(bench: &Bench, path: &str, picture: &Image) {
    let path = bench.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, flowgmm_datasets::png(picture)).unwrap();
}

/// A folder with `labelled` pictures of each class and `unlabelled` without, from picture `first` on.
pub fn folder(bench: &Bench, name: &str, first: usize, labelled: usize, unlabelled: usize) {
    for at in first..first + labelled {
        write_png(bench, &format!("{name}/level/{at:03}.png"), &bars(0, at, 1, HEIGHT, WIDTH));
        write_png(bench, &format!("{name}/upright/{at:03}.png"), &bars(1, at, 1, HEIGHT, WIDTH));
    }
    for at in first + labelled..first + labelled + unlabelled {
        write_png(bench, &format!("{name}/unlabelled/{at:03}.png"), &bars(at % 2, at, 1, HEIGHT, WIDTH));
    }
}

/// Pictures 0 to n of alternating classes, one after the other, and their classes.
pub fn many(n: usize, channels: usize, height: usize, width: usize) -> (Vec<u8>, Vec<u8>) {
    let pixels = (0..n).flat_map(|at| bars(at % 2, at, channels, height, width).pixels).collect();
    (pixels, (0..n).map(|at| (at % 2) as u8).collect())
}

/// An IDX array of bytes.
pub fn idx(shape: &[usize], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|&size| (size as u32).to_be_bytes()));
    bytes.extend(content);
    bytes
}

/// A NumPy array.
pub fn npy(descr: &str, shape: &[usize], content: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape})}}").into_bytes();
    header.resize((header.len() + 11).next_multiple_of(64) - 11, b' ');
    header.push(b'\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], &header, content].concat()
}

/// A zip archive of files as they are.
pub fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let start = archive.len() as u32;
        let size = (content.len() as u32).to_le_bytes();
        let middle = [
            &[0; 8][..],
            &crc32(content).to_le_bytes(),
            &size,
            &size,
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        archive.extend([b"PK\x03\x04\x14\x00", &middle[..], name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x14\x00\x14\x00", &middle[..], &[0; 10], &start.to_le_bytes(), name.as_bytes()]
                .concat(),
        );
    }
    let (count, start) = ((files.len() as u16).to_le_bytes(), (archive.len() as u32).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    [&archive, &directory, &b"PK\x05\x06\x00\x00\x00\x00"[..], &count, &count, &size, &start, &[0, 0]]
        .concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

/// Records of CIFAR-10.
pub fn cifar(n: usize) -> Vec<u8> {
    let record = |at: usize| [vec![(at % 2) as u8], bars(at % 2, at, 3, 32, 32).pixels].concat();
    (0..n).flat_map(record).collect()
}

/// SVHN: X of 32 x 32 x 3 x n bytes with rows running fastest, y of n doubles.
pub fn svhn(n: usize) -> Vec<u8> {
    let (pixels, labels) = many(n, 3, 32, 32);
    let turned = |plane: &[u8]| -> Vec<u8> { (0..1024).map(|at| plane[at % 32 * 32 + at / 32]).collect() };
    let x: Vec<u8> = pixels.chunks_exact(1024).flat_map(turned).collect();
    let y: Vec<u8> = labels.iter().flat_map(|&label| f64::from(label + 1).to_le_bytes()).collect();
    let mut file = b"MATLAB 5.0 MAT-file".to_vec();
    file.resize(124, b' ');
    file.extend(b"\x00\x01IM");
    file.extend(mat_array("X", 9, &[32, 32, 3, n as u32], 2, &x));
    file.extend(mat_array("y", 6, &[n as u32, 1], 9, &y));
    file
}

fn mat_array(name: &str, class: u32, dims: &[u32], storage: u32, content: &[u8]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let element = |kind: u32, content: &[u8]| {
        let mut bytes = [words(&[kind, content.len() as u32]), content.to_vec()].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let parts = [element(6, &words(&[class, 0])), element(5, &words(dims)), element(1, name.as_bytes())];
    element(14, &[parts.concat(), element(storage, content)].concat())
}

/// A grey JPEG of 8 x 8 pixels of one value from 65 to 191, written by hand: every frequency but the first is 0.
pub fn flat_jpeg(value: u8) -> Vec<u8> {
    let level = i32::from(value) - 128;
    // The mean is level x 8; with steps of 8 the number stored is the level itself.
    let mut bytes = b"\xff\xd8\xff\xdb\x00\x43\x00".to_vec();
    bytes.extend([8; 64]);
    bytes.extend(b"\xff\xc0\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00");
    // Two tables: first frequency: lengths 0 to 6 of its number, in codes of three bits; others: "no more" as one bit 0.
    bytes.extend(b"\xff\xc4\x00\x1a\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    bytes.extend([0, 1, 2, 3, 4, 5, 6]);
    bytes.extend(b"\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    bytes.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00");
    let length = if level == 0 { 0 } else { 32 - level.unsigned_abs().leading_zeros() };
    let number = if level < 0 { level + (1 << length) - 1 } else { level } as u32;
    let (code, used) = ((length << length | number) << 1, 3 + length + 1);
    let filled = 16 - used;
    let word = (code << filled | ((1 << filled) - 1)) as u16;
    bytes.extend(word.to_be_bytes());
    bytes.extend(b"\xff\xd9");
    bytes
}

/// The PNG at a path as width, height and colour type.
pub fn png_size(path: &Path) -> (u32, u32, u8) {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(16), word(20), bytes[25])
}
