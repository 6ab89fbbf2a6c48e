//! Maps of the rows: as they came, and where the flow maps them.

use flowgmm_core::analysis;
use flowgmm_data::Role;
use flowgmm_report::{Ellipse, Grid, GridWidth, Layer, Legend, Mark, Panel, Plot, Section, Viewport};
use ndarray::{ArrayView2, Axis};
use semisup::Preprocess;
use serde::Serialize;

use super::{
    Overview,
    subject::{Subject, evenly_spaced},
};
use crate::{
    pages::{around, ellipses, points, short},
    rows::Rows,
};

/// Unlabelled rows drawn.
const UNLABELLED: usize = 1500;
/// Labelled rows drawn.
const LABELLED: usize = 400;
/// Unlabelled images drawn.
const UNLABELLED_IMAGES: usize = 600;
/// Colours there are.
const COLOURS: usize = 10;

/// Training rows before and after the flow, in the plane; `n` of them, the labelled ones first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatentMap {
    /// Rows as they came, `[n]`: the two columns if there are just two, else the standardised columns on their two leading
    /// principal directions. `None` for images.
    pub before: Option<Vec<[f64; 2]>>,
    /// The names of the two columns, if there are just two.
    #[serde(skip)]
    pub before_columns: Option<[String; 2]>,
    /// Latent points z = f(x) on the plane that shows most of the distances between class means, `[n]`.
    pub latent: Vec<[f64; 2]>,
    /// The label of each row, or its predicted class, `[n]`.
    pub classes: Vec<usize>,
    /// How many of the rows are labelled.
    pub n_labelled: usize,
    /// The mixture's Gaussians on the same plane.
    pub gaussians: Vec<Gaussian>,
    /// Dimensions of the latent space.
    pub dim: usize,
}

/// A Gaussian of the mixture, projected to the plane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gaussian {
    /// Its mean.
    pub mean: [f64; 2],
    /// Its standard deviations along the two axes.
    pub sigma: [f64; 2],
    /// The class it belongs to.
    pub class: usize,
}

