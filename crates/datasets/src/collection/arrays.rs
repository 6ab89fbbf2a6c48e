//! Files of many images: IDX, CIFAR-10, SVHN and NPZ.

use std::path::Path;

use flowgmm_data::Cells;
use flowgmm_tables::{RawArray, RawValues, read_arrays};

use super::{Collection, Items, ReadOptions, file::Head};
use crate::{Error, ImageSet, Result, idx, read_cifar10, read_svhn};

/// Images of an IDX file, with the labels of another.
pub(super) fn idx(path: &Path, options: &ReadOptions) -> Result<Collection> {
    let ([n, height, width], images) = idx::read::<3>(path)?;
    let (labels, classes) = match options.labels {
        None => (vec![None; n], Vec::new()),
        Some(labels) => {
            let ([found], values) = idx::read::<1>(labels)?;
            if found != n {
                let why = format!("it has {found} labels, but {} has {n} images", path.display());
                return Err(Error::images(labels, why));
            }
            named(values.into_iter().map(|label| Some(label.to_string())))
        }
    };
    Ok(collection(path, Head { channels: 1, height, width }, images, labels, classes))
}

/// Records of CIFAR-10.
pub(super) fn cifar(path: &Path) -> Result<Collection> {
    Ok(of_set(path, read_cifar10(&[path])?))
}

/// Digits of SVHN.
pub(super) fn svhn(path: &Path) -> Result<Collection> {
    Ok(of_set(path, read_svhn(path)?))
}

fn of_set(path: &Path, set: ImageSet) -> Collection {
    let head = Head { channels: set.channels, height: set.height, width: set.width };
    let labels = set.labels.iter().map(|&label| Some(label.into())).collect();
    let mut found = collection(path, head, set.images, labels, set.classes);
    found.keep_labels(&(0..found.n()).collect::<Vec<_>>()); // a part of the set may lack a class
    found
}

/// The name of the images in an NPZ file, before a suffix, and of their labels.
const IMAGES: &str = "x";
const LABELS: &str = "y";

/// Whether an NPZ file has images: an array x of three or four dimensions. A file that cannot be read has
/// none here; reading it says what is wrong.
pub(super) fn npz_has_images(path: &Path, suffix: &str) -> bool {
    let arrays = read_arrays(path, |_| false).ok().flatten().unwrap_or_default();
    find(&arrays, IMAGES, suffix).is_some_and(|x| matches!(x.shape.len(), 3 | 4))
}

/// Images x of an NPZ file, with labels y if there are any.
pub(super) fn npz(path: &Path, options: &ReadOptions) -> Result<Collection> {
    let suffix = options.suffix.unwrap_or_default();
    let wanted = |name: &str| [IMAGES, LABELS].iter().any(|prefix| name == format!("{prefix}{suffix}"));
    let mut arrays = read_arrays(path, wanted)?.unwrap_or_default();
    let labels = find(&arrays, LABELS, suffix).cloned();
    let at = arrays.iter().position(|array| array.name == format!("{IMAGES}{suffix}"));
    let RawArray { name, shape, values } = arrays.swap_remove(at.expect("recognised by it"));
    let Some(RawValues::Bytes(bytes)) = values else {
        let why = format!(
            "array '{name}' is not of type uint8. Convert it first: values from 0 to 255, astype('uint8')"
        );
        return Err(Error::images(path, why));
    };
    let (head, images) = match shape[..] {
        [_, height, width] => (Head { channels: 1, height, width }, bytes),
        [_, channels @ (1 | 3), height, width] => (Head { channels, height, width }, bytes),
        [_, height, width, channels @ (1 | 3)] => {
            (Head { channels, height, width }, planes(&bytes, height * width, channels))
        }
        _ => {
            let why = format!(
                "array '{name}' has the shape {shape:?}, expected [n, height, width], or with 1 or 3 channels in the \
                 second or in the last place"
            );
            return Err(Error::images(path, why));
        }
    };
    let n = shape[0];
    if n == 0 || head.height == 0 || head.width == 0 {
        return Err(Error::images(
            path,
            format!("array '{name}' has the shape {shape:?}: there is no image in it"),
        ));
    }
    let (labels, classes) = match labels {
        None => (vec![None; n], Vec::new()),
        Some(y) if y.shape != [n] => {
            let why = format!("array '{}' has the shape {:?}, but there are {n} images", y.name, y.shape);
            return Err(Error::images(path, why));
        }
        Some(y) => named(label_texts(y.values.as_ref().expect("wanted")).into_iter()),
    };
    Ok(collection(path, head, images, labels, classes))
}

fn find<'a>(arrays: &'a [RawArray], prefix: &str, suffix: &str) -> Option<&'a RawArray> {
    arrays.iter().find(|array| array.name == format!("{prefix}{suffix}"))
}

/// Labels as texts; negative numbers and missing cells are none.
fn label_texts(values: &RawValues) -> Vec<Option<String>> {
    match values {
        RawValues::Bytes(bytes) => bytes.iter().map(|byte| Some(byte.to_string())).collect(),
        RawValues::Cells(cells @ Cells::Numbers(numbers)) => {
            let text = |(row, &v): (usize, &f64)| {
                if v < 0.0 { None } else { cells.text(row).map(|t| t.into_owned()) }
            };
            numbers.iter().enumerate().map(text).collect()
        }
        RawValues::Cells(cells) => {
            (0..cells.len()).map(|row| cells.text(row).map(|t| t.into_owned())).collect()
        }
    }
}

/// Labels as indices into the names of classes, which are in the order of numbers or else of letters.
fn named(labels: impl Iterator<Item = Option<String>>) -> (Vec<Option<usize>>, Vec<String>) {
    let labels: Vec<Option<String>> = labels.collect();
    let mut classes: Vec<String> = labels.iter().flatten().cloned().collect();
    classes.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    });
    classes.dedup();
    let places: std::collections::HashMap<&String, usize> =
        classes.iter().enumerate().map(|(k, name)| (name, k)).collect();
    let labels = labels.iter().map(|label| label.as_ref().map(|label| places[label])).collect();
    (labels, classes)
}

/// From `[n, pixels, channels]` to `[n, channels, pixels]`.
fn planes(bytes: &[u8], area: usize, channels: usize) -> Vec<u8> {
    let image = |image: &[u8]| -> Vec<u8> {
        (0..channels).flat_map(|c| image.iter().skip(c).step_by(channels).copied()).collect()
    };
    bytes.chunks_exact((area * channels).max(1)).flat_map(image).collect()
}

fn collection(
    path: &Path,
    head: Head,
    images: Vec<u8>,
    labels: Vec<Option<usize>>,
    classes: Vec<String>,
) -> Collection {
    let names = (0..labels.len()).map(|at| at.to_string()).collect();
    let items = Items::Memory { head, images };
    Collection { path: path.into(), items, labels, classes, names, empty: Vec::new(), notes: Vec::new() }
}
