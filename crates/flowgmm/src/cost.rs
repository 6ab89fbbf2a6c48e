//! What a fit will cost, before it starts: operations, memory and time.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels,     FLOP(step) = 3 x rows of a step x sum over layers
//! since a gradient costs about twice its function.
//!
//! Memory is the program's own, the rows (as given, made normal and preprocessed in double precision, and in single
//! precision for the batches), the matrix whose eigenvectors are principal directions, the weights with their optimiser's
//! state, and the activations of a step: those that the backward pass needs, or those of a chunk of rows that is scored,
//! if they are more. All sums are floating-point: a size that no machine has is a large number, not an overflow.

use semisup::SemiSupervised;

use flowgmm_core::SCORING_BATCH;

use crate::{
    Error, Result,
    config::{Calibration, Dequantise, FitConfig, Prepare},
    memory,
    teachers::TeacherMethod,
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

/// Bytes of memory by what they are for.
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
/// Bytes of a program that has nothing to do yet, threads included.
const PROGRAM: f64 = 32e6;

impl Cost {
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
        let weights = flow.n_parameters().map_or(f64::INFINITY, |n| n as f64) + 2.0 * components * flow.dim as f64;
        let step = rows_per_step as f64 * flow.stored_activations();
        let scoring = n.min(SCORING_BATCH) as f64 * flow.live_activations();
        let parts = MemoryParts {
            rows: rows(config, data, flow.dim),
            preprocessing: preprocessing(config, data),
            parameters: weights * COPIES * SINGLE,
            activations: SINGLE * step.max(scoring),
        };
        Self {
            flop_per_step,
            flop: flop_per_step * steps(config),
            rows_per_step,
            memory: PROGRAM + parts.rows + parts.preprocessing + parts.parameters + parts.activations,
            parts,
        }
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
            (parameters, "weights and their optimiser", "architecture.hidden, architecture.depth or the layers of images"),
            (activations, "the values of a batch", "train.batch_unlabelled, train.batch_labelled or architecture.hidden"),
        ];
        let (_, most, remedy) = causes.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("four causes");
        Err(Error::Memory { needed: self.memory, available, most, remedy })
    }
}

impl Prepare {
    /// Columns of the rows after preprocessing, at most.
    fn dim_out(&self, data: &SemiSupervised) -> usize {
        match *self {
            Self::Standardise | Self::Scale | Self::Pixels => data.dim(),
            Self::Pca { dims, .. } | Self::PcaStandardised { dims, .. } => dims.min(data.dim()).min(data.n()).max(1),
        }
    }
}

/// Steps of the whole fit: training, short starts and calibration.
fn steps(config: &FitConfig) -> f64 {
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

/// Bytes of the rows: as given, made normal, preprocessed, and picked for training in double and single precision.
fn rows(config: &FitConfig, data: &SemiSupervised, dim: usize) -> f64 {
    let (n, given, dim) = (data.n() as f64, data.dim() as f64, dim as f64);
    let discrete = f64::from(config.dequantise != Dequantise::Off) * DOUBLE * given;
    // While teachers look at them, rows are there as given, made normal and preprocessed; while batches are prepared,
    // as given, preprocessed, picked and in single precision.
    let learning = DOUBLE * (3.0 * given + dim);
    let training = DOUBLE * (given + 2.0 * dim) + SINGLE * dim + discrete;
    n * learning.max(training)
}

/// Bytes of principal directions and of teachers' graphs.
fn preprocessing(config: &FitConfig, data: &SemiSupervised) -> f64 {
    let directions = match config.prepare {
        Prepare::Pca { .. } | Prepare::PcaStandardised { .. } => directions(data),
        Prepare::Standardise | Prepare::Scale | Prepare::Pixels => 0.0,
    };
    let neighbours = |method: &TeacherMethod| match *method {
        TeacherMethod::LabelSpreading { neighbours, .. } => neighbours.min(data.n()) as f64,
        TeacherMethod::SelfTraining { .. } => 0.0,
    };
    let graph: f64 = config.teachers.iter().map(|teacher| neighbours(&teacher.method)).sum();
    directions + data.n() as f64 * graph * 2.0 * (DOUBLE + DOUBLE)
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
