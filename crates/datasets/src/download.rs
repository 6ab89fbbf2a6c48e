//! Downloads: resumed, retried, verified, then renamed into place.
//!
//! ```text
//! target.part   what has arrived; kept when anything fails, so that the next run resumes from there
//! target.tag    the address and version it came from; without it and without a checksum nothing is resumed
//! target        only ever a whole file that passed its checks
//! ```

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    ops::ControlFlow,
    path::Path,
    time::Duration,
};

use crate::{Checked, DataFile, Error, Network, Result, transfer::Transfer};

/// The progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
    /// The file.
    pub file: &'a str,
    /// Bytes that have arrived, in earlier runs too.
    pub done: u64,
    /// All bytes, where they are known.
    pub total: Option<u64>,
    /// The failure that a pending retry follows, if there is one.
    pub waiting: Option<&'a str>,
}

/// Called with the progress of a download; may stop it.
pub type DownloadObserver<'a> = dyn FnMut(DownloadProgress) -> ControlFlow<()> + 'a;

/// How often and how soon a failed request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Requests in a row that may fail without a byte arriving.
    pub attempts: u32,
    /// The first wait; each further one is twice as long, up to a minute.
    pub first_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first_wait: Duration::from_secs(1) }
    }
}

/// Downloads a file to `target` from the first of its addresses that gives it.
pub(crate) fn download(
    file: &'static DataFile,
    target: &Path,
    network: &Network,
    retry: Retry,
    observer: &mut DownloadObserver,
) -> Result<Checked> {
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Error::io("make the directory", folder, error))?;
    let _lock = lock(folder)?;
    let mut transfer = Transfer::open(file, target, network, retry, observer)?;
    let mut errors = Vec::new();
    for url in file.urls {
        match transfer.from(url) {
            Ok(checked) => return transfer.finish(target, folder).map(|()| checked),
            Err(error) if ends_all(&error) => return Err(error),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        1 => Err(errors.remove(0)),
        _ => Err(Error::AllFailed { file: file.name, errors }),
    }
}

/// Whether another address would not help either.
fn ends_all(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::DiskFull { .. } | Error::Stopped { .. })
}

/// Locks a folder against other processes; the operating system releases the lock if the process dies.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| Error::io("write", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { path: folder.into() }),
        // A file system without locks: continuing is better than refusing.
        Err(TryLockError::Error(_)) => Ok(file),
    }
}
