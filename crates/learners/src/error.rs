//! What can go wrong when a rival learns.

/// Why a rival could not be fitted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data or a setting.
    #[error(transparent)]
    Data(#[from] semisup::Error),
    /// A net's loss is not a number any more.
    #[error("the loss is {loss} at step {step} of {steps}: lower the learning rate, now {learning_rate}")]
    Diverged {
        /// The step, from 1.
        step: usize,
        /// Number of steps.
        steps: usize,
        /// What the loss had become.
        loss: f64,
        /// The learning rate that was used.
        learning_rate: f64,
    },
}
