//! Everything that can go wrong, in words a user can act on.

use std::path::{Path, PathBuf};

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a model could not be read, or texts not embedded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is not a model directory.
    #[error(
        "{dir} has no {file} (there: {there}); download a sentence-transformers model directory, one that holds \
         config.json, tokenizer.json and model.safetensors, such as all-MiniLM-L6-v2, and name it here",
        dir = dir.display()
    )]
    MissingFile {
        /// The directory.
        dir: PathBuf,
        /// What it lacks.
        file: &'static str,
        /// What it holds.
        there: String,
    },
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// A file that contradicts itself, the other files, or its format.
    #[error("{path}: {what}; download the model again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found, and what was expected.
        what: String,
    },
    /// A sound model of a kind this crate does not compute.
    #[error("{path}: {what} is not supported; supported: {supported}", path = path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What it asks for.
        what: String,
        /// What would work.
        supported: &'static str,
    },
    /// An explicit maximum length that this model does not allow.
    #[error("max length {got} is not possible with this model: choose {least} to {most} tokens")]
    MaxLength {
        /// The length asked for.
        got: usize,
        /// Special tokens and one of the text's.
        least: usize,
        /// Positions the model knows.
        most: usize,
    },
    /// The tokenizer failed on a text.
    #[error("text {text}: the tokenizer failed: {what}")]
    Tokenize {
        /// Its index in the call.
        text: usize,
        /// Why.
        what: String,
    },
    /// The tokenizer knows more words than the model.
    #[error(
        "text {text}: token {token} is outside the model's vocabulary of {vocab}; tokenizer.json belongs to another \
         model, download both from one place"
    )]
    Vocabulary {
        /// Its index in the call.
        text: usize,
        /// The token's number.
        token: u32,
        /// Rows of the model's word embedding.
        vocab: usize,
    },
    /// An embedding overflowed.
    #[error(
        "text {text}: its embedding is not finite; the model's weights are broken, download the model again"
    )]
    NotFinite {
        /// Its index in the call.
        text: usize,
    },
    /// The progress callback asked to stop.
    #[error("stopped after {done} of {total} texts")]
    Stopped {
        /// Texts embedded until then.
        done: usize,
        /// Texts to embed.
        total: usize,
    },
}

impl Error {
    pub(crate) fn damaged(path: &Path, what: impl ToString) -> Error {
        Error::Damaged { path: path.to_owned(), what: what.to_string() }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), source }
    }
}
