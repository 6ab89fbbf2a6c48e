//! The registry of datasets: their files, URLs, sizes and checksums.
//!
//! A checksum is listed only if the publisher states it or it was computed from a verified copy. Files without one are
//! reported as "not checked" by [`crate::Store::check`].

mod images;
mod tables;

use crate::{Checksum, Checksum::Sha256, Error, LabelAt, Result, Separator};

/// A dataset.
#[derive(Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The name it is requested by.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its licence or terms of use.
    pub licence: &'static str,
    /// Its page.
    pub home: &'static str,
    /// The sub-folder of its files below a data directory.
    pub folder: &'static str,
    /// What its files hold.
    pub kind: DatasetKind,
    /// The files that a loader needs.
    pub files: &'static [DataFile],
    /// One file with the rows of all the others, comma-separated, label last, if such a copy is known.
    pub merged: Option<KnownCopy>,
}

/// What a dataset holds, and which loader reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasetKind {
    /// Images in IDX files, and the names of their classes.
    Idx(&'static [&'static str]),
    /// CIFAR-10.
    Cifar10,
    /// SVHN.
    Svhn,
    /// HEPMASS.
    Hepmass,
    /// MiniBooNE.
    MiniBoone,
    /// AG-News.
    AgNews,
    /// Yahoo Answers.
    Yahoo,
    /// A table of the UCI repository.
    Uci(Separator, LabelAt),
}

impl DatasetKind {
    /// "images", "a table" or "texts".
    pub fn what(&self) -> &'static str {
        match self {
            Self::Idx(_) | Self::Cifar10 | Self::Svhn => "images",
            Self::Hepmass | Self::MiniBoone | Self::Uci(..) => "a table",
            Self::AgNews | Self::Yahoo => "texts",
        }
    }
}

/// A file of a dataset.
#[derive(Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its name, as its publisher calls it. With `.gz` added or taken away it is accepted as well.
    pub name: &'static str,
    /// URLs to download it from, in order of preference; empty if it cannot be downloaded.
    pub urls: &'static [&'static str],
    /// The size of the download in bytes, where it is known.
    pub size: Option<u64>,
    /// The checksum of the download, where it is known.
    pub checksum: Option<Checksum>,
    /// Other copies with the same content: as an archive's members, or zipped anew.
    pub copies: &'static [KnownCopy],
}

/// A file that can replace another.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownCopy {
    /// Its name.
    pub name: &'static str,
    /// Its checksum, where it is known.
    pub checksum: Option<Checksum>,
    /// How much of the file it replaces.
    pub extent: Extent,
}

/// How much of a file a copy replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// A part; all parts together replace it, and some parts of it.
    Part,
}

const fn file(
    name: &'static str,
    urls: &'static [&'static str],
    size: Option<u64>,
    checksum: Option<Checksum>,
) -> DataFile {
    DataFile { name, urls, size, checksum, copies: &[] }
}

/// A file that is also accepted in other forms.
const fn also(file: DataFile, copies: &'static [KnownCopy]) -> DataFile {
    DataFile { copies, ..file }
}

const fn whole(name: &'static str, sha256: &'static str) -> KnownCopy {
    KnownCopy { name, checksum: Some(Sha256(sha256)), extent: Extent::Whole }
}

const fn part(name: &'static str) -> KnownCopy {
    KnownCopy { name, checksum: None, extent: Extent::Part }
}

/// All datasets, in the order in which they are listed to users.
pub fn list() -> impl Iterator<Item = &'static Dataset> {
    images::ALL.iter().chain(tables::ALL)
}

/// The dataset of this name; the error suggests similar names.
pub fn find(name: &str) -> Result<&'static Dataset> {
    let wanted = name.to_lowercase().replace(['_', ' '], "-");
    if let Some(dataset) = list().find(|dataset| dataset.name == wanted) {
        return Ok(dataset);
    }
    let names: Vec<&str> = list().map(|dataset| dataset.name).collect();
    let all = format!("The datasets are {}", names.join(", "));
    let hint = match closest(&wanted, &names) {
        Some(near) => format!("Did you mean '{near}'? {all}"),
        None => all,
    };
    Err(Error::UnknownDataset { name: name.into(), hint })
}

/// The name that is one or two typing errors away, or that contains what was typed or starts with it.
fn closest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let bare = |name: &str| name.replace('-', "");
    let distance = |name: &&'a str| strsim::osa_distance(&bare(wanted), &bare(name));
    let tolerated = (wanted.chars().count() / 3).max(1);
    let near = names.iter().copied().min_by_key(distance).filter(|name| distance(name) <= tolerated);
    let part = |name: &&&str| wanted.len() >= 3 && (name.contains(wanted) || wanted.contains(**name));
    near.or_else(|| names.iter().find(part).copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_found_and_slips_are_recognised() {
        assert_eq!(find("MNIST").unwrap().name, "mnist");
        assert_eq!(find("ag_news").unwrap().name, "ag-news");
        for (typed, meant) in [
            ("mnsit", "mnist"),
            ("cifar", "cifar10"),
            ("fashionmnist", "fashion-mnist"),
            ("hepmas", "hepmass"),
        ] {
            let message = find(typed).unwrap_err().to_string();
            assert!(message.contains(&format!("Did you mean '{meant}'?")), "{message}");
        }
        let message = find("weather").unwrap_err().to_string();
        assert!(!message.contains("Did you mean") && message.contains("svhn"), "{message}");
    }

    #[test]
    fn every_entry_is_well_formed() {
        let names: BTreeSet<&str> = list().map(|dataset| dataset.name).collect();
        assert_eq!(names.len(), list().count(), "names are unique");
        for file in list().flat_map(|dataset| dataset.files) {
            let sums =
                file.checksum.iter().chain(file.copies.iter().filter_map(|copy| copy.checksum.as_ref()));
            for sum in sums {
                let digits = if sum.kind() == "MD5" { 32 } else { 64 };
                assert_eq!(sum.hex().len(), digits, "{}", file.name);
                assert!(
                    sum.hex().bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                    "{}",
                    file.name
                );
            }
            for url in file.urls {
                assert!(url.starts_with("https://") || url.starts_with("http://"), "{url}");
            }
            assert!(!file.name.contains(['/', '\\']), "{}", file.name);
        }
    }
}
