//! Texts to token numbers, as sentence-transformers does it: trimmed, perhaps lower-cased, tokenized with special
//! tokens, cut to the maximum length, never padded.

use crate::config::{Config, Family};
use crate::directory::Letters;
use crate::error::{Error, Result};
use std::path::Path;
use tokenizers::{Tokenizer, TruncationParams};

/// Tokens read by a model that says nothing about it.
const DEFAULT_LENGTH: usize = 256;

/// A tokenizer set up for one model.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    letters: Letters,
    vocab: usize,
    family: Family,
    max_length: usize,
}

/// What decides the maximum length: the caller, who is told if it is impossible, or the model's files.
pub(crate) struct Lengths {
    pub asked: Option<usize>,
    pub suggested: Option<usize>,
}

impl Tokens {
    /// `json`, read from `path`.
    pub(crate) fn new(
        path: &Path,
        json: &[u8],
        config: &Config,
        letters: Letters,
        lengths: Lengths,
    ) -> Result<Tokens> {
        let broken = |e: tokenizers::Error| Error::damaged(path, format!("is not a tokenizer: {e}"));
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(broken)?;
        let special = tokenizer
            .get_post_processor()
            .map_or(0, |post| tokenizers::PostProcessor::added_tokens(post, false));
        let (least, most) = (special + 1, config.longest());
        let max_length =
            lengths.asked.unwrap_or_else(|| lengths.suggested.unwrap_or(DEFAULT_LENGTH).min(most));
        if max_length < least || max_length > most {
            return Err(Error::MaxLength { got: max_length, least, most });
        }
        let cut = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_padding(None).with_truncation(Some(cut)).map_err(broken)?;
        Ok(Tokens { tokenizer, letters, vocab: config.vocab, family: config.family, max_length })
    }

    pub(crate) fn max_length(&self) -> usize {
        self.max_length
    }

    /// The token numbers of `text`, the `at`-th of a call; all inside the vocabulary.
    pub(crate) fn encode(&self, at: usize, text: &str) -> Result<Vec<u32>> {
        let text = text.trim();
        let encoding = match self.letters {
            Letters::AsIs => self.tokenizer.encode_fast(text, true),
            Letters::Lower => self.tokenizer.encode_fast(text.to_lowercase(), true),
        };
        let encoding = encoding.map_err(|e| Error::Tokenize { text: at, what: e.to_string() })?;
        let ids = encoding.get_ids().to_vec();
        match ids.iter().find(|&&id| id as usize >= self.vocab) {
            Some(&token) => Err(Error::Vocabulary { text: at, token, vocab: self.vocab }),
            None => Ok(ids),
        }
    }

    /// The position of every token. Roberta counts from `pad + 1`, and a padding token written out in the text has the
    /// position `pad`.
    pub(crate) fn positions(&self, ids: &[u32], to: &mut Vec<u32>) {
        match self.family {
            Family::Bert | Family::DistilBert => to.extend(0..ids.len() as u32),
            Family::Roberta { pad } => {
                let mut last = pad;
                to.extend(ids.iter().map(|&id| {
                    last += u32::from(id != pad);
                    if id == pad { pad } else { last }
                }));
            }
        }
    }
}
