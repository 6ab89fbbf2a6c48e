//! The rows of a plan's datasets: tables and images in a directory.
//!
//! | option | of | what |
//! |---|---|---|
//! | `header` | tables | `absent` if the first line is a row |
//! | `suffix_train`, `suffix_test` | archives of arrays | what the names of training and test arrays end in |
//! | `kind` | known datasets | `dataset`: `file` is the name of a dataset of [`flowgmm_datasets`], read with the paper's preparation |
//! | `fraction`, `recipe`, `encoder`, `cache` | known datasets | see the module `known` |
//! | `kind` | images | `images`: `file` is the name of a dataset of [`flowgmm_datasets`], or a folder or file of images |
//! | `labels`, `test_labels` | IDX images | the IDX files of their labels |
//! | `test` | folders and files of images | images to be scored on, instead of a share of all |

use std::{
    fmt,
    path::{Path, PathBuf},
};

use flowgmm_data::{Encoding, Image, ImageLayout, Schema, labels};
use flowgmm_datasets::{
    Collection, Dataset, ImageSet, ImageSource, LabelSplits, ReadOptions, State, Store, Subset, find,
};
use flowgmm_learners::AnyError;
use flowgmm_tables::{Header, open};
use ndarray::Array2;
use semisup::Labelled;

use crate::{LabelSource, PlanDataset};

/// The rows of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// All rows that may be drawn.
    pub all: Labelled,
    /// Test rows of its own, if it has them.
    pub test: Option<Labelled>,
    /// For a dataset with a split file: the labelled rows of the first draw, the second, .., then again the first.
    pub splits: Vec<Vec<usize>>,
}

/// Why a dataset has no rows.
#[derive(Debug)]
pub enum LoadError {
    /// It is not there; the message says what to do about it.
    Absent(String),
    /// It is there but cannot be used.
    Unusable(AnyError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Absent(what) => f.write_str(what),
            Self::Unusable(error) => error.fmt(f),
        }
    }
}

impl<E: Into<AnyError>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Unusable(error.into())
    }
}

/// Finds the rows of a plan's datasets.
pub trait Loader {
    /// Says what is wrong with a dataset as far as that can be seen without reading it.
    fn check(&mut self, _dataset: &PlanDataset) -> Result<(), LoadError> {
        Ok(())
    }

    /// Reads a dataset.
    fn load(&mut self, dataset: &PlanDataset) -> Result<Loaded, LoadError>;
}

/// Datasets in files below a directory.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    pub(crate) root: PathBuf,
    pub(crate) store: Store,
}

impl DataDirectory {
    /// Files of tables, images and splits are looked for below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self { store: Store::offline(&root), root }
    }

    /// The path of a file that is there.
    pub(crate) fn path(&self, file: &str) -> Result<PathBuf, LoadError> {
        let path = self.root.join(file);
        match path.exists() {
            true => Ok(path),
            false => {
                let name = path.display();
                let remedy = "put it there, or choose the directory of data that holds it";
                Err(LoadError::Absent(format!("{name} is not there: {remedy}")))
            }
        }
    }

    /// Why a split does not suit the rows: parts of a known dataset may be absent.
    fn not_of_these(&self, dataset: &PlanDataset, error: &flowgmm_datasets::Error) -> LoadError {
        let files = find(&dataset.file).ok().and_then(|known| self.store.check(known.name).ok());
        match files.is_some_and(|files| files.iter().any(|file| matches!(file.state, State::Absent(_)))) {
            true => LoadError::Absent(format!(
                "the split is of the whole of '{0}', of which only a part is in {1} ({error}): run `flowgmm data get {0} --dir {1}`",
                dataset.file,
                self.root.display()
            )),
            false => LoadError::Unusable(error.to_string().into()),
        }
    }

    /// What to do about a known dataset that is not there.
    pub(crate) fn absent(&self, dataset: &Dataset) -> LoadError {
        let (name, root) = (dataset.name, self.root.display());
        LoadError::Absent(format!(
            "'{name}' is not in {root}: run `flowgmm data get {name} --dir {root}`, or choose the directory of data that \
             holds it"
        ))
    }
}

impl Loader for DataDirectory {
    fn check(&mut self, dataset: &PlanDataset) -> Result<(), LoadError> {
        match (kind(dataset)?, find(&dataset.file)) {
            (Kind::Dataset, Err(error)) => return Err(error.into()),
            (Kind::Images | Kind::Dataset, Ok(known)) => {
                let files = self.store.check(known.name)?;
                if files.iter().all(|file| matches!(file.state, State::Absent(_))) {
                    return Err(self.absent(known));
                }
                self.check_known(dataset)?;
            }
            _ => drop(self.path(&dataset.file)?),
        }
        let options = ["labels", "test", "test_labels"].into_iter().filter_map(|name| option(dataset, name));
        for file in options.map(String::from).chain(split_files(dataset)) {
            self.path(&file)?;
        }
        Ok(())
    }

    fn load(&mut self, dataset: &PlanDataset) -> Result<Loaded, LoadError> {
        let (all, test) = match kind(dataset)? {
            Kind::Images => self.images(dataset)?,
            Kind::Table => self.table(dataset)?,
            Kind::Dataset => self.known(dataset)?,
        };
        let mut splits = Vec::new();
        for file in split_files(dataset) {
            let read = LabelSplits::read(&self.path(&file)?, all.n());
            let read = read.map_err(|error| self.not_of_these(dataset, &error))?;
            for seed in 0..read.seeds() {
                splits.push(read.seed(seed)?.to_vec());
            }
        }
        Ok(Loaded { all, test, splits })
    }
}

