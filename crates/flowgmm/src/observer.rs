//! Watching long work: which phase it is in, how far it is, and whether it should go on.

use std::time::Duration;

pub use flowgmm_core::train::{Control, EpochRecord};

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Rows are read.
    Reading,
    /// Texts become embeddings.
    Embedding,
    /// Settings are chosen by cross-validation of quick teachers.
    Choosing,
    /// A short start is scored.
    Start {
        /// Which start, from 1.
        start: usize,
        /// Of how many.
        starts: usize,
        /// Which fold, from 1.
        fold: usize,
    },
    /// The model that is kept is trained.
    Training,
    /// A short run without a fold of the labels, to see how sure the model may be.
    Calibrating {
        /// Which fold, from 1.
        fold: usize,
        /// Of how many.
        folds: usize,
    },
    /// A short fit without a fold of the labels, for the report.
    CrossValidating {
        /// Which fold, from 1.
        fold: usize,
        /// Of how many.
        folds: usize,
    },
    /// A fit to the labelled rows alone, for the report's comparison on test rows.
    Comparing,
    /// Rows are scored.
    Scoring,
    /// A section of a page is made.
    Section(&'static str),
    /// One of several fits at once has ended; the others go on, and so does the count of their steps.
    Fitted {
        /// Which one: `moons with all rows`.
        what: String,
        /// How long it took.
        took: Duration,
    },
}

/// Watches work, and may stop it.
pub trait Observer: Send {
    /// A phase begins. `total` is how many steps, rows or texts it has, where that is known.
    fn phase(&mut self, _phase: &Phase, _total: Option<usize>) {}

    /// So many steps, rows or texts of the phase are done.
    fn progress(&mut self, _done: usize) -> Control {
        Control::Continue
    }

    /// The loss of a training step.
    fn loss(&mut self, _loss: f64) {}

    /// An epoch of training ended.
    fn epoch(&mut self, _record: &EpochRecord) {}
}

/// Watches nothing.
impl Observer for () {}
