//! The bytes of one download: requests until all have arrived, then the check, then the rename.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Checked, DataFile, DownloadObserver, DownloadProgress, Error, Network, Result, Retry,
    http::{self, Answer, Failure},
    verify::verify_download,
};

/// What has arrived of a file, and how to get the rest.
pub(crate) struct Transfer<'a, 'o> {
    file: &'static DataFile,
    part_path: PathBuf,
    tag_path: PathBuf,
    part: File,
    network: &'a Network,
    retry: Retry,
    observer: &'a mut DownloadObserver<'o>,
}

impl<'a, 'o> Transfer<'a, 'o> {
    /// Opens the unfinished file of an earlier run, or a new one.
    pub fn open(
        file: &'static DataFile,
        target: &Path,
        network: &'a Network,
        retry: Retry,
        observer: &'a mut DownloadObserver<'o>,
    ) -> Result<Self> {
        let (part_path, tag_path) = (beside(target, "part"), beside(target, "tag"));
        let part = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part_path);
        let part = part.map_err(|error| Error::io("write", &part_path, error))?;
        Ok(Self { file, part_path, tag_path, part, network, retry, observer })
    }

    /// The whole file from this address, checked. A resumed one that fails its check is fetched once more in full.
    pub fn from(&mut self, url: &str) -> Result<Checked> {
        loop {
            let resumed = self.have()? > 0;
            self.fetch(url)?;
            match verify_download(&self.part_path, self.file, url) {
                Ok(checked) => return Ok(checked),
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(error) => {
                    self.clear()?;
                    if !resumed {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Requests until all bytes have arrived.
    fn fetch(&mut self, url: &str) -> Result<()> {
        let (mut failures, mut wait) = (0, self.retry.first_wait);
        loop {
            let before = self.have()?;
            let (error, told) = match self.request(url, before) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(*error),
                Err(Failure::Transient(error, told)) => (*error, told),
            };
            if self.have()? > before {
                (failures, wait) = (0, self.retry.first_wait);
            }
            failures += 1;
            if failures >= self.retry.attempts {
                return Err(error);
            }
            const LONGEST: Duration = Duration::from_secs(60);
            self.pause(told.unwrap_or(wait).min(LONGEST), &error)?;
            wait = (wait * 2).min(LONGEST);
        }
    }

    /// One request for what is missing.
    fn request(&mut self, url: &str, have: u64) -> std::result::Result<(), Failure> {
        if have > 0 && self.file.size == Some(have) {
            return Ok(());
        }
        let (from, validator) = self.resume_point(url, have);
        let answer = http::get(self.network, url, from, validator.as_deref())?;
        let start = match (answer.status, answer.range) {
            (206, (Some(first), _)) if first == from => from,
            (416, (None, Some(total))) if total == from && from > 0 => return Ok(()),
            (200, _) => 0,
            _ => {
                self.clear()?;
                let why = "the server sent another range than requested".into();
                return Err(Failure::transient(Error::Network { url: url.into(), why }, None));
            }
        };
        let total = answer.length.map(|length| length + start);
        if let (Some(found), Some(expected)) = (total, self.file.size.filter(|&size| Some(size) != total)) {
            let remedy = "The file has changed or something stands between: try later, or get it by hand";
            return Err(Error::WrongSize { what: url.into(), found, expected, remedy }.into());
        }
        self.tag(url, answer.validator.as_deref())?;
        self.receive(url, answer, start, total)
    }

    /// The byte to resume from, and the version that must not have changed.
    fn resume_point(&self, url: &str, have: u64) -> (u64, Option<String>) {
        let tag = fs::read_to_string(&self.tag_path).unwrap_or_default();
        let validator = tag.split_once('\n').filter(|(from, _)| *from == url).map(|(_, tag)| tag.to_string());
        let safe = validator.is_some() || self.file.checksum.is_some();
        if safe { (have, validator) } else { (0, None) }
    }

    fn tag(&self, url: &str, validator: Option<&str>) -> Result<()> {
        let written = match validator {
            Some(validator) => fs::write(&self.tag_path, format!("{url}\n{validator}")),
            None => remove(&self.tag_path),
        };
        written.map_err(|error| self.write_error(error, 0))
    }

    fn receive(
        &mut self,
        url: &str,
        mut answer: Answer,
        start: u64,
        total: Option<u64>,
    ) -> std::result::Result<(), Failure> {
        let mut done = self.cut_to(start).map_err(|error| self.write_error(error, start))?;
        let cut = |why: String| Failure::transient(Error::Network { url: url.into(), why }, None);
        let mut buffer = vec![0; 1 << 16];
        loop {
            self.tell(done, total, None)?;
            let n = match answer.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(cut(format!("after {done} bytes: {error}"))),
            };
            let written = self.part.write_all(&buffer[..n]);
            written.map_err(|error| self.write_error(error, done))?;
            done += n as u64;
        }
        match total {
            Some(total) if done < total => Err(cut(format!("it ended after {done} of {total} bytes"))),
            _ => Ok(()),
        }
    }

    /// Truncates the file to `start` bytes and seeks there.
    fn cut_to(&mut self, start: u64) -> io::Result<u64> {
        if self.part.metadata()?.len() > start {
            self.part.set_len(start)?;
        }
        self.part.seek(SeekFrom::Start(start))
    }

    fn pause(&mut self, wait: Duration, error: &Error) -> Result<()> {
        const SLICE: Duration = Duration::from_millis(100);
        let (done, note) = (self.have()?, error.to_string());
        let mut left = wait;
        while !left.is_zero() {
            self.tell(done, self.file.size, Some(&note))?;
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        Ok(())
    }

    fn tell(&mut self, done: u64, total: Option<u64>, waiting: Option<&str>) -> Result<()> {
        let progress =
            DownloadProgress { file: self.file.name, done, total: total.or(self.file.size), waiting };
        match (self.observer)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { path: self.part_path.clone() }),
        }
    }

    fn have(&self) -> Result<u64> {
        let length = self.part.metadata().map(|meta| meta.len());
        length.map_err(|error| Error::io("read", &self.part_path, error))
    }

    fn clear(&mut self) -> Result<()> {
        let cleared = self.part.set_len(0).and_then(|()| remove(&self.tag_path));
        cleared.map_err(|error| Error::io("write", &self.part_path, error))
    }

    fn write_error(&self, error: io::Error, written: u64) -> Error {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Error::DiskFull { path: self.part_path.clone(), written }
            }
            _ => Error::io("write", &self.part_path, error),
        }
    }

    /// Flushes the file to disk and renames it into place. The unfinished file has a fixed name so that it can be
    /// resumed, which a temporary file could not.
    pub fn finish(self, target: &Path, folder: &Path) -> Result<()> {
        let failed = |error| Error::io("write", target, error);
        self.part.sync_all().map_err(|error| self.write_error(error, 0))?;
        fs::rename(&self.part_path, target).map_err(failed)?;
        remove(&self.tag_path).map_err(failed)?;
        // Directories cannot be opened everywhere; the rename itself has succeeded.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The name with an ending added.
fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}
