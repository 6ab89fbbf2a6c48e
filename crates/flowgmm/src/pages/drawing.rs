//! Drawings of the latent plane, and loss curves.

use flowgmm_core::{objective::TermName, train::EpochRecord};
use flowgmm_report::{AxisScale, Ellipse, LineChart, Series, Viewport};
use ndarray::{Array2, ArrayView2};

use crate::Model;

/// A frame that holds the points, but for strays, and the outer rings.
pub(crate) fn around(points: &[[f64; 2]], ellipses: &[Ellipse]) -> Viewport {
    let Viewport { x, y } = Viewport::around(points);
    let mut corners = vec![[x[0], y[0]], [x[1], y[1]]];
    for Ellipse { centre, radii, .. } in ellipses {
        corners.extend([-2.0, 2.0].map(|s| [centre[0] + s * radii[0], centre[1] + s * radii[1]]));
    }
    let [x, y] = [0, 1].map(|d| {
        let of = |pick: fn(f64, f64) -> f64| corners.iter().map(|c| c[d]).reduce(pick).unwrap_or_default();
        [of(f64::min), of(f64::max)]
    });
    let half = 0.51 * (x[1] - x[0]).max(y[1] - y[0]);
    let [x, y] = [x, y].map(|[lo, hi]| [0.5 * (lo + hi) - half, 0.5 * (lo + hi) + half]);
    Viewport { x, y }
}

/// The Gaussians' shadows on the plane: along a unit direction u the variance is u^T Sigma u.
pub(crate) fn ellipses(model: &Model, plane: &Array2<f64>) -> Vec<Ellipse> {
    let mixture = model.gmm().mixture();
    let (values, class_of) = (mixture.values(), mixture.spec().class_of());
    let centres = values.means.dot(plane);
    let along = |component: usize, axis: usize| {
        let direction = plane.column(axis);
        match values.below.is_empty() {
            true => {
                (0..plane.nrows()).map(|d| (direction[d] * values.sigma(component, d)).powi(2)).sum::<f64>()
            }
            false => direction.dot(&values.covariance(component).dot(&direction)),
        }
        .sqrt()
    };
    let ellipse = |(c, class): (usize, usize)| Ellipse {
        centre: [centres[[c, 0]], centres[[c, 1]]],
        radii: [along(c, 0), along(c, 1)],
        class,
    };
    class_of.into_iter().enumerate().map(ellipse).collect()
}

/// The first two coordinates of rows; 0 for one that is not there.
pub(crate) fn points(x: ArrayView2<f64>) -> Vec<[f64; 2]> {
    let at = |row: ndarray::ArrayView1<f64>, j: usize| row.get(j).copied().unwrap_or(0.0);
    x.rows().into_iter().map(|row| [at(row, 0), at(row, 1)]).collect()
}

/// The terms of a fit's loss, step by step; each term has its colour everywhere.
pub(crate) fn losses(title: &str, model: &Model) -> LineChart {
    let epochs = &model.history().epochs;
    let curve = |(colour, term): (usize, &TermName)| {
        let value = |epoch: &EpochRecord| Some([epoch.step as f64, *epoch.terms.get(term)?]);
        let points: Vec<_> = epochs.iter().filter_map(value).collect();
        let name = term.label().into();
        (!points.is_empty()).then(|| Series { name, points, ..Series::default() }.coloured(colour))
    };
    LineChart {
        title: title.into(),
        x_label: "training step".into(),
        y_label: "nats per row".into(),
        y_scale: AxisScale::Focused,
        series: TermName::ALL.iter().enumerate().filter_map(curve).collect(),
        ..LineChart::default()
    }
}
