//! Between trainer and observer: passes events on, and writes checkpoints.

use flowgmm_core::{
    Checkpoints,
    checkpoint::Progress,
    train::{Control, EpochRecord, Observer as TrainObserver, TrainState},
};

use semisup::Preprocess;

use crate::{Error, observer::Observer, snapshot::Snapshot};

/// Passes a trainer's events on and writes checkpoints in between.
pub(super) struct Watcher<'a> {
    pub(super) observer: &'a mut dyn Observer,
    /// The map from the user's columns to the flow's.
    pub(super) preprocess: &'a Preprocess,
    pub(super) checkpoints: Option<&'a Checkpoints>,
    pub(super) progress: &'a Progress,
    /// Steps done.
    pub(super) step: usize,
    /// Whether the observer wants to stop; the trainer does not ask after the last step.
    pub(super) stopped: bool,
    pub(super) failed: Option<Error>,
}

impl TrainObserver for Watcher<'_> {
    fn step(&mut self, state: &TrainState) -> Control {
        if let Some(checkpoints) = self.checkpoints
            && checkpoints.due()
            && let Err(error) = checkpoints.write(self.progress, state)
        {
            self.failed = Some(error.into());
            return Control::Stop;
        }
        self.step = state.step;
        self.observer.snapshot(&Snapshot { state, preprocess: self.preprocess });
        self.between_steps()
    }

    fn between_steps(&mut self) -> Control {
        let control = self.observer.progress(self.step);
        self.stopped |= control == Control::Stop;
        control
    }

    fn loss(&mut self, loss: f64) {
        self.observer.loss(loss);
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.observer.epoch(record);
    }
}
