//! Every figure and table of the crate on one page, from made-up but fixed numbers.
//!
//! `cargo run -p flowgmm-report --example gallery -- gallery.html` also writes each kind of figure as an
//! SVG file beside the page. Look at it on a wide screen, on a phone, in light and in dark.

use std::f64::consts::{PI, TAU};
use std::path::PathBuf;

use flowgmm_report::*;

/// Class names as they come, from a stranger's CSV file.
const NASTY: [&str; 5] = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(2)</script>",
    "Tom & \"Jerry's\" friends",
    "a class name that goes on for much longer than anyone would think reasonable",
    "日本語",
];

fn main() -> std::io::Result<()> {
    let path = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery.html".into()));
    let mut noise = Noise(7);
    let (moons, panels) = moons(&mut noise);
    let sections =
        vec![moons, pinwheel(&mut noise), curves(&mut noise), images(&mut noise), evaluation(), estimates()];
    let page = Page {
        title: "Gallery of figures".into(),
        lead: "Every figure this crate can draw, from made-up numbers. Nothing here was learned by a model."
            .into(),
        tiles: tiles(),
        headline: Some(headline()),
        sections,
        footer: "Made by crates/report/examples/gallery.rs".into(),
    };
    std::fs::write(&path, page.to_html())?;
    std::fs::write(path.with_file_name("panel.svg"), panels[0].to_svg())?;
    std::fs::write(path.with_file_name("curves.svg"), losses(&mut noise, AxisScale::Focused).to_svg())?;
    std::fs::write(path.with_file_name("confusion.svg"), confusion(&NASTY).to_svg())
}

fn tiles() -> Vec<Tile> {
    let tile = |name: &str, value: &str, note: &str| {
        let [name, value, note] = [name, value, note].map(String::from);
        Tile { name, value, note }
    };
    vec![
        tile("Accuracy", "96.3 %", "94.9 % to 97.3 %, on test rows"),
        tile("Gain", "+9.4", "+7.6 to +11.5 points"),
        tile(NASTY[0], "0", NASTY[3]),
    ]
}

fn estimates() -> Section {
    let bar = |(k, name): (usize, &&str)| {
        let value = 40.0 / (k + 1) as f64;
        Bar { name: name.to_string(), value, shown: format!("{value:.0}"), colour: k }
    };
    let bars = Bars {
        title: "Labels per class".into(),
        caption: "Some have few.".into(),
        bars: NASTY.iter().enumerate().map(bar).collect(),
    };
    let estimate = |(k, name): (usize, &&str)| {
        let value = 9.0 - 4.0 * k as f64;
        Estimate { name: name.to_string(), value, low: value - 6.0, high: value + 7.0, colour: k }
    };
    let intervals = Intervals {
        title: "Differences".into(),
        caption: "What crosses the dashed line may be nothing.".into(),
        x_label: "points of accuracy".into(),
        reference: Some(0.0),
        estimates: NASTY.iter().enumerate().map(estimate).collect(),
    };
    let grids = vec![Grid::of(GridWidth::Two, vec![bars.figure(), intervals.figure()])];
    Section { heading: "Bars and intervals".into(), grids, ..Section::default() }
}

fn headline() -> Table {
    let row = |name: &str, a: f64, b: f64, nll: f64, seconds: f64| {
        let spread = TableCell::shown(b, format!("{b:.1} ± 0.4"));
        vec![
            name.into(),
            TableCell::number(a, 1),
            spread,
            TableCell::number(nll, 3),
            TableCell::number(seconds, 1),
        ]
    };
    Table {
        caption: "Test accuracy with ten labels a class.".into(),
        columns: vec![
            TableColumn::text("Method"),
            TableColumn::number("Moons %").highest(),
            TableColumn::number("Pinwheel %").highest(),
            TableColumn::number("NLL").lowest(),
            TableColumn::number("Seconds"),
        ],
        rows: vec![
            row("FlowGMM, labelled + unlabelled", 99.8, 98.1, -0.412, 12.3),
            row("FlowGMM, labelled only", 88.4, 80.6, 1.907, 3.1),
            row("Logistic regression", 86.1, 62.0, f64::NAN, 0.1),
            row("k nearest neighbours", 99.8, 91.7, f64::NAN, 0.1),
        ],
    }
}

