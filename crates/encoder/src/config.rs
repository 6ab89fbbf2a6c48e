//! `config.json`: the family and the sizes of a network, checked.
//!
//! ```text
//!                bert            roberta, xlm-roberta, camembert    distilbert
//! positions      0, 1, ..        pad + 1, pad + 2, ..               0, 1, ..
//! token types    yes (type 0)    yes (type 0)                       no
//! ```

use crate::error::{Error, Result};
use crate::pointwise::Activation;
use serde::Deserialize;
use std::path::Path;

const FAMILIES: &str = "model_type bert, distilbert, roberta, xlm-roberta, camembert";

/// Which names the weights have, and how positions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Bert,
    Roberta { pad: u32 },
    DistilBert,
}

/// A network's sizes. They divide as they should and are not zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub family: Family,
    pub vocab: usize,
    pub dim: usize,
    pub heads: usize,
    pub layers: usize,
    /// Width between the two feed-forward layers.
    pub inner: usize,
    /// Rows of the position embedding.
    pub positions: usize,
    /// Rows of the token type embedding.
    pub types: usize,
    pub eps: f32,
    pub activation: Activation,
}

impl Config {
    /// `json`, read from `path`.
    pub(crate) fn parse(path: &Path, json: &[u8]) -> Result<Config> {
        let raw: Raw = serde_json::from_slice(json)
            .map_err(|e| Error::damaged(path, format!("is not the configuration of an encoder: {e}")))?;
        let unsupported =
            |what: String, supported| Err(Error::Unsupported { path: path.to_owned(), what, supported });

        let family = match raw.model_type.as_str() {
            "bert" => Family::Bert,
            "roberta" | "xlm-roberta" | "camembert" => Family::Roberta { pad: raw.pad_token_id.unwrap_or(1) },
            "distilbert" => Family::DistilBert,
            other => return unsupported(format!("model_type {other:?}"), FAMILIES),
        };
        let activation = match raw.hidden_act.as_deref().unwrap_or("gelu") {
            "gelu" | "gelu_python" => Activation::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => return unsupported(format!("activation {other:?}"), "gelu, gelu_new, relu"),
        };
        match raw.position_embedding_type.as_deref() {
            None | Some("absolute") => {}
            Some(other) => return unsupported(format!("position_embedding_type {other:?}"), "absolute"),
        }
        let config = Config {
            family,
            vocab: raw.vocab_size,
            dim: raw.hidden_size,
            heads: raw.num_attention_heads,
            layers: raw.num_hidden_layers,
            inner: raw.intermediate_size,
            positions: raw.max_position_embeddings,
            types: if family == Family::DistilBert { 0 } else { raw.type_vocab_size.unwrap_or(2) },
            eps: raw.layer_norm_eps.unwrap_or(1e-12),
            activation,
        };
        config.check().map_err(|what| Error::damaged(path, what))?;
        Ok(config)
    }

    /// Tokens a text can have: positions, without those that no token gets.
    pub(crate) fn longest(&self) -> usize {
        match self.family {
            Family::Roberta { pad } => self.positions.saturating_sub(pad as usize + 1),
            Family::Bert | Family::DistilBert => self.positions,
        }
    }

    fn check(&self) -> std::result::Result<(), String> {
        let sizes = [
            ("vocab_size", self.vocab),
            ("hidden_size", self.dim),
            ("num_attention_heads", self.heads),
            ("intermediate_size", self.inner),
            ("the number of usable positions", self.longest()),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(format!("{name} is 0, expected at least 1"));
        }
        // Far above any encoder; keeps every product of two sizes inside 64 bits.
        if let Some((name, size)) = sizes.iter().find(|(_, size)| *size > 1 << 28) {
            return Err(format!("{name} is {size}, expected at most {}", 1 << 28));
        }
        if !self.dim.is_multiple_of(self.heads) {
            return Err(format!("hidden_size {} is not a multiple of {} heads", self.dim, self.heads));
        }
        if !(self.eps >= 0.0 && self.eps.is_finite()) {
            return Err(format!("layer_norm_eps is {}, expected a small positive number", self.eps));
        }
        Ok(())
    }
}

/// The keys of `config.json`; distilbert has its own words for some.
#[derive(Deserialize)]
struct Raw {
    model_type: String,
    vocab_size: usize,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f32>,
    #[serde(alias = "activation")]
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
    pad_token_id: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: serde_json::Value) -> Result<Config> {
        Config::parse(Path::new("config.json"), json.to_string().as_bytes())
    }

    fn bert() -> serde_json::Value {
        serde_json::json!({
            "model_type": "bert", "vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2,
            "num_hidden_layers": 2, "intermediate_size": 32, "max_position_embeddings": 20
        })
    }

    #[test]
    fn roberta_loses_positions_to_padding() {
        let mut json = bert();
        assert_eq!(parse(json.clone()).unwrap().longest(), 20);
        json["model_type"] = "xlm-roberta".into();
        assert_eq!(parse(json).unwrap().longest(), 18);
    }

    #[test]
    fn impossible_sizes_and_unknown_kinds_are_errors() {
        let cases: [(&str, serde_json::Value, &str); 8] = [
            ("model_type", "mpnet".into(), "supported: model_type bert, distilbert, roberta"),
            ("hidden_act", "swish".into(), "\"swish\" is not supported"),
            ("position_embedding_type", "relative_key".into(), "relative_key"),
            ("hidden_size", 15.into(), "not a multiple of 2 heads"),
            ("num_attention_heads", 0.into(), "num_attention_heads is 0"),
            ("vocab_size", 1_000_000_000_000u64.into(), "expected at most"),
            ("vocab_size", "many".into(), "is not the configuration"),
            ("layer_norm_eps", (-1.0).into(), "layer_norm_eps"),
        ];
        for (key, value, message) in cases {
            let mut json = bert();
            json[key] = value;
            let error = parse(json).unwrap_err().to_string();
            assert!(error.contains(message), "{key}: {error}");
        }
    }
}
