//! One file with one picture: PNG or JPEG, whatever its name says.

use std::{fs::File, io::Read, path::Path};

use flowgmm_data::Image;

use super::{jpeg, png};
use crate::{Error, Result};

/// Size and colour of a picture before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

/// Bytes that usually suffice for size and colour; otherwise the whole file is read.
const HEAD: u64 = 1 << 14;

/// Whether a file name ends like that of a supported picture.
pub(super) fn is_named_so(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(ending.as_str(), "png" | "jpg" | "jpeg")
}

/// Whether these first bytes are those of a supported picture.
pub(super) fn starts_so(first: &[u8]) -> bool {
    first.starts_with(png::SIGNATURE) || first.starts_with(jpeg::START)
}

/// Size and colour of the picture in a file.
pub(super) fn head(path: &Path) -> Result<Head> {
    let start = read(path, HEAD)?;
    let found = by_format(path, &start, png::head, jpeg::head);
    if found.is_err() && start.len() as u64 == HEAD {
        return by_format(path, &read(path, u64::MAX)?, png::head, jpeg::head);
    }
    found
}

/// The picture in a file.
pub(super) fn decode(path: &Path) -> Result<Image> {
    by_format(path, &read(path, u64::MAX)?, png::decode, jpeg::decode)
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| Error::io("read", path, error))?;
    Ok(bytes)
}

type Decoder<T> = fn(&[u8]) -> std::result::Result<T, String>;

fn by_format<T>(path: &Path, bytes: &[u8], png: Decoder<T>, jpeg: Decoder<T>) -> Result<T> {
    let (format, decoded) = if bytes.starts_with(png::SIGNATURE) {
        ("PNG", png(bytes))
    } else if bytes.starts_with(jpeg::START) {
        ("JPEG", jpeg(bytes))
    } else {
        ("PNG or JPEG", Err(foreign(bytes)))
    };
    decoded.map_err(|why| Error::damaged(path, format, why))
}

/// Describes what an unsupported file seems to be.
fn foreign(bytes: &[u8]) -> String {
    let known: [(&[u8], &str); 4] = [(b"GIF8", "GIF"), (b"BM", "BMP"), (b"RIFF", "WebP"), (b"II*\0", "TIFF")];
    match known.iter().find(|(start, _)| bytes.starts_with(start)) {
        Some((_, name)) => format!("{name} files are not supported: convert it to PNG"),
        None if bytes.is_empty() => "it is empty".into(),
        None => "its first bytes are those of neither".into(),
    }
}