fn moons(noise: &mut Noise) -> (Section, Vec<Panel>) {
    let data: Vec<([f64; 2], usize)> = (0..900)
        .map(|i| {
            let (k, t) = (i % 2, PI * noise.uniform());
            let (x, y) = if k == 0 { (t.cos(), t.sin()) } else { (1.0 - t.cos(), 0.5 - t.sin()) };
            ([x + 0.09 * noise.normal(), y + 0.09 * noise.normal()], k)
        })
        .collect();
    let good = |[x, y]: [f64; 2]| 5.0 * (0.25 - y + 0.55 * ((x - 0.5) * 2.6).sin());
    let poor = |[x, y]: [f64; 2]| 2.2 * (0.3 * x - y + 0.1);
    let latent: Vec<_> = data.iter().map(|&(_, k)| (noise.gaussian(component(k)), k)).collect();
    let bent: Vec<_> =
        data.iter().map(|&([x, y], k)| ([2.4 * (x - 0.5), 3.0 * y + x * x - 1.5], k)).collect();
    let mut panels = four_panels(noise, &data, &latent, good);
    panels[0].caption = "Data and decision boundary.".into();
    panels[1].caption = "The data mapped to the latent space.".into();
    panels[2].caption = "Samples of the mixture in the latent space.".into();
    panels[3].caption = "The same samples mapped back to the data space.".into();
    let only_labelled = four_panels(noise, &data, &bent, poor);
    let row = |label: &str, panels: &[Panel]| Grid::row(label, panels.iter().map(Plot::figure).collect());
    let section = Section {
        heading: "Two moons".into(),
        text: "Two rows of four panels, as in the paper's figure 1.\n\nThe first uses unlabelled data; the \
               second only the six labelled points, and its boundary cuts through both moons."
            .into(),
        grids: vec![
            row("Labelled + unlabelled", &panels)
                .with_legend(Legend::for_classes(&["upper moon", "lower moon"])),
            row("Labelled only", &only_labelled),
        ],
        ..Section::default()
    };
    (section, panels)
}

fn component(k: usize) -> Ellipse {
    let sign = if k == 0 { -1.0 } else { 1.0 };
    Ellipse { centre: [2.2 * sign, 1.4 * sign], radii: [1.0, 1.0], class: k }
}

type Labelled = Vec<([f64; 2], usize)>;

fn four_panels(
    noise: &mut Noise,
    data: &Labelled,
    latent: &Labelled,
    logit: impl Fn([f64; 2]) -> f64,
) -> Vec<Panel> {
    let place = |points: &Labelled| points.iter().map(|p| p.0).collect::<Vec<_>>();
    let viewport = Viewport::around(&place(data));
    let cells = viewport.cells(90, 90).into_iter().map(|x| {
        let p = 1.0 / (1.0 + (-logit(x)).exp());
        (usize::from(p > 0.5), p.max(1.0 - p))
    });
    let regions = Layer::Regions(Raster::new(90, 90, cells.collect()));
    let labelled = data.iter().step_by(155).copied().collect();
    let samples: Labelled = (0..900).map(|i| (noise.gaussian(component(i % 2)), i % 2)).collect();
    let latent_viewport = Viewport::around(&place(&samples));
    let ellipses = || Layer::Ellipses(vec![component(0), component(1)]);
    let generated = data.iter().map(|&(x, k)| ([0, 1].map(|d| x[d] + 0.03 * noise.normal()), k)).collect();
    let panel =
        |title: &str, viewport, layers| Panel { title: title.into(), viewport, layers, ..Panel::default() };
    vec![
        panel("(a) Data", viewport, vec![regions, Layer::Unlabelled(place(data)), Layer::Labelled(labelled)]),
        panel("(b) Latent image f(x)", latent_viewport, vec![ellipses(), Layer::ByClass(latent.clone())]),
        panel("(c) Latent samples", latent_viewport, vec![ellipses(), Layer::ByClass(samples)]),
        panel("(d) Generated data", viewport, vec![Layer::ByClass(generated)]),
    ]
}

