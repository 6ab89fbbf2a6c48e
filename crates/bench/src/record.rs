//! What is known of a finished cell: its place, its scores, and how they came about.

use std::{fs, time::SystemTime};

use chrono::DateTime;
use ndarray::Array2;
use semisup::{Labelled, Scores};
use serde::{Deserialize, Serialize};

use crate::LabelSource;

/// A finished cell: one learner on one draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// What it gave.
    pub outcome: Outcome,
    /// Accuracy on the plan's validation rows, if it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Seconds of fitting.
    pub fit_seconds: f64,
    /// Seconds of predicting the test rows.
    pub predict_seconds: f64,
    /// Peak resident memory of the whole process in bytes, where the system tells; since the cell began where it can
    /// be asked to forget what was before. It includes the table, and what the allocator kept of earlier cells.
    pub peak_memory: Option<u64>,
    /// Labelled, unlabelled and test rows.
    pub rows: [usize; 3],
    /// Classes of the data of which the draw has no label: the learner does not know them.
    #[serde(default)]
    pub classes_without_label: usize,
    /// [`CellScores::clipped_nll`] of predicting the class shares of the labels for every test row.
    #[serde(default)]
    pub shares_nll: Option<f64>,
    /// The seed of the learner.
    pub seed: u64,
    /// Fingerprint of the data.
    pub data: String,
    /// Hash of the plan.
    pub plan: String,
    /// What ran it.
    pub version: String,
    /// Threads of the pool.
    pub threads: usize,
    /// When it was finished, UTC.
    pub date: String,
}

/// Which cell it is: dataset, labels, learner, draw and settings. A cell runs anew if any of them changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellKey {
    /// The table.
    pub dataset: String,
    /// Its labels.
    pub labels: LabelSource,
    /// The learner's name in the plan.
    pub learner: String,
    /// The draw.
    pub draw: u64,
    /// The learner's hyper-parameters.
    pub settings: String,
    /// File, options, test rows and limits in words.
    pub split: String,
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With scores on the test rows.
    Scored(CellScores),
    /// With an error or a panic.
    Failed(String),
}

/// The metrics of a cell, as in [`Scores`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellScores {
    /// Share right.
    pub accuracy: f64,
    /// Mean over classes of the share found.
    pub balanced_accuracy: f64,
    /// Mean F1 over classes.
    pub macro_f1: f64,
    /// Mean negative log probability of the true class; absent where it is infinite, a true class having had
    /// probability 0.
    pub nll: Option<f64>,
    /// Mean of -log max(p, [`LEAST_PROBABILITY`]) of the true class, which is always finite; absent in records of earlier
    /// versions.
    #[serde(default)]
    pub clipped_nll: Option<f64>,
    /// Brier score.
    pub brier: f64,
    /// Expected calibration error.
    pub ece: f64,
}

/// The least probability that counts in [`CellScores::clipped_nll`]: one row whose true class had probability 0 costs
/// 13.8 nats instead of infinitely many.
pub const LEAST_PROBABILITY: f64 = 1e-6;

impl CellScores {
    /// Scores log p(y = k | x), `[n, n_classes]`, against the true classes.
    pub fn from_log_probs(log_probs: &Array2<f64>, y: &[usize]) -> Self {
        let Scores { accuracy, balanced_accuracy, macro_f1, nll, brier, ece, .. } =
            Scores::from_log_probs(log_probs, y);
        let nll = nll.is_finite().then_some(nll);
        let clipped_nll = Some(clipped_nll(log_probs, y));
        Self { accuracy, balanced_accuracy, macro_f1, nll, clipped_nll, brier, ece }
    }
}

/// Mean of -log max(p(y | x), [`LEAST_PROBABILITY`]).
pub(crate) fn clipped_nll(log_probs: &Array2<f64>, y: &[usize]) -> f64 {
    let least = LEAST_PROBABILITY.ln();
    -y.iter().enumerate().map(|(row, &k)| log_probs[[row, k]].max(least)).sum::<f64>() / y.len() as f64
}

impl Record {
    /// The scores, if there are any.
    pub fn scores(&self) -> Option<&CellScores> {
        match &self.outcome {
            Outcome::Scored(scores) => Some(scores),
            Outcome::Failed(_) => None,
        }
    }

    /// Fitting and predicting.
    pub fn seconds(&self) -> f64 {
        self.fit_seconds + self.predict_seconds
    }
}

/// 16 hexadecimal digits of the numbers: FNV-1a over words. It tells versions apart; it is no protection.
pub(crate) fn fingerprint(words: impl IntoIterator<Item = u64>) -> String {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    format!("{:016x}", words.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Fingerprint of rows and labels, test rows included.
pub(crate) fn data_fingerprint(all: &Labelled, test: Option<&Labelled>) -> String {
    fn words(part: &Labelled) -> impl Iterator<Item = u64> {
        part.x().into_iter().map(|value| value.to_bits()).chain(part.y().iter().map(|&y| y as u64))
    }
    fingerprint(words(all).chain(test.into_iter().flat_map(words)))
}

/// Forgets the peak of resident memory so far, where Linux lets us.
pub(crate) fn forget_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5"); // without it the peak is that of the whole run
}

/// Peak resident memory of this process in bytes, where there is `/proc`.
pub(crate) fn peak_memory() -> Option<u64> {
    parse_peak(&fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Now, as in 2026-11-16T04:26:20Z.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs())
}

/// Seconds since 1970 as a date.
fn date(seconds: u64) -> String {
    let time = DateTime::from_timestamp(seconds as i64, 0).expect("a year the calendar has");
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_the_calendar_has_them() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_794_803_180), "2026-11-16T04:26:20Z");
    }

    #[test]
    fn a_true_class_without_probability_costs_as_much_as_the_least() {
        let probs = ndarray::array![[0.25, 0.75], [1.0, 0.0]];
        let scores = CellScores::from_log_probs(&probs.ln(), &[1, 1]);
        assert_eq!((scores.accuracy, scores.nll), (0.5, None));
        // (ln 4/3 + 6 ln 10) / 2 = (0.287682 + 13.815511) / 2
        assert!((scores.clipped_nll.unwrap() - 7.0515963).abs() < 1e-6);
        let sure = CellScores::from_log_probs(&probs.ln(), &[1, 0]);
        assert_eq!(sure.clipped_nll, sure.nll, "nothing to clip");
    }

    #[test]
    fn peak_memory_is_read_from_the_status() {
        assert_eq!(parse_peak("Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 9 kB\n"), Some(1234 * 1024));
        assert_eq!(parse_peak("Name:\tx\n"), None);
    }

    #[test]
    fn fingerprints_tell_data_apart() {
        let toy = semisup::Toy::Moons.sample(20, &mut semisup::rng(1));
        let other = toy.select(&(0..19).collect::<Vec<_>>());
        let all = [
            data_fingerprint(&toy, None),
            data_fingerprint(&other, None),
            data_fingerprint(&toy, Some(&other)),
        ];
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
        assert_eq!(all[0], data_fingerprint(&toy.clone(), None));
    }
}
