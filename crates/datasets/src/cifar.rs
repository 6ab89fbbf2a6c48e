//! The binary version of CIFAR-10: records of a label byte and 32 x 32 red, green and blue bytes.
//!
//! See <https://www.cs.toronto.edu/~kriz/cifar.html>.

use std::{io::Read, path::Path};

use crate::{
    Error, ImageSet, Result,
    images::names,
    input::{member, open},
};

const FORMAT: &str = "CIFAR-10 binary records";
const SIDE: usize = 32;
const PIXELS: usize = 3 * SIDE * SIDE;

/// The classes of CIFAR-10.
pub const CIFAR_CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// The images of these batches, one after the other; each plain or gzipped.
pub fn read_cifar10(batches: &[&Path]) -> Result<ImageSet> {
    let mut set = empty();
    for path in batches {
        push(&mut set, path, open(path)?)?;
    }
    Ok(set)
}

/// The images of these batches of `cifar-10-binary.tar.gz`, which stays packed.
pub fn read_cifar10_archive(archive: &Path, batches: &[&str]) -> Result<ImageSet> {
    let mut set = empty();
    for name in batches {
        push(&mut set, archive, member(archive, name)?)?;
    }
    Ok(set)
}

fn empty() -> ImageSet {
    let classes = names(&CIFAR_CLASSES);
    ImageSet { images: vec![], n: 0, channels: 3, height: SIDE, width: SIDE, labels: vec![], classes }
}

fn push(set: &mut ImageSet, path: &Path, mut bytes: Box<dyn Read + Send>) -> Result<()> {
    let mut record = Vec::with_capacity(1 + PIXELS);
    for at in 0.. {
        record.clear();
        let read = bytes.by_ref().take(1 + PIXELS as u64).read_to_end(&mut record);
        match read.map_err(|error| Error::reading(path, FORMAT, error))? {
            0 if at > 0 => return Ok(()),
            0 => return Err(Error::damaged(path, FORMAT, "it is empty")),
            n if n < 1 + PIXELS => {
                let why = format!("it ends {n} bytes into record {at}, of {} bytes", 1 + PIXELS);
                return Err(Error::damaged(path, FORMAT, why));
            }
            _ => {}
        }
        if usize::from(record[0]) >= CIFAR_CLASSES.len() {
            let why = format!("record {at} has the label {}, expected 0 to 9", record[0]);
            return Err(Error::damaged(path, FORMAT, why));
        }
        set.labels.push(record[0]);
        set.images.extend_from_slice(&record[1..]);
        set.n += 1;
    }
    Ok(())
}
