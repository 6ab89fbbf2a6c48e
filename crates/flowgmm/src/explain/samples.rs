//! What the classes look like to the model (paper, appendix H): their means, decoded, and samples.

use flowgmm_report::{GridWidth, Section, Table, TableCell, TableColumn};
use ndarray::{Array2, Axis, concatenate};

use super::{
    display::{CLASS, Display, SheetRows},
    subject::Subject,
};

/// Samples of each class of images.
const IMAGES: usize = 8;
/// Samples of each class of rows.
const ROWS: usize = 2;
/// Standard deviations are multiplied by this.
const TEMPERATURE: f64 = 0.5;
/// Classes shown.
const CLASSES: usize = 20;

/// Decoded means and samples of classes, the first twenty.
#[derive(Clone, Debug)]
pub struct ClassSamples {
    /// One for each class.
    pub classes: Vec<SampledClass>,
}

/// Decoded means and samples of one class.
#[derive(Clone, Debug)]
pub struct SampledClass {
    /// Its name.
    pub class: String,
    /// The decoded means of its Gaussians, `[components, dim]`.
    pub means: Array2<f64>,
    /// Samples at temperature 0.5, `[n, dim]`.
    pub samples: Array2<f64>,
}

impl ClassSamples {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        if subject.display.is_text() {
            return None;
        }
        let model = subject.model;
        let n = if subject.display.is_images() { IMAGES } else { ROWS };
        let means = model.means_by_class(None).into_iter();
        let samples = model.sample_by_class(None, n, TEMPERATURE, subject.seed);
        let classes = means.zip(samples).take(CLASSES);
        let classes = classes.map(|((class, means), (_, samples))| SampledClass { class, means, samples });
        Some(Self { classes: classes.collect() })
    }
}

pub(super) const HEADING: &str = "What each class looks like to the model";

pub(super) fn section(found: Option<&ClassSamples>, display: &Display) -> Section {
    let heading = HEADING.to_string();
    let Some(ClassSamples { classes }) = found else {
        let text =
            "Means and samples are sentence embeddings, which cannot be turned back into texts.".into();
        return Section { heading, text, ..Section::default() };
    };
    let text = format!(
        "The mean of each class's Gaussian, decoded: f\u{207b}\u{b9}(\u{3bc}). It is where the Gaussian is densest in the \
         latent space, but not always a likely {}. With it come samples at temperature {TEMPERATURE}.",
        display.one()
    );
    let line = |of: &SampledClass| {
        let x = concatenate(Axis(0), &[of.means.view(), of.samples.view()]).expect("as many pixels");
        (of.class.clone(), x)
    };
    let lines: SheetRows = classes.iter().map(line).collect();
    let caption = "The first image of each line is the mean.";
    let grids = display.sheet(GridWidth::Two, "Means and samples", caption, &lines);
    let tables = if display.has_columns() { vec![table(classes, display)] } else { Vec::new() };
    Section { heading, text, tables, grids }
}

fn table(classes: &[SampledClass], display: &Display) -> Table {
    let mut rows = Vec::new();
    for class in classes {
        for (kind, x) in [("mean", &class.means), ("sample", &class.samples)] {
            for x in x.rows() {
                let mut cells = vec![TableCell::name(&class.class, CLASS), TableCell::from(kind)];
                cells.extend(display.cells_of(x));
                rows.push(cells);
            }
        }
    }
    let mut columns = vec![TableColumn::text("Class"), TableColumn::text("Kind")];
    columns.extend(display.heads());
    Table { caption: "The columns that separate the classes most.".into(), columns, rows }
}
