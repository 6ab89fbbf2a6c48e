//! Files that are replaced in one step.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// Replaces the file at `path` by `bytes` in one step: readers see the old file or the new one, never a part of it.
///
/// The bytes go to a temporary file in the same directory, which is synced and renamed; then the directory is synced. On
/// failure the temporary file is removed and the old file stays. The new file has the permissions that
/// [`File::create`] would give it.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("model.bin");
/// flowgmm_core::atomic_write(&path, b"first")?;
/// flowgmm_core::atomic_write(&path, b"second")?;
/// assert_eq!(std::fs::read(&path)?, b"second");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// What is no regular file, such as a device, is never replaced: that is an error.
pub fn atomic_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("cannot be replaced: it is not a regular file"));
    }
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666)); // less the umask
    }
    // Dropped on failure, and so removed: a full disk must not be left fuller.
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // Some file systems cannot sync a directory; the rename is done either way.
    let _ = File::open(directory).and_then(|d| d.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for bytes in [&b"old"[..], b"new and longer", b""] {
            atomic_write(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(names(directory.path()), ["file"]);
        }
    }

    #[test]
    fn a_failure_leaves_nothing_over() {
        let directory = tempfile::tempdir().unwrap();
        let taken = directory.path().join("taken");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("inside"), b"x").unwrap();
        assert!(atomic_write(&taken, b"bytes").is_err(), "a directory is in the way");
        assert_eq!(names(directory.path()), ["taken"]);
        assert!(atomic_write(&directory.path().join("absent/file"), b"bytes").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(atomic_write(&link, b"bytes").is_err());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_an_ordinary_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let (plain, atomic) = (directory.path().join("plain"), directory.path().join("atomic"));
        File::create(&plain).unwrap();
        atomic_write(&atomic, b"bytes").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&atomic), mode(&plain));
    }
}