impl LatentMap {
    /// Maps some of the training rows.
    pub(super) fn find(subject: &Subject) -> Self {
        let (data, model) = (subject.data(), subject.model());
        let is_image = subject.rows().layout().is_some();
        let pick =
            |rows: Vec<usize>, most| evenly_spaced(rows.len(), most).into_iter().map(|i| rows[i]).collect();
        let labelled: Vec<usize> = pick(data.labelled(), LABELLED);
        let unlabelled: Vec<usize> =
            pick(data.unlabelled(), if is_image { UNLABELLED_IMAGES } else { UNLABELLED });
        let rows: Vec<usize> = labelled.iter().chain(&unlabelled).copied().collect();
        let x = data.x().select(Axis(0), &rows);
        let scored = model.score(x.view());
        let classes = rows.iter().zip(scored.classes()).map(|(&row, k)| data.y()[row].unwrap_or(k)).collect();
        let before_columns = two_columns(subject.rows());
        // Principal directions of pixels would take longer than the rest, and show little.
        let before = (!is_image).then(|| match &before_columns {
            Some(_) => points(x.view()),
            None => principal_plane(x.view()),
        });
        let plane = analysis::class_plane(model.gmm(), scored.z.view());
        let gaussian = |e: Ellipse| Gaussian { mean: e.centre, sigma: e.radii, class: e.class };
        Self {
            before,
            before_columns,
            latent: points(scored.z.dot(&plane).view()),
            classes,
            n_labelled: labelled.len(),
            gaussians: ellipses(model, &plane).into_iter().map(gaussian).collect(),
            dim: model.gmm().dim(),
        }
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let names = overview.classes.iter().enumerate();
        let mut legend: Vec<(Mark, String)> = names.map(|(k, name)| (Mark::Class(k), name.clone())).collect();
        legend.push((Mark::Labelled, "labelled".into()));
        legend.push((Mark::Component, "Gaussian of a class, 1σ and 2σ".into()));
        let panels = self.before.as_ref().map(|points| self.before_panel(points, overview));
        let figures = panels.into_iter().chain([self.latent_panel()]).map(|panel| panel.figure());
        Section {
            heading: "Map of the latent space".into(),
            text: self.text(overview),
            grids: vec![Grid::of(GridWidth::Two, figures.collect()).with_legend(Legend { items: legend })],
            ..Section::default()
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let (row, rows) = (overview.noun, overview.nouns());
        let maps = match self.before {
            Some(_) => format!(
                "The first panel shows the {rows} as they came{}. The second shows where the flow maps them, in the plane \
                 of the latent space in which the class means are furthest apart.",
                match self.before_columns {
                    Some(_) => "",
                    None => ", along the two directions in which they vary most",
                }
            ),
            None => format!(
                "The map shows where the flow maps the {rows}, in the plane of the latent space in which the class means \
                 are furthest apart."
            ),
        };
        let hidden = match self.dim.saturating_sub(2) {
            0 => String::new(),
            1 => " Classes that overlap here may still be separated along the other dimension.".into(),
            n => format!(" Classes that overlap here may still be separated in the other {n} dimensions."),
        };
        let repeated =
            if overview.classes.len() > COLOURS { " Colours repeat after ten classes." } else { "" };
        let blend = match overview.flow_weight {
            Some(_) => {
                " The map is the flow's alone, predictions are not: a dot may lie in the Gaussian of another class."
            }
            None => "",
        };
        format!(
            "Each dot is an unlabelled {row} in the colour of its predicted class; triangles are labelled {rows}. \
             {maps}{blend}{hidden}{repeated}"
        )
    }

    fn before_panel(&self, points: &[[f64; 2]], overview: &Overview) -> Panel {
        let (caption, viewport) = match &self.before_columns {
            Some([across, up]) => {
                let [across, up] = [across, up].map(|name| short(name, 30));
                (format!("The two columns: {across} across, {up} up."), Viewport::fitted_to(points))
            }
            None => (
                "The first two principal components: columns, and categories as 0 or 1, scaled to variance 1 and projected \
                 on the two directions of largest variance, without whitening."
                    .into(),
                Viewport::around(points),
            ),
        };
        let title = format!("{} as they came", overview.capital());
        Panel { title, caption, viewport, layers: self.layers(points) }
    }

    fn latent_panel(&self) -> Panel {
        let ellipse = |g: &Gaussian| Ellipse { centre: g.mean, radii: g.sigma, class: g.class };
        let ellipses: Vec<Ellipse> = self.gaussians.iter().map(ellipse).collect();
        let frame = around(&self.latent, &ellipses);
        let mut layers = self.layers(&self.latent);
        layers.push(Layer::Ellipses(ellipses));
        Panel {
            title: "In the latent space".into(),
            caption: "z = f(x), in the plane that shows most of the distances between class means.".into(),
            viewport: frame,
            layers,
        }
    }

    fn layers(&self, points: &[[f64; 2]]) -> Vec<Layer> {
        let classed: Vec<([f64; 2], usize)> =
            points.iter().copied().zip(self.classes.iter().copied()).collect();
        let (labelled, rest) = classed.split_at(self.n_labelled);
        vec![Layer::ByClass(rest.to_vec()), Layer::Labelled(labelled.to_vec())]
    }
}

/// The names of the two columns, if rows are two numbers and nothing else.
fn two_columns(rows: &Rows) -> Option<[String; 2]> {
    let names: Vec<String> = match rows {
        Rows::Matrix { columns } => columns.clone(),
        Rows::Table { encoding, .. } => {
            let is_number = |role: &Role| matches!(role, Role::Number { .. });
            let features = encoding.features();
            let numbers = features.iter().filter(|feature| is_number(&feature.role));
            let names: Vec<String> = numbers.map(|feature| feature.column.clone()).collect();
            if names.len() == features.len() { names } else { Vec::new() }
        }
        Rows::Images { .. } => Vec::new(),
    };
    names.try_into().ok()
}

/// Standardised columns on their two leading principal directions, which keep their variances.
fn principal_plane(x: ArrayView2<f64>) -> Vec<[f64; 2]> {
    match Preprocess::pca_standardised(x, 2, 0.0) {
        Ok(plane) => points(plane.apply(x).view()),
        Err(_) => points(x), // all rows are the same
    }
}

#[cfg(test)]
mod tests {
    use flowgmm_core::analysis;
    use semisup::Toy;

    use super::principal_plane;
    use crate::{FitConfig, Fitter};

    /// A plane that is seen as it is has one long and one short side; a whitened one would be round.
    #[test]
    fn rows_as_they_came_are_not_whitened() {
        // The first two of three columns say nearly the same: variances of about 2, 1 and 0.
        let x = ndarray::Array2::from_shape_fn((400, 3), |(i, j)| {
            let (t, noise) = ((i * 37 % 400) as f64, (i * 149 % 400) as f64);
            if j < 2 { 1e3 * t + (j as f64) * 20.0 * noise } else { noise }
        });
        let plane = principal_plane(x.view());
        let variance = |d: usize| {
            let mean = plane.iter().map(|p| p[d]).sum::<f64>() / 400.0;
            plane.iter().map(|p| (p[d] - mean).powi(2)).sum::<f64>() / 400.0
        };
        let ratio = variance(0) / variance(1);
        assert!((1.5..2.5).contains(&ratio), "{ratio}");
    }

    /// Two means span a line: the first direction is theirs, the second across it, both of length 1.
    #[test]
    fn the_plane_is_orthonormal_and_holds_the_means() {
        let data = Toy::Moons.problem(1).train;
        let mut config = FitConfig::toy();
        config.train.steps = 1;
        let model = Fitter::new(&config, &data, 0).run(&mut ()).unwrap();
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
