//! Frames to encode, and the laws that hold for every encoding.
#![allow(dead_code)] // each test file uses a part

use flowgmm_data::{Cells, Column, DeclaredKind, Encoding, Frame, Schema};
use rand::Rng as _;
use semisup::ndarray::{Array2, Axis, concatenate};
use semisup::rng;

pub type Cell = Option<String>;

pub fn frame(columns: &[(&str, Vec<Cell>)]) -> Frame {
    let n = columns[0].1.len() as u64;
    let columns = columns.iter().map(|(name, cells)| Column {
        name: (*name).into(),
        cells: Cells::from_texts(cells.iter().map(|cell| cell.as_deref()).collect()),
    });
    Frame::new("t.csv", columns.collect(), (2..2 + n).collect()).unwrap()
}

pub fn cells(n: usize, cell: impl Fn(usize) -> String) -> Vec<Cell> {
    (0..n).map(|row| Some(cell(row))).collect()
}

pub fn some(texts: &[&str]) -> Vec<Cell> {
    texts.iter().map(|text| Some(text.to_string()).filter(|text| !text.is_empty())).collect()
}

pub fn learn(frame: &Frame) -> Encoding {
    let encoding = Encoding::learn(&Schema::infer(frame, None, &[]).unwrap(), frame).unwrap();
    encoding.validate().unwrap();
    encoding
}

pub fn texts(frame: &Frame, name: &str) -> Vec<Cell> {
    let column = frame.column(name).unwrap();
    (0..frame.n()).map(|row| column.text(row).map(|text| text.into_owned())).collect()
}

/// The law: the columns that come back are those that went in.
pub fn check_round_trip(encoding: &Encoding, frame: &Frame) {
    let decoded = encoding.invert(encoding.apply(frame).unwrap().x.view());
    for column in decoded.columns() {
        assert_eq!(texts(&decoded, &column.name), texts(frame, &column.name), "column '{}'", column.name);
    }
    assert!(encoding.column_names().all(|name| decoded.column(name).is_some()));
}

/// The law: rows are encoded alike in any batch.
pub fn check_batches(encoding: &Encoding, frame: &Frame, size: usize) {
    let whole = encoding.apply(frame).unwrap();
    let rows: Vec<usize> = (0..frame.n()).collect();
    let parts: Vec<_> = rows.chunks(size).map(|rows| encoding.apply(&frame.select(rows)).unwrap()).collect();
    let views: Vec<_> = parts.iter().map(|part| part.x.view()).collect();
    let joined = concatenate(Axis(0), &views).unwrap();
    assert!(joined.iter().zip(&whole.x).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_eq!(parts.iter().map(|part| part.imputed).sum::<usize>(), whole.imputed);
}

/// A table of every kind of column with a share of its cells missing.
pub fn mixed(n: usize, missing: f64, seed: u64) -> (Frame, Vec<(String, DeclaredKind)>) {
    let mut rng = rng(seed);
    let mut columns: Vec<(&str, Vec<Cell>)> = Vec::new();
    let mut column = |name: &'static str, cell: &mut dyn FnMut(&mut semisup::Rng) -> String| {
        let cells = (0..n).map(|row| {
            let text = cell(&mut rng);
            (row < 2 || rng.random_range(0. ..1.) >= missing).then_some(text)
        });
        columns.push((name, cells.collect()));
    };
    column("number", &mut |rng| format!("{:?}", rng.random_range(-1e3..1e3)));
    column("tenths", &mut |rng| format!("{:.1}", rng.random_range(-9. ..9.)));
    column("count", &mut |rng| rng.random_range(0..40).to_string());
    column("huge", &mut |rng| {
        format!("{:?}", 10_f64.powi(rng.random_range(-30..30)) * rng.random_range(1. ..2.))
    });
    column("city", &mut |rng| ["Rome", "Oslo", "Bonn, old", " "][rng.random_range(0..4)].into());
    column("code", &mut |rng| rng.random_range(0..6).to_string());
    column("class", &mut |rng| [1, 2, 4][rng.random_range(0..3)].to_string());
    column("two", &mut |rng| ["left", "right"][rng.random_range(0..2)].into());
    column("flag", &mut |rng| ["No", "Yes"][rng.random_range(0..2)].into());
    column("day", &mut |rng| {
        let (year, month, day) =
            (rng.random_range(1900..2100), rng.random_range(1..13), rng.random_range(1..29));
        format!("{year}-{month:02}-{day:02}")
    });
    column("time", &mut |rng| {
        let (day, hour, minute) = (rng.random_range(1..29), rng.random_range(0..24), rng.random_range(0..60));
        format!("{day:02}.02.2024 {hour:02}:{minute:02}:{:02}", rng.random_range(0..60))
    });
    // Small tables may look like another kind by chance; the law is about the kind that was asked for.
    let mut overrides = Vec::new();
    for name in ["number", "tenths", "count", "huge"] {
        overrides.push((name.to_string(), DeclaredKind::Numeric));
    }
    for name in ["city", "code", "two", "flag"] {
        overrides.push((name.to_string(), DeclaredKind::Categorical));
    }
    if seed.is_multiple_of(2) && n > 20 {
        overrides.pop(); // "flag" as the boolean it is
    }
    (frame(&columns), overrides)
}

pub fn learn_mixed(n: usize, missing: f64, seed: u64) -> (Encoding, Frame) {
    let (frame, overrides) = mixed(n, missing, seed);
    let schema = Schema::infer(&frame, None, &overrides).unwrap();
    let encoding = Encoding::learn(&schema, &frame).unwrap();
    encoding.validate().unwrap();
    (encoding, frame)
}

/// y = 2 u - v with a little noise, so that a missing y can be told from the others.
pub fn related(n: usize, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    let mut x = Array2::from_shape_fn((n, 3), |_| rng.random_range(-10. ..10.));
    for mut row in x.rows_mut() {
        row[2] = 2. * row[0] - row[1] + 0.01 * row[2];
    }
    x
}

pub fn numeric_frame(x: &Array2<f64>, missing: impl Fn(usize, usize) -> bool) -> Frame {
    let names = ["u", "v", "y"];
    let column = |j: usize| Column {
        name: names[j].into(),
        cells: Cells::Numbers(
            (0..x.nrows()).map(|i| if missing(i, j) { f64::NAN } else { x[[i, j]] }).collect(),
        ),
    };
    Frame::new("n", (0..3).map(column).collect(), (1..=x.nrows() as u64).collect()).unwrap()
}
