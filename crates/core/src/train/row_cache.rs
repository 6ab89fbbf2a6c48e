//! Training rows on disk instead of in memory, for runs on more rows than memory holds.
//!
//! The file is an array of single precision, `[n, dim]` in little endian, and has no name: whether the run ends, fails, is
//! interrupted or killed, the system removes it with the process, so that there is never an old one to find. Rows are read one by
//! one at their positions; what is read often stays in the system's own cache of files, which is no memory of the process.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::TrainingMatrix;
use crate::{Error, Result};

/// Rows in a file without a name.
#[derive(Debug)]
pub struct RowCache {
    directory: PathBuf,
    file: File,
    dim: usize,
    n: usize,
    digest: blake3::Hash,
}

/// A [`RowCache`] that is being written.
#[derive(Debug)]
pub struct RowCacheWriter {
    directory: PathBuf,
    file: BufWriter<File>,
    dim: usize,
    n: usize,
    hasher: blake3::Hasher,
}

impl RowCacheWriter {
    /// A cache of rows of `dim` columns on the disk of this directory, which is made if it is not there.
    pub fn new(directory: &Path, dim: usize) -> Result<Self> {
        let created = std::fs::create_dir_all(directory).and_then(|()| tempfile::tempfile_in(directory));
        let file = BufWriter::with_capacity(1 << 18, created.map_err(full(directory, 0))?);
        Ok(Self { directory: directory.into(), file, dim, n: 0, hasher: blake3::Hasher::new() })
    }

    /// Adds rows that are in memory.
    ///
    /// # Panics
    /// If they have other columns, or are dequantised.
    pub fn add(&mut self, rows: &TrainingMatrix) -> Result<()> {
        assert!(rows.dim() == self.dim && !rows.is_dequantised(), "rows to be read as they are written");
        let mut bytes = Vec::new();
        rows.values().iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        self.hasher.update(&bytes);
        self.n += rows.len();
        self.file.write_all(&bytes).map_err(full(&self.directory, self.size()))
    }

    /// The cache, complete.
    pub fn finish(self) -> Result<RowCache> {
        let (size, Self { directory, file, dim, n, hasher }) = (self.size(), self);
        let file = file.into_inner().map_err(|error| full(&directory, size)(error.into_error()))?;
        Ok(RowCache { directory, file, dim, n, digest: hasher.finalize() })
    }

    fn size(&self) -> u64 {
        (self.n * self.dim * size_of::<f32>()) as u64
    }
}

/// What to say when a cache cannot take so many bytes.
fn full(directory: &Path, bytes: u64) -> impl Fn(io::Error) -> Error {
    let directory = directory.to_path_buf();
    move |source| Error::RowCache { directory: directory.clone(), bytes, source }
}

impl RowCache {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// A digest of the rows, in hexadecimal.
    pub fn digest(&self) -> String {
        self.digest.to_hex().to_string()
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Appends a row to `out`; `bytes` is room to read it into.
    pub(super) fn read(&self, row: usize, bytes: &mut Vec<u8>, out: &mut Vec<f32>) -> Result<()> {
        let length = self.dim * size_of::<f32>();
        bytes.resize(length, 0);
        let read = read_exact_at(&self.file, bytes, (row * length) as u64);
        read.map_err(|source| Error::Io { path: self.directory.clone(), source })?;
        let (values, _) = bytes.as_chunks::<4>();
        out.extend(values.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, offset) = (&mut bytes[n..], offset + n as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn rows_come_back_as_they_were_and_nothing_is_left_in_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("new");
        let x = Array2::from_shape_fn((300, 7), |(i, j)| (i * 7 + j) as f64 / 3.0);
        let mut writer = RowCacheWriter::new(&inner, 7).unwrap();
        for part in x.axis_chunks_iter(ndarray::Axis(0), 64) {
            writer.add(&TrainingMatrix::new(part)).unwrap();
        }
        let cache = writer.finish().unwrap();
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 0, "the file has no name");
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        (0..300).rev().for_each(|row| cache.read(row, &mut bytes, &mut out).unwrap());
        let backwards = x.rows().into_iter().rev().flatten().map(|&v| v as f32);
        assert!(cache.len() == 300 && out == backwards.collect::<Vec<f32>>());
        assert!(cache.read(300, &mut bytes, &mut out).is_err(), "there is no such row");
    }

    /// /dev/full takes nothing, as a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_with_what_to_do() {
        let mut writer = RowCacheWriter {
            directory: "somewhere".into(),
            file: BufWriter::new(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()),
            dim: 2,
            n: 0,
            hasher: blake3::Hasher::new(),
        };
        let x = Array2::zeros((1, 2));
        writer.add(&TrainingMatrix::new(x.view())).unwrap();
        let said = writer.finish().unwrap_err().to_string();
        for part in ["somewhere", "cache", "No space left", "another disk", "more memory"] {
            assert!(said.contains(part), "{part} is not in: {said}");
        }
    }
}
