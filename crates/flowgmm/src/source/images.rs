//! Images of a source, before and after they have one size.

use std::{ops::Range, path::Path};

use flowgmm_data::ImageLayout;
use flowgmm_datasets::{Collection, ImageSource, LabelSplits, ReadOptions};
use ndarray::Array2;

use super::{ImageArray, Labels, Origin, Source};
use crate::{Error, Need, Result};

/// Images with a class where it is known.
pub(crate) struct Images {
    items: Items,
    name: String,
    /// Labels that replace those the images come with.
    given: Option<(Vec<Option<usize>>, Vec<String>)>,
}

enum Items {
    Files(Collection),
    Array { images: ImageArray, unlabelled: Vec<Option<usize>> },
}

impl Source {
    /// The images; `None` if the source is a table.
    pub(crate) fn open_images(&self) -> Result<Option<Images>> {
        let items = match &self.origin {
            Origin::Images(images) => {
                Items::Array { images: images.clone(), unlabelled: vec![None; images.n()] }
            }
            Origin::Path(path) => {
                let Some(kind) = self.image_source()? else { return Ok(None) };
                let labels = match &self.labels {
                    Labels::File(labels) => Some(labels.as_path()),
                    Labels::Own | Labels::Column(_) | Labels::Given { .. } => None,
                };
                let options = ReadOptions { labels, suffix: self.reading.suffix.as_deref() };
                Items::Files(Collection::open(path, kind, &options)?)
            }
            Origin::Frames(_) | Origin::Matrix { .. } => return Ok(None),
        };
        let mut images = Images { items, name: self.name(), given: None };
        if let Labels::Given { labels, .. } = &self.labels {
            images.given = Some(numbered(labels, images.n(), &images.name)?);
        }
        Ok(Some(images))
    }

    /// Whether the source is a single image, from which nothing can be learnt.
    pub(crate) fn is_one_image(&self) -> Result<bool> {
        Ok(self.image_source()? == Some(ImageSource::Picture))
    }

    /// What is wrong with images without any label, and what to do.
    pub(crate) fn unlabelled_images(&self, name: &str) -> Result<Error> {
        Ok(match self.image_source()? {
            Some(ImageSource::Idx) => Error::Needed {
                what: Need::LabelFile,
                message: format!("{name} has no labels: give the IDX file of their labels"),
            },
            Some(ImageSource::Folder) => Error::Content(format!(
                "{name} has no labels: put some images of every class into a folder of its name beside the others, which \
                 belong into 'unlabelled'"
            )),
            _ => Error::Content(format!("{name} has no labels: label at least one image of every class")),
        })
    }
}

/// Labels as numbers into the sorted names of the classes.
fn numbered(labels: &[Option<String>], n: usize, name: &str) -> Result<(Vec<Option<usize>>, Vec<String>)> {
    if labels.len() != n {
        return Err(Error::Content(format!("{name}: {} labels for {n} images", labels.len())));
    }
    let mut classes: Vec<String> = labels.iter().flatten().cloned().collect();
    classes.sort();
    classes.dedup();
    let number = |label: &String| classes.binary_search(label).expect("it is one of them");
    Ok((labels.iter().map(|label| label.as_ref().map(number)).collect(), classes))
}

impl Images {
    /// What messages call them.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many there are.
    pub(crate) fn n(&self) -> usize {
        match &self.items {
            Items::Files(collection) => collection.n(),
            Items::Array { images, .. } => images.n(),
        }
    }

    /// The name of an image: its file, or its number from 0.
    pub(crate) fn names(&self, range: Range<usize>) -> Vec<String> {
        match &self.items {
            Items::Files(collection) => collection.names()[range].to_vec(),
            Items::Array { .. } => range.map(|at| at.to_string()).collect(),
        }
    }

    /// The class of each image, where it is known.
    pub(crate) fn labels(&self) -> &[Option<usize>] {
        match (&self.given, &self.items) {
            (Some((labels, _)), _) => labels,
            (None, Items::Files(collection)) => collection.labels(),
            (None, Items::Array { unlabelled, .. }) => unlabelled,
        }
    }

    /// The names of the classes.
    pub(crate) fn classes(&self) -> &[String] {
        match (&self.given, &self.items) {
            (Some((_, classes)), _) => classes,
            (None, Items::Files(collection)) => collection.classes(),
            (None, Items::Array { .. }) => &[],
        }
    }

    /// Classes whose folder is empty.
    pub(crate) fn empty_classes(&self) -> &[String] {
        match &self.items {
            Items::Files(collection) => collection.empty_classes(),
            Items::Array { .. } => &[],
        }
    }

    /// Forgets all labels but those of one split of a file of splits.
    pub(crate) fn keep_split(&mut self, path: &Path, split: usize) -> Result<()> {
        let Items::Files(collection) = &mut self.items else {
            return Err(Error::Request("a file of label splits goes with images in files".into()));
        };
        let splits = LabelSplits::read(path, collection.n())?;
        collection.keep_labels(splits.seed(split)?);
        Ok(())
    }

    /// Forgets all labels.
    pub(crate) fn forget_labels(&mut self) {
        match &mut self.items {
            Items::Files(collection) => collection.keep_labels(&[]),
            Items::Array { .. } => {}
        }
        self.given = None;
    }

    /// The size of most images, or the one asked for; grey only if all are.
    pub(crate) fn layout(&self, size: Option<(usize, usize)>) -> Result<ImageLayout> {
        match &self.items {
            Items::Files(collection) => Ok(collection.layout(size)?),
            Items::Array { images, .. } => images.layout(size),
        }
    }

    /// Pixels of some images as the model sees them, `[n, dim]`.
    pub(crate) fn rows(&self, layout: &ImageLayout, range: Range<usize>) -> Result<Array2<f64>> {
        match &self.items {
            Items::Files(collection) => Ok(collection.rows(layout, range)?),
            Items::Array { images, .. } => Ok(images.rows(layout, range)),
        }
    }

    /// How images were found, and how they are changed to fit the layout.
    pub(crate) fn warnings(&self, layout: &ImageLayout) -> Vec<String> {
        let Items::Files(collection) = &self.items else { return Vec::new() };
        let notes = collection.notes().iter().cloned().chain(collection.changes(layout));
        notes.map(|note| format!("{}: {note}", self.name)).collect()
    }

    /// The class of each image among the model's classes; there must be a label, and none of another class.
    pub(crate) fn labels_among(&self, known: &[String]) -> Result<Vec<Option<usize>>> {
        let name = &self.name;
        if self.labels().iter().all(Option::is_none) {
            return Err(Error::Content(format!(
                "{name} has no labels: put images into folders named after their classes, or give IDX images the file of \
                 their labels"
            )));
        }
        let position = |class: &String| {
            known.iter().position(|known| known == class).ok_or_else(|| {
                Error::Content(format!(
                    "{name}: its class '{class}' is not one of the model's: {}. Leave its images out, or name the class as \
                     in training",
                    crate::names(known)
                ))
            })
        };
        let positions = self.classes().iter().map(position).collect::<Result<Vec<usize>>>()?;
        Ok(self.labels().iter().map(|label| label.map(|k| positions[k])).collect())
    }
}
