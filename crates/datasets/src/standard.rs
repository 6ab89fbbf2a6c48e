//! The two steps that the paper's tables of particle physics share: drop columns of repeated values, standardise.

use semisup::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// The columns that Papamakarios et al. (2017) keep: those whose *smallest* value occurs at most five times.
///
/// Their code names that count "max_count" and says it removes columns with too many recurring values; the count of
/// the smallest value is what it takes, and the published datasets have the columns that this leaves.
pub fn continuous_columns(x: ArrayView2<f64>) -> Vec<usize> {
    const MOST: usize = 5;
    let smallest_occurs = |column: ArrayView1<f64>| {
        let smallest = column.iter().copied().fold(f64::INFINITY, f64::min);
        column.iter().filter(|&&value| value == smallest).count()
    };
    (0..x.ncols()).filter(|&at| smallest_occurs(x.column(at)) <= MOST).collect()
}

/// What the sum of squares is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// n - 1, as pandas does.
    Sample,
    /// n, as NumPy does.
    Population,
}

/// Mean and standard deviation of each column, to apply to other rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    mean: Array1<f64>,  // [dim]
    scale: Array1<f64>, // [dim]
}

impl Standard {
    /// The statistics of these rows. A constant column is centred and not scaled.
    ///
    /// # Panics
    /// If there are no rows.
    pub fn fit(x: ArrayView2<f64>, deviation: Deviation) -> Self {
        let mean = x.mean_axis(Axis(0)).expect("there are rows");
        let divisor = match deviation {
            Deviation::Sample => (x.nrows() as f64 - 1.0).max(1.0),
            Deviation::Population => x.nrows() as f64,
        };
        let spread = |(column, &mean): (ArrayView1<f64>, &f64)| {
            let squares: f64 = column.iter().map(|value| (value - mean).powi(2)).sum();
            Some((squares / divisor).sqrt()).filter(|&sd| sd > 0.0).unwrap_or(1.0)
        };
        let scale = x.columns().into_iter().zip(&mean).map(spread).collect();
        Self { mean, scale }
    }

    /// (x - mean) / standard deviation, in place.
    pub fn apply(&self, x: &mut Array2<f64>) {
        *x -= &self.mean;
        *x /= &self.scale;
    }
}

#[cfg(test)]
mod tests {
    use semisup::ndarray::array;

    use super::*;

    #[test]
    fn columns_are_judged_by_their_smallest_value() {
        let discrete = [0., 0., 0., 0., 0., 0., 1.];
        let capped = [1., 2., 2., 2., 2., 2., 2.];
        let x = Array2::from_shape_fn((7, 2), |(row, column)| [discrete, capped][column][row]);
        assert_eq!(continuous_columns(x.view()), [1]);
        let without_first = x.slice(semisup::ndarray::s![1.., ..]);
        assert_eq!(continuous_columns(without_first), [0], "five times is allowed, six times is not");
    }

    #[test]
    fn both_deviations_and_constant_columns() {
        let x = array![[1., 4.], [3., 4.]];
        let mut sample = x.clone();
        Standard::fit(x.view(), Deviation::Sample).apply(&mut sample);
        assert!((sample[[1, 0]] - 1. / 2f64.sqrt()).abs() < 1e-15);
        let mut population = x.clone();
        Standard::fit(x.view(), Deviation::Population).apply(&mut population);
        assert_eq!(population, array![[-1., 0.], [1., 0.]]);
    }
}
