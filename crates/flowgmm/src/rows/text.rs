//! Columns of running text: each becomes the columns of its embedding, before anything else looks at the table.
//!
//! ```text
//! Frame with `body` ─sentence encoder, by content from the cache where it can─→ Frame with body_0 .. body_383 instead
//! ```

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

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
    /// Where the encoder was when the model was fitted; not known of models of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
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
    directory: PathBuf,
    cache: Option<Cache>,
    columns: Vec<String>,
    warnings: Vec<String>,
}

impl Embedder {
    /// The encoder for these columns.
    pub(crate) fn open(settings: &TextEncoder, columns: &[String]) -> Result<Self> {
        let directory = settings.directory.as_deref().ok_or_else(|| needed(&columns[0], ""))?;
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
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf());
        Ok(Self { encoder, directory, cache, columns: columns.to_vec(), warnings })
    }

    /// The encoder a model was fitted with, if it needs one: the one given, or else the one where it was then.
    pub(crate) fn matching(settings: &TextEncoder, texts: &[TextColumn]) -> Result<Option<Self>> {
        let Some(first) = texts.first() else { return Ok(None) };
        let columns: Vec<String> = texts.iter().map(|text| text.column.clone()).collect();
        let settings = TextEncoder { max_tokens: Some(first.max_tokens), ..settings.clone() };
        let (None, Some(remembered)) = (&settings.directory, &first.directory) else {
            let embedder = Self::open(&settings, &columns)?;
            return if embedder.fingerprint() == first.encoder {
                Ok(Some(embedder))
            } else {
                Err(first.differs(&embedder))
            };
        };
        let looked = |what: &str| {
            needed(&first.column, &format!("the model was fitted with the one in {remembered}, {what}"))
        };
        if !Path::new(remembered).is_dir() {
            return Err(looked("which is not there any more"));
        }
        let there = TextEncoder { directory: Some(remembered.into()), ..settings };
        match Self::open(&there, &columns) {
            Ok(embedder) if embedder.fingerprint() == first.encoder => Ok(Some(embedder)),
            Ok(_) => Err(looked("where there is another one now")),
            Err(error) => Err(looked(&format!("which cannot be used: {error}"))),
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
            directory: self.directory.to_str().map(String::from),
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

impl TextColumn {
    /// What to say of an encoder that was given and is not the model's.
    fn differs(&self, given: &Embedder) -> Error {
        let own = self.directory.as_ref().map(|own| format!(", namely the one in {own}")).unwrap_or_default();
        Error::Request(format!(
            "the model was fitted with another sentence encoder than the one in {}{own}: their files or settings differ. Use \
             the model's own encoder, or fit again with this one",
            given.directory.display()
        ))
    }
}

/// What to say where a column of text has no encoder; `why` says why the known one is none.
fn needed(column: &str, why: &str) -> Error {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let message = format!(
        "column '{column}' holds text: name the directory of a sentence encoder{why}. Such as all-MiniLM-L6-v2, downloaded \
         from its publisher: config.json, tokenizer.json, model.safetensors"
    );
    Error::Needed { what: Need::TextEncoder, message }
}
