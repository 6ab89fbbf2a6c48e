//! Random access to bytes for several readers at once: a file, or a stream buffered in memory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    sync::{Arc, Mutex},
};

use parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

/// A reader with its own position; clones share the bytes.
#[derive(Clone)]
pub(crate) struct Shared {
    bytes: Bytes,
    at: u64,
    len: u64,
}

#[derive(Clone)]
enum Bytes {
    File(Arc<Mutex<File>>),
    Memory(Arc<Vec<u8>>),
}

impl Shared {
    pub fn file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { bytes: Bytes::File(Arc::new(Mutex::new(file))), at: 0, len })
    }

    pub fn memory(bytes: Vec<u8>) -> Self {
        Self { at: 0, len: bytes.len() as u64, bytes: Bytes::Memory(Arc::new(bytes)) }
    }

    /// Number of bytes.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// A reader of these bytes from `start` on.
    pub fn from(&self, start: u64) -> Self {
        Self { at: start, ..self.clone() }
    }

    /// `length` bytes from `start` on; nothing is allocated for bytes that are not there.
    pub fn slice(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length];
        self.from(start).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match &self.bytes {
            Bytes::File(file) => {
                let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                file.seek(SeekFrom::Start(self.at))?;
                file.read(buffer)?
            }
            Bytes::Memory(bytes) => bytes.get(self.at as usize..).unwrap_or_default().read(buffer)?,
        };
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Shared {
    type T = io::BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(io::BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        Ok(self.slice(start, length)?.into())
    }
}
