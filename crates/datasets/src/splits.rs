//! The labels that the FlowGMM authors drew: `<set>_<n>_labeled_indices.npy`, int32 `[20 seeds, n]`, 0-based into the
//! set's own training order.

use std::path::{Path, PathBuf};

use flowgmm_data::Cells;
use flowgmm_tables::{Options, Source, open};

use crate::{Error, Result};

/// Labelled rows for each of several seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSplits {
    path: PathBuf,
    rows: Vec<Vec<usize>>, // [seeds, n]
}

impl LabelSplits {
    /// Reads the splits and checks them against the size of the training set: whole numbers below it, none twice.
    pub fn read(path: &Path, n_train: usize) -> Result<Self> {
        let frame = open(Source::File(path.into()), &Options::default())?.read_all()?;
        let fail = |why: String| Error::Split { path: path.into(), why };
        let mut rows = vec![Vec::with_capacity(frame.columns().len()); frame.n()];
        for column in frame.columns() {
            let Cells::Numbers(values) = &column.cells else {
                return Err(fail(format!("{} is no column of numbers", column.name)));
            };
            for (seed, &value) in values.iter().enumerate() {
                if !(value >= 0.0 && value < n_train as f64 && value.fract() == 0.0) {
                    return Err(fail(format!(
                        "seed {seed} labels row {value}, but the set has {n_train} rows"
                    )));
                }
                rows[seed].push(value as usize);
            }
        }
        for (seed, rows) in rows.iter().enumerate() {
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(fail(format!("seed {seed} labels row {} twice", pair[0])));
            }
        }
        Ok(Self { path: path.into(), rows })
    }

    /// Number of seeds.
    pub fn seeds(&self) -> usize {
        self.rows.len()
    }

    /// Number of labels of each seed.
    pub fn n_labels(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The labelled rows of a seed, in the order of the file.
    pub fn seed(&self, seed: usize) -> Result<&[usize]> {
        let why =
            || format!("there is no seed {seed}: the file has seeds 0 to {}", self.seeds().saturating_sub(1));
        let rows = self.rows.get(seed).map(Vec::as_slice);
        rows.ok_or_else(|| Error::Split { path: self.path.clone(), why: why() })
    }
}
