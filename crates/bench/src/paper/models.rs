//! The models of images that figure 4, the calibration table and appendices F and H look at: fitted once, then read.

use std::{fmt, fs, path::PathBuf};

use flowgmm::{FitConfig, Fitter, Model, Observer, Rows, tensor::Place};
use flowgmm_data::ImageLayout;
use flowgmm_datasets::{ImageSet, Store, Subset};
use ndarray::Array2;
use semisup::{ImageShape, SemiSupervised};

use crate::{Error, Result};

/// Which images a model of the paper's analyses learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// All training images with their labels, but for those held out.
    All,
    /// As many labels of the authors' split 0, without other images.
    Only(usize),
    /// The same labels with all other training images: FlowGMM-cons.
    AndUnlabelled(usize),
}

/// Where data are, where models are kept, and how long they are trained.
pub struct Models<'a> {
    /// The images.
    pub store: Store,
    /// Fitted models, as `SET-LABELS-STEPS.flow`.
    pub directory: PathBuf,
    /// Steps of the preset for CPUs.
    pub steps: usize,
    /// Model files to take instead, in the order in which an item asks for models.
    pub given: Vec<PathBuf>,
    /// Who sees the progress.
    pub observer: &'a mut dyn Observer,
}

impl fmt::Debug for Models<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut shown = f.debug_struct("Models");
        shown.field("directory", &self.directory).field("steps", &self.steps).field("given", &self.given);
        shown.finish_non_exhaustive()
    }
}

impl Labels {
    fn name(self) -> String {
        match self {
            Self::All => "all".into(),
            Self::Only(n) => format!("{n}-labelled"),
            Self::AndUnlabelled(n) => format!("{n}"),
        }
    }
}

impl Models<'_> {
    /// The file of a model.
    pub fn path(&self, set: &str, labels: Labels) -> PathBuf {
        self.directory.join(format!("{set}-{}-{}.flow", labels.name(), self.steps))
    }

    /// A model: given, read, or fitted by the preset for CPUs and kept.
    pub fn get(&mut self, set: &str, labels: Labels) -> Result<Model> {
        if !self.given.is_empty() {
            let path = self.given.remove(0);
            let model = Model::load(&path, &Place::cpu())?;
            let wanted = layout(&self.images(set, Subset::Test)?)?;
            if model.rows().layout() != Some(&wanted) {
                return Err(Error::Plan(format!(
                    "{} is no model of images of the size of {set}; give one that was fitted to {set}, or none",
                    path.display()
                )));
            }
            return Ok(model);
        }
        let path = self.path(set, labels);
        if path.is_file() {
            return Ok(Model::load(&path, &Place::cpu())?);
        }
        let train = self.images(set, Subset::Train)?;
        let data = self.data(set, &train, labels)?;
        let layout = layout(&train)?;
        let shape = ImageShape { channels: train.channels, height: train.height, width: train.width };
        drop(train);
        let mut config = FitConfig::image(&data, shape)?;
        config.train.steps = self.steps;
        let fitter = Fitter::new(&config, &data, 0).rows(Rows::Images { layout });
        let model = fitter.run(self.observer)?;
        fs::create_dir_all(&self.directory).map_err(Error::io(&self.directory))?;
        model.save(&path)?;
        Ok(model)
    }

    /// The images of a set.
    pub fn images(&self, set: &str, subset: Subset) -> Result<ImageSet> {
        self.store.images(set, subset).map_err(|error| unusable(set, &error))
    }

    /// The rows of the authors' split 0.
    pub fn split(&self, set: &str, labels: usize, n: usize) -> Result<Vec<usize>> {
        let splits = self.store.label_splits(set, labels, n).map_err(|error| unusable(set, &error))?;
        Ok(splits.seed(0).map_err(|error| unusable(set, &error))?.to_vec())
    }

    fn data(&self, set: &str, train: &ImageSet, labels: Labels) -> Result<SemiSupervised> {
        let mut y: Vec<Option<usize>> = vec![None; train.n];
        let shown = match labels {
            Labels::All => (0..train.n).collect(),
            Labels::Only(n) | Labels::AndUnlabelled(n) => self.split(set, n, train.n)?,
        };
        shown.iter().for_each(|&row| y[row] = Some(train.labels[row].into()));
        let data = SemiSupervised::new(pixels(train), y, train.classes.clone(), layout(train)?.names())?;
        Ok(if matches!(labels, Labels::Only(_)) { data.labelled_only() } else { data })
    }
}

/// How rows of a set become images.
pub(super) fn layout(set: &ImageSet) -> Result<ImageLayout> {
    ImageLayout::new(set.channels, set.height, set.width)
        .map_err(|error| Error::Unusable { dataset: set.classes.join(", "), why: error.to_string() })
}

/// Pixel values as rows `[n, dim]`.
pub(super) fn pixels(set: &ImageSet) -> Array2<f64> {
    let values = set.images.iter().map(|&byte| f64::from(byte)).collect();
    Array2::from_shape_vec((set.n, set.dim()), values).expect("an image set has n x dim bytes")
}

/// The classes of a set's images.
pub(super) fn truth(set: &ImageSet) -> Vec<usize> {
    set.labels.iter().map(|&y| y.into()).collect()
}

pub(super) fn unusable(dataset: &str, error: &dyn std::error::Error) -> Error {
    Error::Unusable { dataset: dataset.into(), why: error.to_string() }
}
