//! Two pieces of work at once, and one observer: what is in front reports, what is behind is silent until the front is done.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use flowgmm_core::train::Control;

use crate::{
    Error, Result,
    observer::{EpochRecord, Observer, Phase},
    snapshot::Snapshot,
};

/// What both sides share.
struct Meeting<'a> {
    observer: Mutex<&'a mut dyn Observer>,
    /// Whether the front is done.
    done: AtomicBool,
    /// Whether both sides shall stop.
    stop: AtomicBool,
}

/// Runs both, at once if there are threads; either is given an observer. If the front fails or is stopped, so is what is behind.
pub(super) fn beside<A: Send, B: Send>(
    observer: &mut dyn Observer,
    front: impl FnOnce(&mut dyn Observer) -> Result<A> + Send,
    behind: impl FnOnce(&mut dyn Observer) -> Result<B> + Send,
) -> (Result<A>, Result<B>) {
    let meeting = Meeting {
        observer: Mutex::new(observer),
        done: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    };
    rayon::join(
        || {
            let result = front(&mut Front(&meeting));
            meeting.stop.fetch_or(result.is_err(), Ordering::Relaxed);
            meeting.done.store(true, Ordering::Release);
            result
        },
        || match meeting.stop.load(Ordering::Relaxed) {
            // Nobody needs it any more.
            true => Err(Error::Stopped),
            false => behind(&mut Behind { meeting: &meeting, announced: None, shown: false }),
        },
    )
}

struct Front<'a, 'b>(&'a Meeting<'b>);

impl Observer for Front<'_, '_> {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        self.0.with(|observer| observer.phase(phase, total));
    }

    fn progress(&mut self, done: usize) -> Control {
        let control = self.0.with(|observer| observer.progress(done));
        self.0.stop.fetch_or(control == Control::Stop, Ordering::Relaxed);
        control
    }

    fn loss(&mut self, loss: f64) {
        self.0.with(|observer| observer.loss(loss));
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        self.0.with(|observer| observer.snapshot(snapshot));
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.0.with(|observer| observer.epoch(record));
    }
}

struct Behind<'a, 'b> {
    meeting: &'a Meeting<'b>,
    /// The phase it is in.
    announced: Option<(Phase, Option<usize>)>,
    /// Whether the observer knows of that phase.
    shown: bool,
}

impl Observer for Behind<'_, '_> {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        (self.announced, self.shown) = (Some((phase.clone(), total)), false);
    }

    fn progress(&mut self, done: usize) -> Control {
        if self.meeting.stop.load(Ordering::Relaxed) {
            return Control::Stop;
        }
        if !self.meeting.done.load(Ordering::Acquire) {
            return Control::Continue;
        }
        let announced = self.announced.as_ref().filter(|_| !self.shown);
        let control = self.meeting.with(|observer| {
            if let Some((phase, total)) = announced {
                observer.phase(phase, *total);
            }
            observer.progress(done)
        });
        self.shown = true;
        control
    }
}

impl Meeting<'_> {
    fn with<T>(&self, tell: impl FnOnce(&mut dyn Observer) -> T) -> T {
        tell(&mut **self.observer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it is told, and stops at a count.
    struct Told {
        lines: Vec<String>,
        stop_at: usize,
    }

    impl Observer for Told {
        fn phase(&mut self, phase: &Phase, _: Option<usize>) {
            self.lines.push(format!("{phase:?}"));
        }

        fn progress(&mut self, done: usize) -> Control {
            self.lines.push(done.to_string());
            if done >= self.stop_at { Control::Stop } else { Control::Continue }
        }
    }

    fn step(observer: &mut dyn Observer, done: usize) -> Result<()> {
        match observer.progress(done) {
            Control::Continue => Ok(()),
            Control::Stop => Err(Error::Stopped),
        }
    }

    #[test]
    fn what_is_behind_reports_once_the_front_is_done() {
        let mut told = Told { lines: Vec::new(), stop_at: 100 };
        let front = |observer: &mut dyn Observer| {
            observer.phase(&Phase::Training, None);
            step(observer, 1)
        };
        let behind = |observer: &mut dyn Observer| {
            observer.phase(&Phase::Scoring, None);
            // Nobody hears it before the front is done; then the hundredth stops it.
            while observer.progress(100) == Control::Continue {
                std::thread::yield_now();
            }
            Ok(())
        };
        let (front, behind) = beside(&mut told, front, behind);
        assert!(front.is_ok() && behind.is_ok());
        assert_eq!(told.lines, ["Training", "1", "Scoring", "100"]);
    }

    #[test]
    fn a_stop_of_the_front_stops_what_is_behind() {
        let mut told = Told { lines: Vec::new(), stop_at: 3 };
        let (front, behind) = beside(
            &mut told,
            |observer| (0..10).try_for_each(|done| step(observer, done)),
            |observer| {
                while observer.progress(0) == Control::Continue {
                    std::thread::yield_now();
                }
                Err::<(), _>(Error::Stopped)
            },
        );
        assert!(front.is_err() && behind.is_err());
        assert_eq!(told.lines, ["0", "1", "2", "3"]);
    }
}
