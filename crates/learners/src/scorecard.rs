//! A scorecard: class scores that add up over steps of columns.
//!
//! ```text
//! log p(k | x) = base_k + sum_c [x_j(c) >= v_c] points_ck + const
//! ```
//!
//! Each step c has a column j(c), a cut v_c and points for every class. Naive Bayes over levels of columns is one: the points
//! of a cut are what a class gains in log theta from the level below it to the level above. Numbers are single, as in a
//! file; a row's values are rounded before they are compared, so that no value changes sides of a cut that it equals.

use ndarray::{Array2, ArrayView1, ArrayView2};
use semisup::metrics::log_softmax;

use crate::chunks::in_chunks;
use crate::trees::single;
use crate::{Error, Result};

/// Rows of a chunk of parallel work.
const CHUNK: usize = 1024;

/// The names of the arrays, in the order of [`Scorecard::to_arrays`].
pub const SCORECARD_ARRAYS: [&str; 4] = ["base", "column", "cut", "points"];

/// Class scores that add up over steps of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorecard {
    dim: usize,
    base: Vec<f32>,      // [K]
    column: Vec<u32>,    // [n_cuts], ascending
    cut: Vec<f32>,       // [n_cuts], ascending within a column
    points: Array2<f32>, // [n_cuts, K]
    /// Points of the cuts of a column up to each, summed: what a row gets that reaches it, and not the next.
    sums: Array2<f64>, // [n_cuts, K]
}

impl Scorecard {
    /// A scorecard of `dim` columns: scores `[K]` of a row below all cuts, and the steps.
    pub(crate) fn new(dim: usize, base: &[f64], steps: &[(usize, f64)], points: ArrayView2<f64>) -> Self {
        let column = steps.iter().map(|&(column, _)| column as u32).collect();
        let base = base.iter().map(|&score| single(score)).collect();
        Self::with_sums(
            dim,
            base,
            column,
            steps.iter().map(|&(_, cut)| single(cut)).collect(),
            points.mapv(single),
        )
    }

    fn with_sums(dim: usize, base: Vec<f32>, column: Vec<u32>, cut: Vec<f32>, points: Array2<f32>) -> Self {
        let mut sums = points.mapv(f64::from);
        for at in 1..column.len() {
            if column[at] == column[at - 1] {
                let before = sums.row(at - 1).to_owned();
                let mut row = sums.row_mut(at);
                row += &before;
            }
        }
        Self { dim, base, column, cut, points, sums }
    }

    /// log p(k | x) of rows, `[n, K]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the scorecard.
    pub fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim, "columns of a scorecard");
        in_chunks(x, CHUNK, self.base.len(), |x| {
            let mut scores =
                Array2::from_shape_fn((x.nrows(), self.base.len()), |(_, k)| f64::from(self.base[k]));
            for (row, mut scores) in x.rows().into_iter().zip(scores.rows_mut()) {
                self.add(row, scores.as_slice_mut().expect("rows in one piece"));
            }
            log_softmax(scores.view())
        })
    }

    fn add(&self, row: ArrayView1<f64>, scores: &mut [f64]) {
        let sums = self.sums.as_slice().expect("rows in one piece");
        let mut at = 0;
        while let Some(&column) = self.column.get(at) {
            let value = single(row[column as usize]);
            let (start, mut reached) = (at, 0);
            while at < self.column.len() && self.column[at] == column {
                reached += usize::from(value >= self.cut[at]);
                at += 1;
            }
            if reached > 0 {
                let sums = &sums[(start + reached - 1) * scores.len()..][..scores.len()];
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
            }
        }
    }

    /// The numbers as arrays, in the order of [`SCORECARD_ARRAYS`].
    pub fn to_arrays(&self) -> [Vec<f32>; 4] {
        let column = self.column.iter().map(|&column| column as f32).collect();
        [self.base.clone(), column, self.cut.clone(), self.points.iter().copied().collect()]
    }

    /// A scorecard from its arrays, checked for `dim` columns and `n_classes`.
    pub fn from_arrays(arrays: [Vec<f32>; 4], dim: usize, n_classes: usize) -> Result<Self> {
        let [base, column, cut, points] = arrays;
        let damaged = |why: &str| Error::Damaged { what: "steps of naive Bayes", why: why.into() };
        if base.len() != n_classes || cut.len() != column.len() {
            return Err(damaged("there are not as many as there should be"));
        }
        let is_column = |value: &f32| value.fract() == 0. && (0. ..dim as f32).contains(value);
        if !column.iter().all(is_column) {
            return Err(damaged("one is of a column that is not there"));
        }
        if base.iter().chain(&cut).chain(&points).any(|value| !value.is_finite()) {
            return Err(damaged("a number is not finite"));
        }
        let in_order = |at: usize| (column[at - 1], cut[at - 1]) <= (column[at], cut[at]);
        if !(1..column.len()).all(in_order) {
            return Err(damaged("they are not in order"));
        }
        let points = Array2::from_shape_vec((cut.len(), n_classes), points)
            .map_err(|_| damaged("points are missing"))?;
        let column = column.into_iter().map(|column| column as u32).collect();
        Ok(Self::with_sums(dim, base, column, cut, points))
    }
}
