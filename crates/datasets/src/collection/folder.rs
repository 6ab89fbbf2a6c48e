//! A folder of pictures: each folder in it is a class, `unlabelled` and what lies beside the folders has none.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{Collection, Items, file};
use crate::{Error, Result};

/// Names of the folder without a class.
const WITHOUT: [&str; 2] = ["unlabelled", "unlabeled"];

/// The pictures in a folder, in the order of their names.
pub(super) fn open(path: &Path) -> Result<Collection> {
    let Entries { folders, pictures, mut others } = entries(path)?;
    let (mut files, mut labels, mut classes, mut empty) = (pictures, Vec::new(), Vec::new(), Vec::new());
    labels.resize(files.len(), None);
    for folder in folders {
        let name = name_of(&folder);
        let inside = entries(&folder)?;
        others.extend(inside.others);
        others.extend(inside.folders);
        let class = if WITHOUT.contains(&name.as_str()) {
            None
        } else if inside.pictures.is_empty() {
            empty.push(name);
            continue;
        } else {
            classes.push(name);
            Some(classes.len() - 1)
        };
        labels.resize(files.len() + inside.pictures.len(), class);
        files.extend(inside.pictures);
    }
    if files.is_empty() {
        let why = "there are no PNG or JPEG files in it or in its folders. Put pictures of each class into a folder of \
                   its name, and the others into 'unlabelled'";
        return Err(Error::images(path, why));
    }
    let heads = files.par_iter().map(|file| file::head(file)).collect::<Result<Vec<_>>>()?;
    let relative = |file: &PathBuf| file.strip_prefix(path).unwrap_or(file).display().to_string();
    let names = files.iter().map(relative).collect();
    let mut notes = Vec::new();
    if let Some(first) = others.first() {
        let (count, first) = (others.len(), first.display());
        notes.push(format!("{count} entries are neither PNG nor JPEG and are left out, {first} among them"));
    }
    Ok(Collection {
        path: path.into(),
        items: Items::Files { files, heads },
        labels,
        classes,
        names,
        empty,
        notes,
    })
}

/// One file as a folder of one picture without a class.
pub(super) fn single(path: &Path) -> Result<Collection> {
    let heads = vec![file::head(path)?];
    Ok(Collection {
        path: path.into(),
        items: Items::Files { files: vec![path.into()], heads },
        labels: vec![None],
        classes: Vec::new(),
        names: vec![name_of(path)],
        empty: Vec::new(),
        notes: Vec::new(),
    })
}

#[derive(Default)]
struct Entries {
    folders: Vec<PathBuf>,
    pictures: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

/// What is in a folder, each kind sorted; hidden entries are passed over.
fn entries(path: &Path) -> Result<Entries> {
    let failed = |error| Error::io("read", path, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let mut entries = Entries::default();
    for path in paths {
        let kind = match name_of(&path) {
            name if name.starts_with('.') => continue,
            _ if path.is_dir() => &mut entries.folders,
            _ if file::is_named_so(&path) => &mut entries.pictures,
            _ => &mut entries.others,
        };
        kind.push(path);
    }
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
