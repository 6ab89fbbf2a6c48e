//! Model directories that are not what they should be: an error that says what, where, and what to do.
#![allow(missing_docs)]

mod common;

use common::{DIM, Family, Model, VOCAB, go_on};
use flowgmm_encoder::{Encoder, Error, Options, Pooling};
use std::fs;
use std::path::Path;

fn sound() -> (tempfile::TempDir, Model) {
    let dir = tempfile::tempdir().unwrap();
    let model = Model::random(Family::Bert, 1);
    model.write(dir.path());
    (dir, model)
}

/// The message of the error that opening `dir` must give.
fn refusal(dir: &Path) -> String {
    match Encoder::open(dir, Options::default()) {
        Ok(_) => panic!("{} was opened", dir.display()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn missing_files_are_named_with_a_way_out() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let (dir, _) = sound();
        fs::remove_file(dir.path().join(file)).unwrap();
        fs::write(dir.path().join("pytorch_model.bin"), "").unwrap();
        says(
            &refusal(dir.path()),
            &[
                &format!("has no {file}"),
                "pytorch_model.bin",
                "download a sentence-transformers model directory",
            ],
        );
    }
    says(&refusal(Path::new("/nowhere/at/all")), &["/nowhere/at/all"]);
}

#[test]
fn a_weight_file_cut_anywhere_is_refused() {
    let (dir, _) = sound();
    let path = dir.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for keep in [0, 4, 8, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..keep]).unwrap();
        says(&refusal(dir.path()), &["model.safetensors", "cut short", "download"]);
    }
    fs::write(&path, [&[0xff; 8][..], &whole[8..]].concat()).unwrap();
    says(&refusal(dir.path()), &["not a safetensors file"]);
    let mut broken = whole.clone();
    broken[8] = b'x';
    fs::write(&path, broken).unwrap();
    says(&refusal(dir.path()), &["header is broken"]);
}

#[test]
fn a_header_that_promises_too_much_costs_no_memory() {
    let (dir, model) = sound();
    let huge: u64 = 1 << 27;
    let header = serde_json::json!({
        "embeddings.word_embeddings.weight":
            {"dtype": "F32", "shape": [huge, DIM], "data_offsets": [0, huge * 4 * DIM as u64]}
    })
    .to_string();
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 64]].concat();
    fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
    let mut config = model.config;
    config["vocab_size"] = huge.into();
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    says(&refusal(dir.path()), &["cut short", "word_embeddings"]);
}

#[test]
fn shapes_names_types_and_numbers_are_checked() {
    let word = "embeddings.word_embeddings.weight";
    let bias = "encoder.layer.1.output.dense.bias";
    let refused = |change: &dyn Fn(&mut Model)| {
        let (dir, mut model) = sound();
        change(&mut model);
        model.write(dir.path());
        refusal(dir.path())
    };
    let message = refused(&|m| m.config["vocab_size"] = (VOCAB + 1).into());
    says(&message, &[word, "[50, 16]", "[51, 16]"]);
    says(&refused(&|m| drop(m.tensors.remove(bias))), &["has no tensor", bias]);
    says(&refused(&|m| drop(m.tensors.remove(word))), &["has no tensor", word]);
    says(&refused(&|m| m.tensors.get_mut(bias).unwrap().1[3] = f32::NAN), &["number 3", bias, "not finite"]);
    says(&refused(&|m| m.tensors.get_mut(word).unwrap().1[0] = f32::INFINITY), &[word, "not finite"]);
    says(&refused(&|m| m.config["num_hidden_layers"] = 3.into()), &["encoder.layer.2."]);
    says(&refused(&|m| m.config["num_hidden_layers"] = u64::MAX.into()), &["encoder.layer.2."]);
    says(&refused(&|m| m.config["model_type"] = "mpnet".into()), &["mpnet", "supported", "roberta"]);
    says(&refused(&|m| m.config["hidden_size"] = 8.into()), &["[50, 16]", "[50, 8]"]);
}

#[test]
fn weights_that_overflow_give_an_error_not_a_number() {
    let (dir, mut model) = sound();
    let gamma = "encoder.layer.1.output.LayerNorm.weight";
    model.tensors.get_mut(gamma).unwrap().1.fill(f32::MAX);
    model.tensors.get_mut("encoder.layer.1.output.LayerNorm.bias").unwrap().1.fill(f32::MAX);
    model.write(dir.path());
    let encoder = Encoder::open(dir.path(), Options::default()).unwrap();
    let error = encoder.embed(&["the oil price"], &mut go_on).unwrap_err();
    assert!(matches!(error, Error::NotFinite { text: 0 }), "{error}");
}

#[test]
fn a_tokenizer_of_another_model_is_noticed() {
    let (dir, mut model) = sound();
    let (shape, values) = model.tensors.get_mut("embeddings.word_embeddings.weight").unwrap();
    shape[0] = 10;
    values.truncate(10 * DIM);
    model.config["vocab_size"] = 10.into();
    model.write(dir.path());
    let encoder = Encoder::open(dir.path(), Options::default()).unwrap();
    let error = encoder.embed(&["the oil", "the world"], &mut go_on).unwrap_err();
    says(&error.to_string(), &["text 1", "token 19", "vocabulary of 10", "another model"]);

    fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
    says(&refusal(dir.path()), &["tokenizer.json", "is not a tokenizer"]);
}

#[test]
fn sentence_transformers_files_are_understood_or_refused() {
    let (dir, _) = sound();
    let at = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    fs::create_dir(dir.path().join("1_Pooling")).unwrap();
    at("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}"#);
    says(&refusal(dir.path()), &["mean + max", "supported: mean, cls"]);
    let chosen = Options { pooling: Some(Pooling::Mean), ..Options::default() };
    assert!(Encoder::open(dir.path(), chosen).is_ok(), "the caller's word stands");

    at("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    assert_eq!(Encoder::open(dir.path(), Options::default()).unwrap().pooling(), Pooling::Cls);

    let module = |kind: &str, path: &str| {
        format!(
            r#"[{{"idx": 0, "name": "0", "path": "{path}", "type": "sentence_transformers.models.{kind}"}}]"#
        )
    };
    at("modules.json", &module("Dense", "2_Dense"));
    says(&refusal(dir.path()), &["models.Dense is not supported"]);
    at("modules.json", &module("Transformer", "../../etc"));
    says(&refusal(dir.path()), &["leaves the directory"]);
    at("modules.json", "[{]");
    says(&refusal(dir.path()), &["modules.json", "cannot be read"]);

    at("modules.json", &module("Transformer", "0_Transformer"));
    says(&refusal(dir.path()), &["0_Transformer"]);
    Model::random(Family::Bert, 1).write(&dir.path().join("0_Transformer"));
    assert!(Encoder::open(dir.path(), Options::default()).is_ok());
}
