//! A toy problem in two rows of four panels, as in the paper's figures 1, 2 and 5.

use flowgmm_report::{Grid, GridWidth, Layer, Legend, Panel, Raster, Section, Viewport};
use ndarray::{Array2, Axis};
use semisup::{SemiSupervised, Toy};

use super::{
    figures::{Album, Drawn},
    solve::Pair,
};
use crate::{
    Model,
    pages::{ellipses, losses, percent, points},
};

/// Cells across a panel for its decision regions.
const CELLS: usize = 120;
/// How much of the latent space panel (b) may show, in widths of the mixture.
const WIDEST: f64 = 4.0;
/// Samples of the mixture.
const SAMPLES: usize = 1000;

/// The section of one toy.
pub(super) fn section(pair: &Pair, toy: Toy, seed: u64) -> Drawn {
    let Pair { problem, all, labelled } = pair;
    let train = &problem.train;
    let frame = Viewport::around(&points(train.x()));
    let mut album = Album::new(toy.name());
    let mut row = |label: &str, prefix: &str, model: &Model| {
        let panels = panels(model, train, frame, seed);
        let figures = panels.iter().map(|(name, panel)| album.add(&format!("{prefix}{name}"), panel));
        Grid::row(label, figures.collect())
    };
    let semi = row(
        &format!("Labelled + unlabelled: {} of test points correct", percent(all.scores.accuracy)),
        "",
        &all.model,
    );
    let only = row(
        &format!("Labelled only: {} correct", percent(labelled.scores.accuracy)),
        "labelled-only-",
        &labelled.model,
    );
    let curves = vec![
        album.add("loss", &losses("Loss, labelled + unlabelled", &all.model)),
        album.add("labelled-only-loss", &losses("Loss, labelled only", &labelled.model)),
    ];
    let section = Section {
        heading: heading(toy).into(),
        text: about(toy).into(),
        grids: vec![
            semi.with_legend(Legend::for_classes(class_names(toy))),
            only,
            Grid::of(GridWidth::Two, curves),
        ],
        ..Section::default()
    };
    Drawn { section, files: album.files }
}

/// Data and regions, latent image, latent samples, generated data; each with the name of its file.
fn panels(model: &Model, train: &SemiSupervised, frame: Viewport, seed: u64) -> [(&'static str, Panel); 4] {
    let regions = regions(model, frame);
    let rings = ellipses(model, &Array2::eye(2));
    let (rows, hidden) = (train.labelled(), train.unlabelled());
    let y: Vec<usize> = train.y().iter().flatten().copied().collect();
    let classed = |points: Vec<[f64; 2]>, y: &[usize]| points.into_iter().zip(y.iter().copied()).collect();
    let x_labelled = points(train.x().select(Axis(0), &rows).view());
    let x_unlabelled = points(train.x().select(Axis(0), &hidden).view());

    let z = model.encode(train.x());
    let z_labelled = points(z.select(Axis(0), &rows).view());
    let z_unlabelled = points(z.select(Axis(0), &hidden).view());

    let mixture = model.gmm().mixture();
    let (sampled, classes) = mixture.sample(SAMPLES, None, 1.0, &mut semisup::rng(seed));
    let generated = points(model.decode(sampled.view()).view());
    let sampled = points(sampled.view());
    let latent = Viewport::around(&sampled);
    [
        (
            "data",
            panel(
                "(a) Data and decision",
                frame,
                vec![
                    Layer::Regions(regions),
                    Layer::Unlabelled(x_unlabelled),
                    Layer::Labelled(classed(x_labelled, &y)),
                ],
            ),
        ),
        (
            "latent",
            panel(
                "(b) Latent image f(x)",
                widened(latent, &points(z.view())),
                vec![
                    Layer::Ellipses(rings.clone()),
                    Layer::Unlabelled(z_unlabelled),
                    Layer::Labelled(classed(z_labelled, &y)),
                ],
            ),
        ),
        (
            "latent-samples",
            panel(
                "(c) Samples z of the mixture",
                latent,
                vec![Layer::Ellipses(rings), Layer::ByClass(classed(sampled, &classes))],
            ),
        ),
        (
            "generated",
            panel("(d) Generated data f⁻¹(z)", frame, vec![Layer::ByClass(classed(generated, &classes))]),
        ),
    ]
}

fn panel(title: &str, viewport: Viewport, layers: Vec<Layer>) -> Panel {
    Panel { title: title.into(), viewport, layers, ..Panel::default() }
}

/// The frame with room for `points`, as far as that leaves the mixture in sight.
fn widened(frame: Viewport, points: &[[f64; 2]]) -> Viewport {
    let wanted = Viewport::around(points);
    let wide = |[lo, hi]: [f64; 2], [first, last]: [f64; 2]| {
        let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
        let factor = (last - middle).max(middle - first) / half;
        (middle, half * factor.clamp(1.0, WIDEST))
    };
    let ((x, half_x), (y, half_y)) = (wide(frame.x, wanted.x), wide(frame.y, wanted.y));
    let half = half_x.max(half_y);
    Viewport { x: [x - half, x + half], y: [y - half, y + half] }
}

fn regions(model: &Model, frame: Viewport) -> Raster<(usize, f64)> {
    let centres = frame.cells(CELLS, CELLS);
    let x = Array2::from_shape_fn((centres.len(), 2), |(i, j)| centres[i][j]);
    let found = model.score(x.view());
    let rows = found.classes().into_iter().zip(found.log_probs.rows());
    Raster::new(CELLS, CELLS, rows.map(|(k, log_p)| (k, log_p[k].exp())).collect())
}

fn heading(toy: Toy) -> &'static str {
    match toy {
        Toy::Moons => "Two moons",
        Toy::Circles => "Two circles",
        Toy::EightGaussians => "Eight Gaussians",
        Toy::Pinwheel => "Pinwheel",
    }
}

fn about(toy: Toy) -> &'static str {
    match toy {
        Toy::Moons => {
            "Two interleaved half circles, with five labels each.\n\nWhat to look at: with unlabelled points, the decision \
             boundary follows the gap between the moons, even far from any label. Without them, it has only ten \
             triangles to go by."
        }
        Toy::Circles => {
            "A circle inside a circle, with four and seven labels.\n\nWhat to look at: a ring has a hole and a \
             Gaussian has none, so no invertible map fits exactly: f has to cut the outer ring open somewhere. In \
             the first row the cut is a thin wedge in (a) and a thin gap in (d)."
        }
        Toy::EightGaussians => {
            "Eight Gaussians on a ring in three classes, arcs of three, three and two, with 19 labels in all.\n\nWhat \
             to look at: each class is several clusters, and one Gaussian has to hold them all. It does so by joining \
             them with thin bridges, which show in (d). The boundary passes between clusters of different classes."
        }
        Toy::Pinwheel => {
            "Five bent arms around a centre, with 13 labels in all.\n\nWhat to look at: two or three labels per arm are \
             enough, because the other points show how the arm bends. Near the centre, where the regions are \
             narrowest, mistakes remain."
        }
    }
}

fn class_names(toy: Toy) -> &'static [&'static str] {
    match toy {
        Toy::Moons => &["upper moon", "lower moon"],
        Toy::Circles => &["inner circle", "outer circle"],
        Toy::EightGaussians => &["first arc", "second arc", "third arc"],
        Toy::Pinwheel => &["arm 1", "arm 2", "arm 3", "arm 4", "arm 5"],
    }
}