enum Kind {
    Table,
    Images,
    Dataset,
}

fn kind(dataset: &PlanDataset) -> Result<Kind, LoadError> {
    match option(dataset, "kind") {
        Some("images") => Ok(Kind::Images),
        Some("dataset") => Ok(Kind::Dataset),
        None | Some("table") => Ok(Kind::Table),
        Some(kind) => Err(format!("kind: '{kind}' is neither 'table' nor 'images' nor 'dataset'").into()),
    }
}

pub(crate) fn option<'a>(dataset: &'a PlanDataset, name: &str) -> Option<&'a str> {
    dataset.options.get(name).map(String::as_str)
}

fn split_files(dataset: &PlanDataset) -> Vec<String> {
    let file = |source| match source {
        LabelSource::Split(file) => Some(file),
        _ => None,
    };
    dataset.label_sources().into_iter().filter_map(file).collect()
}

/// Rows to draw from, and test rows of their own if there are some.
pub(crate) type AllAndTest = (Labelled, Option<Labelled>);

impl DataDirectory {
    /// A table whose last column is the label.
    fn table(&self, dataset: &PlanDataset) -> Result<AllAndTest, LoadError> {
        let path = self.path(&dataset.file)?;
        let header =
            if option(dataset, "header") == Some("absent") { Header::Absent } else { Header::Present };
        let all = labelled(&path, header, option(dataset, "suffix_train"))?;
        let test = option(dataset, "suffix_test").map(|suffix| labelled(&path, header, Some(suffix)));
        Ok((all, test.transpose()?))
    }

    /// All images of a known dataset and its test images, or those at a path.
    pub(crate) fn images(&self, dataset: &PlanDataset) -> Result<AllAndTest, LoadError> {
        if let Ok(known) = find(&dataset.file) {
            let part = |part: Subset| match self.store.images(known.name, part) {
                Err(flowgmm_datasets::Error::Absent { .. }) => Err(self.absent(known)),
                images => rows_of_set(&images?),
            };
            return Ok((part(Subset::Train)?, Some(part(Subset::Test)?)));
        }
        let all = self.collection(&dataset.file, option(dataset, "labels"))?;
        let layout = all.layout(None)?;
        let rows = rows_of_collection(&all, &layout, all.classes())?;
        let Some(file) = option(dataset, "test") else { return Ok((rows, None)) };
        let test = self.collection(file, option(dataset, "test_labels"))?;
        Ok((rows, Some(rows_of_collection(&test, &layout, all.classes())?)))
    }

    /// Images at a path.
    fn collection(&self, file: &str, labels: Option<&str>) -> Result<Collection, LoadError> {
        let path = self.path(file)?;
        let source = ImageSource::of(&path, None)?;
        let source = source.ok_or_else(|| format!("{} holds no images", path.display()))?;
        let labels = labels.map(|file| self.path(file)).transpose()?;
        Ok(Collection::open(&path, source, &ReadOptions { labels: labels.as_deref(), suffix: None })?)
    }
}

fn labelled(path: &Path, header: Header, suffix: Option<&str>) -> Result<Labelled, LoadError> {
    let options = flowgmm_tables::Options { header, suffix: suffix.map(String::from), ..Default::default() };
    let frame = open(path, &options)?.read_all()?;
    let label = frame.column_names().pop().ok_or("a table without columns")?;
    let known = labels(&frame, &label, &[])?;
    let schema = Schema::infer(&frame, Some(&label), &[])?;
    let encoding = Encoding::learn(&schema, &frame)?;
    let y = known.y.into_iter().map(|y| y.ok_or("a row without a label"));
    let y = y.collect::<Result<_, _>>()?;
    let rows = Labelled::new(encoding.apply(&frame)?.x, y, known.classes, encoding.feature_names())?;
    Ok(rows.with_steps(encoding.steps()))
}

fn rows_of_set(set: &ImageSet) -> Result<Labelled, LoadError> {
    let layout = ImageLayout::new(set.channels, set.height, set.width)?;
    let mut x = Array2::zeros((set.n, layout.dim()));
    for (at, mut row) in x.rows_mut().into_iter().enumerate() {
        let picture = Image::new(set.channels, set.height, set.width, set.image(at).to_vec());
        row.iter_mut().zip(layout.row(picture)).for_each(|(to, pixel)| *to = f64::from(pixel));
    }
    let y = set.labels.iter().map(|&label| label.into()).collect();
    Ok(Labelled::new(x, y, set.classes.clone(), layout.names())?.with_image_shape(layout.shape()))
}

/// Images of known classes as rows; each must have a label.
fn rows_of_collection(
    images: &Collection,
    layout: &ImageLayout,
    classes: &[String],
) -> Result<Labelled, LoadError> {
    let name = images.path().display();
    let class = |(at, label): (usize, &Option<usize>)| {
        let label = label.ok_or_else(|| format!("{name}: {} has no label", images.names()[at]))?;
        let class = &images.classes()[label];
        let place = classes.iter().position(|known| known == class);
        place.ok_or_else(|| format!("{name}: no image to learn from is of class '{class}'"))
    };
    let y = images.labels().iter().enumerate().map(class).collect::<Result<_, String>>()?;
    let x = images.rows(layout, 0..images.n())?;
    Ok(Labelled::new(x, y, classes.to_vec(), layout.names())?.with_image_shape(layout.shape()))
}
