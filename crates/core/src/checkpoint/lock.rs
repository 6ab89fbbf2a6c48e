//! One fit at a time in a checkpoint directory.
//!
//! The lock is the operating system's, on a file that stays in the directory: it ends with the process that holds it,
//! however that ends, so a killed fit blocks nobody.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::ErrorKind,
    path::Path,
};

use crate::{Error, Result};

/// Name of the locked file within the checkpoint directory.
const FILE: &str = "checkpoint.lock";

/// A directory that no other fit uses while this exists.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a directory; an error if another fit has it.
    pub fn take(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        let io = |source| Error::Io { path: path.clone(), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::CheckpointInUse { directory: directory.into() }),
            // Some network file systems have no locks; a checkpoint there is better than none.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                Ok(Self { _file: file })
            }
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_free_again_when_its_lock_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let first = Lock::take(directory.path()).unwrap();
        let error = Lock::take(directory.path()).unwrap_err();
        assert!(matches!(error, Error::CheckpointInUse { .. }), "{error}");
        assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
        drop(first);
        assert!(Lock::take(directory.path()).is_ok(), "the file that was left over is no lock");
    }
}
