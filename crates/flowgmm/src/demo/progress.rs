//! One observer of several fits at once.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    Error, Result,
    observer::{Control, Observer, Phase},
};

/// An observer that sees the steps of several fits together, and may stop them all.
pub(super) struct SharedObserver<'a>(Mutex<Shared<'a>>);

struct Shared<'a> {
    observer: &'a mut dyn Observer,
    /// Steps done in all fits.
    done: usize,
    /// Steps of all fits.
    total: usize,
    stopped: bool,
}

impl<'a> SharedObserver<'a> {
    /// Fits that take `total` steps together are about to begin.
    pub(super) fn new(observer: &'a mut dyn Observer, total: usize) -> Self {
        observer.phase(&Phase::Training, Some(total));
        Self(Mutex::new(Shared { observer, done: 0, total, stopped: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Shared<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An observer of one fit, unless all are to stop.
    pub(super) fn watcher(&self) -> Result<Watcher<'_, 'a>> {
        match self.lock().stopped {
            true => Err(cancelled()),
            false => Ok(Watcher { shared: self, seen: 0, steps: false }),
        }
    }

    /// A fit ended.
    pub(super) fn fitted(&self, what: String, took: Duration) {
        let mut shared = self.lock();
        let total = shared.total;
        shared.observer.phase(&Phase::Fitted { what, took }, Some(total));
    }

    /// The error of a fit; that it was cancelled, if it stopped because all are to stop.
    pub(super) fn or_cancelled(&self, error: Error) -> Error {
        match error {
            Error::Interrupted { .. } | Error::Cancelled { .. } => cancelled(),
            other => other,
        }
    }
}

fn cancelled() -> Error {
    Error::Cancelled { during: "fitting the problems of the demo".into() }
}

/// Adds one fit's steps to those of all.
pub(super) struct Watcher<'a, 'b> {
    shared: &'a SharedObserver<'b>,
    /// Steps of this phase of the fit that are counted already.
    seen: usize,
    /// Whether the phase counts training steps.
    steps: bool,
}

impl Observer for Watcher<'_, '_> {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        (self.seen, self.steps) = (0, phase.counts_steps());
    }

    fn progress(&mut self, step: usize) -> Control {
        let mut shared = self.shared.lock();
        if self.steps {
            shared.done += step.saturating_sub(self.seen);
            self.seen = step;
        }
        let done = shared.done;
        shared.stopped |= shared.observer.progress(done) == Control::Stop;
        if shared.stopped { Control::Stop } else { Control::Continue }
    }
}
