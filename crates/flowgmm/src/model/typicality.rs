//! How typical a row is: where its log p(x) ranks among rows that the flow was not trained on.

use flowgmm_core::SCORING_BATCH;
use ndarray::{ArrayView2, Axis};

use super::Model;
use crate::{
    Result,
    observer::{Observer, Phase, watched},
};

/// Values of log p(x) that are stored, at most.
const STORED: usize = 399;

impl Model {
    /// For each log p(x), how unusual it is among rows that the flow was not trained on: a two-sided p-value, near 0 for rows
    /// less likely, or more likely, than nearly all of them.
    ///
    /// ```text
    /// p = min(1, 2 min(1 + #{q_i <= v}, 1 + #{q_i >= v}) / (m + 1)) exp(-e / (q_m - q_1))        e >= 0: how far v is outside
    /// ```
    ///
    /// Without the last factor this is the conformal p-value of the rank, and at most a share p of fresh rows has a smaller
    /// one. It cannot fall below 2 / (m + 1) however far a row is out; the factor lets rows that are outside by as much as
    /// all m rows spread be told from the outermost.
    pub fn typicality(&self, log_marginal: &[f64]) -> Vec<f64> {
        typicality(&self.typical, log_marginal)
    }

    /// Remembers what log p(x) rows have that the flow was not trained on.
    pub(crate) fn learn_typicality(&mut self, x: ArrayView2<f64>, observer: &mut dyn Observer) -> Result<()> {
        let mut values = Vec::with_capacity(x.nrows());
        watched(observer, &Phase::Typicality, x.nrows(), |watch| {
            for rows in x.axis_chunks_iter(Axis(0), SCORING_BATCH) {
                watch.at(values.len() as f64 / x.nrows() as f64)?;
                values.extend(self.score(rows).log_marginal);
            }
            Ok(())
        })?;
        self.typical = stored(values);
        Ok(())
    }
}

/// The finite values, ascending: all of them, or those whose ranks cut all into parts of equal probability.
fn stored(mut values: Vec<f64>) -> Vec<f64> {
    values.retain(|v| v.is_finite());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n <= STORED {
        true => values,
        false => (1..=STORED).map(|i| values[(i * (n + 1)).div_ceil(STORED + 1) - 1]).collect(),
    }
}

/// [`Model::typicality`] among ascending values.
fn typicality(among: &[f64], log_marginal: &[f64]) -> Vec<f64> {
    let m = among.len();
    let (low, high) = (among.first().copied().unwrap_or(0.0), among.last().copied().unwrap_or(0.0));
    let of = |v: &f64| {
        if v.is_nan() {
            return 0.0;
        }
        let below = 1 + among.partition_point(|q| q <= v);
        let above = 1 + m - among.partition_point(|q| q < v);
        let p = (2.0 * below.min(above) as f64 / (m + 1) as f64).min(1.0);
        let outside = (low - v).max(v - high);
        if m > 0 && outside > 0.0 { p * (-outside / (high - low)).exp() } else { p }
    };
    log_marginal.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typicality_is_a_conformal_p_value_that_vanishes_far_out() {
        let among: Vec<f64> = (1..=99).map(f64::from).collect();
        let p = |v: f64| typicality(&among, &[v])[0];
        assert_eq!((p(50.0), p(1.5), p(98.5)), (1.0, 0.04, 0.04));
        assert_eq!((p(1.0), p(99.0)), (0.04, 0.04), "a tie counts for the row");
        assert!(p(0.9) < 0.02 && p(0.9) > 0.019 && p(-97.0) < 0.008 && p(-1e9) == 0.0 && p(1e9) == 0.0);
        assert_eq!((p(f64::NEG_INFINITY), p(f64::NAN)), (0.0, 0.0));
        // Equal values: rows like them are typical, all others are not.
        assert_eq!(typicality(&[3.0; 19], &[3.0, 2.9]), [1.0, 0.0]);
        assert_eq!(typicality(&[], &[3.0]), [1.0]);
    }

    #[test]
    fn few_values_are_all_stored_and_many_by_their_ranks() {
        assert_eq!(stored(vec![3.0, f64::NEG_INFINITY, 1.0, 2.0, f64::NAN]), [1.0, 2.0, 3.0]);
        let many = stored((0..1999).rev().map(f64::from).collect());
        assert_eq!((many.len(), many[0], many[199], many[398]), (399, 4.0, 999.0, 1994.0));
    }
}
