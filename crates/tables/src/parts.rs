//! A table in several files: those of a folder, or those that a pattern names.
//!
//! The files are read one after the other, in the order of their names, and must have the same columns.

use std::{
    fs, io,
    path::{Path, PathBuf},
    vec,
};

use flowgmm_data::{Column, Frame};

use crate::{Error, Options, Reader, Result, open};

/// Endings of the files of a folder that belong to its table, before `.gz`.
const ENDINGS: [&str; 12] =
    ["csv", "tsv", "tab", "txt", "parquet", "pq", "arrow", "feather", "ipc", "jsonl", "ndjson", "npy"];

/// The files of a table that is in several: of a folder without sub-folders in which all files look like tables, or of a
/// pattern such as `data/part-*.parquet` that is no file's name. Files whose names begin with `.` or `_` are left out, as
/// Spark and others put their notes there. `None` if the path is a table of its own, or something else.
///
/// ```
/// use std::path::Path;
/// assert_eq!(flowgmm_tables::parts(Path::new("no-such-file.csv"))?, None);
/// # Ok::<(), flowgmm_tables::Error>(())
/// ```
pub fn parts(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    if path.is_dir() { of_folder(path) } else { of_pattern(path) }
}

/// What is wrong with a folder whose files are no [`parts`] of a table.
pub(crate) fn no_table(folder: &Path) -> Error {
    let other = shown_in(folder).map(|files| files.into_iter().find(|path| !is_part(path)));
    let why = match other {
        Ok(Some(path)) => format!("'{}' is in it", path.file_name().unwrap_or_default().to_string_lossy()),
        Ok(None) => "it holds no files".into(),
        Err(error) => return error,
    };
    Error::Folder { name: folder.display().to_string(), why }
}

fn of_folder(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let files = shown_in(folder)?;
    let is_table = !files.is_empty() && files.iter().all(|path| is_part(path));
    Ok(is_table.then_some(files))
}

/// What a folder holds, in the order of names, without hidden files.
fn shown_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::Io { name: folder.display().to_string(), source };
    let entries = fs::read_dir(folder).map_err(fail)?.collect::<io::Result<Vec<_>>>().map_err(fail)?;
    let mut files: Vec<PathBuf> =
        entries.iter().map(|entry| entry.path()).filter(|path| is_shown(path)).collect();
    files.sort();
    Ok(files)
}

fn is_part(path: &Path) -> bool {
    path.is_file() && looks_like_a_table(path)
}

fn of_pattern(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    let text = path.to_string_lossy();
    if !text.contains(['*', '?', '[']) || path.exists() {
        return Ok(None);
    }
    let name = || path.display().to_string();
    let found = glob::glob(&text).map_err(|error| Error::Pattern { name: name(), why: error.msg.into() })?;
    let mut files: Vec<PathBuf> = found.filter_map(|path| path.ok()).filter(|path| is_shown(path)).collect();
    files.retain(|path| path.is_file());
    files.sort();
    match files.is_empty() {
        true => Err(Error::Pattern { name: name(), why: "there is no such file".into() }),
        false => Ok(Some(files)),
    }
}

fn is_shown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with(['.', '_'])
}

fn looks_like_a_table(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    Path::new(name).extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Opens the first file now, so that a wrong format or column is told before any row is read, and the others when their
/// turn comes.
pub(crate) fn open_parts(path: &Path, files: Vec<PathBuf>, options: &Options) -> Result<Reader> {
    let mut files = files.into_iter();
    let Some(first) = files.next() else {
        return Err(Error::NoRows { name: path.display().to_string() });
    };
    let current = open(first.as_path(), options)?;
    let (format, warnings) = (current.format(), current.warnings().to_vec());
    let parts = Parts { current, first: None, files, options: options.clone() };
    let name = path.display().to_string();
    Ok(Reader::new(&name, format, options.header, warnings, Box::new(parts)))
}

struct Parts {
    current: Reader,
    /// The name of the first file, and its columns in their order.
    first: Option<(String, Vec<String>)>,
    files: vec::IntoIter<PathBuf>,
    options: Options,
}

impl Iterator for Parts {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.current.next() {
                Some(batch) => return Some(batch.and_then(|batch| self.in_order(batch))),
                None => match open(self.files.next()?.as_path(), &self.options) {
                    Ok(next) => self.current = next,
                    Err(error) => return Some(Err(error)),
                },
            }
        }
    }
}

