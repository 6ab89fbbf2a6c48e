//! SVHN, cropped digits: `X` of 32 x 32 x 3 x n bytes and `y` of n labels in a MAT-file, where label 10 is digit 0.
//!
//! See <http://ufldl.stanford.edu/housenumbers/>.

use std::path::Path;

use crate::{
    Error, ImageSet, Result,
    images::names,
    mat::{self, Values},
};

const FORMAT: &str = "SVHN";
const SIDE: usize = 32;

/// The images of `train_32x32.mat`, `test_32x32.mat` or `extra_32x32.mat`.
pub fn read_svhn(path: &Path) -> Result<ImageSet> {
    let (mut x, mut y) = (None, None);
    for array in mat::read(path, &["X", "y"])? {
        let slot = if array.name == "X" { &mut x } else { &mut y };
        *slot = Some(array);
    }
    let (Some(x), Some(y)) = (x, y) else {
        return Err(Error::damaged(path, FORMAT, "it lacks the arrays X and y"));
    };
    let n = match (&x.dims[..], &x.values) {
        (&[SIDE, SIDE, 3, n], Values::Bytes(_)) if n > 0 => n,
        (dims, _) => {
            let why = format!("X has the shape {dims:?}, expected bytes of the shape [32, 32, 3, n]");
            return Err(Error::damaged(path, FORMAT, why));
        }
    };
    let Values::Bytes(pixels) = x.values else { unreachable!("matched above") };
    let labels = labels(&y.values, n).map_err(|why| Error::damaged(path, FORMAT, why))?;
    let classes = names(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    Ok(ImageSet { images: row_major(&pixels), n, channels: 3, height: SIDE, width: SIDE, labels, classes })
}

fn labels(values: &Values, n: usize) -> std::result::Result<Vec<u8>, String> {
    if values.len() != n {
        return Err(format!("y has {} labels for {n} images", values.len()));
    }
    let digit = |(at, label): (usize, f64)| match label {
        10.0 => Ok(0),
        label if (1.0..=9.0).contains(&label) && label.fract() == 0.0 => Ok(label as u8),
        label => Err(format!("the label of image {at} is {label}, expected 1 to 10")),
    };
    match values {
        Values::Bytes(bytes) => bytes.iter().map(|&byte| byte.into()).enumerate().map(digit).collect(),
        Values::Numbers(numbers) => numbers.iter().copied().enumerate().map(digit).collect(),
    }
}

/// From MATLAB's order, where rows run fastest: `[n, 3, width, height]` to `[n, 3, height, width]`.
fn row_major(pixels: &[u8]) -> Vec<u8> {
    let mut images = vec![0; pixels.len()];
    for (from, to) in pixels.chunks_exact(SIDE * SIDE).zip(images.chunks_exact_mut(SIDE * SIDE)) {
        for (at, byte) in to.iter_mut().enumerate() {
            *byte = from[at % SIDE * SIDE + at / SIDE];
        }
    }
    images
}
