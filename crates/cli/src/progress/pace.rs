//! How fast a phase goes, and how long it will take from here: a moving pace, without the warm-up.
//!
//! What comes before the first report of a phase is preparation and says nothing of its pace, and the first step is slower
//! than others. The pace is that of the last [`WINDOW`]; before [`LEAST`] of it is seen, nothing is foretold.

use std::{collections::VecDeque, time::Duration};

/// How far back the pace looks.
const WINDOW: Duration = Duration::from_secs(20);
/// What it takes to tell a pace.
const LEAST: Duration = Duration::from_secs(1);
/// Reports closer together than this are one.
const SPACING: Duration = Duration::from_millis(250);

/// Reports of a phase, each so long after its beginning.
#[derive(Debug, Default)]
pub struct Pace {
    seen: VecDeque<(Duration, usize)>,
    latest: Option<(Duration, usize)>,
    /// Whether the first step is done, which does not count.
    warm: bool,
}

impl Pace {
    /// `done` steps are done, `at` after the beginning of the phase.
    pub fn see(&mut self, at: Duration, done: usize) {
        if !self.warm
            && let Some((_, before)) = self.latest
            && done > before
        {
            self.warm = true;
            self.seen.clear();
        }
        self.latest = Some((at, done));
        if self.seen.back().is_none_or(|(last, _)| at.saturating_sub(*last) >= SPACING) {
            self.seen.push_back((at, done));
        }
        // One report at the far end of the window is kept.
        while self.seen.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= WINDOW) {
            self.seen.pop_front();
        }
    }

    /// Steps in a second, if that can be told.
    pub fn per_second(&self) -> Option<f64> {
        let (&(since, before), (at, done)) = (self.seen.front()?, self.latest?);
        let passed = at.saturating_sub(since);
        let known = self.warm && passed >= LEAST && done > before;
        known.then(|| (done - before) as f64 / passed.as_secs_f64())
    }

    /// The time that is left of `total` steps, if that can be told.
    pub fn left(&self, total: usize) -> Option<Duration> {
        let (_, done) = self.latest?;
        let seconds = total.saturating_sub(done) as f64 / self.per_second()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

/// A duration in a few letters: `8 s`, `2:05 min`, `1:20 h`.
pub fn short(duration: Duration) -> String {
    match duration.as_secs_f64().round() as u64 {
        s @ ..100 => format!("{s} s"),
        s @ ..3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn left(pace: &Pace, total: usize) -> Option<f64> {
        pace.left(total).map(|left| left.as_secs_f64())
    }

    /// Thirty seconds of preparation, a first step of five, then ten steps a second: never thousands of seconds.
    #[test]
    fn preparation_and_the_first_step_do_not_count() {
        let mut pace = Pace::default();
        pace.see(at(30.0), 0);
        assert_eq!(left(&pace, 1000), None);
        pace.see(at(35.0), 1);
        assert_eq!(left(&pace, 1000), None, "the first step says nothing");
        for step in 2..=200 {
            pace.see(at(35.0 + (step - 1) as f64 / 10.0), step);
            if let Some(left) = left(&pace, 1000) {
                let expected = (1000 - step) as f64 / 10.0;
                assert!((left / expected - 1.0).abs() < 0.05, "step {step}: {left}, expected {expected}");
            }
        }
        assert!(left(&pace, 1000).is_some());
    }

    #[test]
    fn a_change_of_pace_is_followed_within_the_window() {
        let mut pace = Pace::default();
        (0..=100).for_each(|step| pace.see(at(step as f64 / 10.0), step));
        assert!((pace.per_second().unwrap() - 10.0).abs() < 0.5);
        // From here on one step a second.
        (101..=130).for_each(|step| pace.see(at(10.0 + (step - 100) as f64), step));
        assert!((pace.per_second().unwrap() - 1.0).abs() < 0.1);
    }

    /// Reports without a new step lower the pace instead of stopping the clock.
    #[test]
    fn a_stalled_phase_has_more_time_left_and_none_is_told_without_steps() {
        let mut pace = Pace::default();
        (0..=50).for_each(|i| pace.see(at(i as f64 / 10.0), 0));
        assert_eq!(left(&pace, 10), None);
        let mut pace = Pace::default();
        (0..=50).for_each(|step| pace.see(at(step as f64 / 10.0), step));
        let before = left(&pace, 100).unwrap();
        (1..=50).for_each(|i| pace.see(at(5.0 + i as f64 / 10.0), 50));
        assert!(left(&pace, 100).unwrap() > 1.5 * before);
        assert_eq!(left(&pace, 50), Some(0.0));
        assert_eq!(left(&pace, 20), Some(0.0), "more done than expected");
    }

    #[test]
    fn durations_are_short() {
        assert_eq!([7.6, 125.0, 4805.0].map(|s| short(at(s))), ["8 s", "2:05 min", "1:20 h"]);
    }
}
