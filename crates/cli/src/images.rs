//! Images: where they come from, and how a model of images sees them.
//!
//! ```text
//! path ─recognise→ source ─Collection→ sizes, labels ─the model's layout→ rows of pixels, a stretch at a time
//! ```

pub mod fit;
mod outcome;
pub mod sheet;

use std::{ops::Range, path::Path};

use flowgmm::{Model, bits_per_dim, dequantised};
use flowgmm_data::Layout;
use flowgmm_datasets::{Collection, ImageSource, ReadOptions};
use semisup::{
    Classifier,
    ndarray::{Array2, ArrayView2, Axis},
};
use serde::Serialize;

use crate::{
    data::failure,
    evaluate::LabelledRows,
    exit::{Failure, Result},
    input::warn,
    text,
};

/// Images in memory at a time, as numbers.
const STRETCH: usize = 512;

/// What the images at a path come with.
#[derive(Clone, Copy, Default)]
pub struct Sought<'a> {
    /// The IDX file of their labels.
    pub labels: Option<&'a Path>,
    /// What the names of an NPZ file's arrays end in.
    pub suffix: Option<&'a str>,
}

/// Which kind of images a path holds, if it holds any.
pub fn recognise(path: &Path, suffix: Option<&str>) -> Result<Option<ImageSource>> {
    ImageSource::of(path, suffix).map_err(failure)
}

/// What to say where a table lacks the name of its label.
pub fn label_needed(path: &Path) -> Failure {
    // A slip in the name is the likelier mistake than a missing --label.
    if let Err(source) = std::fs::metadata(path)
        && !crate::input::is_standard(path)
    {
        return Failure::Io { path: path.to_path_buf(), source };
    }
    Failure::Usage(format!(
        "{} is taken for a table: name the column of its labels with --label COLUMN. (Images are a folder with a folder \
         for each class, a PNG or JPEG file, IDX, CIFAR-10's .bin, SVHN's .mat, or an NPZ file with images x)",
        path.display()
    ))
}

/// The images at a path, as the model sees them; `None` if the model is one of tables and so is the path. A table for a
/// model of images is refused, and images for a model of tables are.
pub fn for_model(model: &Model, model_path: &Path, path: &Path, sought: &Sought) -> Result<Option<Images>> {
    let source = recognise(path, sought.suffix)?;
    let (path_shown, model_shown) = (path.display(), model_path.display());
    match (model.layout(), source) {
        (None, None) => Ok(None),
        (Some(layout), None) if path.exists() || path.as_os_str() == "-" => Err(Failure::Data(format!(
            "{path_shown} holds no images, but {model_shown} was fitted to images ({}). Give it a folder of PNG or JPEG \
             files, one such file, IDX, CIFAR-10's .bin, SVHN's .mat, or an NPZ file with images x",
            layout.describe()
        ))),
        (Some(_), None) => Err(Failure::io(path)(std::io::ErrorKind::NotFound.into())),
        (None, Some(ImageSource::Folder)) => Err(Failure::Data(format!(
            "{path_shown} is a folder, but {model_shown} was fitted to a table: give it a table with the same columns"
        ))),
        (None, Some(_)) => Err(Failure::Data(format!(
            "{path_shown} holds images, but {model_shown} was fitted to a table: give it a table with the same columns"
        ))),
        (Some(layout), Some(source)) => Ok(Some(Images::open(path, source, *layout, sought)?)),
    }
}

/// Images in the size and colour of a model.
pub struct Images {
    collection: Collection,
    layout: Layout,
}

impl Images {
    fn open(path: &Path, source: ImageSource, layout: Layout, sought: &Sought) -> Result<Self> {
        let options = ReadOptions { labels: sought.labels, suffix: sought.suffix };
        let collection = Collection::open(path, source, &options).map_err(failure)?;
        say(&collection, &layout);
        Ok(Self { collection, layout })
    }

    /// What messages call them.
    pub fn name(&self) -> String {
        self.collection.path().display().to_string()
    }

