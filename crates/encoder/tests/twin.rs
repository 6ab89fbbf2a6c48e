//! The encoder against the same network written as plain f64 loops, and the laws an embedding obeys.
#![allow(missing_docs)]

mod common;

use common::{DIM, Family, Model, POSITIONS, TEXTS, go_on, rounded, twin};
use flowgmm_encoder::{Encoder, Error, Options, Pooling, Scaling};
use safetensors::Dtype;
use std::ops::ControlFlow;

/// f32 against f64 through two layers of numbers of order 1: 1e-6 typical, 2e-5 generous.
const TOLERANCE: f64 = 2e-5;

fn open(model: &Model, options: Options) -> Encoder {
    let dir = tempfile::tempdir().unwrap();
    model.write(dir.path());
    Encoder::open(dir.path(), options).unwrap()
}

fn check(model: &Model) {
    let mean = open(model, Options::default()).embed(&TEXTS, &mut go_on).unwrap();
    let cls = open(model, Options { pooling: Some(Pooling::Cls), ..Options::default() });
    let cls = cls.embed(&TEXTS, &mut go_on).unwrap();
    for (i, text) in TEXTS.iter().enumerate() {
        let tokens = twin::token_vectors(model, text);
        let close = |got: &[f32], want: &[f64], pooling: &str| {
            let worst = got.iter().zip(want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max);
            assert!(worst < TOLERANCE, "{:?} {pooling}: {text:?} is off by {worst}", model.family);
        };
        close(&mean[i * DIM..][..DIM], &twin::mean(&tokens), "mean");
        close(&cls[i * DIM..][..DIM], &tokens[0], "cls");
    }
}

#[test]
fn every_family_agrees_with_its_twin() {
    for (seed, family) in [Family::Bert, Family::Roberta, Family::DistilBert].into_iter().enumerate() {
        check(&Model::random(family, seed as u64 + 1));
    }
}

#[test]
fn every_activation_agrees_with_its_twin() {
    for name in ["gelu_new", "relu"] {
        let mut model = Model::random(Family::Bert, 4);
        model.config["hidden_act"] = name.into();
        check(&model);
    }
}

#[test]
fn prefixes_and_narrow_weights_change_nothing() {
    let prefixes = [
        (Family::Bert, "bert."),
        (Family::Bert, "0.auto_model."),
        (Family::Roberta, "roberta."),
        (Family::DistilBert, "distilbert."),
    ];
    for (family, prefix) in prefixes {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::BF16] {
            let mut model = Model::random(family, 5);
            (model.prefix, model.dtype) = (prefix, dtype);
            model.tensors.values_mut().for_each(|(_, v)| v.iter_mut().for_each(|v| *v = rounded(*v)));
            check(&model);
        }
    }
}

#[test]
fn old_names_of_layer_norms_are_understood() {
    let mut model = Model::random(Family::Bert, 6);
    let want = open(&model, Options::default()).embed(&TEXTS, &mut go_on).unwrap();
    let rename = |name: String| match name.split_once("LayerNorm.") {
        Some((stem, "weight")) => format!("{stem}LayerNorm.gamma"),
        Some((stem, _)) => format!("{stem}LayerNorm.beta"),
        None => name,
    };
    model.tensors = std::mem::take(&mut model.tensors).into_iter().map(|(n, t)| (rename(n), t)).collect();
    assert_eq!(open(&model, Options::default()).embed(&TEXTS, &mut go_on).unwrap(), want);
}

#[test]
fn a_text_has_the_same_bits_in_any_company_and_on_any_number_of_threads() {
    let encoder = open(&Model::random(Family::Bert, 7), Options::default());
    let many: Vec<String> =
        (0..300).map(|i| format!("{} {} {}", TEXTS[i % 9], TEXTS[i / 9 % 9], i)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let together = encoder.embed(&many, &mut go_on).unwrap();
    for (i, text) in many.iter().enumerate() {
        assert_eq!(encoder.embed(&[text], &mut go_on).unwrap(), together[i * DIM..][..DIM], "{text:?}");
    }
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| encoder.embed(&many, &mut go_on)).unwrap(), together, "{threads} threads");
    }
    let twice: Vec<&str> = many.iter().chain(&many).copied().collect();
    assert_eq!(encoder.embed(&twice, &mut go_on).unwrap(), [together.clone(), together].concat());
    assert!(encoder.embed(&[], &mut go_on).unwrap().is_empty());
}

#[test]
fn options_and_model_files_decide_length_pooling_and_scale() {
    let dir = tempfile::tempdir().unwrap();
    let model = Model::random(Family::Bert, 8);
    model.write(dir.path());
    let open = |options| Encoder::open(dir.path(), options);
    assert_eq!(open(Options::default()).unwrap().max_length(), POSITIONS, "256, capped by the positions");

    std::fs::write(dir.path().join("sentence_bert_config.json"), r#"{"max_seq_length": 6}"#).unwrap();
    std::fs::create_dir(dir.path().join("1_Pooling")).unwrap();
    let pooling = r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    std::fs::write(dir.path().join("1_Pooling/config.json"), pooling).unwrap();
    let encoder = open(Options::default()).unwrap();
    assert_eq!((encoder.max_length(), encoder.pooling(), encoder.dim()), (6, Pooling::Cls, DIM));
    let cut = encoder.embed(&["the oil price falls in a year", "the oil price falls"], &mut go_on).unwrap();
    assert_eq!(cut[..DIM], cut[DIM..], "four words and two special tokens are read");

    let unit =
        open(Options { scaling: Scaling::UnitLength, max_length: Some(9), pooling: Some(Pooling::Mean) });
    let unit = unit.unwrap();
    assert_eq!((unit.max_length(), unit.pooling()), (9, Pooling::Mean));
    for row in unit.embed(&TEXTS, &mut go_on).unwrap().chunks(DIM) {
        assert!((row.iter().map(|e| e * e).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    for got in [2, POSITIONS + 1] {
        let error = open(Options { max_length: Some(got), ..Options::default() }).err().unwrap();
        assert!(matches!(error, Error::MaxLength { least: 3, most: POSITIONS, .. }), "{error}");
    }
}

#[test]
fn progress_counts_up_and_can_stop() {
    let encoder = open(&Model::random(Family::Bert, 9), Options::default());
    let many: Vec<String> = (0..500).map(|i| format!("{} {i}", TEXTS[i % 9])).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut seen = Vec::new();
    let mut watch = |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    };
    encoder.embed(&many, &mut watch).unwrap();
    assert!(seen.is_sorted() && seen.len() > 3 && seen[0] == (0, 500) && seen.last() == Some(&(500, 500)));

    let mut stop = |done, _| if done > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match encoder.embed(&many, &mut stop) {
        Err(Error::Stopped { done, total: 500 }) => assert!(done > 0 && done < 500),
        other => panic!("{:?}", other.map(|rows| rows.len())),
    }
}