impl Parts {
    /// The batch with its columns in the order of the first file's.
    fn in_order(&mut self, batch: Frame) -> Result<Frame> {
        let names = batch.column_names();
        let (first, wanted) = self.first.get_or_insert_with(|| (batch.name().to_string(), names.clone()));
        if *wanted == names {
            return Ok(batch);
        }
        let unlike = |column: &String, has: &str, lacks: &str| Error::UnlikeParts {
            column: column.clone(),
            has: has.into(),
            lacks: lacks.into(),
        };
        if let Some(column) = wanted.iter().find(|column| !names.contains(column)) {
            return Err(unlike(column, first, batch.name()));
        }
        if let Some(column) = names.iter().find(|column| !wanted.contains(column)) {
            return Err(unlike(column, batch.name(), first));
        }
        let cells =
            |name: &String| batch.column(name).cloned().map(|cells| Column { name: name.clone(), cells });
        let columns = wanted.iter().filter_map(cells).collect();
        Ok(Frame::new(batch.name(), columns, batch.lines().to_vec())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn rows(path: &Path) -> Result<Vec<Vec<Option<f64>>>> {
        let frame = open(path, &Options::default())?.read_all()?;
        let value = |row, column: &Column| column.cells.number(row).unwrap();
        Ok((0..frame.n()).map(|row| frame.columns().iter().map(|c| value(row, c)).collect()).collect())
    }

    #[test]
    fn a_folder_and_a_pattern_are_one_table_in_the_order_of_names() {
        let folder = folder(&[
            ("b.csv", "y,x\n4,3\n"), // another order of columns
            ("a.csv", "x,y\n1,2\n"),
            ("c.jsonl", "{\"x\": 5, \"y\": 6}\n"),
            ("_SUCCESS", ""),
            (".a.csv.crc", "?"),
        ]);
        let want = vec![vec![Some(1.), Some(2.)], vec![Some(3.), Some(4.)], vec![Some(5.), Some(6.)]];
        assert_eq!(rows(folder.path()).unwrap(), want);
        assert_eq!(rows(&folder.path().join("*.csv")).unwrap(), want[..2]);
        assert_eq!(
            rows(&folder.path().join("[bc].*")).unwrap(),
            vec![vec![Some(4.), Some(3.)], vec![Some(6.), Some(5.)]]
        );
    }

    #[test]
    fn a_column_that_one_file_lacks_is_named_with_both_files() {
        for (second, lacks) in [("x\n1\n", "b.csv"), ("x,y,z\n1,2,3\n", "a.csv")] {
            let folder = folder(&[("a.csv", "x,y\n1,2\n"), ("b.csv", second)]);
            let error = rows(folder.path()).unwrap_err().to_string();
            let column = if lacks == "b.csv" { "'y'" } else { "'z'" };
            assert!(error.contains(column) && error.contains("a.csv") && error.contains("b.csv"), "{error}");
            assert!(error.find(lacks) > error.find(column), "{error}");
        }
    }

    #[test]
    fn other_folders_are_no_tables_and_a_pattern_without_files_is_an_error() {
        assert_eq!(parts(folder(&[("a.csv", "x\n1\n"), ("b.png", "")]).path()).unwrap(), None);
        let empty = folder(&[]);
        assert_eq!(parts(empty.path()).unwrap(), None);
        let error = rows(empty.path()).unwrap_err().to_string();
        assert!(error.contains("holds no files"), "{error}");
        let error = rows(folder(&[("a.csv", "x\n1\n"), ("b.png", "")]).path()).unwrap_err().to_string();
        assert!(error.contains("'b.png'") && error.contains("*.csv"), "{error}");
        let error = parts(&empty.path().join("*.parquet")).unwrap_err().to_string();
        assert!(error.contains("*.parquet") && error.contains("no such file"), "{error}");
    }
}
