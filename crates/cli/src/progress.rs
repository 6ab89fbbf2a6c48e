//! Progress on stderr: a bar on a terminal, a line now and then elsewhere, nothing when quiet. Every phase shows how long it
//! has taken and how long it will take. Ctrl-C stops the work.

mod pace;

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use flowgmm::{Control, EpochRecord, Observer, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, output, text};
use pace::{Pace, short};

/// Time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(5);

/// Time between two drawings of a bar of which nothing is heard.
const TICK: Duration = Duration::from_millis(500);
/// A phase of which it is known how long it is, and one of which it is not.
const BAR: &str = "{prefix:<16} [{bar:28}] {percent:>3}%  {elapsed}  {msg}";
const COUNT: &str = "{prefix:<16} {human_pos}  {elapsed}  {msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("our own template").progress_chars("=> ")
}

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
                let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
                bar.set_style(style(BAR));
                bar.enable_steady_tick(TICK);
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
                output::say(&format!("{what}: {done} of {total}"));
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
    pace: Pace,
    latest: Option<EpochRecord>,
    /// Images that a training step sees, if it sees images.
    images: Option<usize>,
}

impl Progress {
    /// What suits stderr. From now on Ctrl-C is heeded.
    pub fn new(quiet: bool) -> Self {
        // Without a handler Ctrl-C ends the program as it does any other.
        let _ = interrupt::listen();
        let display = Display::new(quiet);
        Self {
            display,
            name: String::new(),
            total: None,
            training: false,
            phase_began: Instant::now(),
            pace: Pace::default(),
            latest: None,
            images: None,
        }
    }

    /// From now on, training shows how many images it sees in a second, `per_step` in each step.
    pub fn of_images(&mut self, per_step: usize) {
        self.images = Some(per_step);
    }

    /// Things the user should know, without a bar in their line.
    pub fn warn(&self, warnings: &[String]) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| output::warn(warnings)),
            Display::Quiet | Display::Lines { .. } => output::warn(warnings),
        }
    }

    /// How to do something about a warning, on stderr.
    pub fn hint(&self, line: &str) {
        output::say(&format!("hint: {line}"));
    }

    /// A line on stderr, unless quiet.
    pub fn note(&self, line: &str) {
        match &self.display {
            Display::Quiet => {}
            Display::Lines { .. } => output::say(line),
            Display::Bar(bar) => bar.suspend(|| output::say(line)),
        }
    }

    fn state(&self) -> String {
        self.latest.as_ref().map_or(String::new(), |record| {
            format!("loss {:.4}  labelled accuracy {}", record.loss, text::percent(record.labelled_accuracy))
        })
    }

    /// `about 40 s left  640 images/s  loss 0.1234 ..`, as far as it is known.
    fn situation(&self) -> String {
        let left = self.total.and_then(|total| self.pace.left(total));
        let left = left.map(|left| format!("about {} left", short(left)));
        let images = self.images.filter(|_| self.training).zip(self.pace.per_second());
        let images = images.map(|(images, steps)| format!("{:.0} images/s", images as f64 * steps));
        let known = [left, images, Some(self.state())].into_iter().flatten();
        known.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }

    fn line(&self, done: usize) -> String {
        let what = if self.training { "step " } else { "" };
        let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let parts = [short(self.phase_began.elapsed()), self.situation()];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        format!("{}: {what}{done}{of}  {}", self.name, parts.join("  "))
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
        let nested = is_part_of_a_fit(phase) && self.name.starts_with("report");
        if !nested {
            self.name = name(phase);
        }
        self.training = phase.counts_steps();
        (self.total, self.phase_began) = (total, Instant::now());
        (self.pace, self.latest) = (Pace::default(), None);
        if let Display::Bar(bar) = &self.display {
            match total {
                Some(total) => bar.set_length(total as u64),
                None => bar.unset_length(),
            }
            bar.set_style(style(if total.is_some() { BAR } else { COUNT }));
            bar.set_prefix(self.name.clone());
            bar.set_message("");
            bar.set_position(0);
            bar.reset_elapsed();
        }
    }

    fn progress(&mut self, done: usize) -> Control {
        self.pace.see(self.phase_began.elapsed(), done);
        let due = matches!(&self.display, Display::Lines { last } if last.elapsed() >= PAUSE);
        if due {
            output::say(&self.line(done));
            self.display = Display::Lines { last: Instant::now() };
        }
        if let Display::Bar(bar) = &self.display {
            bar.set_position(done as u64);
            bar.set_message(self.situation());
        }
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.latest = Some(record.clone());
    }
}

/// Whether short fits of a report go through this phase.
fn is_part_of_a_fit(phase: &Phase) -> bool {
    !matches!(
        phase,
        Phase::CrossValidating { .. }
            | Phase::Comparing
            | Phase::Section(_)
            | Phase::Scoring
            | Phase::Reading
    )
}

/// A phase in a few letters.
fn name(phase: &Phase) -> String {
    match phase {
        Phase::Reading => "reading".into(),
        Phase::Caching => "rows to disk".into(),
        Phase::Embedding => "embedding".into(),
        Phase::Preprocessing => "preprocessing".into(),
        Phase::Choosing => "choosing".into(),
        Phase::Neighbours => "neighbours".into(),
        Phase::LabelSpreading => "label spreading".into(),
        Phase::SelfTraining => "self-training".into(),
        Phase::PlacingMeans => "means".into(),
        Phase::Start { start, starts, fold } => format!("start {start}/{starts}.{fold}"),
        Phase::Training => "training".into(),
        Phase::Certifying => "round trip".into(),
        Phase::TemperatureScaling => "temperature".into(),
        Phase::Typicality => "typicality".into(),
        Phase::Fitting => "fitting".into(),
        Phase::HoldingOut { .. } => "held out".into(),
        Phase::CrossValidating { fold, folds } => format!("report {fold}/{folds}"),
        Phase::Comparing => "report, test".into(),
        Phase::Scoring => "scoring".into(),
        Phase::Section(name) => (*name).into(),
        _ => "working".into(),
    }
}
