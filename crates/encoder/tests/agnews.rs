//! The stored AG-News embeddings, made elsewhere with all-MiniLM-L6-v2, computed again.
//!
//! Runs when `FLOWGMM_ENCODER` names a directory with that model and `FLOWGMM_DATA` (or `../shared/data`) has the
//! data. The stored rows are those of `train_pool.csv`, in its order: title, a space, description, backslashes
//! replaced by spaces, cut to 128 tokens, pooled by mean, not normalised.
#![allow(missing_docs)]

mod common;

use common::go_on;
use flate2::read::{DeflateDecoder, GzDecoder};
use flowgmm_encoder::{Encoder, Options};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const DIM: usize = 384;
/// Rows compared, spread over the file.
const ROWS: usize = 240;

#[test]
fn stored_embeddings_are_reproduced() {
    let data = std::env::var_os("FLOWGMM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let stored = data.join("embeddings/agnews_minilm384_f16.npz");
    let table = data.join("text/ag_news/train_pool.csv.gz");
    let Some(model) = std::env::var_os("FLOWGMM_ENCODER").map(PathBuf::from) else {
        return println!("skipped: the model all-MiniLM-L6-v2 is not at FLOWGMM_ENCODER, which is not set");
    };
    for (what, path) in
        [("the model", &model.join("config.json")), ("the data", &stored), ("the data", &table)]
    {
        if !path.is_file() {
            return println!("skipped: {what} is not at {}", path.display());
        }
    }

    let texts = texts(&table);
    let step = texts.len() / ROWS;
    let sample: Vec<usize> = (0..ROWS).map(|i| i * step).collect();
    let want = rows(&stored, &sample, texts.len());
    let encoder = Encoder::open(&model, Options { max_length: Some(128), ..Options::default() }).unwrap();
    assert_eq!(encoder.dim(), DIM);
    let chosen: Vec<&str> = sample.iter().map(|&i| texts[i].as_str()).collect();
    let got = encoder.embed(&chosen, &mut go_on).unwrap();

    let cosines: Vec<f64> = got.chunks(DIM).zip(&want).map(|(a, b)| cosine(a, b)).collect();
    let worst = cosines.iter().copied().fold(1.0, f64::min);
    println!("{ROWS} rows, worst cosine {worst:.7}");
    assert!(worst >= 0.999, "worst cosine {worst}");
    // The stored numbers are f16: eleven bits of numbers below 2.
    let error = got.iter().zip(want.concat()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(error < 2e-3, "largest difference {error}");
}

fn texts(path: &Path) -> Vec<String> {
    let file = GzDecoder::new(File::open(path).unwrap());
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file);
    reader.records().map(Result::unwrap).map(|r| format!("{} {}", &r[1], &r[2]).replace('\\', " ")).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Rows of `x_train`, float16 [n, 384], from a `.npz`, which is a zip of `.npy` files.
fn rows(path: &Path, which: &[usize], n: usize) -> Vec<Vec<f32>> {
    let npy = zip_member(path, "x_train.npy");
    let header_end = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    let header = String::from_utf8_lossy(&npy[10..header_end]).into_owned();
    assert!(header.contains("'<f2'") && header.contains(&format!("({n}, {DIM})")), "{header}");
    let number = |b: &[u8]| {
        let bits = u16::from_le_bytes([b[0], b[1]]);
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
        let size = match exponent {
            0 => mantissa * 2f32.powi(-24),
            e => (1.0 + mantissa / 1024.0) * 2f32.powi(e - 15),
        };
        if bits >> 15 == 1 { -size } else { size }
    };
    let row = |&i: &usize| npy[header_end + 2 * DIM * i..][..2 * DIM].chunks(2).map(number).collect();
    which.iter().map(row).collect()
}

/// A file in a zip, found by the directory at its end.
fn zip_member(path: &Path, name: &str) -> Vec<u8> {
    let mut file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let mut tail = vec![0; size.min(4096) as usize];
    file.seek(SeekFrom::End(-(tail.len() as i64))).unwrap();
    file.read_exact(&mut tail).unwrap();
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([tail[at], tail[at + 1]]));
    let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
    let is_entry = |at: &usize| {
        tail[*at..].starts_with(b"PK\x01\x02") && tail[at + 46..][..u16_at(at + 28)] == *name.as_bytes()
    };
    let entry = (0..tail.len() - 46).find(is_entry).expect("x_train.npy in the archive");
    let (method, packed, offset) = (u16_at(entry + 10), u32_at(entry + 20), u32_at(entry + 42));

    let mut local = [0; 30];
    file.seek(SeekFrom::Start(offset as u64)).unwrap();
    file.read_exact(&mut local).unwrap();
    let skip = u16::from_le_bytes([local[26], local[27]]) + u16::from_le_bytes([local[28], local[29]]);
    file.seek(SeekFrom::Current(skip.into())).unwrap();
    let mut content = Vec::new();
    let member = file.take(packed as u64);
    match method {
        0 => { member }.read_to_end(&mut content).unwrap(),
        8 => DeflateDecoder::new(member).read_to_end(&mut content).unwrap(),
        other => panic!("compression method {other}"),
    };
    content
}
