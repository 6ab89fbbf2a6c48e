//! A model directory: where its files are, and the settings in its sentence-transformers files.
//!
//! ```text
//! config.json  tokenizer.json  model.safetensors     needed; in the folder modules.json names, if it names one
//! modules.json                 [{type, path}, ..]    Transformer, Pooling, Normalize
//! 1_Pooling/config.json        which pooling
//! sentence_bert_config.json    max_seq_length, do_lower_case
//! ```

use crate::error::{Error, Result};
use crate::options::Pooling;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Component, Path, PathBuf};

/// A tokenizer of a million words has 50 MB.
const LARGEST_JSON: u64 = 1 << 30;

/// The files and settings of a directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub config: PathBuf,
    pub tokenizer: PathBuf,
    pub weights: PathBuf,
    pub pooling: Pooling,
    pub max_length: Option<usize>,
    pub letters: Letters,
}

/// What happens to a text before it is tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    AsIs,
    Lower,
}

impl Directory {
    /// `pooling`, if given, overrides what the files say.
    pub(crate) fn open(dir: &Path, pooling: Option<Pooling>) -> Result<Directory> {
        let modules = Modules::read(dir)?;
        let body = dir.join(&modules.transformer);
        let settings: SentenceBert = optional(&body.join("sentence_bert_config.json"))?.unwrap_or_default();
        Ok(Directory {
            config: needed(&body, "config.json")?,
            tokenizer: needed(&body, "tokenizer.json")?,
            weights: needed(&body, "model.safetensors")?,
            pooling: pooling.map_or_else(|| modules.pooling(dir), Ok)?,
            max_length: settings.max_seq_length,
            letters: if settings.do_lower_case { Letters::Lower } else { Letters::AsIs },
        })
    }
}

/// The bytes of a file of reasonable size.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_err(Error::io(path))?.len();
    if size > LARGEST_JSON {
        return Err(Error::damaged(
            path,
            format!("has {size} bytes, expected a JSON file of at most {LARGEST_JSON}"),
        ));
    }
    std::fs::read(path).map_err(Error::io(path))
}

fn needed(dir: &Path, file: &'static str) -> Result<PathBuf> {
    let path = dir.join(file);
    if path.is_file() {
        return Ok(path);
    }
    let mut there: Vec<String> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect(),
        Err(source) => return Err(Error::Io { path: dir.to_owned(), source }),
    };
    there.sort();
    let more = there.len().saturating_sub(12);
    there.truncate(12);
    let there = match (there.is_empty(), more) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => there.join(", "),
        (false, more) => format!("{}, and {more} more", there.join(", ")),
    };
    Err(Error::MissingFile { dir: dir.to_owned(), file, there })
}

fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.is_file() {
        return Ok(None);
    }
    let value = serde_json::from_slice(&read(path)?)
        .map_err(|e| Error::damaged(path, format!("cannot be read: {e}")))?;
    Ok(Some(value))
}

/// `modules.json`: folders of the parts.
struct Modules {
    transformer: PathBuf,
    pooling: Option<PathBuf>,
}

impl Modules {
    fn read(dir: &Path) -> Result<Modules> {
        #[derive(Deserialize)]
        struct Module {
            #[serde(rename = "type")]
            kind: String,
            path: String,
        }
        let file = dir.join("modules.json");
        let mut modules = Modules { transformer: PathBuf::new(), pooling: Some("1_Pooling".into()) };
        let Some(list) = optional::<Vec<Module>>(&file)? else { return Ok(modules) };
        modules.pooling = None;
        for Module { kind, path } in list {
            let path = PathBuf::from(path);
            if !path.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(Error::damaged(&file, format!("its path {path:?} leaves the directory")));
            }
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => modules.transformer = path,
                "Pooling" => modules.pooling = Some(path),
                "Normalize" => {} // `Options::scaling` decides
                _ => {
                    return Err(Error::Unsupported {
                        path: file,
                        what: format!("the module {kind}"),
                        supported: "Transformer, Pooling, Normalize",
                    });
                }
            }
        }
        Ok(modules)
    }

    fn pooling(&self, dir: &Path) -> Result<Pooling> {
        let Some(folder) = &self.pooling else { return Ok(Pooling::Mean) };
        let file = dir.join(folder).join("config.json");
        optional::<PoolingConfig>(&file)?.map_or(Ok(Pooling::Mean), |config| config.choose(&file))
    }
}

#[derive(Default, Deserialize)]
struct SentenceBert {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

/// `1_Pooling/config.json`: a flag for every mode, or the mode's name.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode: Option<String>,
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

impl PoolingConfig {
    fn choose(self, file: &Path) -> Result<Pooling> {
        let flags = [
            ("cls", self.pooling_mode_cls_token),
            ("mean", self.pooling_mode_mean_tokens),
            ("max", self.pooling_mode_max_tokens),
            ("mean_sqrt_len", self.pooling_mode_mean_sqrt_len_tokens),
            ("weightedmean", self.pooling_mode_weightedmean_tokens),
            ("lasttoken", self.pooling_mode_lasttoken),
        ];
        let named =
            flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect::<Vec<_>>().join(" + ");
        match self.pooling_mode.as_deref().unwrap_or(&named) {
            "mean" | "" => Ok(Pooling::Mean),
            "cls" => Ok(Pooling::Cls),
            other => Err(Error::Unsupported {
                path: file.to_owned(),
                what: format!("pooling {other:?}"),
                supported: "mean, cls (Options::pooling chooses one)",
            }),
        }
    }
}
