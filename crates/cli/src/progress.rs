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
    /// The first step of the stage that was seen, and when.
    first: Option<(usize, Instant)>,
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
            first: None,
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
        match self.first {
            // What comes before the first step is preparation.
            Some((first, since)) if step > first => since.elapsed().as_secs_f64() / (step - first) as f64,
            _ => self.stage_began.elapsed().as_secs_f64(),
        }
    }

    /// `640 images/s  loss 0.1234 ..`, as far as it is known.
    fn situation(&self, step: usize) -> String {
        let speed = |images: usize| format!("{:.0} images/s", images as f64 / self.pace(step).max(1e-9));
        let known = self.images.map(speed).into_iter().chain([self.state()]);
        known.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }

    fn line(&self, step: usize) -> String {
        let left = self.pace(step) * (self.steps - step) as f64;
        format!("{}: step {step} of {}  {}  ETA {left:.0} s", self.stage, self.steps, self.situation(step))
    }
}

impl FitObserver for FitProgress {
    fn stage(&mut self, stage: &Stage, steps: usize) {
        self.stage = match stage {
            Stage::Start { start, starts, fold } => format!("start {start}/{starts}.{fold}"),
            Stage::Main => self.name.clone(),
            Stage::Calibration { fold, folds } => format!("calibr. {fold}/{folds}"),
        };
        (self.steps, self.stage_began, self.first) = (steps, Instant::now(), None);
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
        self.first.get_or_insert_with(|| (step, Instant::now()));
        let line = matches!(&self.display, Display::Lines { last } if last.elapsed() >= PAUSE);
        if line {
            write_line(&self.line(step));
            self.display = Display::Lines { last: Instant::now() };
        }
        if let Display::Bar(bar) = &self.display {
            bar.set_position(step as u64);
            if self.images.is_some() {
                bar.set_message(self.situation(step));
            }
        }
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    }
}

/// A line on stderr.
pub fn write_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}"); // a closed stderr is no reason to stop
}
