//! Results as JSON lines: one line for each finished cell, written at once and flushed to disk before another cell
//! begins in its place, so that a kill loses no finished cell.
//!
//! A kill within that write leaves a torn last line. It is cut off when the file is opened again, and its cell runs
//! once more. A line of nonsense elsewhere is an error: it is not ours to throw away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Error, Record, Result};

/// A file of results, ours alone while it is open.
pub struct ResultsFile {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
}

impl ResultsFile {
    /// Opens or creates a file. Its torn last line, if there is one, is cut off.
    pub fn open(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).map_err(Error::io(path))?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        let (records, whole) = parse(path, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(Error::io(path))?;
        } else if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            file.write_all(b"\n").map_err(Error::io(path))?;
        }
        Ok(Self { path: path.into(), file, records })
    }

    /// What is there, oldest first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds a record, on disk when this returns.
    pub fn append(&mut self, record: Record) -> Result<()> {
        let line = serde_json::to_string(&record).expect("plain data") + "\n";
        self.file.write_all(line.as_bytes()).map_err(Error::io(&self.path))?;
        self.file.sync_data().map_err(Error::io(&self.path))?;
        self.records.push(record);
        Ok(())
    }
}

/// Makes the file ours. One that was just killed may hold it for a moment longer.
fn lock(file: &File, path: &Path) -> Result<()> {
    let patience = Instant::now() + Duration::from_secs(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(Error::Io { path: path.into(), source }),
            Err(TryLockError::WouldBlock) if Instant::now() > patience => {
                return Err(Error::Busy { path: path.into() });
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(50)),
        }
    }
}

/// The records of a file that may be in use; a torn last line is left aside.
pub fn read_records(path: &Path) -> Result<Vec<Record>> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    Ok(parse(path, &bytes)?.0)
}

/// The records, and how many bytes they take.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Record>, usize)> {
    let (mut records, mut whole) = (Vec::new(), 0);
    for (i, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => {
                return Err(Error::BadLine { path: path.into(), line: i + 1, why: error.to_string() });
            }
        }
        whole += line.len();
    }
    Ok((records, whole))
}
