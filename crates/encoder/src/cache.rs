//! Embeddings on disk, by content: one append-only file for every model in a directory.
//!
//! ```text
//! <fingerprint>.embeddings:  header | record | record | ..
//! header:  "FGEMBED1" | u32 dim | u32 0 | fingerprint [32]
//! record:  key [32] | f32 [dim] | first 8 bytes of BLAKE3(key, numbers)        little-endian, all of one length
//! key:     BLAKE3 of the text, keyed by the model's fingerprint
//! ```
//!
//! Every record is verified by its checksum before it is used. A record cut short by a crash is dropped: readers stop
//! before it, the next writer removes it. Writers hold an exclusive file lock for each batch they append, so processes
//! can share a directory. A problem with a cache is a [`CacheWarning`], never an error: texts are then computed.

use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FGEMBED1";
const HEADER: usize = 48;
const KEY: usize = 32;
const CHECKSUM: usize = 8;

/// A directory of cached embeddings.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Uses `dir`, and creates it if necessary.
    pub fn open(dir: &Path) -> Result<Cache> {
        std::fs::create_dir_all(dir).map_err(Error::io(dir))?;
        Ok(Cache { dir: dir.to_owned() })
    }

    /// The file of the model with this fingerprint.
    pub(crate) fn of_model(&self, fingerprint: [u8; 32], dim: usize) -> ModelCache {
        let name: String = fingerprint[..16].iter().map(|b| format!("{b:02x}")).collect();
        ModelCache { path: self.dir.join(name + ".embeddings"), fingerprint, dim, file: None }
    }
}

/// A problem with a cache. The embeddings are correct nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum CacheWarning {
    /// The file could not be read.
    #[error("the cache {path} could not be read, so its texts were computed again: {source}", path = path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be written to, for example because the disk is full.
    #[error("embeddings could not be added to the cache {path}: {source}", path = path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Records that fail their checksum: at the end because of a crash, elsewhere because of the disk.
    #[error("{records} damaged records in the cache {path} were not used; delete the file to remove them", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How many.
        records: usize,
    },
}

pub(crate) type Key = [u8; KEY];

/// The cache file of one model.
pub(crate) struct ModelCache {
    path: PathBuf,
    fingerprint: [u8; 32],
    dim: usize,
    file: Option<File>,
}

impl ModelCache {
    pub(crate) fn key(&self, text: &str) -> Key {
        *blake3::keyed_hash(&self.fingerprint, text.as_bytes()).as_bytes()
    }

    /// Calls `found` with the index and the numbers of every wanted record.
    pub(crate) fn find(
        &self,
        wanted: &HashMap<Key, usize>,
        found: &mut dyn FnMut(usize, &[f32]),
    ) -> Option<CacheWarning> {
        let path = self.path.clone();
        match self.scan(wanted, found) {
            Ok(0) => None,
            Ok(records) => Some(CacheWarning::Damaged { path, records }),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(source) => Some(CacheWarning::NotRead { path, source }),
        }
    }

    /// Appends a row for every key; a failure leaves the file as it was.
    pub(crate) fn append(&mut self, keys: &[Key], rows: &[f32]) -> std::result::Result<(), CacheWarning> {
        let mut bytes = Vec::with_capacity(keys.len() * self.record());
        for (key, row) in keys.iter().zip(rows.chunks_exact(self.dim)) {
            let start = bytes.len();
            bytes.extend(key);
            bytes.extend(row.iter().flat_map(|e| e.to_le_bytes()));
            let checksum = checksum(&bytes[start..]);
            bytes.extend(checksum);
        }
        self.write(&bytes).map_err(|source| CacheWarning::NotWritten { path: self.path.clone(), source })
    }

    /// Reads the whole file; gives the number of damaged records.
    fn scan(&self, wanted: &HashMap<Key, usize>, found: &mut dyn FnMut(usize, &[f32])) -> io::Result<usize> {
        let file = File::open(&self.path)?;
        match file.lock_shared() {
            Err(e) if e.kind() != ErrorKind::Unsupported => return Err(e), // unlocked reading is safe: checksums
            _ => {}
        }
        let length = file.metadata()?.len();
        if length < HEADER as u64 {
            return Ok(usize::from(length > 0));
        }
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut header = [0; HEADER];
        reader.read_exact(&mut header)?;
        self.check_header(&header)?;

        let mut record = vec![0; self.record()];
        let body = length - HEADER as u64;
        let mut damaged = usize::from(!body.is_multiple_of(record.len() as u64));
        for _ in 0..body / record.len() as u64 {
            reader.read_exact(&mut record)?;
            let (content, sum) = record.split_at(KEY + 4 * self.dim);
            let Some(&i) = wanted.get(&content[..KEY]) else { continue };
            if checksum(content) != *sum {
                damaged += 1;
                continue;
            }
            let row: Vec<f32> = content[KEY..]
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            found(i, &row);
        }
        Ok(damaged)
    }

    /// Whole records at the end of the file, under a lock.
    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.path)?
            }
        };
        file.lock()?;
        let written = self.write_locked(&mut file, records);
        file.unlock()?;
        written?;
        self.file = Some(file);
        Ok(())
    }

    fn write_locked(&self, file: &mut File, records: &[u8]) -> io::Result<()> {
        let length = file.metadata()?.len();
        let (end, header) = if length < HEADER as u64 {
            (0, self.header().to_vec())
        } else {
            let mut header = [0; HEADER];
            file.rewind()?;
            file.read_exact(&mut header)?;
            self.check_header(&header)?;
            let torn = (length - HEADER as u64) % self.record() as u64;
            (length - torn, Vec::new())
        };
        if end < length {
            file.set_len(end)?;
        }
        file.seek(SeekFrom::Start(end))?;
        let written = file.write_all(&[header.as_slice(), records].concat());
        if written.is_err() {
            file.set_len(end)?;
        }
        written
    }

    fn record(&self) -> usize {
        KEY + 4 * self.dim + CHECKSUM
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&(self.dim as u32).to_le_bytes());
        header[16..].copy_from_slice(&self.fingerprint);
        header
    }

    fn check_header(&self, header: &[u8; HEADER]) -> io::Result<()> {
        match *header == self.header() {
            true => Ok(()),
            false => {
                Err(io::Error::new(ErrorKind::InvalidData, "it is not a cache of this model; delete it"))
            }
        }
    }
}

fn checksum(content: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(content).as_bytes()[..CHECKSUM]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each writer opens and locks for itself, as another process would.
    #[test]
    fn writers_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let key = |writer: usize, i: usize| *blake3::hash(format!("{writer} {i}").as_bytes()).as_bytes();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut file = cache.of_model([7; 32], 3);
                scope.spawn(move || {
                    (0..200).for_each(|i| {
                        file.append(&[key(writer, i)], &[writer as f32, i as f32, 0.5]).unwrap()
                    });
                });
            }
        });
        let wanted: HashMap<Key, usize> = (0..800).map(|n| (key(n / 200, n % 200), n)).collect();
        let mut seen = vec![0; 800];
        let warning = cache.of_model([7; 32], 3).find(&wanted, &mut |n, row| {
            assert_eq!(row, [(n / 200) as f32, (n % 200) as f32, 0.5]);
            seen[n] += 1;
        });
        assert!(warning.is_none() && seen.iter().all(|&times| times == 1), "{warning:?}");
    }
}
