//! From a weight file to a [`Network`]: the names each family gives its tensors, and their shapes.

use crate::config::{Config, Family};
use crate::error::Result;
use crate::network::{Layer, Network};
use crate::pointwise::Norm;
use crate::product::Packed;
use crate::weights::Weights;

const WORD: &str = "embeddings.word_embeddings.weight";

/// Reads every tensor the configuration calls for.
pub(crate) fn load(config: &Config, weights: &mut Weights) -> Result<Network> {
    let prefix = weights.prefix_of(WORD)?;
    let mut from = Reader { weights, prefix, config };
    let dim = config.dim;

    let word = from.matrix(WORD, config.vocab, dim)?;
    let mut position = from.matrix("embeddings.position_embeddings.weight", config.positions, dim)?;
    if config.types > 0 {
        let types = from.matrix("embeddings.token_type_embeddings.weight", config.types, dim)?;
        for row in position.chunks_exact_mut(dim) {
            row.iter_mut().zip(&types[..dim]).for_each(|(p, t)| *p += t);
        }
    }
    let norm = from.norm("embeddings.LayerNorm")?;
    let mut layers = Vec::new();
    for l in 0..config.layers {
        layers.push(from.layer(&Names::of(config.family, l))?);
    }
    Ok(Network { dim, heads: config.heads, activation: config.activation, word, position, norm, layers })
}

/// What the tensors of one layer are called.
struct Names {
    query: String,
    key: String,
    value: String,
    out: String,
    attention_norm: String,
    up: String,
    down: String,
    norm: String,
}

impl Names {
    fn of(family: Family, layer: usize) -> Names {
        let (stem, parts) = match family {
            Family::Bert | Family::Roberta { .. } => (
                "encoder.layer",
                [
                    "attention.self.query",
                    "attention.self.key",
                    "attention.self.value",
                    "attention.output.dense",
                    "attention.output.LayerNorm",
                    "intermediate.dense",
                    "output.dense",
                    "output.LayerNorm",
                ],
            ),
            Family::DistilBert => (
                "transformer.layer",
                [
                    "attention.q_lin",
                    "attention.k_lin",
                    "attention.v_lin",
                    "attention.out_lin",
                    "sa_layer_norm",
                    "ffn.lin1",
                    "ffn.lin2",
                    "output_layer_norm",
                ],
            ),
        };
        let [query, key, value, out, attention_norm, up, down, norm] =
            parts.map(|part| format!("{stem}.{layer}.{part}"));
        Names { query, key, value, out, attention_norm, up, down, norm }
    }
}

struct Reader<'a> {
    weights: &'a mut Weights,
    prefix: String,
    config: &'a Config,
}

impl Reader<'_> {
    fn layer(&mut self, names: &Names) -> Result<Layer> {
        let (dim, inner) = (self.config.dim, self.config.inner);
        Ok(Layer {
            qkv: self.qkv(names)?,
            out: self.linear(&names.out, dim, dim)?,
            attention_norm: self.norm(&names.attention_norm)?,
            up: self.linear(&names.up, inner, dim)?,
            down: self.linear(&names.down, dim, inner)?,
            norm: self.norm(&names.norm)?,
        })
    }

    /// Query, key and value as one layer of 3 dim outputs, the query divided by sqrt(head width).
    fn qkv(&mut self, names: &Names) -> Result<Packed> {
        let dim = self.config.dim;
        let (mut w, mut b) = (Vec::new(), Vec::new());
        for name in [&names.query, &names.key, &names.value] {
            w.extend(self.matrix(&format!("{name}.weight"), dim, dim)?);
            b.extend(self.vector(&format!("{name}.bias"), dim)?);
        }
        let scale = 1.0 / ((dim / self.config.heads) as f32).sqrt();
        w[..dim * dim].iter_mut().chain(&mut b[..dim]).for_each(|q| *q *= scale);
        Ok(Packed::linear(&w, &b))
    }

    fn linear(&mut self, name: &str, n_out: usize, n_in: usize) -> Result<Packed> {
        let w = self.matrix(&format!("{name}.weight"), n_out, n_in)?;
        Ok(Packed::linear(&w, &self.vector(&format!("{name}.bias"), n_out)?))
    }

    /// Files converted from TensorFlow say gamma and beta for weight and bias.
    fn norm(&mut self, name: &str) -> Result<Norm> {
        let dim = self.config.dim;
        let old = self.weights.has(&format!("{}{name}.gamma", self.prefix));
        let (gamma, beta) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        Ok(Norm {
            gamma: self.vector(&format!("{name}.{gamma}"), dim)?,
            beta: self.vector(&format!("{name}.{beta}"), dim)?,
            eps: self.config.eps,
        })
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>> {
        self.weights.read(&format!("{}{name}", self.prefix), &[rows, columns])
    }

    fn vector(&mut self, name: &str, n: usize) -> Result<Vec<f32>> {
        self.weights.read(&format!("{}{name}", self.prefix), &[n])
    }
}
