//! Images of any source, before they have one size: folders of pictures, and files of many images.
//!
//! ```text
//! path ─ImageSource::of→ folder, picture, IDX, CIFAR-10, SVHN, NPZ ─Collection::open→ sizes, labels, names
//!   ─layout→ one size and colour for all ─rows→ [n, dim] pixel values, decoded in chunks
//! ```
//!
//! The size is that of most images, or one that is asked for; the colour is grey only if all images are.

mod arrays;
mod file;
mod folder;
mod jpeg;
mod png;

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    ops::Range,
    path::{Path, PathBuf},
};

use flowgmm_data::{Image, ImageLayout};
use rayon::prelude::*;
use semisup::ndarray::Array2;

use crate::{Error, Result, input};
use file::Head;

/// The kinds of files and folders that images are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// A folder, whose folders are classes.
    Folder,
    /// One PNG or JPEG file.
    Picture,
    /// An IDX file of images.
    Idx,
    /// Binary records of CIFAR-10.
    Cifar10,
    /// Cropped digits of SVHN.
    Svhn,
    /// An NPZ file with an array x of three or four dimensions.
    Npz,
}

/// Where the labels of a path's images are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The IDX file with the labels of an IDX file of images.
    pub labels: Option<&'a Path>,
    /// The suffix of the arrays `x` and `y` to read from an NPZ file, such as `_train`.
    pub suffix: Option<&'a str>,
}

/// Images with a class where it is known. There is at least one.
#[derive(Debug)]
pub struct Collection {
    path: PathBuf,
    items: Items,
    labels: Vec<Option<usize>>,
    classes: Vec<String>,
    names: Vec<String>,
    empty: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Items {
    Files { files: Vec<PathBuf>, heads: Vec<Head> },
    Memory { head: Head, images: Vec<u8> },
}

impl ImageSource {
    /// Recognises what a path holds; `None` if it is not images but, say, a table.
    pub fn of(path: &Path, suffix: Option<&str>) -> Result<Option<Self>> {
        if path.is_dir() {
            return Ok(Some(Self::Folder));
        }
        if !path.is_file() {
            return Ok(None); // a stream, or nothing: the readers of tables say what is wrong
        }
        let mut first = Vec::new();
        let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut first));
        read.map_err(|error| Error::io("read", path, error))?;
        if file::starts_so(&first) || file::is_named_so(path) {
            return Ok(Some(Self::Picture));
        }
        if first.starts_with(b"PK\x03\x04") {
            return Ok(arrays::npz_has_images(path, suffix.unwrap_or_default()).then_some(Self::Npz));
        }
        let mut start = Vec::new();
        // A file that fails to decompress is not recognised as images.
        let _ = input::open(path)?.take(128).read_to_end(&mut start);
        let name = path.to_string_lossy().to_lowercase();
        let named = |ending: &str| name.strip_suffix(".gz").unwrap_or(&name).ends_with(ending);
        let matlab = start.len() == 128 && matches!(&start[124..], b"\x00\x01IM" | b"\x01\x00MI");
        Ok(match () {
            () if start.starts_with(&[0, 0, 8, 3]) || named("idx3-ubyte") => Some(Self::Idx),
            () if matlab || named(".mat") => Some(Self::Svhn),
            () if named(".bin") => Some(Self::Cifar10),
            () => None,
        })
    }
}

impl Collection {
    /// Finds the images at a path that [`ImageSource::of`] recognised. Of a folder only sizes and colours are read.
    pub fn open(path: &Path, source: ImageSource, options: &ReadOptions) -> Result<Self> {
        if options.labels.is_some() && source != ImageSource::Idx {
            let why = "only IDX images have their labels in a separate file; here they come with the images";
            return Err(Error::images(path, why));
        }
        match source {
            ImageSource::Folder => folder::open(path),
            ImageSource::Picture => folder::single(path),
            ImageSource::Idx => arrays::idx(path, options),
            ImageSource::Cifar10 => arrays::cifar(path),
            ImageSource::Svhn => arrays::svhn(path),
            ImageSource::Npz => arrays::npz(path, options),
        }
    }

