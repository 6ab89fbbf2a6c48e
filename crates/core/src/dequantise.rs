//! Values that lie on a grid, made continuous: x' = T(x + u), u_j ~ U(-a_j, a_j) within the step of column j.
//!
//! A density on discrete values has no bound: a flow may put a spike on each. With uniform noise over its cell, a value
//! has a probability instead, and training maximises a lower bound of it (uniform dequantisation; Theis, van den Oord and
//! Bethge, 2016):
//!
//! ```text
//! E_u log p(x + u) + sum_j log 2 a_j  <=  log P(x),      2 a_j <= step_j
//! ```
//!
//! u is drawn again whenever training sees a row, and never when a row is scored. a_j is half the step, or less where
//! that would swamp the column: in a column that is nearly always 0, half a step is many standard deviations.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use rand::Rng as _;
use semisup::{Monotone, Preprocess, Rng};

/// The standard deviation of the jitter, at most, as a share of the column's own, where columns are made normal.
const MOST: f64 = 0.25;

/// Adds uniform noise within the steps of discrete columns, then maps rows to the flow's space.
#[derive(Clone, Debug)]
pub struct Dequantiser {
    half_width: Vec<f64>, // a, [dim_in]; 0 for continuous columns
    preprocess: Preprocess,
}

/// Rows in the user's columns that are dequantised whenever they are drawn.
#[derive(Clone, Debug)]
pub struct DiscreteRows {
    x: Array2<f64>, // [n, dim_in]
    by: Arc<Dequantiser>,
}

impl Dequantiser {
    /// For columns of these steps, `None` for continuous ones; `None` if all are continuous or constant.
    pub fn new(
        x: ArrayView2<f64>,
        steps: &[Option<f64>],
        shapes: &[Option<Monotone>],
        preprocess: &Preprocess,
    ) -> Option<Arc<Self>> {
        let columns = x.columns().into_iter().zip(steps).zip(shapes);
        let half_width = columns
            .map(|((column, step), shape)| {
                step.map_or(0.0, |step| half_width(column.iter().copied(), step / 2.0, shape.as_ref()))
            })
            .collect::<Vec<f64>>();
        let any = half_width.iter().any(|a| *a > 0.0);
        any.then(|| Arc::new(Self { half_width, preprocess: preprocess.clone() }))
    }

    /// For rows that are spread by these half-widths, `[dim_in]`.
    ///
    /// # Panics
    /// Unless there is one for each column.
    pub fn of_half_widths(half_width: Vec<f64>, preprocess: &Preprocess) -> Arc<Self> {
        assert_eq!(half_width.len(), preprocess.dim_in(), "one half-width for each column");
        Arc::new(Self { half_width, preprocess: preprocess.clone() })
    }

    /// The half-width of the noise in each column, `[dim_in]`.
    pub fn half_widths(&self) -> &[f64] {
        &self.half_width
    }

    /// These rows, to be dequantised when they are drawn.
    pub fn rows(self: &Arc<Self>, x: ArrayView2<f64>, rows: &[usize]) -> DiscreteRows {
        DiscreteRows { x: x.select(Axis(0), rows), by: self.clone() }
    }
}

impl DiscreteRows {
    /// Adds rows after these.
    pub(crate) fn append(&mut self, other: &Self) {
        self.x.append(Axis(0), other.x.view()).expect("as many columns");
    }

    /// x' of the chosen rows with fresh noise, row by row.
    pub(crate) fn draw(&self, chosen: &[usize], rng: &mut Rng) -> Vec<f32> {
        let mut x = self.x.select(Axis(0), chosen);
        for mut row in x.rows_mut() {
            for (value, &a) in row.iter_mut().zip(&self.by.half_width).filter(|(_, a)| **a > 0.0) {
                *value += rng.random_range(-a..a);
            }
        }
        self.by.preprocess.apply(x.view()).iter().map(|&v| v as f32).collect()
    }
}

