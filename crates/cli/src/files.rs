//! Files of the user's: no command writes over what it reads, and none replaces a file of another kind unasked.
//!
//! ```text
//! Files::new(force).reads("FILE", ..).writes("--out", .., Kind::Table).check()?      before any work
//! ```

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use flowgmm::{Model, tables::OutputFormat};

use crate::{
    exit::{Failure, Result},
    reading::is_standard,
    text,
};

/// What a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model file.
    Model,
    /// An HTML page.
    Page,
    /// A table in the format that its name says.
    Table,
    /// A PNG picture.
    Picture,
    /// An ONNX file that flowgmm wrote.
    Onnx,
}

/// What a command is about to read and to write.
pub struct Files {
    force: bool,
    read: Vec<(&'static str, PathBuf)>,
    written: Vec<(&'static str, PathBuf, Kind)>,
}

impl Files {
    /// Nothing yet; with `force`, files of another kind may be replaced.
    pub fn new(force: bool) -> Self {
        Self { force, read: Vec::new(), written: Vec::new() }
    }

    /// An argument that names a file to read, or several by a folder or a pattern.
    pub fn reads<P: AsRef<Path>>(
        mut self,
        argument: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        for path in paths {
            let path = path.as_ref();
            // What is wrong with a pattern is told when it is read.
            let files = flowgmm::tables::parts(path).ok().flatten().unwrap_or_default();
            self.read.extend(files.into_iter().chain([path.to_path_buf()]).map(|path| (argument, path)));
        }
        self
    }

    /// An argument that names a file to write, if it is given.
    pub fn writes<P: AsRef<Path>>(mut self, argument: &'static str, path: Option<P>, kind: Kind) -> Self {
        self.written.extend(path.map(|path| (argument, path.as_ref().to_path_buf(), kind)));
        self
    }

    /// Refuses what would destroy a file of the user's, and checks that files can be written where they are wanted.
    pub fn check(&self) -> Result<()> {
        for (at, (argument, path, kind)) in self.written.iter().enumerate() {
            if is_standard(path) {
                continue;
            }
            let others = self.written[..at].iter().map(|(argument, path, _)| (argument, path));
            let read = self.read.iter().map(|(argument, path)| (argument, path));
            for (other, taken) in read.chain(others) {
                if same_file(path, taken) {
                    return Err(Failure::Usage(format!(
                        "{argument} {} is the same file as {other} {}: it would be overwritten. Give {argument} another name",
                        text::path(path),
                        text::path(taken)
                    )));
                }
            }
            if *kind == Kind::Table && path.extension().is_some() {
                OutputFormat::of(path).map_err(|error| Failure::Usage(format!("{argument} {error}")))?;
            }
            check_writable(path, *kind)?;
            if !self.force && !replaceable(path, *kind).map_err(Failure::io(path))? {
                return Err(Failure::Usage(format!(
                    "{argument} {} exists and is not {}: it would be overwritten. Choose another name, or replace it with \
                     --force",
                    text::path(path),
                    kind.describe()
                )));
            }
        }
        Ok(())
    }
}

impl Kind {
    fn describe(self) -> &'static str {
        match self {
            Self::Model => "a model file",
            Self::Page => "an HTML page",
            Self::Table => "a table in that format",
            Self::Picture => "a PNG picture",
            Self::Onnx => "an ONNX file of flowgmm",
        }
    }
}

/// Whether the file is a model.
pub fn is_model(path: &Path) -> bool {
    head(path).is_ok_and(|head| Model::recognises(&head))
}

/// Whether two paths lead to one file, through links too.
pub fn same_file(a: &Path, b: &Path) -> bool {
    if is_standard(b) {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
            return a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => absolute(a) == absolute(b),
    }
}

/// A path that need not exist, from the root.
fn absolute(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(directory.canonicalize().ok()?.join(path.file_name()?))
}

/// Whether nothing is lost when a file of this kind is put at `path`: it is not there, empty, a device, or of that kind.
fn replaceable(path: &Path, kind: Kind) -> io::Result<bool> {
    if !path.is_file() {
        return Ok(true);
    }
    let head = head(path)?;
    let starts = |magic: &[u8]| head.starts_with(magic);
    let is_text = !head.contains(&0);
    let is_page =
        head.trim_ascii_start().get(..14).is_some_and(|tag| tag.eq_ignore_ascii_case(b"<!doctype html"));
    Ok(head.is_empty()
        || match kind {
            Kind::Model => Model::recognises(&head),
            Kind::Page => is_page,
            Kind::Picture => starts(b"\x89PNG"),
            // Version of the format, then the name of the producer.
            Kind::Onnx => {
                starts(b"\x08") && head.get(2..).is_some_and(|rest| rest.starts_with(b"\x12\x07flowgmm"))
            }
            Kind::Table => match OutputFormat::of(path) {
                Ok(OutputFormat::Parquet) => starts(b"PAR1"),
                Ok(OutputFormat::Arrow) => starts(b"ARROW1"),
                Ok(OutputFormat::Json | OutputFormat::JsonLines) => {
                    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
                }
                Ok(OutputFormat::Csv | OutputFormat::Tsv) | Err(_) => is_text && !is_page,
            },
        })
}

/// The first bytes of a file.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut head)?;
    Ok(head)
}

