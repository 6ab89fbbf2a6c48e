//! Numeric arrays of a MATLAB level 5 MAT-file, as MATLAB's `save` wrote from 1997 to 2006 and SVHN is distributed.
//!
//! ```text
//! 128 bytes: text, version, "IM" (little-endian) or "MI" (big-endian)
//! element: type u32, size u32, content            or, up to 4 bytes long: type u16, size u16, content
//!   15 = zlib of one element;  14 = array { flags, dimensions i32.., name, values }, each an element
//! ```
//! See "MAT-File Format", MathWorks, R2023b, chapter 1.

use std::{
    io::{self, Read},
    path::Path,
};

use flate2::read::ZlibDecoder;

use crate::{
    Error, Result,
    input::{open, take},
};

const FORMAT: &str = "a MATLAB 5 file";
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// A real array of numbers; the first index of `dims` runs fastest.
#[derive(Debug)]
pub(crate) struct Array {
    pub name: String,
    pub dims: Vec<usize>,
    pub values: Values,
}

#[derive(Debug)]
pub(crate) enum Values {
    Bytes(Vec<u8>),
    Numbers(Vec<f64>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }
}

/// The arrays of these names, in the order of the file; all others are passed over.
pub(crate) fn read(path: &Path, wanted: &[&str]) -> Result<Vec<Array>> {
    let mut file = open(path)?;
    read_all(&mut file, wanted).map_err(|error| Error::reading(path, FORMAT, error))
}

fn read_all(file: &mut dyn Read, wanted: &[&str]) -> io::Result<Vec<Array>> {
    let header = take(file, 128)?;
    let order = match (&header[126..], header[124], header[125]) {
        (b"IM", 0, 1) => Order::Little,
        (b"MI", 1, 0) => Order::Big,
        _ => {
            return damaged(
                "its header has no version 1.0 and byte order (files of MATLAB 7.3 are not read)",
            );
        }
    };
    let mut arrays = Vec::new();
    while arrays.len() < wanted.len() {
        let Some(tag) = next_tag(file, order)? else { break };
        let mut content = file.take(tag.size);
        match tag.kind {
            COMPRESSED => {
                let mut inner = ZlibDecoder::new(&mut content);
                let inner_tag = Tag::read(&mut inner, order)?;
                arrays.extend(element(&mut inner, inner_tag, order, wanted)?);
                // To the end: that is where zlib keeps its sum.
                io::copy(&mut inner, &mut io::sink())?;
            }
            _ => arrays.extend(element(&mut content, tag, order, wanted)?),
        }
        io::copy(&mut content, &mut io::sink())?;
    }
    Ok(arrays)
}

/// The tag of the next element of the file, unless that ends here.
fn next_tag(file: &mut dyn Read, order: Order) -> io::Result<Option<Tag>> {
    let mut first = [0];
    match file.read(&mut first)? {
        0 => Ok(None),
        _ => Tag::read(&mut first.chain(file), order).map(Some),
    }
}

/// The array of an element, if it is a wanted one.
fn element(bytes: &mut dyn Read, tag: Tag, order: Order, wanted: &[&str]) -> io::Result<Option<Array>> {
    if tag.kind != MATRIX {
        return Ok(None);
    }
    let mut bytes = bytes.take(tag.size);
    let (_, flags) = part(&mut bytes, order)?;
    let (_, dims) = part(&mut bytes, order)?;
    let (_, name) = part(&mut bytes, order)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    if !wanted.contains(&name.as_str()) {
        return Ok(None);
    }
    let [class, bits] = class_and_bits(&flags, order)?;
    if !(6..=15).contains(&class) || bits & 0x08 != 0 {
        return damaged(format!("array {name} is not made of real numbers"));
    }
    let dims: Vec<usize> = words(&dims, order).map(|size| size as usize).collect();
    let count = dims.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    let (kind, content) = part(&mut bytes, order)?;
    let values = values(kind, content, order)?;
    if count != Some(values.len()) {
        return damaged(format!("array {name} has the shape {dims:?}, but {} values", values.len()));
    }
    Ok(Some(Array { name, dims, values }))
}

