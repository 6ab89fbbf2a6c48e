//! Results and figures as files.

use std::{fs, path::Path};

use flowgmm_report::{Page, Plot};
use serde_json::Value;

use crate::{Error, Result};

pub(super) fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value).expect("plain data") + "\n";
    write(path, text.as_bytes())
}

pub(super) fn write_page(path: &Path, page: &Page) -> Result<()> {
    write(path, page.to_html().as_bytes())
}

pub(super) fn write_figure(path: &Path, figure: &impl Plot) -> Result<()> {
    write(path, figure.to_svg().as_bytes())
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::io(directory))?;
    }
    flowgmm_core::atomic_write(path, bytes).map_err(Error::io(path))
}
