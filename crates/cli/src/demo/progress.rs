//! Progress of all fits of the demo together, on stderr.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use flowgmm::{FitObserver, Stage, train::Control};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// How it is shown.
pub enum Progress {
    /// Not at all.
    Quiet,
    /// A line for each fit.
    Lines,
    /// A bar over the steps of all fits.
    Bar(ProgressBar),
}

impl Progress {
    /// What suits stderr.
    pub fn new(quiet: bool) -> Self {
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines,
            (false, true) => {
                let style = ProgressStyle::with_template("fitting [{bar:40}] {percent}%  ETA {eta}");
                let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
                bar.set_style(style.expect("our own template").progress_chars("=> "));
                bar.enable_steady_tick(Duration::from_millis(250));
                Self::Bar(bar)
            }
        }
    }

    /// More steps to come.
    pub fn expect(&self, steps: usize) {
        if let Self::Bar(bar) = self {
            bar.inc_length(steps as u64);
        }
    }

    /// Steps done.
    pub fn advance(&self, steps: usize) {
        if let Self::Bar(bar) = self {
            bar.inc(steps as u64);
        }
    }

    /// A line that stays.
    pub fn note(&self, line: &str) {
        let write = || {
            let _ = writeln!(io::stderr(), "{line}"); // a closed stderr is no reason to stop
        };
        match self {
            Self::Quiet => {}
            Self::Lines => write(),
            Self::Bar(bar) => bar.suspend(write),
        }
    }

    /// The end: clears the bar.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Adds one fit's steps to the progress of all.
pub struct Watcher<'a> {
    progress: &'a Progress,
    seen: usize,
}

impl<'a> Watcher<'a> {
    /// Watches a fit that is about to begin.
    pub fn new(progress: &'a Progress) -> Self {
        Self { progress, seen: 0 }
    }
}

impl FitObserver for Watcher<'_> {
    fn stage(&mut self, stage: &Stage, steps: usize) {
        self.seen = 0;
        if *stage != Stage::Main {
            self.progress.expect(steps);
        }
    }

    fn step(&mut self, step: usize) -> Control {
        self.progress.advance(step - self.seen);
        self.seen = step;
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    }
}
