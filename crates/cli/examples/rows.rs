//! A table of any size, to see how the program takes it: two classes in as many columns as wanted, as CSV on standard
//! output. The first rows are labelled, class by class in turn.
//!
//! ```text
//! cargo run --release --example rows -- ROWS COLUMNS LABELS [SEED] > table.csv
//! ```
//!
//! Column j is a Gaussian around ± 0.6 (of the sign of the class, in every third column) bent by its neighbour, so
//! that a straight line is not enough. A cell takes about 9.5 bytes: 11 million rows of 20 columns are 2.1 GB.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use rand::Rng as _;
use rand_distr::{Distribution, StandardNormal};

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|word| word.parse().ok()).collect();
    let (rows, columns, labels, seed) = match numbers.as_deref() {
        Some(&[rows, columns, labels]) => (rows, columns, labels, 0),
        Some(&[rows, columns, labels, seed]) => (rows, columns, labels, seed),
        _ => {
            eprintln!("expected: ROWS COLUMNS LABELS [SEED]");
            return ExitCode::from(2);
        }
    };
    match write(&mut BufWriter::with_capacity(1 << 20, io::stdout().lock()), rows, columns, labels, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(5)
        }
    }
}

fn write(out: &mut impl Write, rows: u64, columns: u64, labels: u64, seed: u64) -> io::Result<()> {
    let mut rng = semisup::rng(seed);
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    writeln!(out, "{},label", names.join(","))?;
    for row in 0..rows {
        let class = if row < labels { row % 2 } else { rng.random_range(0..2) };
        let sign = if class == 0 { -0.6 } else { 0.6 };
        let mut before = 0.0_f64;
        for j in 0..columns {
            let noise: f64 = StandardNormal.sample(&mut rng);
            let x = noise + if j % 3 == 0 { sign } else { 0.5 * before * before - 0.5 };
            write!(out, "{x:.6},")?;
            before = x;
        }
        match row < labels {
            true => writeln!(out, "{class}")?,
            false => writeln!(out)?,
        }
    }
    out.flush()
}
