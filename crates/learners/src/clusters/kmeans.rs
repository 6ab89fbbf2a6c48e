//! k-means: Lloyd's iterations from a k-means++ start (Arthur and Vassilvitskii 2007).

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::Rng as _;
use semisup::Rng;

/// At most `k` centres of the rows x `[n, dim]`, `[k, dim]`: fewer if x has fewer different rows. There must be a row.
pub(super) fn centres(x: ArrayView2<f32>, k: usize, iterations: usize, rng: &mut Rng) -> Array2<f32> {
    let mut centres = spread_start(x, k, rng);
    let mut before = Vec::new();
    for _ in 0..iterations {
        let nearest = nearest(x, centres.view());
        if nearest == before {
            break;
        }
        let mut sums: Array2<f64> = Array2::zeros(centres.dim());
        let mut counts = vec![0_usize; centres.nrows()];
        for (row, &k) in x.rows().into_iter().zip(&nearest) {
            sums.row_mut(k).zip_mut_with(&row, |sum, &value| *sum += f64::from(value));
            counts[k] += 1;
        }
        for (k, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            centres.row_mut(k).assign(&sums.row(k).mapv(|sum| (sum / count as f64) as f32));
        }
        before = nearest;
    }
    centres
}

/// The nearest centre of each row, the first of equally near ones.
pub(super) fn nearest(x: ArrayView2<f32>, centres: ArrayView2<f32>) -> Vec<usize> {
    // |x - c|^2 = |x|^2 - 2 x.c + |c|^2, of which the first term does not matter.
    let half_squares: Array1<f32> = centres.map_axis(Axis(1), |c| c.dot(&c) / 2.);
    let affinity = x.dot(&centres.t()) - &half_squares;
    let best = |row: ndarray::ArrayView1<f32>| {
        let larger = |best: usize, k: usize| if row[k] > row[best] { k } else { best };
        (0..row.len()).fold(0, larger)
    };
    affinity.rows().into_iter().map(best).collect()
}

/// Rows of x, each drawn in proportion to its squared distance to those drawn before.
fn spread_start(x: ArrayView2<f32>, k: usize, rng: &mut Rng) -> Array2<f32> {
    let mut drawn = vec![rng.random_range(0..x.nrows())];
    let mut squared = vec![f64::INFINITY; x.nrows()];
    while drawn.len() < k {
        let last = x.row(drawn[drawn.len() - 1]);
        for (row, squared) in x.rows().into_iter().zip(&mut squared) {
            let apart: f32 = row.iter().zip(&last).map(|(a, b)| (a - b) * (a - b)).sum();
            *squared = squared.min(f64::from(apart));
        }
        let total: f64 = squared.iter().sum();
        if total <= 0. || !total.is_finite() {
            break;
        }
        let mut left = total * rng.random::<f64>();
        let found = squared.iter().position(|squared| {
            left -= squared;
            left < 0.
        });
        // Rounding may leave a last crumb: any row that is not a centre yet will do.
        let fallback = || squared.iter().rposition(|&squared| squared > 0.);
        drawn.push(found.or_else(fallback).expect("the total is above 0"));
    }
    x.select(Axis(0), &drawn)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn three_separate_groups_have_their_means_as_centres() {
        let x =
            Array2::from_shape_fn((60, 2), |(i, j)| (i % 3) as f32 * 10. + ((i * 7 + j) % 5) as f32 * 0.1);
        let found = centres(x.view(), 3, 20, &mut semisup::rng(1));
        let groups = nearest(x.view(), found.view());
        for group in 0..3 {
            let rows: Vec<usize> = (0..60).filter(|i| groups[*i] == group).collect();
            assert_eq!(rows.len(), 20);
            assert!(rows.iter().all(|i| i % 3 == rows[0] % 3));
            let mean = x.select(Axis(0), &rows).mean_axis(Axis(0)).unwrap();
            // Sums of 20 numbers around 10 in 32 bits.
            assert!((&mean - &found.row(group)).iter().all(|apart| apart.abs() < 1e-4), "{mean} {found}");
        }
    }

    #[test]
    fn there_are_no_more_centres_than_different_rows() {
        let x = array![[1_f32, 2.], [1., 2.], [3., 4.], [1., 2.]];
        assert_eq!(centres(x.view(), 4, 5, &mut semisup::rng(2)).nrows(), 2);
        assert_eq!(nearest(x.view(), array![[0_f32, 0.]].view()), [0; 4]);
    }
}
