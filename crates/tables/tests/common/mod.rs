//! What the tests share.
#![allow(dead_code)] // every test file uses its own part

use std::path::PathBuf;

use flowgmm_data::Frame;
use flowgmm_tables::{Options, Result, Source, open};

/// All rows of bytes that come through a pipe.
pub fn read(bytes: impl AsRef<[u8]>, options: &Options) -> Result<Frame> {
    open(stream(bytes), options)?.read_all()
}

pub fn stream(bytes: impl AsRef<[u8]>) -> Source {
    Source::stream("f", std::io::Cursor::new(bytes.as_ref().to_vec()))
}

/// All rows of a file beside these tests.
pub fn read_file(file: &str, options: &Options) -> Result<Frame> {
    open(path(file).as_path(), options)?.read_all()
}

pub fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)
}

/// The cells of a column as texts, `""` where missing.
#[track_caller]
pub fn column(frame: &Frame, name: &str) -> Vec<String> {
    let cells = frame.column(name).unwrap_or_else(|| panic!("no '{name}' in {:?}", frame.column_names()));
    (0..cells.len()).map(|row| cells.text(row).unwrap_or_default().into_owned()).collect()
}

#[track_caller]
pub fn assert_says(error: impl ToString, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "'{message}' should contain '{part}'");
    }
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}