/// Half a step, or less where that is too much noise: uniform noise of half-width a has standard deviation a / sqrt(3).
fn half_width(column: impl Iterator<Item = f64> + Clone, half: f64, shape: Option<&Monotone>) -> f64 {
    let u = |x: f64| shape.map_or(x, |shape| shape.apply(x).0);
    let n = column.clone().count() as f64;
    let mean = column.clone().map(u).sum::<f64>() / n;
    let variance = column.clone().map(|x| (u(x) - mean).powi(2)).sum::<f64>() / n;
    let moved = column.map(|x| ((u(x + half) - u(x - half)) / 2.0).powi(2)).sum::<f64>() / n;
    let share = (moved / 3.0 / variance).sqrt();
    // A constant column gets no noise: its share is infinite.
    if share.is_nan() { 0.0 } else { half * (MOST / share).min(1.0) }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn dequantiser(x: &Array2<f64>, steps: &[Option<f64>]) -> Option<Arc<Dequantiser>> {
        Dequantiser::new(x.view(), steps, &vec![None; x.ncols()], &Preprocess::identity(x.ncols()))
    }

    #[test]
    fn noise_is_uniform_over_a_step_and_continuous_columns_stay() {
        let x =
            Array2::from_shape_fn((400, 2), |(i, j)| if j == 0 { (i % 17) as f64 } else { i as f64 / 7.0 });
        let rows: Vec<usize> = (0..400).collect();
        let discrete = dequantiser(&x, &[Some(1.0), None]).expect("one column").rows(x.view(), &rows);
        let draw = |seed| discrete.draw(&rows, &mut semisup::rng(seed));
        let (first, second) = (draw(1), draw(2));
        assert_eq!(first, draw(1), "a function of the seed");
        let moved: Vec<f64> = (0..400).map(|i| f64::from(first[2 * i]) - x[[i, 0]]).collect();
        assert!(moved.iter().all(|u| u.abs() <= 0.5 + 1e-5) && first != second);
        // 400 draws of sd 0.289: their mean is within 4 standard errors, a quarter of them in each quarter of the step.
        assert!(moved.iter().sum::<f64>().abs() / 400.0 < 4.0 * 0.289 / 20.0);
        let quarter = moved.iter().filter(|u| **u < -0.25).count();
        assert!((65..135).contains(&quarter), "{quarter}");
        assert!((0..400).all(|i| first[2 * i + 1] == x[[i, 1]] as f32));
    }

    #[test]
    fn jitter_never_swamps_a_column() {
        let flags = Array2::from_shape_fn((1000, 1), |(i, _)| f64::from(u8::from(i % 100 == 0)));
        let found = dequantiser(&flags, &[Some(1.0)]).expect("a step");
        let sd = (0.01_f64 * 0.99).sqrt();
        assert!((found.half_width[0] / 3f64.sqrt() - MOST * sd).abs() < 1e-9, "{found:?}");
        let counts: Vec<f64> = (0..1000).map(|i| f64::from(i % 50 == 0) * f64::from(1 + i / 100)).collect();
        let shape = Monotone::to_normal(counts.iter().copied()).expect("many values");
        let a = half_width(counts.iter().copied(), 0.5, Some(&shape));
        let (low, high) = (shape.apply(-a).0, shape.apply(a).0);
        let u: Vec<f64> = counts.iter().map(|x| shape.apply(*x).0).collect();
        let mean = u.iter().sum::<f64>() / 1000.0;
        let sd = (u.iter().map(|u| (u - mean).powi(2)).sum::<f64>() / 1000.0).sqrt();
        assert!(
            a > 0.0 && (high - low) / 2.0 < 2.0 * MOST * 3f64.sqrt() * sd,
            "{a}: {low} to {high}, sd {sd}"
        );
    }

    #[test]
    fn without_steps_there_is_nothing_to_dequantise() {
        assert!(dequantiser(&array![[1.0], [2.0]], &[None]).is_none());
        assert!(
            dequantiser(&array![[1.0], [1.0]], &[Some(1.0)]).is_none(),
            "a constant column gets no noise"
        );
    }
}