    /// The path they were found at.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of images, at least 1.
    pub fn n(&self) -> usize {
        self.labels.len()
    }

    /// The class of each image, where it is known: an index into [`Collection::classes`].
    pub fn labels(&self) -> &[Option<usize>] {
        &self.labels
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// What each image is called: its file within the folder, or its number from 0.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Class folders that hold no picture.
    pub fn empty_classes(&self) -> &[String] {
        &self.empty
    }

    /// Notes for the user on what was found, such as files that were left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Keeps the labels of these images only, and drops classes that are left without one.
    ///
    /// # Panics
    /// If there is no such image.
    pub fn keep_labels(&mut self, of: &[usize]) {
        let mut labels = vec![None; self.n()];
        of.iter().for_each(|&at| labels[at] = self.labels[at]);
        let used = |k: usize| labels.contains(&Some(k));
        let kept: Vec<usize> = (0..self.classes.len()).filter(|&k| used(k)).collect();
        self.classes = kept.iter().map(|&k| self.classes[k].clone()).collect();
        let place = |label: Option<usize>| label.and_then(|k| kept.iter().position(|&old| old == k));
        self.labels = labels.into_iter().map(place).collect();
    }

    /// One layout for all: `size` (height, width) or the most common one, of equally common ones the smallest.
    pub fn layout(&self, size: Option<(usize, usize)>) -> Result<ImageLayout> {
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        self.heads().for_each(|head| *counts.entry((head.height, head.width)).or_default() += 1);
        let most = counts.values().max().copied().unwrap_or(0);
        let common = counts.iter().find(|(_, count)| **count == most).map(|(size, _)| *size);
        let (height, width) = size.or(common).expect("there is an image");
        let channels = self.heads().map(|head| head.channels).max().expect("there is an image");
        ImageLayout::new(channels, height, width).map_err(|error| Error::content(&self.path, error))
    }

    /// Describes how images of another size or colour are changed to fit a layout.
    pub fn changes(&self, layout: &ImageLayout) -> Vec<String> {
        let resized = self.heads().filter(|h| (h.height, h.width) != (layout.height, layout.width)).count();
        let recoloured = self.heads().filter(|h| h.channels != layout.channels).count();
        let of =
            |count: usize| if count == self.n() { "all".into() } else { format!("{count} of {}", self.n()) };
        let mut changes = Vec::new();
        if resized > 0 {
            changes.push(format!(
                "{} images have another size than {} x {}: they are cropped about the centre and scaled",
                of(resized),
                layout.height,
                layout.width
            ));
        }
        match (recoloured, layout.channels) {
            (0, _) => {}
            (count, 1) => {
                changes.push(format!("{} images are in colour: only their brightness is used", of(count)))
            }
            (count, _) => {
                changes.push(format!(
                    "{} images are grey: their brightness is used for red, green and blue",
                    of(count)
                ));
            }
        }
        changes
    }

    /// Images as rows of pixel values 0 to 255, `[range, dim]`.
    pub fn rows(&self, layout: &ImageLayout, range: Range<usize>) -> Result<Array2<f64>> {
        let rows = range.clone().into_par_iter().map(|at| {
            let row = layout.row(self.picture(at)?);
            Ok(row.into_iter().map(f64::from).collect::<Vec<f64>>())
        });
        let values = rows.collect::<Result<Vec<_>>>()?.concat();
        Ok(Array2::from_shape_vec((range.len(), layout.dim()), values).expect("rows of a layout"))
    }

    fn picture(&self, at: usize) -> Result<Image> {
        match &self.items {
            Items::Files { files, .. } => file::decode(&files[at]),
            Items::Memory { head: Head { channels, height, width }, images } => {
                let size = channels * height * width;
                Ok(Image::new(*channels, *height, *width, images[at * size..][..size].to_vec()))
            }
        }
    }

    fn heads(&self) -> impl Iterator<Item = Head> {
        (0..self.n()).map(|at| match &self.items {
            Items::Files { heads, .. } => heads[at],
            Items::Memory { head, .. } => *head,
        })
    }
}

/// Encodes a picture as a PNG file.
pub fn png(picture: &Image) -> Vec<u8> {
    png::encode(picture)
}
