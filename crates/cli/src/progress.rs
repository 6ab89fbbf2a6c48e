//! Progress of a fit on stderr: a bar on a terminal, a line now and then elsewhere, nothing when quiet.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use flowgmm::{
    FitObserver, Stage,
    train::{Control, EpochRecord},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, text};

/// Time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// How progress is shown.
pub enum Display {
    /// Not at all.
    Quiet,
    /// As lines.
    Lines {
        /// When the last one was written.
        last: Instant,
    },
    /// As a bar that redraws itself.
    Bar(ProgressBar),
}

impl Display {
    /// What suits stderr.
    pub fn new(quiet: bool) -> Self {
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines { last: Instant::now() },
            (false, true) => {
                let template = "{prefix:<12} [{bar:28}] {pos}/{len}  {msg}  ETA {eta}";
                let style = ProgressStyle::with_template(template).expect("our own template");
                let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
                bar.set_style(style.progress_chars("=> "));
                Self::Bar(bar)
            }
        }
    }
}

impl Display {
    /// `done` of `total` things of a kind.
    pub fn count(&mut self, what: &str, done: usize, total: usize) {
        match self {
            Self::Quiet => {}
            Self::Lines { last } if last.elapsed() >= PAUSE => {
                write_line(&format!("{what}: {done} of {total}"));
                *last = Instant::now();
            }
            Self::Lines { .. } => {}
            Self::Bar(bar) if done >= total => bar.finish_and_clear(),
            Self::Bar(bar) => {
                bar.set_length(total as u64);
                bar.set_prefix(what.to_string());
                bar.set_position(done as u64);
            }
        }
    }
}

/// Watches one fit, and stops it on Ctrl-C.
pub struct FitProgress {
    display: Display,
    /// What the main stage is called.
    name: String,
    stage: String,
    steps: usize,
    stage_began: Instant,
    first_step: Option<usize>,
    latest: Option<EpochRecord>,
    /// Images that a step sees, if it sees images.
    images: Option<usize>,
}

impl FitProgress {
    /// Shows a fit in this way.
    pub fn new(display: Display) -> Self {
        let stage_began = Instant::now();
        Self {
            display,
            name: "training".into(),
            stage: String::new(),
            steps: 0,
            stage_began,
            first_step: None,
            latest: None,
            images: None,
        }
    }

    /// Shows how many images it sees in a second, `per_step` in each step.
    pub fn of_images(self, per_step: usize) -> Self {
        Self { images: Some(per_step), ..self }
    }

    /// From now on the main stage of a fit has this name.
    pub fn call(&mut self, name: String) {
        self.name = name;
    }

    /// The end: clears the bar.
    pub fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> String {
        self.latest.as_ref().map_or(String::new(), |record| {
            format!("loss {:.4}  labelled accuracy {}", record.loss, text::percent(record.labelled_accuracy))
        })
    }

    /// Seconds of a step, on average over this stage.
    fn pace(&self, step: usize) -> f64 {
        let done = step + 1 - self.first_step.unwrap_or(step);
        self.stage_began.elapsed().as_secs_f64() / done as f64
    }

    /// `640 images/s  `, or nothing.
    fn throughput(&self, step: usize) -> String {
        let of = |images: usize| format!("{:.0} images/s  ", images as f64 / self.pace(step).max(1e-9));
        self.images.map(of).unwrap_or_default()
    }

    fn line(&self, step: usize) -> String {
        let left = self.pace(step) * (self.steps - step) as f64;
        let speed = self.throughput(step);
        format!("{}: step {step} of {}  {speed}{}  ETA {left:.0} s", self.stage, self.steps, self.state())
    }
}

impl FitObserver for FitProgress {
    fn stage(&mut self, stage: &Stage, steps: usize) {
        self.stage = match stage {
            Stage::Start { start, starts, fold } => format!("start {start}/{starts}.{fold}"),
            Stage::Main => self.name.clone(),
            Stage::Calibration { fold, folds } => format!("calibr. {fold}/{folds}"),
        };
        (self.steps, self.stage_began, self.first_step) = (steps, Instant::now(), None);
        self.latest = None;
        if let Display::Bar(bar) = &self.display {
            bar.set_length(steps as u64);
            bar.set_prefix(self.stage.clone());
            bar.set_message("");
            bar.set_position(0);
            bar.reset_eta();
        }
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.latest = Some(record.clone());
        if let Display::Bar(bar) = &self.display {
            bar.set_message(self.state());
        }
    }

    fn step(&mut self, step: usize) -> Control {
        self.first_step.get_or_insert(step);
        let line = matches!(&self.display, Display::Lines { last } if last.elapsed() >= PAUSE);
        if line {
            write_line(&self.line(step));
            self.display = Display::Lines { last: Instant::now() };
        }
        if let Display::Bar(bar) = &self.display {
            bar.set_position(step as u64);
            if self.images.is_some() {
                bar.set_message(format!("{}{}", self.throughput(step), self.state()));
            }
        }
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    }
}

/// A line on stderr.
pub fn write_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}"); // a closed stderr is no reason to stop
}
