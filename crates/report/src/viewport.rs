//! The part of the plane a panel shows, and the cells a classifier is asked about to colour it.

use crate::axis::{extent, padded};

/// A rectangle of the plane, `[low, high]` on each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Left and right.
    pub x: [f64; 2],
    /// Bottom and top.
    pub y: [f64; 2],
}

impl Default for Viewport {
    fn default() -> Self {
        Viewport { x: [-1.0, 1.0], y: [-1.0, 1.0] }
    }
}

impl Viewport {
    /// A square of the plane around `points` with some air: one unit is equally long on both axes.
    ///
    /// Of 200 points or more the outermost half percent on each side may fall outside, so that one
    /// stray latent image does not shrink everything else to a speck.
    pub fn around(points: &[[f64; 2]]) -> Self {
        let [x, y] = [0, 1].map(|d| trimmed_extent(points.iter().map(|p| p[d]).collect()));
        let half = 0.5 * (x[1] - x[0]).max(y[1] - y[0]);
        let half = if half > 0.0 { half } else { 1.0 };
        let [x, y] = [x, y].map(|[lo, hi]| padded([0.5 * (lo + hi) - half, 0.5 * (lo + hi) + half], 0.07));
        Viewport { x, y }
    }

    /// The part of the plane around `points` in which each axis has a scale of its own: for columns in different units.
    /// Strays may fall outside, as in [`Viewport::around`].
    pub fn fitted_to(points: &[[f64; 2]]) -> Self {
        let [x, y] = [0, 1].map(|d| {
            let [lo, hi] = trimmed_extent(points.iter().map(|p| p[d]).collect());
            if hi > lo { padded([lo, hi], 0.07) } else { [lo - 1.0, hi + 1.0] }
        });
        Viewport { x, y }
    }

    /// The centres of `width * height` equal cells, row-major from the top left: where to ask a classifier
    /// in order to draw its [`Layer::Regions`](crate::Layer::Regions).
    pub fn cells(&self, width: usize, height: usize) -> Vec<[f64; 2]> {
        let along = |[lo, hi]: [f64; 2], i: usize, n: usize| lo + (hi - lo) * (i as f64 + 0.5) / n as f64;
        (0..height)
            .flat_map(|row| {
                (0..width).map(move |c| [along(self.x, c, width), along(self.y, height - 1 - row, height)])
            })
            .collect()
    }
}

fn trimmed_extent(mut values: Vec<f64>) -> [f64; 2] {
    values.retain(|v| v.is_finite());
    values.sort_by(f64::total_cmp);
    let trim = values.len() / 200;
    extent(values[trim..values.len() - trim].iter().copied()).unwrap_or([-1.0, 1.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_run_from_the_top_left() {
        let viewport = Viewport { x: [0.0, 2.0], y: [0.0, 2.0] };
        assert_eq!(viewport.cells(2, 2), [[0.5, 1.5], [1.5, 1.5], [0.5, 0.5], [1.5, 0.5]]);
    }

    #[test]
    fn axes_in_different_units_have_scales_of_their_own() {
        let Viewport { x, y } =
            Viewport::fitted_to(&[[0.0, 10_000.0], [1.0, 50_000.0], [f64::NAN, 20_000.0]]);
        assert!((x[1] - x[0] - 1.14).abs() < 1e-9 && (y[1] - y[0] - 1.14 * 40_000.0).abs() < 1e-6);
        let constant = Viewport::fitted_to(&[[3.0, 3.0]; 2]);
        assert_eq!(constant.x, [2.0, 4.0]);
    }

    #[test]
    fn a_viewport_is_square_and_forgives_one_stray_point() {
        let mut points: Vec<[f64; 2]> = (0..400).map(|i| [f64::from(i) / 400.0, 0.0]).collect();
        points.push([1e6, f64::NAN]);
        let Viewport { x, y } = Viewport::around(&points);
        assert!(x[1] < 2.0);
        assert!(((x[1] - x[0]) - (y[1] - y[0])).abs() < 1e-9);
        assert!(Viewport::around(&[]).x[1].is_finite());
    }
}
