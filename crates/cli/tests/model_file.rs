//! Model files from strangers: every truncation, every changed header byte, and forged headers with a valid
//! checksum end in an error value or a working model, never in a panic.

mod common;

use std::{fs, panic};

use common::Bench;
use flowgmm::{Error, Model, tensor::Place};
use semisup::ndarray::Array2;

const DIGITS: usize = 64;

fn small_model() -> (Bench, Vec<u8>) {
    let bench = Bench::new();
    bench.write("one.toml", common::TINY.replace("n_trees = 5", "n_trees = 1"));
    bench.ok("fit train.csv --label label --model m --config one.toml --steps 2 --quiet");
    let bytes = bench.bytes("m");
    (bench, bytes)
}

/// Length prefix and JSON.
fn header_len(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

/// Loads bytes as a model; a panic fails the test.
fn load(bench: &Bench, bytes: &[u8]) -> Result<Model, Error> {
    let path = bench.path("candidate");
    fs::write(&path, bytes).unwrap();
    Model::load(&path, &Place::cpu())
}

fn check_refused(bench: &Bench, bytes: &[u8], what: &str) {
    match load(bench, bytes) {
        Err(Error::ModelFile { .. }) => {}
        Err(other) => panic!("{what}: another error: {other}"),
        Ok(_) => panic!("{what}: accepted"),
    }
}

#[test]
fn every_truncation_is_refused() {
    let (bench, bytes) = small_model();
    assert!(load(&bench, &bytes).is_ok());
    for end in 0..bytes.len() {
        check_refused(&bench, &bytes[..end], &format!("cut at {end}"));
    }
}

#[test]
fn every_changed_header_byte_is_refused() {
    let (bench, bytes) = small_model();
    for at in 0..header_len(&bytes) {
        for flip in [0x01, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            check_refused(&bench, &changed, &format!("byte {at} xor {flip}"));
        }
    }
}

/// As above, but with the checksum made right again, as someone who means harm would.
#[test]
fn a_forged_header_is_refused_or_works() {
    let (bench, bytes) = small_model();
    let key = b"\"digest\":\"";
    let digest = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    let (mut refused, mut accepted) = (0, 0);
    for at in 0..header_len(&bytes) {
        if (digest..digest + DIGITS).contains(&at) {
            continue;
        }
        for byte in [b'9', bytes[at] ^ 1] {
            let mut forged = bytes.clone();
            forged[at] = byte;
            forged[digest..digest + DIGITS].fill(b'0');
            let hash = blake3::hash(&forged).to_hex();
            forged[digest..digest + DIGITS].copy_from_slice(hash.as_bytes());
            let what = format!("byte {at} = {:?}", byte as char);
            let used = panic::catch_unwind(|| match load(&bench, &forged) {
                Ok(model) => {
                    // Whatever is accepted must answer.
                    let x = Array2::zeros((2, model.columns().len()));
                    let scores = model.score(x.view());
                    assert_eq!(scores.log_probs.dim(), (2, semisup::Classifier::classes(&model).len()));
                    model.sample(2, None, 1.0, &mut semisup::rng(0));
                    true
                }
                Err(Error::ModelFile { .. }) => false,
                Err(other) => panic!("another error: {other}"),
            });
            match used {
                Ok(true) => accepted += 1,
                Ok(false) => refused += 1,
                Err(_) => panic!("{what}: panicked"),
            }
        }
    }
    // Many bytes are digits of numbers or letters of names, which may be any.
    assert!(refused > 1000 && accepted > 1000, "{refused} refused, {accepted} accepted");
}
