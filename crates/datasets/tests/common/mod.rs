//! Small files in the exact formats, and where the real ones are.
#![allow(dead_code)] // each test file uses its own share

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder, write::ZlibEncoder};

/// The real data, in `FLOWGMM_DATA` or in `../shared/data` beside the workspace; says so where it is absent.
pub fn real_data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("FLOWGMM_DATA").map_or_else(beside, PathBuf::from);
    if root.join(name).exists() {
        return Some(root);
    }
    eprintln!("skipped: {name} is not at {}", root.display());
    None
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// An IDX array of bytes.
pub fn idx(shape: &[u32], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(content);
    bytes
}

/// A CIFAR-10 record: pixel `i` of plane `c` is `start + 64 c + i`, cut to a byte.
pub fn cifar_record(label: u8, start: usize) -> Vec<u8> {
    let pixels = (0..3072).map(|at| (start + 64 * (at / 1024) + at % 1024) as u8);
    std::iter::once(label).chain(pixels).collect()
}

/// A tar archive of plain files, as `tar --format=ustar` writes it.
pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        let mut header = [0u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// The byte order of a MAT-file.
#[derive(Clone, Copy)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub fn f64(self, value: f64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// The 128 bytes a MAT-file starts with.
pub fn mat_header(order: Order) -> Vec<u8> {
    let mut header = b"MATLAB 5.0 MAT-file, Platform: GLNXA64".to_vec();
    header.resize(124, b' ');
    header.extend(match order {
        Order::Little => *b"\x00\x01IM",
        Order::Big => *b"\x01\x00MI",
    });
    header
}

fn element(order: Order, kind: u32, content: &[u8]) -> Vec<u8> {
    let size = content.len() as u32;
    if (1..=4).contains(&size) {
        let mut bytes = order.u32(size << 16 | kind).to_vec();
        bytes.extend(content);
        bytes.resize(8, 0);
        return bytes;
    }
    let mut bytes = [order.u32(kind), order.u32(size)].concat();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// An array: `class` 9 is uint8, 6 is double; `storage` 2 is uint8, 9 is double.
pub fn mat_array(
    order: Order,
    name: &str,
    class: u32,
    dims: &[u32],
    storage: u32,
    content: &[u8],
) -> Vec<u8> {
    let flags = [order.u32(class), order.u32(0)].concat();
    let dims: Vec<u8> = dims.iter().flat_map(|&size| order.u32(size)).collect();
    let parts = [
        element(order, 6, &flags),
        element(order, 5, &dims),
        element(order, 1, name.as_bytes()),
        element(order, storage, content),
    ];
    element(order, 14, &parts.concat())
}

/// An element in its compressed form.
pub fn mat_compressed(order: Order, element: &[u8]) -> Vec<u8> {
    let packed = zlib(element);
    [order.u32(15).to_vec(), order.u32(packed.len() as u32).to_vec(), packed].concat()
}

/// Two SVHN images, of digits 7 and 0: byte (row, column, channel) of image i is 100 i + 8 row + column + channel.
pub fn svhn(order: Order, packed: bool) -> Vec<u8> {
    let mut x = Vec::new();
    for image in 0..2usize {
        for channel in 0..3 {
            for column in 0..32 {
                x.extend((0..32).map(|row| (100 * image + 8 * row + column + channel) as u8));
            }
        }
    }
    let y: Vec<u8> = [7.0, 10.0].iter().flat_map(|&label| order.f64(label)).collect();
    let elements = [
        mat_array(order, "unasked", 6, &[1, 1], 9, &order.f64(3.0)),
        mat_array(order, "X", 9, &[32, 32, 3, 2], 2, &x),
        mat_array(order, "y", 6, &[2, 1], 9, &y),
    ];
    let mut bytes = mat_header(order);
    for element in elements {
        bytes.extend(if packed { mat_compressed(order, &element) } else { element });
    }
    bytes
}

/// An NPY array of int32.
pub fn npy(rows: usize, columns: usize, values: &[i32]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// `n` HEPMASS rows: f0 counts, f1 is one of two values, all others are continuous; every third row is signal.
pub fn hepmass(n: usize, mass: bool) -> String {
    let names: Vec<String> = (0..27).map(|at| format!("f{at}")).collect();
    let mut text = format!("# label,{}{}\n", names.join(","), if mass { ",mass" } else { "" });
    for row in 0..n {
        let label = f64::from(row % 3 == 0);
        text.push_str(&format!("{label:.18e}"));
        for column in 0..27 {
            let value = if column == 1 {
                (row % 2) as f64
            } else {
                ((row * 31 + column * 7) % 101) as f64 / 8.0 + row as f64
            };
            text.push_str(&format!(",{value:.18e}"));
        }
        text.push_str(if mass { ",1.0e+03\n" } else { "\n" });
    }
    text
}

/// MiniBooNE with 8 signal and 12 background rows, of which the second signal row is -999 throughout. The last column
/// holds two values only.
pub fn miniboone() -> String {
    let mut text = "     8    12\n".to_string();
    for row in 0..20 {
        for column in 0..50 {
            let value = match (row, column) {
                (1, _) => -999.0,
                (_, 49) => f64::from(row % 2),
                _ => f64::from((row * 13 + column * 5) % 37) + f64::from(row) / 10.0,
            };
            text.push_str(&format!("  {value:.5E}"));
        }
        text.push('\n');
    }
    text
}

pub const AG_NEWS: &str = r#""3","Oil \$46 a barrel","He said ""no"", and\new prices, came."
"1","","Two\\breaks"
"#;
pub const YAHOO: &str =
    "\"5\",\"why?\",\"\",\"because\\n\\nof \"\"it\"\"\"\n\"10\",\"who, then\",\"x\",\"\"\n";
