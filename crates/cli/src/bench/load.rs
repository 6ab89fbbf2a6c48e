//! The rows of a plan's datasets: tables, and images.
//!
//! | option | of | what |
//! |---|---|---|
//! | `header` | tables | `absent` if the first line is a row |
//! | `suffix_train`, `suffix_test` | archives of arrays | what the names of training and test arrays end in |
//! | `kind` | images | `images`: `file` is a dataset that `flowgmm data list` names, or a folder or file of images |
//! | `labels`, `test_labels` | IDX images | the IDX files of their labels |
//! | `test` | images of the user's own | images to be scored on, instead of a share of all |

use std::path::Path;

use flowgmm_bench::{AnyError, Dataset, LabelSource, Loaded};
use flowgmm_data::{Encoding, Layout, Picture, Schema, labels};
use flowgmm_datasets::{Collection, ImageSet, ImageSource, LabelSplits, Part, ReadOptions, Store, find};
use flowgmm_tables::{Header, open};
use semisup::{Labelled, ndarray::Array2};

type Result<T> = std::result::Result<T, AnyError>;

/// A dataset, or nothing if it is not there.
pub fn load(root: &Path, dataset: &Dataset) -> Result<Option<Loaded>> {
    let rows = match option(dataset, "kind") {
        Some("images") => images(root, dataset)?,
        None | Some("table") => table(root, dataset)?,
        Some(kind) => return Err(format!("kind: '{kind}' is neither 'table' nor 'images'").into()),
    };
    let Some((all, test)) = rows else { return Ok(None) };
    let mut splits = Vec::new();
    for source in dataset.label_sources() {
        if let LabelSource::Split(file) = source {
            let read = LabelSplits::read(&root.join(file), all.n())?;
            for seed in 0..read.seeds() {
                splits.push(read.seed(seed)?.to_vec());
            }
        }
    }
    Ok(Some(Loaded { all, test, splits }))
}

fn option<'a>(dataset: &'a Dataset, name: &str) -> Option<&'a str> {
    dataset.options.get(name).map(String::as_str)
}

/// All rows of a table, and test rows of its own if it has them. The last column is the label.
fn table(root: &Path, dataset: &Dataset) -> Result<Option<(Labelled, Option<Labelled>)>> {
    let path = root.join(&dataset.file);
    if !path.exists() {
        return Ok(None);
    }
    let header = if option(dataset, "header") == Some("absent") { Header::Absent } else { Header::Present };
    let all = labelled(&path, header, option(dataset, "suffix_train"))?;
    let test = option(dataset, "suffix_test").map(|suffix| labelled(&path, header, Some(suffix)));
    Ok(Some((all, test.transpose()?)))
}

fn labelled(path: &Path, header: Header, suffix: Option<&str>) -> Result<Labelled> {
    let options = flowgmm_tables::Options { header, suffix: suffix.map(String::from), ..Default::default() };
    let frame = open(path, &options)?.read_all()?;
    let label = frame.column_names().pop().ok_or("a table without columns")?;
    let known = labels(&frame, &label, &[])?;
    let schema = Schema::infer(&frame, Some(&label), &[])?;
    let encoding = Encoding::learn(&schema, &frame)?;
    let y = known.y.into_iter().map(|y| y.ok_or("a row without a label"));
    let y = y.collect::<std::result::Result<_, _>>()?;
    let rows = Labelled::new(encoding.encode(&frame)?.x, y, known.classes, encoding.feature_names())?;
    Ok(rows.with_steps(encoding.steps()))
}

/// All images of a known dataset and its test images, or those at a path.
fn images(root: &Path, dataset: &Dataset) -> Result<Option<(Labelled, Option<Labelled>)>> {
    if let Ok(known) = find(&dataset.file) {
        let store = Store::offline(root);
        let part = |part: Part| rows_of_set(&store.images(known.name, part)?);
        return Ok(Some((part(Part::Train)?, Some(part(Part::Test)?))));
    }
    let Some(all) = collection(root, &dataset.file, option(dataset, "labels"))? else { return Ok(None) };
    let layout = all.layout(None)?;
    let rows = rows_of_collection(&all, &layout, all.classes())?;
    let Some(file) = option(dataset, "test") else { return Ok(Some((rows, None))) };
    let test = collection(root, file, option(dataset, "test_labels"))?;
    let test = test.ok_or_else(|| format!("{} holds no images", root.join(file).display()))?;
    Ok(Some((rows, Some(rows_of_collection(&test, &layout, all.classes())?))))
}

fn rows_of_set(set: &ImageSet) -> Result<Labelled> {
    let layout = Layout::new(set.channels, set.height, set.width)?;
    let mut x = Array2::zeros((set.n, layout.dim()));
    for (at, mut row) in x.rows_mut().into_iter().enumerate() {
        let picture = Picture::new(set.channels, set.height, set.width, set.image(at).to_vec());
        row.iter_mut().zip(layout.row(picture)).for_each(|(to, pixel)| *to = f64::from(pixel));
    }
    let y = set.labels.iter().map(|&label| label.into()).collect();
    Ok(Labelled::new(x, y, set.classes.clone(), layout.names())?.with_image_shape(layout.shape()))
}

/// Images at a path, or nothing if nothing is there.
fn collection(root: &Path, file: &str, labels: Option<&str>) -> Result<Option<Collection>> {
    let path = root.join(file);
    if !path.exists() {
        return Ok(None);
    }
    let source = ImageSource::of(&path, None)?;
    let source = source.ok_or_else(|| format!("{} holds no images", path.display()))?;
    let labels = labels.map(|file| root.join(file));
    Ok(Some(Collection::open(&path, source, &ReadOptions { labels: labels.as_deref(), suffix: None })?))
}

/// Images of known classes as rows; each must have a label.
fn rows_of_collection(images: &Collection, layout: &Layout, classes: &[String]) -> Result<Labelled> {
    let name = images.path().display();
    let class = |(at, label): (usize, &Option<usize>)| {
        let label = label.ok_or_else(|| format!("{name}: {} has no label", images.names()[at]))?;
        let class = &images.classes()[label];
        let place = classes.iter().position(|known| known == class);
        place.ok_or_else(|| format!("{name}: no image to learn from is of class '{class}'"))
    };
    let y = images.labels().iter().enumerate().map(class).collect::<std::result::Result<_, String>>()?;
    let x = images.rows(layout, 0..images.n())?;
    Ok(Labelled::new(x, y, classes.to_vec(), layout.names())?.with_image_shape(layout.shape()))
}
