//! Columns that say the same: connected by rank correlations (Spearman's) of at least 0.9 either way.
//!
//! Two columns are connected if every number of the one that has fewer, leaving out those that never change, is so correlated
//! with a number of the other: a number with a number, a category with all its levels. Groups are connected components.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// The least absolute rank correlation of numbers that say the same.
const SAME: f64 = 0.9;

/// Groups of two and more columns that say the same in rows x `[n, dim]`, each ascending; `numbers` are the numbers of a row
/// that each column consists of.
pub(super) fn collinear(x: ArrayView2<f64>, numbers: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let used: Vec<usize> = numbers.iter().flatten().copied().collect();
    let ranks = standardised_ranks(x.select(Axis(1), &used).view());
    let correlation = ranks.t().dot(&ranks).mapv_into(f64::abs);
    // The places of each column's changing numbers in `used`.
    let mut next = 0;
    let places: Vec<Vec<usize>> = numbers
        .iter()
        .map(|of| {
            let own = next..next + of.len();
            next = own.end;
            own.filter(|&at| correlation[[at, at]] > 0.5).collect()
        })
        .collect();
    let says_the_same = |a: usize, b: usize| {
        let (few, many) = if places[a].len() <= places[b].len() { (a, b) } else { (b, a) };
        let matched = |&i: &usize| places[many].iter().any(|&j| correlation[[i, j]] >= SAME);
        !places[few].is_empty() && places[few].iter().all(matched)
    };
    let mut group: Vec<usize> = (0..numbers.len()).collect();
    for b in 0..numbers.len() {
        for a in 0..b {
            if group[a] != group[b] && says_the_same(a, b) {
                let (kept, joined) = (group[a].min(group[b]), group[a].max(group[b]));
                group.iter_mut().filter(|of| **of == joined).for_each(|of| *of = kept);
            }
        }
    }
    let members = |of: usize| (0..numbers.len()).filter(|&at| group[at] == of).collect::<Vec<usize>>();
    (0..numbers.len()).map(members).filter(|group| group.len() > 1).collect()
}

/// The ranks of each column, ties at their mean, with mean 0 and length 1, or 0 if all values are equal: `[n, dim]`.
fn standardised_ranks(x: ArrayView2<f64>) -> Array2<f64> {
    let mut ranks = Array2::zeros(x.dim());
    for (values, mut to) in x.columns().into_iter().zip(ranks.columns_mut()) {
        to.assign(&mean_ranks(values));
        let mean = to.mean().unwrap_or(0.0);
        to -= mean;
        let length = to.dot(&to).sqrt();
        if length > 0.0 {
            to /= length;
        }
    }
    ranks
}

fn mean_ranks(values: ArrayView1<f64>) -> Array1<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut before) = (Array1::zeros(values.len()), 0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = before as f64 + (tied.len() as f64 - 1.0) / 2.0;
        tied.iter().for_each(|&row| ranks[row] = mean);
        before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn ranks_share_ties() {
        assert_eq!(mean_ranks(array![3.0, 1.0, 3.0, 7.0].view()), array![1.5, 0.0, 1.5, 3.0]);
    }

    #[test]
    fn monotone_copies_and_equal_categories_are_grouped() {
        let n = 60;
        let noise = |i: usize| ((i * 7919) % 101) as f64;
        // 0: a, 1: -exp(a), 2: noise, 3..=4: levels, 5..=6: the same levels exchanged, 7: never changes, 8: a again
        let x = Array2::from_shape_fn((n, 9), |(i, j)| match j {
            0 | 8 => i as f64,
            1 => -(i as f64 / 10.0).exp(),
            2 => noise(i),
            3 | 6 => f64::from(i * i % 3 == 0),
            4 | 5 => f64::from(i * i % 3 != 0),
            _ => 1.0,
        });
        let numbers = vec![vec![0], vec![1], vec![2], vec![3, 4], vec![5, 6], vec![7], vec![8]];
        assert_eq!(collinear(x.view(), &numbers), [vec![0, 1, 6], vec![3, 4]]);
        assert!(collinear(x.slice(ndarray::s![..1, ..]), &numbers).is_empty(), "one row says nothing");
    }
}
