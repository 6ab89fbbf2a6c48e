//! IDX, the format of MNIST and its relatives: images in one file, labels in another.
//!
//! ```text
//! images: 00 00 08 03, n, height, width (big-endian u32), then n x height x width bytes
//! labels: 00 00 08 01, n, then n bytes
//! ```
//! See <https://yann.lecun.com/exdb/mnist/>.

use std::{io::Read, path::Path};

use crate::{
    Error, ImageSet, Result,
    images::names,
    input::{expect_end, open, take},
};

const FORMAT: &str = "IDX";

/// Images and labels from a pair of IDX files, plain or gzipped.
pub fn read_idx(images: &Path, labels: &Path, classes: &[&str]) -> Result<ImageSet> {
    let (shape, bytes) = read::<3>(images)?;
    let ([n_labels], labels_read) = read::<1>(labels)?;
    let [n, height, width] = shape;
    if n_labels != n {
        let why = format!("it has {n_labels} labels, but {} has {n} images", images.display());
        return Err(Error::damaged(labels, FORMAT, why));
    }
    if let Some(at) = labels_read.iter().position(|&label| usize::from(label) >= classes.len()) {
        let why = format!("label {} of item {at} is not below {}", labels_read[at], classes.len());
        return Err(Error::damaged(labels, FORMAT, why));
    }
    Ok(ImageSet {
        images: bytes,
        n,
        channels: 1,
        height,
        width,
        labels: labels_read,
        classes: names(classes),
    })
}

/// The shape and the bytes of an array of `D` dimensions.
pub(crate) fn read<const D: usize>(path: &Path) -> Result<([usize; D], Vec<u8>)> {
    let mut bytes = open(path)?;
    let failed = |error| Error::reading(path, FORMAT, error);
    let magic = take(&mut bytes, 4).map_err(failed)?;
    if magic != [0, 0, 8, D as u8] {
        let why = format!("it starts with the bytes {magic:02x?}, expected [00, 00, 08, {D:02x}]");
        return Err(Error::damaged(path, FORMAT, why));
    }
    let header = take(&mut bytes, 4 * D as u64).map_err(failed)?;
    let size = |axis: usize| u32::from_be_bytes([0, 1, 2, 3].map(|at| header[4 * axis + at]));
    let shape: [u32; D] = std::array::from_fn(size);
    if shape.contains(&0) {
        return Err(Error::damaged(path, FORMAT, format!("its shape is {shape:?}: nothing is in it")));
    }
    let length = shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size.into()));
    let content = read_content(&mut bytes, length.unwrap_or(u64::MAX));
    content.map(|content| (shape.map(|size| size as usize), content)).map_err(failed)
}

fn read_content(bytes: &mut dyn Read, length: u64) -> std::io::Result<Vec<u8>> {
    let content = take(bytes, length)?;
    expect_end(bytes)?;
    Ok(content)
}
