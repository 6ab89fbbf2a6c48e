//! How long a fit will take: a few of its own training steps, timed on this machine as it is now.
//!
//! Operations say little about time. How many a processor does in a second depends on the layers, the batch, the kernels
//! and on who else is computing; a step of the fit itself knows all that. So the trial is the fit, on a few batches of its
//! rows, stopped after some steps.

use std::time::{Duration, Instant};

use flowgmm_core::tensor::Place;
use semisup::{SemiSupervised, split::evenly_spaced};

use crate::{
    Fitter, Settings,
    config::MultiStart,
    cost,
    observer::{Control, Observer, Phase},
};

/// Steps that are timed, after one that warms up: at least a few, and more of quick ones, whose times vary most.
const FEWEST: u32 = 3;
const MOST: u32 = 100;
const LONG_ENOUGH: Duration = Duration::from_millis(300);
/// Batches that the rows of a trial are enough for.
const BATCHES: usize = 2;

/// Seconds that the training steps of a fit will take, short starts and calibration included; `None` if the trial fails,
/// as the fit will then, with its reason.
pub(crate) fn seconds(settings: &Settings, data: &SemiSupervised) -> Option<f64> {
    let mut config = settings.config.clone();
    let steps = cost::steps(&config);
    config.teachers = Vec::new();
    config.calibration = None;
    config.multi_start = MultiStart { starts: 1, ..config.multi_start };
    let rows = some_rows(&config.train, data)?;
    let fitter = Fitter::new(&config, &rows, settings.seed)
        .engine(settings.engine)
        .place(Place::on(&settings.device).ok()?);
    let mut watch = Watch { training: false, began: None, timed: 0, took: Duration::ZERO };
    match fitter.run(&mut watch) {
        Ok(_) | Err(crate::Error::Interrupted { .. }) if watch.timed > 0 => {
            Some(watch.took.as_secs_f64() / f64::from(watch.timed) * steps)
        }
        _ => None,
    }
}

/// Labelled and unlabelled rows for a few batches.
fn some_rows(train: &flowgmm_core::train::TrainConfig, data: &SemiSupervised) -> Option<SemiSupervised> {
    let pick = |rows: Vec<usize>, batch: usize| -> Vec<usize> {
        let some = evenly_spaced(rows.len(), batch.saturating_mul(BATCHES));
        some.into_iter().map(|at| rows[at]).collect()
    };
    let mut rows = pick(data.labelled(), train.batch_labelled);
    rows.extend(pick(data.unlabelled(), train.batch_unlabelled));
    data.select(&rows).ok()
}

/// Times steps after the first, and stops after some.
struct Watch {
    training: bool,
    began: Option<Instant>,
    timed: u32,
    took: Duration,
}

impl Observer for Watch {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, _step: usize) -> Control {
        if !self.training {
            return Control::Continue;
        }
        let Some(began) = self.began else {
            self.began = Some(Instant::now());
            return Control::Continue;
        };
        (self.timed, self.took) = (self.timed + 1, began.elapsed());
        let enough = self.timed >= MOST || (self.timed >= FEWEST && self.took >= LONG_ENOUGH);
        if enough { Control::Stop } else { Control::Continue }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FitConfig;

    /// The trial is of training steps: preparation and what follows training do not end it.
    #[test]
    fn a_trial_times_steps() {
        let data = semisup::Toy::Moons.problem(1).train;
        let settings = Settings::gather(&FitConfig::toy(), &[]).unwrap();
        let whole = seconds(&settings, &data).expect("a toy can be tried");
        let more = crate::Override::new("train.steps", 25_000);
        let longer = seconds(&Settings::gather(&FitConfig::toy(), &[more]).unwrap(), &data).unwrap();
        // Ten times the steps; other programs may slow one of the trials down by a factor of three.
        assert!(whole > 0.0 && (3.0..30.0).contains(&(longer / whole)), "{whole} s, {longer} s");
    }
}
