//! MiniBooNE: electron neutrinos (signal) from muon neutrinos (background), 50 numbers each.
//!
//! ```text
//!  36499 93565                       how many signal and background rows follow
//!  2.59413e+00 4.68803e-01 ..        all signal rows, then all background rows
//! ```
//! See <https://archive.ics.uci.edu/dataset/199/miniboone+particle+identification>.

use std::path::Path;

use semisup::{
    Labelled,
    ndarray::{Array2, Axis},
};

use crate::{
    Error, Result,
    images::names,
    rows::{Between, Lines},
    standard::{Deviation, Standard, continuous_columns},
};

const FORMAT: &str = "MiniBooNE";
const FEATURES: usize = 50;

/// The rows of `MiniBooNE_PID.txt` as they are: signal (class 1) first, then background (class 0).
pub fn read_miniboone(path: &Path) -> Result<Labelled> {
    let mut lines = Lines::open(path, FORMAT)?;
    let (signal, background) = counts(&mut lines)?;
    let mut x = Vec::new();
    let mut n = 0;
    while lines.next()?.is_some() {
        let cells = lines.cells(Between::Spaces);
        if cells.len() != FEATURES {
            return Err(lines.damaged(format!("found {} columns, expected {FEATURES}", cells.len())));
        }
        for (at, cell) in cells.iter().enumerate() {
            x.push(lines.number(cell, at)?);
        }
        n += 1;
    }
    if signal.checked_add(background) != Some(n) || n == 0 {
        let why = format!("its first line promises {signal} + {background} rows, found {n}");
        return Err(Error::damaged(path, FORMAT, why));
    }
    let y = (0..n).map(|row| usize::from(row < signal)).collect();
    let x = Array2::from_shape_vec((n, FEATURES), x).expect("50 numbers were pushed with every row");
    let columns = (0..FEATURES).map(|at| format!("p{at}")).collect();
    Labelled::new(x, y, names(&["background", "signal"]), columns)
        .map_err(|error| Error::content(path, error))
}

fn counts(lines: &mut Lines) -> Result<(usize, usize)> {
    if lines.next()?.is_none() {
        return Err(lines.damaged("the file is empty"));
    }
    match lines.cells(Between::Spaces)[..] {
        [signal, background] => match (signal.parse(), background.parse()) {
            (Ok(signal), Ok(background)) => Ok((signal, background)),
            _ => Err(lines.damaged("expected two counts, of signal and background rows")),
        },
        ref cells => Err(lines.damaged(format!("expected two counts, found {} cells", cells.len()))),
    }
}

/// Which of the two published preparations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiniBooneRecipe {
    /// The paper's text: as Papamakarios et al. (2017), who drop rows whose first column is below -100 (the detector
    /// wrote -999 for everything) and columns of repeated values; then as many background rows as signal rows.
    Paper,
    /// The authors' code: as many background rows as signal rows, nothing dropped.
    Code,
}

/// Balanced and standardised rows. Both recipes keep the first rows of the larger class, and standardise by all rows
/// that are kept; the authors then draw a stratified tenth for testing (see `semisup::split::train_test`).
pub fn prepare_miniboone(data: &Labelled, recipe: MiniBooneRecipe) -> Result<Labelled> {
    const OUTLIER: f64 = -100.0;
    let sound = |row: &usize| recipe == MiniBooneRecipe::Code || data.x()[[*row, 0]] >= OUTLIER;
    let rows: Vec<usize> = (0..data.n()).filter(sound).collect();
    let of_class = |class| rows.iter().copied().filter(move |&row| data.y()[row] == class);
    let smaller = of_class(0).count().min(of_class(1).count());
    let balanced: Vec<usize> = of_class(1).take(smaller).chain(of_class(0).take(smaller)).collect();
    if balanced.is_empty() {
        let source = semisup::Error::EmptyClass { class: "signal or background".into() };
        return Err(Error::content("MiniBooNE".as_ref(), source));
    }
    let data = data.select(&balanced);
    let kept = match recipe {
        MiniBooneRecipe::Paper => continuous_columns(data.x()),
        MiniBooneRecipe::Code => (0..data.dim()).collect(),
    };
    let mut x = data.x().select(Axis(1), &kept);
    Standard::fit(x.view(), Deviation::Population).apply(&mut x);
    let columns = kept.iter().map(|&at| data.columns()[at].clone()).collect();
    let prepared = Labelled::new(x, data.y().to_vec(), data.classes().to_vec(), columns);
    prepared.map_err(|error| Error::content("MiniBooNE".as_ref(), error))
}
