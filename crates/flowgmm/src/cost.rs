//! What a fit will cost, before it starts: operations, memory and time.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels,     FLOP(step) = 3 x rows of a step x sum over layers
//! since a gradient costs about twice its function.
//!
//! Memory is the most that one of four stages holds at the same time, beside the program itself:
//!
//! | stage | rows | and |
//! |---|---|---|
//! | preparation | as given, those that maps are learnt from, those that teachers see | the products that principal directions come from, teachers' graphs |
//! | first batch | as given, preprocessed in single precision | activations of the rows that initialise the flow, or are scored |
//! | training | the same | weights with their optimiser's state, activations of a step |
//! | certificate | the same | weights, activations of some rows in double precision |
//!
//! The estimate was compared with the peak of the resident memory (VmHWM) of fits to tables of 10 to 1000 columns and to
//! images of 16 x 16 to 48 x 48 pixels: it was 0.77 to 0.96 times as much. `examples/memory.rs` measures it again.
//! All sums are floating-point: a size that no machine has is a large number, not an overflow.

use semisup::SemiSupervised;

use flowgmm_core::SCORING_BATCH;

use crate::{
    Error, Result,
    config::{Calibration, Dequantise, FitConfig, Prepare},
    memory,
    prepared::{MAPPED, TAUGHT},
    teachers::TeacherMethod,
    units,
};

/// An estimate of what a fit needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Floating-point operations of a training step.
    pub flop_per_step: f64,
    /// Floating-point operations of all training steps, those of short starts and of calibration included.
    pub flop: f64,
    /// Rows that a step sees, each view of one counted.
    pub rows_per_step: usize,
    /// Bytes of memory at the same time.
    pub memory: f64,
    /// What the bytes are for.
    pub parts: MemoryParts,
}

/// Bytes of memory by what they are for, in the stage of a fit that needs most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryParts {
    /// The rows, in the forms in which a fit holds them at the same time.
    pub rows: f64,
    /// Principal directions, and neighbours of rows for teachers.
    pub preprocessing: f64,
    /// Weights, gradients, the optimiser's moments, the moving average and the state to roll back to.
    pub parameters: f64,
    /// Activations of a step, or of a chunk of rows that is scored.
    pub activations: f64,
}

/// Sizes of the numbers that are kept.
const SINGLE: f64 = 4.0;
const DOUBLE: f64 = 8.0;
/// Of every weight: itself, its gradient, two moments, a moving average, and a snapshot of the last four.
const COPIES: f64 = 9.0;
/// Bytes of a program that has nothing to do yet.
const PROGRAM: f64 = 20e6;
/// Rows that the certificate is measured on, and how much more than their activations was measured to be there.
const CERTIFIED: usize = 256;
const CERTIFICATE: f64 = 1.3;
const NONE: MemoryParts = MemoryParts { rows: 0.0, preprocessing: 0.0, parameters: 0.0, activations: 0.0 };

impl MemoryParts {
    fn total(&self) -> f64 {
        self.rows + self.preprocessing + self.parameters + self.activations
    }
}

impl Cost {
    /// `about 3.1 GiB of memory; 200 rows and 1.2 GFLOP a step, 2.4 TFLOP in all`; `noun` is what a row is called.
    pub fn describe(&self, noun: &str) -> String {
        let (memory, step, all) =
            (units::bytes(self.memory), units::operations(self.flop_per_step), units::operations(self.flop));
        format!("about {memory} of memory; {} {noun} and {step} a step, {all} in all", self.rows_per_step)
    }

    /// Of a fit to these rows.
    pub fn of(config: &FitConfig, data: &SemiSupervised) -> Self {
        let train = &config.train;
        let (n, labelled) = (data.n(), data.labelled().len());
        let unlabelled = (n - labelled).min(train.batch_unlabelled);
        let views = 1 + usize::from(train.objective.consistency.is_some());
        let rows_per_step = labelled.min(train.batch_labelled) + views * unlabelled;
        let flow = config.architecture.flow(config.prepare.dim_out(data));
        let flop_per_step = 3.0 * rows_per_step as f64 * flow.flop();
        let components = (data.n_classes() * config.architecture.per_class) as f64;
        let weights =
            flow.n_parameters().map_or(f64::INFINITY, |n| n as f64) + 2.0 * components * flow.dim as f64;
        let scored = SINGLE * n.min(SCORING_BATCH) as f64;
        let certified = CERTIFICATE * DOUBLE * n.min(CERTIFIED) as f64;
        let rows = resting(config, data, flow.dim);
        let stages = [
            MemoryParts {
                rows: preparing(config, data, flow.dim),
                preprocessing: preprocessing(config, data),
                ..NONE
            },
            MemoryParts {
                rows,
                parameters: weights * SINGLE,
                activations: scored * flow.live_activations(),
                ..NONE
            },
            MemoryParts {
                rows,
                parameters: weights * COPIES * SINGLE,
                activations: SINGLE * rows_per_step as f64 * flow.stored_activations(),
                ..NONE
            },
            MemoryParts {
                rows,
                parameters: weights * (COPIES * SINGLE + DOUBLE),
                activations: certified * flow.live_activations(),
                ..NONE
            },
        ];
        let parts = stages.into_iter().max_by(|a, b| a.total().total_cmp(&b.total())).expect("four stages");
        let (flop, memory) = (flop_per_step * steps(config), PROGRAM + parts.total());
        Self { flop_per_step, flop, rows_per_step, memory, parts }
    }

    /// The flow of a fit to these rows, checked: an architecture that describes no flow has no cost.
    pub(crate) fn check_flow(config: &FitConfig, data: &SemiSupervised) -> Result<()> {
        Ok(config.architecture.flow(config.prepare.dim_out(data)).validate()?)
    }

