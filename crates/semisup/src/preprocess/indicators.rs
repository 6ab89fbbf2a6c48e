//! Columns of 0 and 1, which keep their scale: a rare level must not outweigh everything else.
//!
//! Standardising a column that is 1 in a share p of the rows multiplies it by 1 / sqrt(p (1 - p)): the rarer a level, the
//! larger its distance from the others. A column of two hundred levels would then have two hundred times the variance of a
//! number. Instead,
//!
//! ```text
//! one-hot columns, of which each row has exactly one 1      x - mean          variance at most 1 in all
//! a column of 0 and 1 that stands alone                     2 (x - mean)      variance at most 1
//! ```

use ndarray::ArrayView2;

/// The factor of a column of 0 and 1 that stands alone.
const ALONE: f64 = 2.;
/// The factor of each of several one-hot columns.
const ONE_HOT: f64 = 1.;

/// The factor of each column of x `[n, dim]` that has only the values 0 and 1, and both of them; `None` for the others.
pub(super) fn scales(x: ArrayView2<f64>) -> Vec<Option<f64>> {
    let binary: Vec<bool> = x.columns().into_iter().map(|column| is_binary(column.iter())).collect();
    let mut scales = vec![None; x.ncols()];
    let mut at = 0;
    while at < x.ncols() {
        let run = binary[at..].iter().take_while(|binary| **binary).count();
        match (run, one_hot(x, at, run)) {
            (0, _) => at += 1,
            (_, Some(width)) => {
                scales[at..at + width].fill(Some(ONE_HOT));
                at += width;
            }
            (_, None) => {
                scales[at] = Some(ALONE);
                at += 1;
            }
        }
    }
    scales
}

fn is_binary<'a>(mut values: impl Iterator<Item = &'a f64>) -> bool {
    let (mut zero, mut one) = (false, false);
    let only = values.all(|&v| {
        zero |= v == 0.;
        one |= v == 1.;
        v == 0. || v == 1.
    });
    only && zero && one
}

/// How many of the `run` binary columns from `at` on are one-hot: the least number of which every row has exactly one 1.
fn one_hot(x: ArrayView2<f64>, at: usize, run: usize) -> Option<usize> {
    let mut taken = vec![false; x.nrows()];
    for width in 1..=run {
        let mut all = true;
        for (taken, &v) in taken.iter_mut().zip(x.column(at + width - 1)) {
            if v == 1. && std::mem::replace(taken, true) {
                return None;
            }
            all &= *taken;
        }
        if all {
            return Some(width);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn one_hot_columns_are_told_from_columns_that_stand_alone() {
        // A number; two groups of three and two levels, side by side; a column alone; a constant.
        let x = array![
            [3., 1., 0., 0., 0., 1., 1., 1.],
            [5., 0., 1., 0., 1., 0., 0., 1.],
            [0., 0., 0., 1., 1., 0., 1., 1.],
            [1., 1., 0., 0., 0., 1., 1., 1.],
        ];
        let (one_hot, alone) = (Some(ONE_HOT), Some(ALONE));
        assert_eq!(scales(x.view()), [None, one_hot, one_hot, one_hot, one_hot, one_hot, alone, None]);
        let overlapping = array![[1., 1., 0.], [0., 1., 1.], [1., 0., 1.], [0., 0., 0.]];
        assert_eq!(scales(overlapping.view()), [alone; 3]);
    }
}
