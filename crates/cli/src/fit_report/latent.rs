//! Maps of the rows: as they came, and where the flow carries them.

use flowgmm::{Model, analysis};
use flowgmm_report::{Columns, Ellipse, Frame, Grid, Layer, Legend, Mark, Panel, Plot, Section};
use ndarray::{Array2, ArrayView2, Axis};
use semisup::{Preprocess, metrics::arg_max};

use super::{Subject, spread};

/// Rows drawn, besides the labelled ones.
const UNLABELLED: usize = 1500;
/// Labelled rows drawn.
const LABELLED: usize = 400;
/// Colours there are.
const COLOURS: usize = 10;

/// The section.
pub fn section(subject: &Subject) -> Section {
    let sample = Sample::of(subject);
    let latent = latent(subject, &sample);
    let mut legend: Vec<(Mark, String)> =
        subject.data.classes().iter().enumerate().map(|(k, name)| (Mark::Class(k), name.clone())).collect();
    legend.push((Mark::Labelled, "labelled".into()));
    legend.push((Mark::Component, "Gaussian of a class, 1σ and 2σ".into()));
    let figures = vec![before(subject, &sample).figure(), latent.figure()];
    let hidden = match subject.model.gmm().spec().flow.dim.saturating_sub(2) {
        0 => String::new(),
        n => format!(" Classes that overlap here may still be apart in the other {n} dimensions."),
    };
    let repeated = if subject.data.n_classes() > COLOURS { " Colours repeat after ten classes." } else { "" };
    Section {
        heading: "Map of the latent space".into(),
        text: format!(
            "Each dot is a row without a label in the colour of the class the model gives it; triangles carry your \
             labels. On the left the rows as the flow receives them, seen from where they vary most; on the right \
             where it carries them, seen from where the class means are furthest apart.{hidden}{repeated}"
        ),
        grids: vec![Grid::of(Columns::Two, figures).with_legend(Legend { items: legend })],
        ..Section::default()
    }
}

/// Rows to draw: all or some labelled ones, and some of the others.
struct Sample {
    x: Array2<f64>,
    labelled: usize, // the first so many
    classes: Vec<usize>,
}

impl Sample {
    fn of(subject: &Subject) -> Self {
        let data = subject.data;
        let pick = |rows: Vec<usize>, most| spread(rows.len(), most).into_iter().map(|i| rows[i]).collect();
        let labelled: Vec<usize> = pick(data.labelled(), LABELLED);
        let unlabelled: Vec<usize> = pick(data.unlabelled(), UNLABELLED);
        let rows: Vec<usize> = labelled.iter().chain(&unlabelled).copied().collect();
        let x = data.x().select(Axis(0), &rows);
        let guessed = arg_max(subject.model.score(x.view()).log_probs.view());
        let classes = rows.iter().zip(guessed).map(|(&row, guess)| data.y()[row].unwrap_or(guess)).collect();
        Self { x, labelled: labelled.len(), classes }
    }

    fn layers(&self, points: &[[f64; 2]]) -> Vec<Layer> {
        let classed: Vec<([f64; 2], usize)> =
            points.iter().copied().zip(self.classes.iter().copied()).collect();
        let (labelled, rest) = classed.split_at(self.labelled);
        vec![Layer::ByClass(rest.to_vec()), Layer::Labelled(labelled.to_vec())]
    }
}

fn before(subject: &Subject, sample: &Sample) -> Panel {
    let x = subject.model.preprocess().apply(sample.x.view());
    let plane = Preprocess::pca(x.view(), 2, 0.0).map(|plane| plane.apply(x.view()));
    let points = points(plane.unwrap_or(x).view());
    Panel {
        title: "Rows as they came".into(),
        caption: "After preprocessing, in the plane of their two leading principal directions.".into(),
        frame: Frame::around(&points),
        layers: sample.layers(&points),
    }
}

fn latent(subject: &Subject, sample: &Sample) -> Panel {
    let gmm = subject.model.gmm();
    let z = subject.model.encode(sample.x.view());
    let plane = analysis::class_plane(gmm, z.view());
    let points = points(z.dot(&plane).view());
    let ellipses = ellipses(subject.model, &plane);
    let frame = around(&points, &ellipses);
    let mut layers = sample.layers(&points);
    layers.push(Layer::Ellipses(ellipses));
    Panel {
        title: "Where the flow carries them".into(),
        caption:
            "In the plane through the latent space that shows most of the distances between class means."
                .into(),
        frame,
        layers,
    }
}

/// A frame that holds the points, but for strays, and the outer rings.
pub fn around(points: &[[f64; 2]], ellipses: &[Ellipse]) -> Frame {
    let Frame { x, y } = Frame::around(points);
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
    Frame { x, y }
}

/// The Gaussians' shadows on the plane: along a unit direction u the variance is sum_d u_d^2 sigma_d^2.
pub fn ellipses(model: &Model, plane: &Array2<f64>) -> Vec<Ellipse> {
    let mixture = model.gmm().mixture();
    let (values, class_of) = (mixture.values(), mixture.spec().class_of());
    let centres = values.means.dot(plane);
    let variance = values.log_sigma.mapv(|log_sigma| (2.0 * log_sigma).exp()); // [components, 1 or dim]
    let along = |component: usize, axis: usize| {
        let of = |d: usize| variance[[component, d.min(variance.ncols() - 1)]];
        (0..plane.nrows()).map(|d| plane[[d, axis]].powi(2) * of(d)).sum::<f64>().sqrt()
    };
    let ellipse = |(c, class): (usize, usize)| Ellipse {
        centre: [centres[[c, 0]], centres[[c, 1]]],
        radii: [along(c, 0), along(c, 1)],
        class,
    };
    class_of.into_iter().enumerate().map(ellipse).collect()
}

/// The first two coordinates of rows; 0 for one that is not there.
pub fn points(x: ArrayView2<f64>) -> Vec<[f64; 2]> {
    let at = |row: ndarray::ArrayView1<f64>, j: usize| row.get(j).copied().unwrap_or(0.0);
    x.rows().into_iter().map(|row| [at(row, 0), at(row, 1)]).collect()
}

#[cfg(test)]
mod tests {
    use flowgmm::{FitConfig, analysis};
    use semisup::Toy;

    /// Two means span a line: the first direction is theirs, the second across it, both of length 1.
    #[test]
    fn the_plane_is_orthonormal_and_holds_the_means() {
        let data = Toy::Moons.problem(1).train;
        let mut config = FitConfig::toy();
        config.train.steps = 1;
        let model = flowgmm::fit(&config, &data, 0).unwrap();
        let plane = analysis::class_plane(model.gmm(), model.encode(data.x()).view());
        let products = plane.t().dot(&plane);
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            assert!((products[[i, j]] - f64::from(i == j)).abs() < 1e-9, "{products}");
        }
        let means = model.gmm().mixture().values().means.dot(&plane);
        assert!((means[[0, 0]] - means[[1, 0]]).abs() > 1.0, "{means}");
        assert!((means[[0, 1]] - means[[1, 1]]).abs() < 1e-6, "{means}");
    }
}
