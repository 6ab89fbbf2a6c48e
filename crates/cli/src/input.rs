//! Where rows and models come from: files, or `-` for standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use flowgmm::{Model, tensor::Place};
use semisup::Table;

use crate::exit::{Failure, Result};

/// A CSV file in memory.
pub fn table(path: &Path) -> Result<Table> {
    if is_standard(path) {
        return Ok(semisup::read_table(io::stdin().lock(), "standard input")?);
    }
    Ok(semisup::read_table_path(path)?)
}

/// An open file and what messages call it.
pub fn open(path: &Path) -> Result<(Box<dyn Read>, String)> {
    if is_standard(path) {
        return Ok((Box::new(io::stdin().lock()), "standard input".into()));
    }
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => Ok((Box::new(file), name)),
        Err(source) => Err(semisup::Error::Io { name, source }.into()),
    }
}

/// A model from its file, on the device where it will compute.
pub fn model(path: &Path, place: &Place) -> Result<Model> {
    Ok(Model::load(path, place)?)
}

/// Scores of rows, refusing rows too extreme for single precision instead of inventing a class for them.
/// `first` is the number of rows before these.
pub fn score(
    model: &Model,
    x: semisup::ndarray::ArrayView2<f64>,
    name: &str,
    first: usize,
) -> Result<flowgmm::Scores> {
    let scores = model.score(x);
    match scores.log_probs.rows().into_iter().position(|row| row.iter().any(|v| v.is_nan())) {
        None => Ok(scores),
        Some(row) => Err(Failure::Data(format!(
            "{name}, row {}: its values are too far from the training data to be scored; look for a wrong unit or \
             a slipped digit, or remove the row",
            first + row + 1
        ))),
    }
}

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
