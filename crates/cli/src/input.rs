//! Where rows and models come from: files of any format, or `-` for standard input.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use flowgmm::{Model, tensor::Place};
use flowgmm_data::{Encoded, Encoding, Frame};
use flowgmm_tables::{Header, InputFormat, Options, Reader};
use semisup::ndarray::ArrayView2;

use crate::{
    exit::{Failure, Result},
    progress::Display,
    texts::{Embedding, Texts},
};

/// Where the labels of a command's rows are.
#[derive(clap::Args)]
pub struct Truth {
    /// Of a table: the column that holds the label
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Of IDX images: the IDX file of their labels
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
}

/// How files of rows are read.
#[derive(clap::Args)]
pub struct Reading {
    /// Format of the files: csv, tsv, jsonl, parquet, arrow, npy or npz [default: what their first bytes or names say]
    #[arg(long, value_name = "FORMAT")]
    format: Option<InputFormat>,
    /// The file has no header; its columns are called c1, c2, ...
    #[arg(long)]
    no_header: bool,
    /// Text that means a missing cell, besides an empty one [default: NA, N/A, NaN, null, none, ? and -]
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    /// Of an NPZ file, read only the arrays whose names end so, as in x_train and y_train
    #[arg(long, value_name = "SUFFIX")]
    suffix: Option<String>,
    #[command(flatten)]
    pub embedding: Embedding,
}

impl Reading {
    /// Opens a file of rows; in `literal` columns only an empty cell is missing. Says what is odd about the file.
    pub fn open(&self, path: &Path, literal: &[&str]) -> Result<Reader> {
        let mut options = Options {
            format: self.format,
            header: if self.no_header { Header::Absent } else { Header::Present },
            literal: literal.iter().map(|name| name.to_string()).collect(),
            suffix: self.suffix.clone(),
            ..Options::default()
        };
        if !self.missing.is_empty() {
            options.missing = self.missing.clone();
        }
        let reader = flowgmm_tables::open(path, &options)?;
        for warning in reader.warnings() {
            warn(&warning.to_string());
        }
        Ok(reader)
    }

    /// What the names of an NPZ file's arrays end in.
    pub fn suffix(&self) -> Option<&str> {
        self.suffix.as_deref()
    }

    /// All rows of a file.
    pub fn all(&self, path: &Path, literal: &[&str]) -> Result<Frame> {
        Ok(self.open(path, literal)?.read_all()?)
    }
}

/// Something the user should know, on stderr.
pub fn warn(message: &str) {
    use std::io::Write as _;
    // Not `eprintln!`: a closed stderr must not become a failure.
    let _ = writeln!(std::io::stderr(), "warning: {message}");
}

/// A model from its file, on the device where it will compute.
pub fn model(path: &Path, place: &Place) -> Result<Model> {
    Ok(Model::load(path, place)?)
}

/// How a model's table becomes numbers.
pub struct Coder<'a> {
    encoding: &'a Encoding,
    texts: Option<Texts>,
    display: Display,
}

impl<'a> Coder<'a> {
    /// For a model from the file `path`.
    pub fn new(model: &'a Model, path: &Path, reading: &Reading) -> Result<Self> {
        let encoding = encoding(model, path)?;
        let texts = reading.embedding.again(model.texts(), path)?;
        Ok(Self { encoding, texts, display: Display::new(false) })
    }

    /// The rows as numbers.
    pub fn encode(&mut self, frame: &Frame) -> Result<Encoded> {
        match &self.texts {
            None => Ok(self.encoding.encode(frame)?),
            Some(texts) => Ok(self.encoding.encode(&texts.embed(frame, &mut self.display)?)?),
        }
    }

    /// Columns of the matrix.
    pub fn dim(&self) -> usize {
        self.encoding.dim()
    }
}

/// How a model's table becomes numbers, once its texts are embedded.
pub fn encoding<'a>(model: &'a Model, path: &Path) -> Result<&'a Encoding> {
    model.encoding().ok_or_else(|| {
        let path = path.display();
        Failure::Usage(format!(
            "{path} was fitted to a matrix by a program of its own: it cannot read tables"
        ))
    })
}

/// What had to be guessed while rows were read, for one message at the end.
#[derive(Default)]
pub struct Guesses {
    imputed: usize,
    unseen: Vec<(String, String, usize)>,
    positions: HashMap<(String, String), usize>, // in `unseen`
    uncounted: bool,
}

/// Different values that are counted, at most: a stream may never stop showing new ones.
const MOST_UNSEEN: usize = 1000;

impl Guesses {
    /// Remembers what was guessed in a batch.
    pub fn add(&mut self, encoded: &Encoded) {
        self.imputed += encoded.imputed;
        for unseen in &encoded.unseen {
            let key = (unseen.column.clone(), unseen.level.clone());
            match self.positions.get(&key) {
                Some(&at) => self.unseen[at].2 += unseen.count,
                None if self.unseen.len() == MOST_UNSEEN => self.uncounted = true,
                None => {
                    self.unseen.push((key.0.clone(), key.1.clone(), unseen.count));
                    self.positions.insert(key, self.unseen.len() - 1);
                }
            }
        }
    }

    /// Says it.
    pub fn warn(&self, name: &str) {
        if self.imputed > 0 {
            warn(&format!(
                "{name}: {} missing cells in columns that were complete in training were filled in",
                self.imputed
            ));
        }
        let shown: Vec<String> = (self.unseen.iter().take(5))
            .map(|(column, level, count)| format!("'{level}' in column '{column}' ({count} rows)"))
            .collect();
        if !shown.is_empty() {
            let more = match self.unseen.len().saturating_sub(5) {
                0 => String::new(),
                _ if self.uncounted => format!(" and more than {}", MOST_UNSEEN - 5),
                n => format!(" and {n} more"),
            };
            warn(&format!("{name}: values that training did not show: {}{more}", shown.join(", ")));
        }
    }
}

/// Scores of rows, refusing rows too extreme for single precision instead of inventing a class for them.
/// `frame` says where they come from.
pub fn score(model: &Model, x: ArrayView2<f64>, frame: &Frame) -> Result<flowgmm::Scores> {
    let scores = model.score(x);
    match scores.log_probs.rows().into_iter().position(|row| row.iter().any(|v| v.is_nan())) {
        None => Ok(scores),
        Some(row) => Err(Failure::Data(format!(
            "{}, line {}: its values are too far from the training data to be scored; look for a wrong unit or \
             a slipped digit, or remove the row",
            frame.name(),
            frame.line(row)
        ))),
    }
}

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
