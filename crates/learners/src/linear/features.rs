//! What a logistic regression sees of a row: its columns, and groups that it is a member of.
//!
//! A group is a column that is `value` for its members and 0 for others. A row is a member of few groups, so products with
//! these columns are sums over its groups.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

/// Columns x, followed by one column for each group.
#[derive(Clone, Copy)]
pub(crate) struct Features<'a> {
    pub x: ArrayView2<'a, f64>,      // [n, dim]
    pub groups: ArrayView2<'a, u32>, // [n, groups of a row], indices below n_groups
    pub n_groups: usize,
    pub value: f64,
}

impl<'a> Features<'a> {
    /// Columns alone.
    pub fn columns(x: ArrayView2<'a, f64>) -> Self {
        let groups = ArrayView2::from_shape((x.nrows(), 0), &[]).expect("no numbers");
        Self { x, groups, n_groups: 0, value: 0. }
    }

    pub fn n(&self) -> usize {
        self.x.nrows()
    }

    /// The number of columns with those of groups.
    pub fn width(&self) -> usize {
        self.x.ncols() + self.n_groups
    }

    pub fn slice(&self, rows: Range<usize>) -> Self {
        let (x, groups) = (self.x.slice_move(s![rows.clone(), ..]), self.groups.slice_move(s![rows, ..]));
        Self { x, groups, ..*self }
    }

    /// W x + b of each row, for W `[K, width]`: `[n, K]`.
    pub fn logits(&self, w: ArrayView2<f64>, b: ArrayView1<f64>) -> Array2<f64> {
        let (of_columns, of_groups) = w.split_at(Axis(1), self.x.ncols());
        let mut logits = self.x.dot(&of_columns.t()) + b;
        if self.n_groups > 0 {
            let of_groups = of_groups.t().as_standard_layout().into_owned(); // [n_groups, K]
            for (mut logits, groups) in logits.rows_mut().into_iter().zip(self.groups.rows()) {
                groups.iter().for_each(|&g| logits.scaled_add(self.value, &of_groups.row(g as usize)));
            }
        }
        logits
    }

    /// sum_i r_i x_i^T for residuals r `[n, K]`: `[K, width]`.
    pub fn weighted_sum(&self, residuals: &Array2<f64>) -> Array2<f64> {
        let of_columns = residuals.t().dot(&self.x);
        if self.n_groups == 0 {
            return of_columns;
        }
        let mut of_groups = Array2::zeros((self.n_groups, residuals.ncols()));
        for (residual, groups) in residuals.rows().into_iter().zip(self.groups.rows()) {
            groups.iter().for_each(|&g| of_groups.row_mut(g as usize).scaled_add(self.value, &residual));
        }
        let mut sum = Array2::zeros((residuals.ncols(), self.width()));
        sum.slice_mut(s![.., ..self.x.ncols()]).assign(&of_columns);
        sum.slice_mut(s![.., self.x.ncols()..]).assign(&of_groups.t());
        sum
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, concatenate};

    use super::*;

    #[test]
    fn groups_are_columns() {
        let (x, groups) = (array![[1., -2.], [0.5, 3.], [0., 1.]], array![[0_u32, 3], [1, 2], [0, 2]]);
        let features = Features { x: x.view(), groups: groups.view(), n_groups: 4, value: 0.5 };
        let members = array![[0.5, 0., 0., 0.5], [0., 0.5, 0.5, 0.], [0.5, 0., 0.5, 0.]];
        let dense = concatenate(Axis(1), &[x.view(), members.view()]).unwrap();
        let w = Array2::from_shape_fn((2, 6), |(k, j)| (k * 7 + j * 3 % 5) as f64 - 2.);
        let b = array![0.3, -0.1];
        let close = |a: Array2<f64>, b: Array2<f64>| (a - b).iter().all(|apart: &f64| apart.abs() < 1e-14);
        assert!(close(features.logits(w.view(), b.view()), dense.dot(&w.t()) + &b));
        let r = array![[1., 2.], [-1., 0.5], [0.2, 0.]];
        assert!(close(features.weighted_sum(&r), r.t().dot(&dense)));
        let last = features.slice(2..3);
        assert!(close(last.logits(w.view(), b.view()), dense.slice(s![2.., ..]).dot(&w.t()) + &b));
    }
}
