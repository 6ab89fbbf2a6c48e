//! HEPMASS: does a collision show the heavy particle (1) or not (0), from 27 numbers.
//!
//! ```text
//! # label,f0,f1,..,f26,mass
//! 1.000000000000000000e+00,-0.3961..,..,1000.0
//! ```
//! `all_*.csv` and `not1000_*.csv` end with the mass, `1000_*.csv` may not; it is no feature, since background rows
//! carry a mass drawn at random. The paper and the authors' code use `1000_*.csv`.
//! See <https://archive.ics.uci.edu/dataset/347/hepmass>.

use std::path::Path;

use rand::Rng as _;
use semisup::{
    Labelled, Rng,
    ndarray::{Array2, Axis},
};

use crate::{
    Error, Result,
    images::names,
    rows::{Between, Lines},
    standard::{Deviation, Standard, continuous_columns},
};

const FORMAT: &str = "HEPMASS";
const FEATURES: usize = 27;

/// Which rows of a large file are kept.
#[derive(Debug)]
pub enum RowSelection<'a> {
    /// All of them: 27 x 8 bytes each, 1.5 GB for `all_train.csv`.
    All,
    /// Each with this probability. The authors' code draws 0.2 of the training rows and 0.04 of the test rows.
    Fraction(f64, &'a mut Rng),
}

impl RowSelection<'_> {
    fn keep(&mut self) -> bool {
        match self {
            Self::All => true,
            Self::Fraction(fraction, rng) => rng.random::<f64>() < *fraction,
        }
    }
}

/// The rows of a file as they are, 27 features.
pub fn read_hepmass(path: &Path, mut rows: RowSelection) -> Result<Labelled> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut lines = Lines::open(path, FORMAT)?;
    while let Some(line) = lines.next()? {
        if y.is_empty() && line.contains("label") {
            continue;
        }
        if !rows.keep() {
            continue;
        }
        let cells = lines.cells(Between::Commas);
        if !(1 + FEATURES..=2 + FEATURES).contains(&cells.len()) {
            let why = format!("found {} columns, expected 28, or 29 with the mass", cells.len());
            return Err(lines.damaged(why));
        }
        y.push(match lines.number(cells[0], 0)? {
            0.0 => 0,
            1.0 => 1,
            other => return Err(lines.damaged(format!("the label is {other}, expected 0 or 1"))),
        });
        for (at, cell) in cells.iter().enumerate().skip(1).take(FEATURES) {
            x.push(lines.number(cell, at)?);
        }
    }
    if y.is_empty() {
        return Err(Error::damaged(path, FORMAT, "it has no rows"));
    }
    let x = Array2::from_shape_vec((y.len(), FEATURES), x).expect("27 numbers were pushed with every label");
    let columns = (0..FEATURES).map(|at| format!("f{at}")).collect();
    Labelled::new(x, y, names(&["background", "signal"]), columns)
        .map_err(|error| Error::content(path, error))
}

/// The paper's preparation: columns that are discrete in the training rows are dropped (21 of the 27 are left in
/// Papamakarios et al., who look at signal rows only), the rest standardised by the training rows of both classes.
pub fn prepare_hepmass(train: &Labelled, test: &Labelled) -> Result<(Labelled, Labelled)> {
    let kept = continuous_columns(train.x());
    let select = |rows: &Labelled| rows.x().select(Axis(1), &kept);
    let (mut x_train, mut x_test) = (select(train), select(test));
    let standard = Standard::fit(x_train.view(), Deviation::Sample);
    standard.apply(&mut x_train);
    standard.apply(&mut x_test);
    let columns: Vec<String> = kept.iter().map(|&at| train.columns()[at].clone()).collect();
    let labelled = |x, rows: &Labelled| {
        let data = Labelled::new(x, rows.y().to_vec(), rows.classes().to_vec(), columns.clone());
        data.map_err(|error| Error::content("HEPMASS".as_ref(), error))
    };
    Ok((labelled(x_train, train)?, labelled(x_test, test)?))
}
