//! Watching long work: which phase it is in, how far it is, and whether it should go on.
//!
//! Every long phase of the library calls [`Observer::progress`] several times a second, and ends with an error of kind
//! [`Cancelled`](crate::ErrorKind::Cancelled) soon after it was answered by [`Control::Stop`].

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use semisup::{Stopped, Watch};

use crate::{Error, Result, snapshot::Snapshot};

pub use flowgmm_core::train::{Control, EpochRecord};

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Rows are read.
    Reading,
    /// Rows that do not fit in memory are read again, and kept on disk for training.
    Caching,
    /// Texts become embeddings.
    Embedding,
    /// Columns are typed, encoded as numbers and brought to a common scale.
    Preprocessing,
    /// Settings are chosen by cross-validation of quick teachers.
    Choosing,
    /// The nearest neighbours of every row are searched: the graph that labels spread over.
    Neighbours,
    /// Labels are spread over the graph of neighbours; counted in percent of the digits that the solver needs.
    LabelSpreading,
    /// A logistic regression learns from its own confident predictions; counted in percent of the rounds it may take.
    SelfTraining,
    /// Rows are mapped by the untrained flow, and the means of the classes are placed among them.
    PlacingMeans,
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
    /// The round trip x -> z -> x and the log-determinant are checked on training rows.
    Certifying,
    /// The temperature of the flow's probabilities is found on unlabelled rows.
    TemperatureScaling,
    /// Training rows are scored, so that the model can tell how typical a new row is.
    Typicality,
    /// Short runs without each fold of the labels, several at once: how much flow and experts count, and how sure they may be.
    HoldingOut {
        /// How many folds.
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
    /// Another learner is fitted, to compare with; counted in percent.
    Fitting,
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

impl Phase {
    /// Whether training steps are counted, as those of [`Phase::Training`] are.
    pub fn counts_steps(&self) -> bool {
        matches!(self, Self::Training | Self::Start { .. } | Self::HoldingOut { .. })
    }

    /// What is being done, after "interrupted while".
    pub fn doing(&self) -> &'static str {
        match self {
            Self::Reading => "reading rows",
            Self::Caching => "keeping rows on disk",
            Self::Embedding => "embedding texts",
            Self::Preprocessing => "preprocessing columns",
            Self::Choosing => "choosing settings",
            Self::Neighbours => "searching nearest neighbours",
            Self::LabelSpreading => "spreading labels",
            Self::SelfTraining => "self-training a logistic regression",
            Self::PlacingMeans => "placing the means",
            Self::Start { .. } => "scoring a start",
            Self::Training | Self::Fitting | Self::Fitted { .. } => "training",
            Self::Certifying => "checking that the flow inverts",
            Self::TemperatureScaling | Self::HoldingOut { .. } => "calibrating the probabilities",
            Self::Typicality => "scoring training rows",
            Self::CrossValidating { .. } | Self::Comparing => "making the report",
            Self::Scoring => "scoring rows",
            Self::Section(_) => "making a page",
        }
    }
}

/// Watches work, and may stop it.
pub trait Observer: Send {
    /// A phase begins. `total` is how many steps, rows or texts it has, where that is known.
    fn phase(&mut self, _phase: &Phase, _total: Option<usize>) {}

    /// So many steps, rows or texts of the phase are done. Called several times a second, also if there is nothing new;
    /// sometimes from another thread than the one that waits for the result.
    fn progress(&mut self, _done: usize) -> Control {
        Control::Continue
    }

    /// The loss of a training step.
    fn loss(&mut self, _loss: f64) {}

    /// The model as it is before the first training step and after each, for whoever wants to look at it.
    fn snapshot(&mut self, _snapshot: &Snapshot) {}

    /// An epoch of training ended.
    fn epoch(&mut self, _record: &EpochRecord) {}
}

/// Watches nothing.
impl Observer for () {}

/// Announces a phase of `total` steps or rows, and lets loops below the front door report how far they are. If the observer
/// stops them, the error is [`Error::Cancelled`].
pub fn watched<T>(
    observer: &mut dyn Observer,
    phase: &Phase,
    total: usize,
    work: impl FnOnce(&dyn Watch) -> Result<T>,
) -> Result<T> {
    observer.phase(phase, Some(total));
    let watch = Watched {
        observer: Mutex::new(observer),
        total,
        done: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    let result = watch.at(0.0).map_err(Error::from).and_then(|()| work(&watch));
    match result {
        Err(Error::Stopped) => Err(Error::Cancelled { during: phase.doing().into() }),
        other => other,
    }
}

/// An observer of one phase that can be told about it from any thread.
struct Watched<'a> {
    observer: Mutex<&'a mut dyn Observer>,
    total: usize,
    /// The most steps that were reported.
    done: AtomicUsize,
    stopped: AtomicBool,
}

impl Watch for Watched<'_> {
    fn at(&self, fraction: f64) -> std::result::Result<(), Stopped> {
        let done = (fraction * self.total as f64) as usize; // a NaN counts as nothing
        let done = self.done.fetch_max(done, Ordering::Relaxed).max(done).min(self.total);
        // Whoever comes while another thread reports has nothing to add.
        if let Ok(mut observer) = self.observer.try_lock()
            && observer.progress(done) == Control::Stop
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }
}

/// The observer of a fit that is a learner's: it reports to the learner's [`Watch`].
pub struct Reporting<'a> {
    watch: &'a dyn Watch,
    /// Steps of the phase, if it is the one that takes long.
    total: Option<usize>,
}

impl<'a> Reporting<'a> {
    /// An observer that reports to `watch`.
    pub fn to(watch: &'a dyn Watch) -> Self {
        Self { watch, total: None }
    }
}

impl Observer for Reporting<'_> {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        self.total = total.filter(|_| *phase == Phase::Training);
    }

    fn progress(&mut self, done: usize) -> Control {
        let fraction = self.total.map_or(0.0, |total| done as f64 / total.max(1) as f64);
        match self.watch.at(fraction) {
            Ok(()) => Control::Continue,
            Err(Stopped) => Control::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use semisup::Part;

    use super::*;

    /// Keeps what it is told, and stops at so many steps.
    struct Log {
        seen: Vec<usize>,
        stop_at: usize,
    }

    impl Observer for Log {
        fn progress(&mut self, done: usize) -> Control {
            self.seen.push(done);
            if done >= self.stop_at { Control::Stop } else { Control::Continue }
        }
    }

    fn run(stop_at: usize) -> (Vec<usize>, Result<&'static str>) {
        let mut log = Log { seen: Vec::new(), stop_at };
        let result = watched(&mut log, &Phase::Neighbours, 200, |watch| {
            for part in 0..2 {
                let part = Part::of(watch, part, 2);
                for fraction in [0.5, 0.2, f64::NAN, 1.0] {
                    part.at(fraction)?;
                }
            }
            Ok("done")
        });
        (log.seen, result)
    }

    #[test]
    fn fractions_become_steps_that_never_go_back() {
        let (seen, result) = run(usize::MAX);
        assert_eq!(seen, [0, 50, 50, 50, 100, 150, 150, 150, 200]);
        assert_eq!(result.unwrap(), "done");
    }

    #[test]
    fn an_observer_that_stops_ends_the_work() {
        let (seen, result) = run(150);
        assert_eq!(seen.last(), Some(&150), "nothing is reported after the stop");
        let error = result.unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
        assert_eq!(error.to_string(), "interrupted while searching nearest neighbours");
        assert_eq!(run(0).0, [0], "the work does not even begin");
    }
}
