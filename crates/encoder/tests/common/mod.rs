//! Tiny random models, written to disk as the real ones are.
#![allow(dead_code, missing_docs, reason = "every test file uses a part of it")]

pub mod twin;

use safetensors::{Dtype, tensor::TensorView};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

pub const DIM: usize = 16;
pub const HEADS: usize = 2;
pub const LAYERS: usize = 2;
pub const INNER: usize = 40;
pub const POSITIONS: usize = 24;

/// Words of the tiny tokenizer, numbered from 0; the first four are special.
pub const WORDS: [&str; 20] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "oil", "price", "falls", "rises", "team", "wins", "game",
    "in", "a", "new", "phone", "market", "goal", "year", "world",
];
pub const VOCAB: usize = 50;

pub const TEXTS: [&str; 9] = [
    "the oil price falls",
    "team wins a game in the world",
    "",
    "phone",
    "the market rises the market falls in a year",
    "a new goal",
    "zzz the unknown",
    "the the the the the the the the the the the the the the the the the the the the the the the the the the the",
    "world",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Bert,
    Roberta,
    DistilBert,
}

/// Tensors by their name without prefix: shape and values.
pub type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// A model before it is written.
pub struct Model {
    pub family: Family,
    pub config: serde_json::Value,
    pub tensors: Tensors,
    pub prefix: &'static str,
    pub dtype: Dtype,
}

/// Numbers in (-1, 1), a fixed stream for each seed.
pub fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

impl Model {
    pub fn random(family: Family, seed: u64) -> Model {
        let mut random = numbers(seed);
        let mut tensors = Tensors::new();
        let mut add = |name: String, shape: Vec<usize>, centre: f32, spread: f32| {
            let n = shape.iter().product();
            let values = random.by_ref().take(n).map(|x| centre + spread * x).collect();
            tensors.insert(name, (shape, values));
        };
        add("embeddings.word_embeddings.weight".into(), vec![VOCAB, DIM], 0.0, 1.0);
        add("embeddings.position_embeddings.weight".into(), vec![POSITIONS, DIM], 0.0, 0.5);
        if family != Family::DistilBert {
            add("embeddings.token_type_embeddings.weight".into(), vec![types(family), DIM], 0.0, 0.5);
        }
        add("embeddings.LayerNorm.weight".into(), vec![DIM], 1.0, 0.3);
        add("embeddings.LayerNorm.bias".into(), vec![DIM], 0.0, 0.3);
        for l in 0..LAYERS {
            let names = layer_names(family, l);
            for (part, n_out, n_in) in
                [(0, DIM, DIM), (1, DIM, DIM), (2, DIM, DIM), (3, DIM, DIM), (5, INNER, DIM), (6, DIM, INNER)]
            {
                add(format!("{}.weight", names[part]), vec![n_out, n_in], 0.0, 0.6);
                add(format!("{}.bias", names[part]), vec![n_out], 0.0, 0.3);
            }
            for part in [4, 7] {
                add(format!("{}.weight", names[part]), vec![DIM], 1.0, 0.3);
                add(format!("{}.bias", names[part]), vec![DIM], 0.0, 0.3);
            }
        }
        Model { family, config: config(family), tensors, prefix: "", dtype: Dtype::F32 }
    }

    /// `config.json`, `tokenizer.json` and `model.safetensors` in `dir`.
    pub fn write(&self, dir: &Path) {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("config.json"), self.config.to_string()).unwrap();
        std::fs::write(dir.join("tokenizer.json"), tokenizer().to_string()).unwrap();
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, (shape, values))| {
                let bytes = values.iter().flat_map(|&v| encode(v, self.dtype)).collect();
                (format!("{}{name}", self.prefix), shape.clone(), bytes)
            })
            .collect();
        let views = bytes.iter().map(|(name, shape, bytes)| {
            (name.as_str(), TensorView::new(self.dtype, shape.clone(), bytes).unwrap())
        });
        std::fs::write(dir.join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    }
}

/// Query, key, value, output, norm, up, down, norm.
pub fn layer_names(family: Family, layer: usize) -> [String; 8] {
    let names = match family {
        Family::DistilBert => [
            "attention.q_lin",
            "attention.k_lin",
            "attention.v_lin",
            "attention.out_lin",
            "sa_layer_norm",
            "ffn.lin1",
            "ffn.lin2",
            "output_layer_norm",
        ],
        _ => [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "attention.output.LayerNorm",
            "intermediate.dense",
            "output.dense",
            "output.LayerNorm",
        ],
    };
    let stem = if family == Family::DistilBert { "transformer.layer" } else { "encoder.layer" };
    names.map(|name| format!("{stem}.{layer}.{name}"))
}

/// The bytes of a number; bf16 and f16 cut it (exact for the numbers that `rounded` made).
fn encode(v: f32, dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F32 => v.to_le_bytes().to_vec(),
        Dtype::BF16 => v.to_le_bytes()[2..].to_vec(),
        Dtype::F16 => {
            let bits = v.to_bits();
            let exponent = (bits >> 23 & 0xff) as i32 - 112;
            let half = if exponent <= 0 { 0 } else { (exponent as u32) << 10 | bits >> 13 & 0x3ff };
            ((bits >> 16 & 0x8000 | half) as u16).to_le_bytes().to_vec()
        }
        other => panic!("{other:?}"),
    }
}

/// `v` with 7 bits of mantissa and nothing tiny: exact in f16 and bf16.
pub fn rounded(v: f32) -> f32 {
    if v.abs() < 1e-3 { 0.0 } else { f32::from_bits(v.to_bits() & 0xffff_0000) }
}

fn types(family: Family) -> usize {
    if family == Family::Roberta { 1 } else { 2 }
}

fn config(family: Family) -> serde_json::Value {
    match family {
        Family::DistilBert => json!({
            "model_type": "distilbert", "vocab_size": VOCAB, "dim": DIM, "n_heads": HEADS, "n_layers": LAYERS,
            "hidden_dim": INNER, "max_position_embeddings": POSITIONS, "activation": "gelu"
        }),
        _ => json!({
            "model_type": if family == Family::Bert { "bert" } else { "xlm-roberta" }, "vocab_size": VOCAB,
            "hidden_size": DIM, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "intermediate_size": INNER,
            "max_position_embeddings": POSITIONS, "type_vocab_size": types(family), "hidden_act": "gelu",
            "layer_norm_eps": 1e-5, "pad_token_id": if family == Family::Bert { 0 } else { 1 }
        }),
    }
}

/// Words split at white space, [CLS] .. [SEP] around them.
fn tokenizer() -> serde_json::Value {
    let vocab: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(i, w)| (w.to_string(), json!(i))).collect();
    let special = |word: &str, id: usize| json!({"id": word, "ids": [id], "tokens": [word]});
    json!({
        "version": "1.0", "truncation": null,
        "padding": {
            "strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]"
        },
        "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)}
        },
        "decoder": null, "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}
    })
}

/// What the tiny tokenizer makes of a text, with at most `max_length` tokens.
pub fn token_ids(text: &str, max_length: usize) -> Vec<usize> {
    let id = |word| WORDS.iter().position(|w| *w == word).unwrap_or(1);
    let words = text.split_whitespace().map(id).take(max_length - 2);
    std::iter::once(2).chain(words).chain([3]).collect()
}

pub fn go_on(_: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
