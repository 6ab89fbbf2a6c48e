//! What a fit will cost, before it starts: multiplications and additions, and memory.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels,     FLOP(step) = 3 x rows of a step x sum over layers
//! since a gradient costs about twice its function. Memory is what a step keeps for the backward pass (the hidden values
//! of every net, twice: before and after their normalisation or activation), the weights with their optimiser's state,
//! and the data: as given and preprocessed in double precision, once more while batches are prepared, and in single.

use semisup::SemiSupervised;

use flowgmm_core::SCORING_BATCH;

use crate::config::FitConfig;

/// An estimate of what a fit needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Floating-point operations of a training step.
    pub flop_per_step: f64,
    /// The same of all steps, short starts and calibration left out.
    pub flop: f64,
    /// Rows that a step sees, each view of one counted.
    pub rows_per_step: usize,
    /// Bytes of memory at the same time.
    pub memory: f64,
}

/// Sizes of the numbers that are kept.
const SINGLE: f64 = 4.0;
const DOUBLE: f64 = 8.0;
/// Of every weight: itself, its gradient, two moments, a moving average, and a snapshot of the last four.
const COPIES: f64 = 9.0;

impl Cost {
    /// Of a fit to rows whose number of columns preprocessing does not change, such as images.
    pub fn of(config: &FitConfig, data: &SemiSupervised) -> Self {
        let train = &config.train;
        let (n, labelled) = (data.n(), data.labelled().len());
        let unlabelled = (n - labelled).min(train.batch_unlabelled);
        let views = 1 + usize::from(train.objective.consistency.is_some());
        let rows_per_step = labelled.min(train.batch_labelled) + views * unlabelled;
        let flow = config.architecture.flow(data.dim());
        let flop_per_step = 3.0 * rows_per_step as f64 * flow.flop();
        let step = rows_per_step as f64 * flow.stored_activations();
        let scoring = n.min(SCORING_BATCH) as f64 * flow.live_activations();
        let weights = flow.n_parameters().map_or(f64::INFINITY, |n| n as f64) * COPIES;
        let data = n as f64 * flow.dim as f64 * (3.0 * DOUBLE + SINGLE);
        Self {
            flop_per_step,
            flop: flop_per_step * train.steps as f64,
            rows_per_step,
            memory: data + SINGLE * (weights + step.max(scoring)),
        }
    }
}
