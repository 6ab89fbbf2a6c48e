//! Progress on stderr: a bar on a terminal, a line now and then elsewhere, nothing when quiet. Ctrl-C stops the work.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use flowgmm::{Control, EpochRecord, Observer, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, text};

/// Time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// How progress is shown.
enum Display {
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
    fn new(quiet: bool) -> Self {
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines { last: Instant::now() },
            (false, true) => {
                let style =
                    ProgressStyle::with_template("{prefix:<12} [{bar:28}] {pos}/{len}  {msg}  ETA {eta}");
                let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
                bar.set_style(style.expect("our own template").progress_chars("=> "));
                Self::Bar(bar)
            }
        }
    }
}

/// Counts things of a kind, such as bytes of a download.
pub struct Counter {
    display: Display,
}

impl Counter {
    /// What suits stderr.
    pub fn new(quiet: bool) -> Self {
        Self { display: Display::new(quiet) }
    }

    /// `done` of `total` things of a kind.
    pub fn count(&mut self, what: &str, done: usize, total: usize) {
        match &mut self.display {
            Display::Quiet => {}
            Display::Lines { last } if last.elapsed() >= PAUSE => {
                write_line(&format!("{what}: {done} of {total}"));
                *last = Instant::now();
            }
            Display::Lines { .. } => {}
            Display::Bar(bar) if done >= total => bar.finish_and_clear(),
            Display::Bar(bar) => {
                bar.set_length(total as u64);
                bar.set_prefix(what.to_string());
                bar.set_position(done as u64);
            }
        }
    }
}

/// Watches work, and stops it on Ctrl-C.
pub struct Progress {
    display: Display,
    /// What is being done.
    name: String,
    total: Option<usize>,
    training: bool,
    phase_began: Instant,
    /// The first step of the phase that was seen, and when.
    first: Option<(usize, Instant)>,
    latest: Option<EpochRecord>,
    /// Images that a training step sees, if it sees images.
    images: Option<usize>,
}

impl Progress {
    /// What suits stderr.
    pub fn new(quiet: bool) -> Self {
        let display = Display::new(quiet);
        Self {
            display,
            name: String::new(),
            total: None,
            training: false,
            phase_began: Instant::now(),
            first: None,
            latest: None,
            images: None,
        }
    }

    /// From now on, training shows how many images it sees in a second, `per_step` in each step.
    pub fn of_images(&mut self, per_step: usize) {
        self.images = Some(per_step);
    }

    /// How to do something about a warning, on stderr.
    pub fn hint(&self, line: &str) {
        write_line(&format!("hint: {line}"));
    }

    /// A line on stderr, unless quiet.
    pub fn note(&self, line: &str) {
        match &self.display {
            Display::Quiet => {}
            Display::Lines { .. } => write_line(line),
            Display::Bar(bar) => bar.suspend(|| write_line(line)),
        }
    }

    fn state(&self) -> String {
        self.latest.as_ref().map_or(String::new(), |record| {
            format!("loss {:.4}  labelled accuracy {}", record.loss, text::percent(record.labelled_accuracy))
        })
    }

    /// Seconds of a step, on average over this phase.
    fn pace(&self, step: usize) -> f64 {
        match self.first {
            // What comes before the first step is preparation.
            Some((first, since)) if step > first => since.elapsed().as_secs_f64() / (step - first) as f64,
            _ => self.phase_began.elapsed().as_secs_f64(),
        }
    }

    /// `640 images/s  loss 0.1234 ..`, as far as it is known.
    fn situation(&self, step: usize) -> String {
        let speed = |images: usize| format!("{:.0} images/s", images as f64 / self.pace(step).max(1e-9));
        let known = self.images.filter(|_| self.training).map(speed).into_iter().chain([self.state()]);
        known.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }

    fn line(&self, done: usize) -> String {
        let what = if self.training { "step " } else { "" };
        match self.total {
            Some(total) => {
                let left = self.pace(done) * total.saturating_sub(done) as f64;
                format!("{}: {what}{done} of {total}  {}  ETA {left:.0} s", self.name, self.situation(done))
            }
            None => format!("{}: {done}", self.name),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        if let Phase::Fitted { what, took } = phase {
            // The others go on, and so does their count.
            let what = what.replacen(" with ", " fitted with ", 1);
            return self.note(&format!("{what} in {:.1} s", took.as_secs_f64()));
        }
        // Short fits of a report announce their training; the fold they are for is what matters.
        let nested = matches!(phase, Phase::Training) && self.name.starts_with("report");
        if !nested {
            self.name = name(phase);
        }
        self.training = matches!(phase, Phase::Training | Phase::Start { .. } | Phase::Calibrating { .. });
        (self.total, self.phase_began, self.first, self.latest) = (total, Instant::now(), None, None);
        if let Display::Bar(bar) = &self.display {
            match total {
                Some(total) => bar.set_length(total as u64),
                None => bar.unset_length(),
            }
            bar.set_prefix(self.name.clone());
            bar.set_message("");
            bar.set_position(0);
            bar.reset_eta();
        }
    }

    fn progress(&mut self, done: usize) -> Control {
        self.first.get_or_insert_with(|| (done, Instant::now()));
        let due = matches!(&self.display, Display::Lines { last } if last.elapsed() >= PAUSE);
        if due {
            write_line(&self.line(done));
            self.display = Display::Lines { last: Instant::now() };
        }
        if let Display::Bar(bar) = &self.display {
            bar.set_position(done as u64);
            if self.training && self.images.is_some() {
                bar.set_message(self.situation(done));
            }
        }
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.latest = Some(record.clone());
        if let Display::Bar(bar) = &self.display {
            bar.set_message(self.state());
        }
    }
}

/// A phase in a few letters.
fn name(phase: &Phase) -> String {
    match phase {
        Phase::Reading => "reading".into(),
        Phase::Embedding => "embedding".into(),
        Phase::Choosing => "choosing".into(),
        Phase::Start { start, starts, fold } => format!("start {start}/{starts}.{fold}"),
        Phase::Training => "training".into(),
        Phase::Calibrating { fold, folds } => format!("calibr. {fold}/{folds}"),
        Phase::CrossValidating { fold, folds } => format!("report {fold}/{folds}"),
        Phase::Comparing => "report, test".into(),
        Phase::Scoring => "scoring".into(),
        Phase::Section(name) => (*name).into(),
        _ => "working".into(),
    }
}

/// A line on stderr.
pub fn write_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}"); // a closed stderr is no reason to stop
}