/// Checks, before hours of work, that a file can be put at `path`. A table may also go to a device or a pipe, which is
/// written to and not replaced.
fn check_writable(path: &Path, kind: Kind) -> Result<()> {
    if path.exists() && !path.is_file() {
        let what = match (path.is_dir(), kind) {
            (true, _) => "a directory",
            (false, Kind::Table) => return Ok(()),
            (false, _) => "not a regular file",
        };
        return Err(Failure::io(path)(io::Error::other(format!("cannot be replaced: it is {what}"))));
    }
    let probe = beside(path);
    let made = File::create(&probe);
    let _ = fs::remove_file(&probe);
    made.map(drop).map_err(Failure::io(path))
}

/// A hidden name in the same directory, so that a rename is one step.
pub fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn files_of_another_kind_are_kept() {
        let dir = TempDir::new().unwrap();
        let check = |name: &str, content: &[u8], kind: Kind, expected: bool| {
            let path = dir.path().join(name);
            fs::write(&path, content).unwrap();
            assert_eq!(replaceable(&path, kind).unwrap(), expected, "{name} by {kind:?}");
        };
        check("m.flow", b"x1,x2\n1,2\n", Kind::Model, false);
        check("m.flow", b"", Kind::Model, true);
        check("p.csv", b"x1,x2\n1,2\n", Kind::Table, true);
        check("p.csv", b"\x01\0\0\0\0\0\0\0{}", Kind::Table, false);
        check("p.csv", b" <!DOCTYPE html><p>", Kind::Table, false);
        check("m.onnx", b"\x08\x08\x12\x07flowgmm\x1a", Kind::Onnx, true);
        check("m.onnx", b"\x08\x08\x12\x07pytorch\x1a", Kind::Onnx, false);
        check("p.parquet", b"x1,x2\n", Kind::Table, false);
        check("p.parquet", b"PAR1....", Kind::Table, true);
        check("p.jsonl", b"x1,x2\n", Kind::Table, false);
        check("p.jsonl", b"{\"x\":1}\n", Kind::Table, true);
        check("r.html", b"<!doctype HTML>", Kind::Page, true);
        check("r.html", b"notes", Kind::Page, false);
        check("s.png", b"\x89PNG\r\n", Kind::Picture, true);
        check("s.png", b"GIF8", Kind::Picture, false);
        assert!(replaceable(&dir.path().join("absent"), Kind::Model).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_same_file() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "1").unwrap();
        fs::write(at("b"), "1").unwrap();
        std::os::unix::fs::symlink(at("a"), at("soft")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        for (other, same) in [("a", true), ("soft", true), ("hard", true), ("./a", true), ("b", false)] {
            assert_eq!(same_file(&at("a"), &at(other)), same, "{other}");
        }
        assert!(same_file(&at("new"), &dir.path().join("./new")) && !same_file(&at("new"), &at("newer")));
        assert!(!same_file(Path::new("/dev/null"), Path::new("/dev/null")), "nothing is lost in a device");
    }
}
