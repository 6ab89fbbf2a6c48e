//! Columns of running text: each becomes the columns of its embedding, before anything else looks at the table.
//!
//! ```text
//! Frame with `body` ─sentence encoder, by content from the cache where it can─→ Frame with body_0 .. body_383 instead
//! ```

use std::{ops::ControlFlow, path::PathBuf};

use flowgmm_data::{Column, Frame};
use flowgmm_encoder::{Cache, Encoder, Options};
use serde::{Deserialize, Serialize};

use super::numbers;
use crate::{
    Error, Need, Result,
    observer::{Control, Observer, Phase},
};

/// A column of text that was embedded before the table was encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextColumn {
    /// The user's column; its embedding is in columns `<column>_0` and so on.
    pub column: String,
    /// Numbers of an embedding.
    pub dim: usize,
    /// Tokens of a text that are read.
    pub max_tokens: usize,
    /// What identifies the encoder: a digest of its files and settings.
    pub encoder: String,
}

/// Which sentence encoder embeds texts, and where embeddings are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextEncoder {
    /// Directory of an encoder of the BERT family: config.json, tokenizer.json, model.safetensors.
    pub directory: Option<PathBuf>,
    /// Tokens of a text that are read; as the encoder says, if absent.
    pub max_tokens: Option<usize>,
    /// Directory that keeps embeddings by content; none are kept if absent.
    pub cache: Option<PathBuf>,
}

/// An encoder that is loaded, and the columns it is for.
pub(crate) struct Embedder {
    encoder: Encoder,
    cache: Option<Cache>,
    columns: Vec<String>,
    warnings: Vec<String>,
}

impl Embedder {
    /// The encoder for these columns.
    pub(crate) fn open(settings: &TextEncoder, columns: &[String]) -> Result<Self> {
        let directory = settings.directory.as_deref().ok_or_else(|| {
            let message = format!(
                "column '{}' holds text: name the directory of a sentence encoder (such as all-MiniLM-L6-v2: \
                 config.json, tokenizer.json, model.safetensors)",
                columns[0]
            );
            Error::Needed { what: Need::TextEncoder, message }
        })?;
        let options = Options { max_length: settings.max_tokens, ..Options::default() };
        let encoder = Encoder::open(directory, options)?;
        let mut warnings = Vec::new();
        let cache = settings.cache.as_ref().and_then(|directory| match Cache::open(directory) {
            Ok(cache) => Some(cache),
            Err(error) => {
                warnings.push(format!("embeddings are not kept: {error}"));
                None
            }
        });
        Ok(Self { encoder, cache, columns: columns.to_vec(), warnings })
    }

    /// The encoder a model was fitted with, if it needs one.
    pub(crate) fn matching(settings: &TextEncoder, texts: &[TextColumn]) -> Result<Option<Self>> {
        let Some(first) = texts.first() else { return Ok(None) };
        let columns: Vec<String> = texts.iter().map(|text| text.column.clone()).collect();
        let settings = TextEncoder { max_tokens: Some(first.max_tokens), ..settings.clone() };
        let embedder = Self::open(&settings, &columns)?;
        match embedder.fingerprint() == first.encoder {
            true => Ok(Some(embedder)),
            false => Err(Error::Request(
                "the model was fitted with another sentence encoder than the one given: use that one".into(),
            )),
        }
    }

    /// What a model has to remember.
    pub(crate) fn remembered(&self) -> Vec<TextColumn> {
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

    /// The table with each text replaced by its embedding. A missing text counts as an empty one.
    pub(crate) fn embed(&mut self, frame: &Frame, observer: &mut dyn Observer) -> Result<Frame> {
        let known = frame.column_names();
        if let Some(name) = self.columns.iter().find(|name| !known.contains(name)) {
            return Err(Error::Content(format!(
                "{} has no column '{name}' of text; it has {}",
                frame.name(),
                known.join(", ")
            )));
        }
        let mut columns = Vec::new();
        for column in frame.columns() {
            if self.columns.contains(&column.name) {
                columns.extend(self.columns_of(column, frame.n(), observer)?);
            } else {
                columns.push(column.clone());
            }
        }
        Ok(Frame::new(frame.name(), columns, frame.lines().to_vec())?)
    }

    /// What was odd so far; each is told once.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn columns_of(&mut self, column: &Column, n: usize, observer: &mut dyn Observer) -> Result<Vec<Column>> {
        let texts: Vec<String> = (0..n)
            .map(|row| column.cells.text(row).map(|text| text.into_owned()).unwrap_or_default())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        observer.phase(&Phase::Embedding, Some(n));
        let mut progress = |done: usize, _total: usize| match observer.progress(done) {
            Control::Continue => ControlFlow::Continue(()),
            Control::Stop => ControlFlow::Break(()),
        };
        let values = match &self.cache {
            None => self.encoder.embed(&texts, &mut progress)?,
            Some(cache) => {
                let cached = self.encoder.embed_cached(&texts, cache, &mut progress)?;
                self.warnings.extend(cached.warnings.iter().map(|warning| warning.to_string()));
                cached.embeddings
            }
        };
        let dim = self.encoder.dim();
        let of = |j: usize| (0..n).map(|row| f64::from(values[row * dim + j])).collect();
        Ok((0..dim).map(|j| numbers(format!("{}_{j}", column.name), of(j))).collect())
    }
}
