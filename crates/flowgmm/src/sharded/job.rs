//! What a worker needs to know to train: settings, maps, the rows that all workers hold, and the state to begin from.

use flowgmm_core::{
    Dequantiser, Engine,
    checkpoint::{self, Fingerprint, Progress},
    train::{TaughtRows, TrainConfig, TrainState, TrainingRows},
};
use ndarray::Array2;
use semisup::Preprocess;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, prepared::training_matrix, rows::Rows};

/// The version of the bytes; a driver and its workers have the same program.
const VERSION: u32 = 1;

/// A run, as the driver describes it to its workers.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) config: TrainConfig,
    /// The seed of the run.
    pub(crate) seed: u64,
    pub(crate) engine: Engine,
    pub(crate) n_classes: usize,
    /// What a row is.
    pub(crate) rows: Rows,
    /// The seed of the rows' keys.
    pub(crate) row_seed: u64,
    pub(crate) preprocess: Preprocess,
    /// How rows are spread, if training is to see them so.
    pub(crate) half_widths: Option<Vec<f64>>,
    pub(crate) fingerprint: Fingerprint,
    /// The classes of labelled rows.
    pub(crate) y: Vec<usize>,
    /// Labelled rows in the user's columns, `[n_l, dim_in]`.
    pub(crate) labelled: Array2<f64>,
    /// Sampled rows that are trained on, `[n_s, dim_in]`.
    pub(crate) unlabelled: Array2<f64>,
    /// Their keys.
    pub(crate) keys: Vec<u64>,
    /// What teachers predict of them.
    pub(crate) soft_targets: Option<TaughtRows>,
}

/// Everything of a job but its arrays.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    config: TrainConfig,
    seed: u64,
    engine: Engine,
    n_classes: usize,
    rows: Rows,
    row_seed: u64,
    preprocess: Preprocess,
    half_widths: Option<Vec<f64>>,
    fingerprint: Fingerprint,
    y: Vec<usize>,
    taught: Option<Vec<usize>>,
}

impl Job {
    /// The job and the state to begin from, as bytes: a header, the state as a checkpoint, and the arrays.
    pub fn to_bytes(&self, state: &TrainState) -> Vec<u8> {
        let header = Header {
            version: VERSION,
            config: self.config.clone(),
            seed: self.seed,
            engine: self.engine,
            n_classes: self.n_classes,
            rows: self.rows.clone(),
            row_seed: self.row_seed,
            preprocess: self.preprocess.clone(),
            half_widths: self.half_widths.clone(),
            fingerprint: self.fingerprint.clone(),
            y: self.y.clone(),
            taught: self.soft_targets.as_ref().map(|taught| taught.rows.clone()),
        };
        let numbers = |x: &Array2<f64>| x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let q = self.soft_targets.iter().flat_map(|taught| &taught.q);
        let sections = [
            serde_json::to_vec(&header).expect("plain data"),
            checkpoint::to_bytes(&self.fingerprint, &Progress::default(), state),
            numbers(&self.labelled),
            numbers(&self.unlabelled),
            self.keys.iter().flat_map(|key| key.to_le_bytes()).collect(),
            q.flat_map(|v| v.to_le_bytes()).collect(),
        ];
        let mut bytes = Vec::with_capacity(sections.iter().map(|section| section.len() + 8).sum());
        for section in sections {
            bytes.extend((section.len() as u64).to_le_bytes());
            bytes.extend(section);
        }
        bytes
    }

    /// The job, and the bytes of the state to begin from.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<(Self, Vec<u8>)> {
        let wrong =
            |why: &str| Error::Workers(format!("what the driver sent is not a job of this version: {why}"));
        let mut rest = bytes;
        let mut section = || {
            let (length, after) = rest.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (section, after) = after.split_at_checked(length)?;
            rest = after;
            Some(section)
        };
        let mut sections = [&[] as &[u8]; 6];
        for slot in &mut sections {
            *slot = section().ok_or_else(|| wrong("it ends too early"))?;
        }
        let [header, state, labelled, unlabelled, keys, q] = sections;
        let header: Header = serde_json::from_slice(header).map_err(|error| wrong(&error.to_string()))?;
        if header.version != VERSION {
            return Err(wrong("install the same version of flowgmm on all machines"));
        }
        let dim = header.preprocess.dim_in();
        let array = |bytes: &[u8]| {
            let values: Vec<f64> = eights(bytes).map(f64::from_le_bytes).collect();
            let n = values.len() / dim.max(1);
            Array2::from_shape_vec((n, dim), values).map_err(|error| wrong(&error.to_string()))
        };
        let (labelled, unlabelled) = (array(labelled)?, array(unlabelled)?);
        let keys: Vec<u64> = eights(keys).map(u64::from_le_bytes).collect();
        let q =
            q.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect();
        let soft_targets: Option<TaughtRows> = header.taught.map(|rows| TaughtRows { rows, q });
        let fits = header.y.len() == labelled.nrows()
            && keys.len() == unlabelled.nrows()
            && header.y.iter().all(|y| *y < header.n_classes)
            && soft_targets.as_ref().is_none_or(|taught| {
                taught.q.len() == taught.rows.len() * header.n_classes
                    && taught.rows.iter().all(|row| *row < keys.len())
            });
        if !fits {
            return Err(wrong("its arrays do not fit together"));
        }
        let job = Self {
            config: header.config,
            seed: header.seed,
            engine: header.engine,
            n_classes: header.n_classes,
            rows: header.rows,
            row_seed: header.row_seed,
            preprocess: header.preprocess,
            half_widths: header.half_widths,
            fingerprint: header.fingerprint,
            y: header.y,
            labelled,
            unlabelled,
            keys,
            soft_targets,
        };
        Ok((job, state.to_vec()))
    }

    /// How rows are spread.
    pub(super) fn spread(&self) -> Option<std::sync::Arc<Dequantiser>> {
        let widths = self.half_widths.clone()?;
        Some(Dequantiser::of_half_widths(widths, &self.preprocess))
    }

    /// The rows that all workers hold, as the driver has them.
    pub(super) fn shared_rows(&self) -> TrainingRows {
        let spread = self.spread();
        let of = |x: &Array2<f64>| {
            let all: Vec<usize> = (0..x.nrows()).collect();
            training_matrix(x.view(), &all, &self.preprocess, spread.as_ref())
        };
        TrainingRows {
            labelled: of(&self.labelled),
            y: self.y.clone(),
            unlabelled: of(&self.unlabelled).into(),
            soft_targets: self.soft_targets.clone(),
            n_classes: self.n_classes,
        }
    }
}

fn eights(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> + '_ {
    bytes.chunks_exact(8).map(|eight| eight.try_into().expect("eight bytes"))
}
