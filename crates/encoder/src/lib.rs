//! Sentence embeddings by BERT-family encoders, on the CPU, from a local model directory.
//!
//! ```text
//! texts ─Tokens→ token numbers ─pack→ ragged batches ─Network::forward→ h [tokens, dim] ─pool→ e [n, dim]
//! ```
//!
//! Supported: bert, distilbert, roberta, xlm-roberta and camembert with weights in one `model.safetensors` (f32, f16 or
//! bf16), pooled by mean or first token. Everything is computed in f32.
//!
//! An embedding is a function of the model and the text alone: it has the same bits whichever texts it is computed with
//! and on any number of threads. So a cached embedding equals a computed one.
//!
//! | module      | holds                                                        |
//! |-------------|--------------------------------------------------------------|
//! | `encoder`   | [`Encoder`]: a model opened, texts embedded                  |
//! | `cached`    | embedding with a cache                                       |
//! | `cache`     | the cache's files                                            |
//! | `options`   | pooling, maximum length, progress                            |
//! | `directory` | a model directory and its sentence-transformers files        |
//! | `config`    | `config.json`: families and sizes                            |
//! | `weights`   | `model.safetensors`, checked                                 |
//! | `load`      | names and shapes of every family's tensors                   |
//! | `tokens`    | texts to token numbers and positions                         |
//! | `distinct`  | each text once                                               |
//! | `batch`     | which texts are computed together                            |
//! | `network`   | the transformer on a ragged batch                            |
//! | `attention` | self-attention of one text                                   |
//! | `pool`      | token vectors to text vectors                                |
//! | `product`   | matrix products with packed weights                          |
//! | `pointwise` | layer normalisation, softmax, activations                    |
//!
//! ```no_run
//! use flowgmm_encoder::{Encoder, Options};
//! use std::{ops::ControlFlow, path::Path};
//! let encoder = Encoder::open(Path::new("all-MiniLM-L6-v2"), Options::default())?;
//! let texts = ["Oil prices fall", "Striker scores twice"];
//! let e = encoder.embed(&texts, &mut |_done, _total| ControlFlow::Continue(()))?;
//! assert_eq!(e.len(), texts.len() * encoder.dim());
//! # Ok::<(), flowgmm_encoder::Error>(())
//! ```

mod attention;
mod batch;
mod cache;
mod cached;
mod config;
mod directory;
mod distinct;
mod encoder;
mod error;
mod load;
mod network;
mod options;
mod pointwise;
mod pool;
mod product;
mod tokens;
mod weights;

pub use cache::{Cache, CacheWarning};
pub use cached::Cached;
pub use encoder::Encoder;
pub use error::{Error, Result};
pub use options::{Options, Pooling, Progress, Scaling};
