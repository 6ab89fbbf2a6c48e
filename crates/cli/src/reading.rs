//! Flags that say where rows are and how they are read.

use std::path::{Path, PathBuf};

use flowgmm::{
    Reading, Source, TextEncoder,
    tables::{Header, InputFormat},
};

/// Where the labels of a command's rows are.
#[derive(clap::Args)]
#[command(next_help_heading = "Rows")]
pub struct Truth {
    /// Column that holds the label [default: as in training]
    #[arg(short, long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Of IDX images: the IDX file of their labels
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
}

impl Truth {
    /// The source with its labels.
    pub fn of(&self, source: Source) -> Source {
        match (&self.label, &self.labels) {
            (Some(column), _) => source.label_column(column),
            (None, Some(file)) => source.label_file(file),
            (None, None) => source,
        }
    }
}

/// How files of rows are read.
#[derive(clap::Args)]
#[command(next_help_heading = "Rows")]
pub struct ReadingArgs {
    /// csv, tsv, jsonl, parquet, arrow, npy or npz [default: what the file looks like]
    #[arg(long, value_name = "FORMAT", hide_short_help = true)]
    format: Option<InputFormat>,
    /// No header; columns are called c1, c2, ...
    #[arg(long)]
    no_header: bool,
    /// Text of a missing cell [default: NA, N/A, NaN, null, none, ?, -]
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    /// Of an NPZ file, read only the arrays whose names end so, as in x_train and y_train
    #[arg(long, value_name = "SUFFIX", hide_short_help = true)]
    suffix: Option<String>,
    /// Sentence encoder of the BERT family, for columns of text
    #[arg(long, value_name = "DIR", env = "FLOWGMM_ENCODER", hide_env = true)]
    encoder: Option<PathBuf>,
    /// Tokens of a text that are read [default: as the encoder says]
    #[arg(long, value_name = "N", hide_short_help = true)]
    max_tokens: Option<usize>,
    /// Directory that keeps embeddings, by content [default: flowgmm in the user's cache directory]
    #[arg(
        long,
        value_name = "DIR",
        env = "FLOWGMM_TEXT_CACHE",
        hide_short_help = true,
        hide_long_help = true
    )]
    text_cache: Option<PathBuf>,
}

impl ReadingArgs {
    /// The directory of the sentence encoder.
    pub fn encoder(&self) -> Option<&Path> {
        self.encoder.as_deref()
    }

    /// The rows at a path, read as the flags say.
    pub fn source(&self, path: &Path) -> Source {
        Source::path(path).reading(Reading {
            format: self.format,
            header: if self.no_header { Header::Absent } else { Header::Present },
            missing: self.missing.clone(),
            suffix: self.suffix.clone(),
            text: TextEncoder {
                directory: self.encoder.clone(),
                max_tokens: self.max_tokens,
                cache: self.text_cache.clone().or_else(user_cache),
            },
        })
    }
}

fn user_cache() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    Some(cache.join("flowgmm"))
}

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
