//! Input bytes: a file, standard input or any stream, decompressed if they are gzip.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;

use crate::{Error, InputFormat, Result, shared::Shared, sniff::Extent};

/// Where a table is read from.
pub enum Source {
    /// A file, or a named pipe.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Any reader.
    Stream {
        /// Its name in error messages.
        name: String,
        /// Its bytes.
        reader: Box<dyn Read + Send>,
    },
}

impl Source {
    /// A stream, with its name for error messages.
    pub fn stream(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self::Stream { name: name.into(), reader: Box::new(reader) }
    }
}

impl From<&Path> for Source {
    /// `-` is standard input.
    fn from(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path.into()) }
    }
}

impl From<&str> for Source {
    /// `-` is standard input.
    fn from(path: &str) -> Self {
        Path::new(path).into()
    }
}

/// Bytes read ahead to detect the format and the delimiter.
const HEAD: usize = 1 << 16;

/// The most bytes of a stream that are buffered for formats whose metadata are at the end.
const HELD: u64 = 1 << 31;

/// An open source, and its first bytes.
pub(crate) struct Input {
    /// Its name in error messages.
    pub name: String,
    /// The name of the file without directories and `.gz`; empty for a stream.
    pub file: String,
    /// Up to [`HEAD`] bytes from the start, fewer only if there are no more.
    pub head: Vec<u8>,
    body: Body,
}

enum Body {
    /// To be read from its start.
    File(File),
    /// What follows the head.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    pub fn open(source: Source) -> Result<Self> {
        let (name, file, mut body) = match source {
            Source::Stdin => ("standard input".into(), String::new(), Body::Stream(Box::new(io::stdin()))),
            Source::Stream { name, reader } => (name, String::new(), Body::Stream(reader)),
            Source::File(path) => {
                let name = path.display().to_string();
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let body = open_file(&path).map_err(|error| io_error(&name, error))?;
                (name, file, body)
            }
        };
        let head = body.head().map_err(|error| io_error(&name, error))?;
        let input = Self { name, file, head, body };
        if input.head.starts_with(b"\x1f\x8b") { input.unzip() } else { Ok(input) }
    }

    /// How much of everything [`Input::head`] is.
    pub fn extent(&self) -> Extent {
        if self.head.len() < HEAD { Extent::Whole } else { Extent::Cut }
    }

    /// All bytes as a sequential stream.
    pub fn into_stream(self) -> Box<dyn Read + Send> {
        match self.body {
            Body::File(file) => Box::new(file),
            Body::Stream(rest) => Box::new(Cursor::new(self.head).chain(rest)),
        }
    }

    /// All bytes with random access; a stream is read into memory first.
    pub fn into_shared(self, format: InputFormat) -> Result<Shared> {
        let name = self.name.clone();
        match self.body {
            Body::File(file) => Shared::file(file).map_err(|error| io_error(&name, error)),
            Body::Stream(rest) => {
                let mut bytes = self.head;
                let more = rest.take(HELD).read_to_end(&mut bytes);
                more.map_err(|error| Error::reading(&name, format.name(), error))?;
                match bytes.len() as u64 > HELD {
                    true => Err(Error::StreamTooLong { name, format: format.name(), limit: HELD }),
                    false => Ok(Shared::memory(bytes)),
                }
            }
        }
    }

    fn unzip(self) -> Result<Self> {
        let name = self.name.clone();
        let file = match self.file.len().checked_sub(3) {
            Some(at) if self.file.to_lowercase().ends_with(".gz") => self.file[..at].to_string(),
            _ => self.file.clone(),
        };
        let packed = BufReader::with_capacity(HEAD, self.into_stream());
        let mut body = Body::Stream(Box::new(MultiGzDecoder::new(packed)));
        let head = body.head().map_err(|error| Error::reading(&name, "gzip", error))?;
        Ok(Self { name, file, head, body })
    }
}

impl Body {
    fn head(&mut self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        match self {
            Self::File(file) => {
                (&mut *file).take(HEAD as u64).read_to_end(&mut head)?;
                file.rewind()?;
            }
            Self::Stream(stream) => {
                stream.take(HEAD as u64).read_to_end(&mut head)?;
            }
        }
        Ok(head)
    }
}

fn open_file(path: &Path) -> io::Result<Body> {
    let file = File::open(path)?;
    // A named pipe has a path and still cannot be read twice.
    let seekable = file.metadata()?.is_file();
    Ok(if seekable { Body::File(file) } else { Body::Stream(Box::new(file)) })
}

fn io_error(name: &str, source: io::Error) -> Error {
    Error::Io { name: name.into(), source }
}