fn pinwheel(noise: &mut Noise) -> Section {
    let arm = |[x, y]: [f64; 2]| (y.atan2(x) - 0.9 * (x * x + y * y).sqrt()).rem_euclid(TAU) / TAU;
    let points = |n_classes: usize, noise: &mut Noise| -> Labelled {
        (0..1500)
            .map(|i| {
                let (k, r) = (i % n_classes, 0.4 + 1.9 * noise.uniform());
                let spread = 0.7 / n_classes as f64;
                let angle = TAU * (k as f64 + 0.5) / n_classes as f64 + spread * noise.normal() + 0.9 * r;
                ([r * angle.cos(), r * angle.sin()], k)
            })
            .collect()
    };
    let panel = |n_classes: usize, noise: &mut Noise| {
        let data = points(n_classes, noise);
        let viewport = Viewport::around(&data.iter().map(|p| p.0).collect::<Vec<_>>());
        let cells = viewport.cells(110, 110).into_iter().map(|x| {
            let turn = arm(x) * n_classes as f64;
            (turn as usize % n_classes, 0.35 + 1.2 * (0.5 - (turn.fract() - 0.5).abs()))
        });
        let layers = vec![
            Layer::Labelled(data.iter().step_by(53).copied().collect()),
            Layer::ByClass(data),
            Layer::Regions(Raster::new(110, 110, cells.collect())),
        ];
        Panel { title: format!("{n_classes} classes"), viewport, layers, ..Panel::default() }
    };
    let viewport = Viewport::default();
    let bump = |[x, y]: [f64; 2]| (-6.0 * ((x * x + y * y).sqrt() - 0.6).powi(2) / 0.1).exp();
    let density = Raster::new(80, 80, viewport.cells(80, 80).into_iter().map(bump).collect());
    let layers = vec![Layer::Density(density)];
    let density = Panel { title: "A density".into(), viewport, layers, ..Panel::default() };
    let figures = vec![panel(5, noise).figure(), panel(10, noise).figure(), density.figure()];
    let grids = vec![Grid::of(GridWidth::Three, figures).with_legend(Legend::for_classes(&NASTY))];
    Section { heading: "Pinwheel, with hostile class names".into(), grids, ..Section::default() }
}

fn losses(noise: &mut Noise, y_scale: AxisScale) -> LineChart {
    let mut curve = |floor: f64, start: f64| -> Vec<f64> {
        (0..200)
            .map(|e| floor + start * (-f64::from(e) / 18.0).exp() * (1.0 + 0.15 * noise.normal()))
            .map(|v| v + 0.02 * (v * 40.0).sin())
            .collect()
    };
    let mut validation = curve(0.9, 40.0);
    validation[100..115].fill(f64::NAN);
    LineChart {
        title: format!("Loss by epoch, y axis {y_scale:?}"),
        caption: "The gap in the dashed line is fifteen epochs without a finite value.".into(),
        x_label: "epoch".into(),
        y_label: "negative log-likelihood".into(),
        x_scale: AxisScale::Linear,
        y_scale,
        series: vec![
            Series::per_epoch("labelled", &curve(0.3, 30.0)),
            Series::per_epoch("unlabelled", &curve(0.6, 50.0)),
            Series::per_epoch("validation", &validation).dashed().coloured(0),
            Series::per_epoch(NASTY[0], &curve(1.6, 20.0)),
        ],
    }
}

fn curves(noise: &mut Noise) -> Section {
    let mut charts: Vec<Figure> = [AxisScale::Linear, AxisScale::Focused, AxisScale::Log]
        .map(|y_scale| losses(noise, y_scale).figure())
        .into();
    let mut distances = |centre: f64| (0..4000).map(|_| (centre + noise.normal()).abs()).collect();
    let histogram = Histogram {
        title: "Distance of unlabelled data to the boundary".into(),
        x_label: "distance".into(),
        samples: vec![("labelled only".into(), distances(0.6)), ("with unlabelled".into(), distances(2.4))],
        ..Histogram::default()
    };
    charts.push(histogram.figure());
    Section { heading: "Curves".into(), grids: vec![Grid::of(GridWidth::Two, charts)], ..Section::default() }
}

