//! One array of a zip archive, read on its own so that several can be read side by side.

use std::io::{self, BufReader, Read};

use flate2::{Crc, read::DeflateDecoder};
use zip::{CompressionMethod, ZipArchive, result::ZipResult};

use super::FORMAT;
use crate::{Error, Result, shared::Shared};

/// Where an array is.
pub(super) struct Member {
    /// The name of the array, without `.npy`.
    pub array: String,
    /// Bytes when unpacked, header and elements.
    pub size: u64,
    start: u64,
    packed: u64,
    method: CompressionMethod,
    encrypted: bool,
    sum: u32,
}

impl Member {
    /// An entry of the archive, if it is an array.
    pub fn read(archive: &mut ZipArchive<BufReader<Shared>>, index: usize) -> ZipResult<Option<Self>> {
        let entry = archive.by_index_raw(index)?;
        let Some(array) = entry.name().strip_suffix(".npy") else { return Ok(None) };
        Ok(Some(Self {
            array: array.into(),
            size: entry.size(),
            start: entry.data_start(),
            packed: entry.compressed_size(),
            method: entry.compression(),
            encrypted: entry.encrypted(),
            sum: entry.crc32(),
        }))
    }

    /// Its unpacked bytes; the last read fails if they do not add up.
    pub fn open(&self, file: &Shared, name: &str) -> Result<Box<dyn Read + Send>> {
        let foreign = |what, remedy| Err(Error::Foreign { name: name.into(), what, remedy });
        if self.encrypted {
            return foreign("an encrypted archive", "decrypt it first");
        }
        if self.start.checked_add(self.packed).is_none_or(|end| end > file.size()) {
            let why = format!("array '{}' is not in the file", self.array);
            return Err(Error::damaged(name, FORMAT, why));
        }
        let packed = file.from(self.start).take(self.packed);
        let bytes: Box<dyn Read + Send> = match self.method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed)),
            _ => return foreign("packed in an unusual way", "write it again with np.savez_compressed"),
        };
        Ok(Box::new(Summed { bytes: bytes.take(self.size), crc: Crc::new(), sum: self.sum }))
    }
}

/// Bytes whose sum is checked where they end.
struct Summed {
    bytes: io::Take<Box<dyn Read + Send>>,
    crc: Crc,
    sum: u32,
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.read(buffer)?;
        self.crc.update(&buffer[..n]);
        if n == 0 && !buffer.is_empty() && self.crc.sum() != self.sum {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its check sum is wrong"));
        }
        Ok(n)
    }
}