    /// An error if looking at the rows, which the choice of settings does, needs more memory than there is.
    pub(crate) fn check_rows(data: &SemiSupervised) -> Result<()> {
        let parts = MemoryParts {
            rows: 2.0 * DOUBLE * data.n() as f64 * data.dim() as f64,
            preprocessing: directions(data),
            ..MemoryParts::default()
        };
        let memory = PROGRAM + parts.rows + parts.preprocessing;
        Self { flop_per_step: 0.0, flop: 0.0, rows_per_step: 0, memory, parts }.check_memory()
    }

    /// An error if a fit needs more memory than there is.
    pub(crate) fn check_memory(&self) -> Result<()> {
        self.check_against(memory::available())
    }

    fn check_against(&self, available: f64) -> Result<()> {
        if self.memory <= available {
            return Ok(());
        }
        let MemoryParts { rows, preprocessing, parameters, activations } = self.parts;
        let causes = [
            (rows, "the rows", "their number, or the number of columns"),
            (preprocessing, "principal directions and neighbours", "the number of columns, or that of rows"),
            (
                parameters,
                "weights and their optimiser",
                "architecture.hidden, architecture.depth or the layers of images",
            ),
            (
                activations,
                "the values of a batch",
                "train.batch_unlabelled, train.batch_labelled or architecture.hidden",
            ),
        ];
        let (_, most, remedy) = causes.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("four causes");
        Err(Error::Memory { needed: self.memory, available, most, remedy })
    }
}

impl Prepare {
    /// Columns of the rows after preprocessing, at most.
    pub(crate) fn dim_out(&self, data: &SemiSupervised) -> usize {
        match *self {
            Self::Raw | Self::Standardise | Self::Scale | Self::Pixels => data.dim(),
            Self::Pca { dims, .. } | Self::PcaStandardised { dims, .. } => {
                dims.min(data.dim()).min(data.n()).max(1)
            }
        }
    }
}

/// Steps of the whole fit: training, short starts and calibration.
pub(crate) fn steps(config: &FitConfig) -> f64 {
    let starts = match config.multi_start.starts {
        0 | 1 => 0.0,
        starts => starts as f64 * config.multi_start.folds as f64 * config.multi_start.fraction,
    };
    let calibration = match config.calibration {
        Some(Calibration::Folds { folds, fraction }) => folds as f64 * fraction,
        Some(Calibration::Expected { .. }) | None => 0.0,
    };
    config.train.steps as f64 * (1.0 + starts + calibration)
}

/// Bytes of the rows while preprocessing is learnt and applied, and teachers look at them.
fn preparing(config: &FitConfig, data: &SemiSupervised, dim: usize) -> f64 {
    let (n, columns) = (data.n() as f64, data.dim() as f64);
    let mapped = 2.0 * n.min(MAPPED as f64) * columns;
    let taught = if config.teachers.is_empty() { 1.0 } else { 2.0 };
    let taught = taught_rows(data) * (taught * columns + dim as f64);
    DOUBLE * (n * columns + mapped.max(taught))
}

/// Bytes of the rows while a flow is trained: as given, and preprocessed in single precision for the batches.
fn resting(config: &FitConfig, data: &SemiSupervised, dim: usize) -> f64 {
    let given = if config.dequantise == Dequantise::Off { 1.0 } else { 2.0 };
    data.n() as f64 * (DOUBLE * given * data.dim() as f64 + SINGLE * dim as f64)
}

/// Rows that teachers see.
fn taught_rows(data: &SemiSupervised) -> f64 {
    data.n().min(data.labelled().len() + TAUGHT) as f64
}

/// Bytes of principal directions and of teachers' graphs.
fn preprocessing(config: &FitConfig, data: &SemiSupervised) -> f64 {
    let directions = match config.prepare {
        Prepare::Pca { .. } | Prepare::PcaStandardised { .. } => directions(data),
        Prepare::Raw | Prepare::Standardise | Prepare::Scale | Prepare::Pixels => 0.0,
    };
    let neighbours = |method: &TeacherMethod| match *method {
        TeacherMethod::LabelSpreading { neighbours, .. } => neighbours.min(data.n()) as f64,
        TeacherMethod::SelfTraining { .. }
        | TeacherMethod::Experts { .. }
        | TeacherMethod::NaiveBayes { .. } => 0.0,
    };
    let graph: f64 = config.teachers.iter().map(|teacher| neighbours(&teacher.method)).sum();
    directions + taught_rows(data) * graph * 2.0 * (DOUBLE + DOUBLE)
}

/// Bytes of the matrix of products that principal directions come from, its eigenvectors and a copy.
fn directions(data: &SemiSupervised) -> f64 {
    let side = data.n().min(data.dim()) as f64;
    3.0 * DOUBLE * side * side
}

#[cfg(test)]
mod tests {
    use super::*;
    use semisup::Toy;

    #[test]
    fn absurd_sizes_are_refused_in_words_and_do_not_overflow() {
        let data = Toy::Moons.problem(1).train;
        let mut config = FitConfig::toy();
        assert!(Cost::of(&config, &data).check_memory().is_ok(), "a toy fits anywhere");
        config.architecture.hidden = vec![65536, 65536];
        let cost = Cost::of(&config, &data);
        let message = cost.check_against(16e9).unwrap_err().to_string();
        for part in ["TiB", "15 GiB", "weights", "architecture.hidden"] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        config.architecture.hidden = vec![65536; 16];
        config.architecture.depth = 1024;
        config.train.steps = usize::MAX;
        config.train.batch_unlabelled = usize::MAX;
        let cost = Cost::of(&config, &data);
        assert!(cost.memory > 1e15 && cost.flop > 1e30 && cost.check_memory().is_err(), "{cost:?}");
    }
}
