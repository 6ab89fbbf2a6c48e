//! Watching and cancelling training.

use super::{EpochRecord, TrainState};

/// What an observer asks of training next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop; the state stays as the last step left it.
    Stop,
}

/// Watches training: progress, cancellation, checkpoints.
pub trait Observer {
    /// The loss of a step that was taken.
    fn loss(&mut self, _loss: f64) {}

    /// After every step.
    fn step(&mut self, _state: &TrainState) -> Control {
        Control::Continue
    }

    /// Now and then while something longer than a step is under way: an E-step, pseudo-labels. To stop here leaves the state
    /// as it was after the last step.
    fn between_steps(&mut self) -> Control {
        Control::Continue
    }

    /// After every epoch (several, if they are very short).
    fn epoch(&mut self, _record: &EpochRecord) {}
}

/// Watches nothing.
impl Observer for () {}
