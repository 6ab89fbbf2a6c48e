//! A file as a stream of bytes, unzipped if it is gzip, or a member of a tar archive.

use std::{
    fs::File,
    io::{self, BufReader, Chain, Cursor, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::{Error, Result};

/// The content of a file. Gzip is recognised by its first bytes, whatever the name says.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(|error| Error::io("read", path, error))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic).map_err(|error| Error::io("read", path, error))?;
    let zipped = magic == b"\x1f\x8b";
    let whole: Chain<_, _> = Cursor::new(magic).chain(file);
    if zipped {
        return Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(whole))));
    }
    Ok(Box::new(whole))
}

/// Exactly `length` bytes. Memory is allocated as bytes arrive, not as a header claims.
pub(crate) fn take(bytes: &mut dyn Read, length: u64) -> io::Result<Vec<u8>> {
    let mut taken = Vec::new();
    bytes.take(length).read_to_end(&mut taken)?;
    if (taken.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(taken)
}

/// Fails if there is anything left. Also makes gzip check its sum.
pub(crate) fn expect_end(bytes: &mut dyn Read) -> io::Result<()> {
    let mut byte = [0];
    loop {
        match bytes.read(&mut byte) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "there are bytes after its end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

const TAR: &str = "a tar archive";
const BLOCK: u64 = 512;

/// The file of this name (without directories) in a tar archive, gzipped or not.
pub(crate) fn member(archive: &Path, wanted: &str) -> Result<Box<dyn Read + Send>> {
    let mut bytes = open(archive)?;
    let failed = |error| Error::reading(archive, TAR, error);
    loop {
        let header = take(&mut bytes, BLOCK).map_err(failed)?;
        if header.iter().all(|&byte| byte == 0) {
            return Err(Error::damaged(archive, TAR, format!("{wanted} is not in it")));
        }
        let (name, size, kind) = entry(&header).map_err(|why| Error::damaged(archive, TAR, why))?;
        let plain = matches!(kind, b'0' | 0);
        if plain && name.rsplit('/').next() == Some(wanted) {
            return Ok(Box::new(bytes.take(size)));
        }
        let padded = size.div_ceil(BLOCK).saturating_mul(BLOCK);
        let skipped = io::copy(&mut bytes.by_ref().take(padded), &mut io::sink()).map_err(failed)?;
        if skipped < padded {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
    }
}

/// Name, size and kind of an entry of the ustar format, whose sum is checked.
fn entry(header: &[u8]) -> std::result::Result<(String, u64, u8), String> {
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, &b)| u64::from(if (148..156).contains(&at) { b' ' } else { b }))
        .sum();
    if octal(&header[148..156]) != Some(sum) {
        return Err("the sum of an entry's header is wrong".into());
    }
    let name = header[..100].split(|&byte| byte == 0).next().unwrap_or_default();
    let size = octal(&header[124..136]).ok_or("the size of an entry is no number")?;
    Ok((String::from_utf8_lossy(name).into_owned(), size, header[156]))
}

fn octal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?.trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
    u64::from_str_radix(text, 8).ok()
}
