//! Whether a file holds what its publisher gave out.

use std::{fs, fs::File, io::BufReader, path::Path};

use crate::{Checksum, DataFile, Error, Result, input};

/// How a file was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Its checksum of this kind matches the published one.
    Checksum(&'static str),
    /// Its length matches the published one; no checksum is published.
    Size,
    /// No length and no checksum is published.
    Nothing,
}

/// Checks a finished download against what its address should give.
pub(crate) fn verify_download(path: &Path, file: &DataFile, url: &str) -> Result<Checked> {
    const REMEDY: &str = "It was discarded: try again later, or download the file by hand";
    verify(path, url, Wrapping::AsIs, file.size, file.checksum, REMEDY)
}

/// Checks a file found under `name`, which need not be the name it was published under.
pub(crate) fn verify_found(path: &Path, name: &str, file: &DataFile) -> Result<Checked> {
    const REMEDY: &str = "Delete it, and download it again";
    let what = path.display().to_string();
    for copy in file.copies.iter().filter(|copy| copy.name == name) {
        if let checked @ Ok(Checked::Checksum(_)) =
            verify(path, &what, Wrapping::AsIs, None, copy.checksum, REMEDY)
        {
            return checked;
        }
    }
    if name == file.name {
        return verify(path, &what, Wrapping::AsIs, file.size, file.checksum, REMEDY);
    }
    if name.strip_suffix(".gz") == Some(file.name) {
        return verify(path, &what, Wrapping::Zipped, None, file.checksum, REMEDY);
    }
    // Unzipped, or one of its parts: no checksum of that is known.
    Ok(Checked::Nothing)
}

/// Checks a file for which one checksum at most is known.
pub(crate) fn verify_copy(path: &Path, checksum: Option<Checksum>) -> Result<Checked> {
    let what = path.display().to_string();
    verify(path, &what, Wrapping::AsIs, None, checksum, "Delete it, and get it again")
}

/// Whether a checksum is that of the file or of its decompressed content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrapping {
    AsIs,
    Zipped,
}

fn verify(
    path: &Path,
    what: &str,
    wrapping: Wrapping,
    size: Option<u64>,
    checksum: Option<Checksum>,
    remedy: &'static str,
) -> Result<Checked> {
    let failed = |error| Error::io("read", path, error);
    if let Some(expected) = size {
        let found = fs::metadata(path).map_err(failed)?.len();
        if found != expected {
            return Err(Error::WrongSize { what: what.into(), found, expected, remedy });
        }
    }
    let Some(checksum) = checksum else {
        return Ok(if size.is_some() { Checked::Size } else { Checked::Nothing });
    };
    let found = match wrapping {
        Wrapping::AsIs => checksum.of(&mut BufReader::new(File::open(path).map_err(failed)?)),
        Wrapping::Zipped => checksum.of(&mut input::open(path)?),
    };
    let found = found.map_err(|error| Error::reading(path, "gzip", error))?;
    if found != checksum.hex() {
        let (kind, expected) = (checksum.kind(), checksum.hex());
        return Err(Error::WrongChecksum { what: what.into(), kind, found, expected, remedy });
    }
    Ok(Checked::Checksum(checksum.kind()))
}
