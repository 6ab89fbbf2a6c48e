//! Where a learner does worse with more labels of each class.
//!
//! With d_1 .. d_n the accuracy with more labels less that with fewer, one for each draw that both finished: the accuracy falls
//! if -mean(d) is above the standard error sd(d) / sqrt n. The test rows of a draw are the same, and more labels include the
//! fewer, so that draws are paired.

use serde::Serialize;

use crate::LabelSource;
use crate::stats::MeanSd;
use crate::suite::result;
use crate::summary::{Entry, SummaryRow};

/// Where a learner does worse with more labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Falls {
    /// Its name in the plan.
    pub learner: String,
    /// Steps from one number of labels of each class to the next that were compared, over all tables.
    pub steps: usize,
    /// Those on which the accuracy falls by more than one standard error.
    pub falls: Vec<Fall>,
}

/// A step to more labels at which the accuracy falls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fall {
    /// The table.
    pub dataset: String,
    /// Labels of each class before.
    pub from: usize,
    /// And after.
    pub to: usize,
    /// Mean accuracy after less that before, over the draws that both have.
    pub difference: f64,
    /// Its standard error over draws.
    pub standard_error: f64,
}

impl Falls {
    pub(crate) fn new(learner: &str, rows: &[SummaryRow]) -> Self {
        let per_class = |row: &SummaryRow| match row.labels {
            LabelSource::PerClass(n) => Some(n),
            _ => None,
        };
        let mut counted: Vec<(usize, &SummaryRow, &Entry)> =
            rows.iter().filter_map(|row| Some((per_class(row)?, row, result(row, learner)?))).collect();
        counted.sort_by(|a, b| (&a.1.dataset, a.0).cmp(&(&b.1.dataset, b.0)));
        let (mut steps, mut falls) = (0, Vec::new());
        for pair in counted.windows(2) {
            let [(from, before, fewer), (to, after, more)] = pair else { unreachable!("pairs") };
            if before.dataset != after.dataset {
                continue;
            }
            let after_of = |draw: u64| more.accuracies.iter().find(|(other, _)| *other == draw);
            let differences: Vec<f64> = (fewer.accuracies.iter())
                .filter_map(|&(draw, accuracy)| Some(after_of(draw)?.1 - accuracy))
                .collect();
            let Some(spread) = MeanSd::of(&differences).filter(|spread| spread.n > 1) else { continue };
            steps += 1;
            let standard_error = spread.sd / (spread.n as f64).sqrt();
            if -spread.mean > standard_error {
                let (dataset, difference) = (before.dataset.clone(), spread.mean);
                falls.push(Fall { dataset, from: *from, to: *to, difference, standard_error });
            }
        }
        Self { learner: learner.into(), steps, falls }
    }
}
