//! Columns of running text: each becomes the columns of its embedding, before anything else looks at the table.
//!
//! ```text
//! Frame with `body` ─Encoder, by content from the cache where it can─→ Frame with body_0 .. body_383 instead
//! ```

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use flowgmm::TextColumn;
use flowgmm_data::{Cells, Column, Frame};
use flowgmm_encoder::{Cache, Encoder, Error, Options};

use crate::{
    exit::{Failure, Result},
    input::warn,
    interrupt,
    progress::Display,
};

/// How texts are embedded.
#[derive(clap::Args)]
pub struct Embedding {
    /// Directory of a sentence encoder of the BERT family: config.json, tokenizer.json, model.safetensors
    #[arg(long, value_name = "DIR", env = "FLOWGMM_ENCODER")]
    encoder: Option<PathBuf>,
    /// Tokens of a text that are read [default: as the encoder says]
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Directory that keeps embeddings, by content [default: flowgmm in the user's cache directory]
    #[arg(long, value_name = "DIR", env = "FLOWGMM_TEXT_CACHE")]
    text_cache: Option<PathBuf>,
}

/// An encoder for some columns.
pub struct Texts {
    encoder: Encoder,
    cache: Option<Cache>,
    columns: Vec<String>,
}

impl Embedding {
    /// The encoder for these columns.
    pub fn open(&self, columns: &[String]) -> Result<Texts> {
        let directory = self.encoder.as_deref().ok_or_else(|| {
            Failure::Usage(format!(
                "column '{}' holds text: name the directory of a sentence encoder with --encoder (such as \
                 all-MiniLM-L6-v2: config.json, tokenizer.json, model.safetensors)",
                columns[0]
            ))
        })?;
        let options = Options { max_length: self.max_tokens, ..Options::default() };
        let encoder = Encoder::open(directory, options).map_err(refused)?;
        let directory = self.text_cache.clone().or_else(user_cache);
        let cache = directory.and_then(|directory| match Cache::open(&directory) {
            Ok(cache) => Some(cache),
            Err(error) => {
                warn(&format!("embeddings are not kept: {error}"));
                None
            }
        });
        Ok(Texts { encoder, cache, columns: columns.to_vec() })
    }

    /// The encoder a model was fitted with, if it needs one.
    pub fn again(&self, wanted: &[TextColumn], model: &Path) -> Result<Option<Texts>> {
        let Some(first) = wanted.first() else { return Ok(None) };
        let columns: Vec<String> = wanted.iter().map(|text| text.column.clone()).collect();
        let tokens = Self { max_tokens: Some(first.max_tokens), ..self.clone_paths() };
        let texts = tokens.open(&columns)?;
        match texts.fingerprint() == first.encoder {
            true => Ok(Some(texts)),
            false => Err(Failure::Usage(format!(
                "{} was fitted with another encoder than the one of --encoder: use that one",
                model.display()
            ))),
        }
    }

    fn clone_paths(&self) -> Self {
        Self { encoder: self.encoder.clone(), max_tokens: None, text_cache: self.text_cache.clone() }
    }
}

impl Texts {
    /// What a model has to remember.
    pub fn remembered(&self) -> Vec<TextColumn> {
        let encoder = self.fingerprint();
        let text = |column: &String| TextColumn {
            column: column.clone(),
            dim: self.encoder.dim(),
            max_tokens: self.encoder.max_length(),
            encoder: encoder.clone(),
        };
        self.columns.iter().map(text).collect()
    }

    fn fingerprint(&self) -> String {
        self.encoder.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The table with each text replaced by its embedding. A missing text is an empty one.
    pub fn embed(&self, frame: &Frame, display: &mut Display) -> Result<Frame> {
        let known = frame.column_names();
        let absent: Vec<String> = self.columns.iter().filter(|name| !known.contains(name)).cloned().collect();
        if let Some(name) = absent.first() {
            let columns = known.join(", ");
            return Err(Failure::Data(format!(
                "{} has no column '{name}' of text; it has {columns}",
                frame.name()
            )));
        }
        let mut columns = Vec::new();
        for column in frame.columns() {
            if self.columns.contains(&column.name) {
                columns.extend(self.columns_of(column, frame.n(), display)?);
            } else {
                columns.push(column.clone());
            }
        }
        Ok(Frame::new(frame.name(), columns, frame.lines().to_vec())?)
    }

    fn columns_of(&self, column: &Column, n: usize, display: &mut Display) -> Result<Vec<Column>> {
        let texts: Vec<String> = (0..n)
            .map(|row| column.cells.text(row).map(|text| text.into_owned()).unwrap_or_default())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut progress = |done: usize, total: usize| {
            display.count("embedding", done, total);
            if interrupt::wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let values = match &self.cache {
            None => self.encoder.embed(&texts, &mut progress).map_err(refused)?,
            Some(cache) => {
                let cached = self.encoder.embed_cached(&texts, cache, &mut progress).map_err(refused)?;
                cached.warnings.iter().for_each(|warning| warn(&warning.to_string()));
                cached.embeddings
            }
        };
        let dim = self.encoder.dim();
        let dimension = |j: usize| Column {
            name: format!("{}_{j}", column.name),
            cells: Cells::Numbers((0..n).map(|row| f64::from(values[row * dim + j])).collect()),
        };
        Ok((0..dim).map(dimension).collect())
    }
}

/// The encoder's errors in this program's words.
fn refused(error: Error) -> Failure {
    match error {
        Error::Stopped { done, total } => Failure::Interrupted(format!(
            "interrupted after embedding {done} of {total} texts; what was computed is kept in the cache"
        )),
        other => Failure::Usage(other.to_string()),
    }
}

fn user_cache() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    Some(cache.join("flowgmm"))
}