fn images(noise: &mut Noise) -> Section {
    let mut ring = |k: usize| -> Vec<f64> {
        let (wobble, squash) = (0.5 * noise.uniform(), 1.0 + 0.12 * k as f64);
        (0..64)
            .map(|i| {
                let (x, y) = ((i % 8) as f64 - 3.5, (i / 8) as f64 - 3.5);
                let r = (x * x * squash + y * y).sqrt() - 2.4 - wobble;
                (-r * r * 1.4).exp()
            })
            .collect()
    };
    let mut rows: Vec<SheetRow> =
        (0..5).map(|k| SheetRow::ink(NASTY[k], (0..12).map(|_| ring(k)).collect())).collect();
    let base = rows[0].images[0].clone();
    let difference = |image: &Vec<f64>| image.iter().zip(&base).map(|(a, b)| 0.01 * (a - b)).collect();
    rows.push(SheetRow::change("difference", rows[0].images.iter().map(difference).collect()));
    let sheet = ImageSheet {
        title: "Samples by class".into(),
        caption: "Eight by eight pixels each.".into(),
        width: 8,
        height: 8,
        rows,
    };
    Section {
        heading: "Images".into(),
        grids: vec![Grid::of(GridWidth::One, vec![sheet.figure()])],
        ..Section::default()
    }
}

fn confusion(classes: &[&str]) -> Confusion {
    let n = classes.len();
    let count =
        |t: usize, p: usize| if t == p { 180 - 11 * t } else { (t * 7 + p * 3) % 5 * ((t + p) % 3) * 4 };
    Confusion {
        title: format!("Confusion of {n} classes"),
        caption: "Rows are true classes; tint is the share of the row.".into(),
        classes: classes.iter().map(|c| c.to_string()).collect(),
        counts: (0..n).map(|t| (0..n).map(|p| count(t, p)).collect()).collect(),
    }
}

fn evaluation() -> Section {
    let bins = (0..15).map(|i| {
        let (low, high) = (f64::from(i) / 15.0, f64::from(i + 1) / 15.0);
        let confidence = 0.5 * (low + high);
        let count = if i < 4 { 0 } else { (i * i * i) as usize };
        ReliabilityBin {
            low,
            high,
            confidence,
            accuracy: confidence - 0.22 * confidence * (1.0 - confidence),
            count,
        }
    });
    let reliability = Reliability {
        title: "Reliability".into(),
        caption: "Orange is the gap between accuracy and confidence; grey counts predictions.".into(),
        note: "ECE 0.021".into(),
        bins: bins.collect(),
    };
    let digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let figures = vec![confusion(&digits).figure(), reliability.figure(), confusion(&NASTY).figure()];
    let rows = NASTY.iter().enumerate().map(|(k, name)| {
        vec![
            (*name).into(),
            TableCell::from(100 + k),
            TableCell::number(0.9 + 0.01 * k as f64, 3),
            TableCell::Missing,
        ]
    });
    let table = Table {
        caption: "By class.".into(),
        columns: vec![
            TableColumn::text("Class"),
            TableColumn::number("Count"),
            TableColumn::number("F1").highest(),
            TableColumn::number("Never measured").lowest(),
        ],
        rows: rows.collect(),
    };
    Section {
        heading: "Evaluation".into(),
        tables: vec![table],
        grids: vec![Grid::of(GridWidth::Two, figures)],
        ..Section::default()
    }
}

/// A fixed stream of numbers (SplitMix64): a gallery should look the same every time.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn gaussian(&mut self, e: Ellipse) -> [f64; 2] {
        [0, 1].map(|d| e.centre[d] + e.radii[d] * self.normal())
    }
}