/// The class of an array, and the bits that say complex, global or logical.
fn class_and_bits(flags: &[u8], order: Order) -> io::Result<[u8; 2]> {
    let Some(word) = words(flags, order).next() else { return damaged("an array has no flags") };
    Ok([word as u8, (word >> 8) as u8])
}

/// Type and content of a part of an array, and what pads it to eight bytes.
fn part(bytes: &mut dyn Read, order: Order) -> io::Result<(u32, Vec<u8>)> {
    let tag = Tag::read(bytes, order)?;
    if let Some(small) = tag.small {
        return Ok((tag.kind, small[..tag.size as usize].to_vec()));
    }
    let content = take(bytes, tag.size)?;
    take(bytes, tag.size.next_multiple_of(8) - tag.size)?;
    Ok((tag.kind, content))
}

#[derive(Clone, Copy)]
struct Tag {
    kind: u32,
    size: u64,
    /// The content, where that fits into the tag.
    small: Option<[u8; 4]>,
}

impl Tag {
    fn read(bytes: &mut dyn Read, order: Order) -> io::Result<Self> {
        let raw = take(bytes, 8)?;
        let word = |at: usize| order.u32([0, 1, 2, 3].map(|i| raw[at + i]));
        let (first, second) = (word(0), word(4));
        if first >> 16 == 0 {
            return Ok(Self { kind: first, size: second.into(), small: None });
        }
        if first >> 16 > 4 {
            return damaged("an element of more than four bytes claims to be a small one");
        }
        let small = Some([4, 5, 6, 7].map(|at: usize| raw[at]));
        Ok(Self { kind: first & 0xffff, size: (first >> 16).into(), small })
    }
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u32(self, bytes: [u8; 4]) -> u32 {
        u64::from_le_bytes(self.little(bytes)) as u32
    }

    /// The bytes of a number, least significant first, padded with zeros.
    fn little<const N: usize>(self, mut bytes: [u8; N]) -> [u8; 8] {
        if matches!(self, Self::Big) {
            bytes.reverse();
        }
        std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))
    }
}

fn words(bytes: &[u8], order: Order) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(move |word| order.u32([word[0], word[1], word[2], word[3]]))
}

/// Values of a storage type, which may be narrower than the array's class.
fn values(kind: u32, content: Vec<u8>, order: Order) -> io::Result<Values> {
    let numbers = match kind {
        2 => return Ok(Values::Bytes(content)),
        1 => content.iter().map(|&byte| f64::from(byte as i8)).collect(),
        3 => numbers::<2>(&content, order, |word| f64::from(word as i16)),
        4 => numbers::<2>(&content, order, |word| f64::from(word as u16)),
        5 => numbers::<4>(&content, order, |word| f64::from(word as i32)),
        6 => numbers::<4>(&content, order, |word| f64::from(word as u32)),
        7 => numbers::<4>(&content, order, |word| f64::from(f32::from_bits(word as u32))),
        9 => numbers::<8>(&content, order, f64::from_bits),
        12 => numbers::<8>(&content, order, |word| word as i64 as f64),
        13 => numbers::<8>(&content, order, |word| word as f64),
        _ => return damaged(format!("values of type {kind} are not numbers")),
    };
    Ok(Values::Numbers(numbers))
}

fn numbers<const N: usize>(content: &[u8], order: Order, number: impl Fn(u64) -> f64) -> Vec<f64> {
    let chunks = content.as_chunks::<N>().0;
    chunks.iter().map(|&chunk| number(u64::from_le_bytes(order.little(chunk)))).collect()
}

fn damaged<T>(why: impl Into<String>) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, why.into()))
}