    /// The images cut into stretches that fit in memory as numbers.
    pub fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let n = self.collection.n();
        (0..n).step_by(STRETCH).map(move |start| start..(start + STRETCH).min(n))
    }

    /// Names of a stretch.
    pub fn names(&self, stretch: Range<usize>) -> &[String] {
        &self.collection.names()[stretch]
    }

    /// Pixels of a stretch, `[n, dim]`.
    pub fn rows(&self, stretch: Range<usize>) -> Result<Array2<f64>> {
        self.collection.rows(&self.layout, stretch).map_err(failure)
    }

    /// What the model says of rows, the first of which is image `start`.
    pub fn score(&self, model: &Model, x: &Array2<f64>, start: usize) -> Result<flowgmm::Scores> {
        let scores = model.score(x.view());
        match scores.log_probs.rows().into_iter().position(|row| row.iter().any(|v| v.is_nan())) {
            None => Ok(scores),
            Some(row) => Err(Failure::Data(format!(
                "{}, image {}: it is too far from the training images to be scored; look at it, or remove it",
                self.name(),
                self.collection.names()[start + row]
            ))),
        }
    }

    /// At most `most` images, evenly spaced.
    pub fn spread(&self, most: usize) -> Result<Array2<f64>> {
        let (n, count) = (self.collection.n(), self.collection.n().min(most));
        let mut x = Array2::zeros((0, self.layout.dim()));
        for at in (0..count).map(|i| i * n / count) {
            x.append(Axis(0), self.rows(at..at + 1)?.view()).expect("as many columns");
        }
        Ok(x)
    }

    /// How many there are.
    pub fn n(&self) -> usize {
        self.collection.n()
    }

    /// The class of each image, where it has a label, which must be a class of the model.
    pub fn labels(&self, model: &Model) -> Result<Vec<Option<usize>>> {
        let labels = self.collection.labels();
        if labels.iter().all(Option::is_none) {
            return Ok(vec![None; labels.len()]);
        }
        let places = places(&self.collection, model.classes())?;
        Ok(labels.iter().map(|label| label.map(|k| places[k])).collect())
    }

    /// The images with a label, which must be a class of the model.
    pub fn labelled(&self, model: &Model) -> Result<LabelledRows> {
        self.labelled_as(model.classes(), |x, start| self.score(model, x, start).map(drop))
    }

    /// The images with a label, which must be one of the classes, if `check` has nothing to say against a stretch.
    fn labelled_as(
        &self,
        classes: &[String],
        check: impl Fn(&Array2<f64>, usize) -> Result<()>,
    ) -> Result<LabelledRows> {
        let places = places(&self.collection, classes)?;
        let labels = self.collection.labels();
        let mut all = LabelledRows {
            x: Array2::zeros((0, self.layout.dim())),
            y: labels.iter().flatten().map(|&k| places[k]).collect(),
            lines: Vec::new(),
            skipped: labels.iter().filter(|label| label.is_none()).count(),
        };
        for stretch in self.stretches() {
            let rows: Vec<usize> = stretch.clone().filter(|&at| labels[at].is_some()).collect();
            let within: Vec<usize> = rows.iter().map(|at| at - stretch.start).collect();
            let x = self.rows(stretch.clone())?;
            check(&x, stretch.start)?;
            all.x.append(Axis(0), x.select(Axis(0), &within).view()).expect("as many columns");
            all.lines.extend(rows.iter().map(|&at| at as u64 + 1));
        }
        Ok(all)
    }

    /// How well images survive x -> z -> x, and how many bits the model needs for them.
    pub fn round_trip(&self, model: &Model, x: &Array2<f64>) -> RoundTrip {
        let back = model.decode(model.encode(x.view()).view());
        let gaps = || x.iter().zip(&back).map(|(x, back)| (x - back).abs());
        // `max` would drop a NaN; this keeps it.
        let largest =
            gaps().fold(0.0, |worst: f64, gap| if gap.is_nan() || gap > worst { gap } else { worst });
        let exact = gaps().filter(|gap| *gap < 0.5).count() as f64 / x.len() as f64;
        RoundTrip { images: x.nrows(), largest, exact, bits_per_dim: bits(model, &self.layout, x.view()) }
    }
}

/// Where the classes of images are among those of a model; there must be a label, and none of another class.
fn places(collection: &Collection, known: &[String]) -> Result<Vec<usize>> {
    let name = collection.path().display();
    if collection.labels().iter().all(Option::is_none) {
        return Err(Failure::Data(format!(
            "{name} has no labels: put images into folders named after their classes, or give IDX images the file of their \
             labels"
        )));
    }
    let place = |class: &String| {
        known.iter().position(|known| known == class).ok_or_else(|| {
            Failure::Data(format!(
                "{name}: its class '{class}' is not one of the model's: {}. Leave its images out, or name the class as in \
                 training",
                text::list(known)
            ))
        })
    };
    collection.classes().iter().map(place).collect()
}

/// Bits per pixel value of images, with one draw of the noise that spreads pixels over their cells.
pub fn bits(model: &Model, layout: &Layout, x: ArrayView2<f64>) -> f64 {
    let x = dequantised(x, &mut semisup::rng(0));
    bits_per_dim(&model.score(x.view()).log_marginal, layout.pixels())
}

/// Pixels after x -> z -> x.
#[derive(Serialize)]
pub struct RoundTrip {
    /// Number of images.
    images: usize,
    /// Largest difference, in pixel values of 0 to 255.
    largest: f64,
    /// Share of pixels that come back as they were when rounded.
    exact: f64,
    /// Bits per pixel value.
    pub bits_per_dim: f64,
}

impl RoundTrip {
    /// In words.
    pub fn describe(&self) -> String {
        let (exact, largest, images) = (text::percent(self.exact), self.largest, self.images);
        format!(
            "{exact} come back exactly after x -> z -> x (largest difference {largest:.1e} of 255) in {images} images"
        )
    }
}

/// `30 x 28 grey, padded to 32 x 28`
pub fn describe(layout: &Layout) -> String {
    match layout.padded() {
        (height, width) if (height, width) == (layout.height, layout.width) => layout.describe(),
        (height, width) => format!("{}, padded to {height} x {width}", layout.describe()),
    }
}

/// Says how images are found and changed.
fn say(collection: &Collection, layout: &Layout) {
    let name = collection.path().display();
    for note in collection.notes().iter().chain(&collection.changes(layout)) {
        warn(&format!("{name}: {note}"));
    }
}
