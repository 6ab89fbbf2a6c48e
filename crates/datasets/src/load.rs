//! From the name of a dataset to its rows.

use std::path::PathBuf;

use semisup::Labelled;

use crate::{
    Dataset, DatasetKind, Error, ImageSet, LabelAt, LabelSplits, Result, RowSelection, Separator, Store,
    TextSet, find, read_ag_news, read_cifar10, read_cifar10_archive, read_hepmass, read_idx, read_miniboone,
    read_svhn, read_uci, read_yahoo, read_yahoo_archive,
};

/// The training or the test rows of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// Rows to learn from.
    Train,
    /// Rows to evaluate on.
    Test,
}

impl Store {
    /// The images of a dataset.
    pub fn images(&self, name: &str, subset: Subset) -> Result<ImageSet> {
        let dataset = find(name)?;
        match dataset.kind {
            DatasetKind::Idx(classes) => {
                let prefix = choose(subset, "train", "t10k");
                let images = self.path(dataset, &format!("{prefix}-images-idx3-ubyte.gz"))?;
                let labels = self.path(dataset, &format!("{prefix}-labels-idx1-ubyte.gz"))?;
                read_idx(&images, &labels, classes)
            }
            DatasetKind::Cifar10 => self.cifar10(dataset, subset),
            DatasetKind::Svhn => {
                read_svhn(&self.path(dataset, choose(subset, "train_32x32.mat", "test_32x32.mat"))?)
            }
            _ => Err(wrong_kind(dataset, "images")),
        }
    }

    /// From the archive, else from the batches that lie beside each other, from the first on.
    fn cifar10(&self, dataset: &'static Dataset, subset: Subset) -> Result<ImageSet> {
        let names: Vec<String> = match subset {
            Subset::Train => (1..=5).map(|batch| format!("data_batch_{batch}.bin")).collect(),
            Subset::Test => vec!["test_batch.bin".into()],
        };
        if let Some((_, archive)) = self.locate(dataset, &dataset.files[0]) {
            return read_cifar10_archive(&archive, &names.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let found: Vec<PathBuf> = names.iter().map_while(|name| self.locate_name(dataset, name)).collect();
        if found.is_empty() {
            return Err(self.absent(dataset, dataset.files[0].name));
        }
        read_cifar10(&found.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    }

    /// The texts of a dataset.
    pub fn texts(&self, name: &str, subset: Subset) -> Result<TextSet> {
        let dataset = find(name)?;
        let file = choose(subset, "train.csv", "test.csv");
        match dataset.kind {
            DatasetKind::AgNews => read_ag_news(&self.path(dataset, file)?),
            DatasetKind::Yahoo => {
                match (self.locate_name(dataset, file), self.locate(dataset, &dataset.files[0])) {
                    (Some(path), _) => read_yahoo(&path),
                    (None, Some((_, archive))) => read_yahoo_archive(&archive, file),
                    (None, None) => Err(self.absent(dataset, dataset.files[0].name)),
                }
            }
            _ => Err(wrong_kind(dataset, "texts")),
        }
    }

    /// All rows of a table that comes without a division into training and test rows, as they are.
    pub fn table(&self, name: &str) -> Result<Labelled> {
        let dataset = find(name)?;
        match dataset.kind {
            DatasetKind::MiniBoone => read_miniboone(&self.path(dataset, "MiniBooNE_PID.txt")?),
            DatasetKind::Uci(separator, label) => {
                if let Some((_, path)) = self.merged(dataset) {
                    return read_uci(&[&path], Separator::Comma, LabelAt::Last);
                }
                let paths: Result<Vec<PathBuf>> =
                    dataset.files.iter().map(|file| self.path(dataset, file.name)).collect();
                read_uci(&paths?.iter().map(PathBuf::as_path).collect::<Vec<_>>(), separator, label)
            }
            _ => Err(wrong_kind(dataset, "a table in one part")),
        }
    }

    /// The rows of `hepmass` or `hepmass-all`, as they are.
    pub fn hepmass(&self, name: &str, subset: Subset, rows: RowSelection) -> Result<Labelled> {
        let dataset = find(name)?;
        match dataset.kind {
            DatasetKind::Hepmass => {
                let file = &dataset.files[choose(subset, 0, 1)];
                read_hepmass(&self.path(dataset, file.name)?, rows)
            }
            _ => Err(wrong_kind(dataset, "HEPMASS")),
        }
    }

    /// The labels the paper's authors drew for `n_labels` of the `n_train` training rows of MNIST, CIFAR-10 or SVHN.
    pub fn label_splits(&self, name: &str, n_labels: usize, n_train: usize) -> Result<LabelSplits> {
        let dataset = find(name)?;
        let file = format!("{}_{n_labels}_labeled_indices.npy", dataset.name);
        let looked = self.label_places(&file);
        match looked.iter().find(|path| path.is_file()) {
            Some(path) => LabelSplits::read(path, n_train),
            None => {
                let remedy = format!("{} Without them, draw labels at random", self.splits_there(dataset));
                Err(Error::Absent { dataset: dataset.name, file, looked, remedy })
            }
        }
    }

    /// The numbers of labels for which there are splits.
    fn splits_there(&self, dataset: &Dataset) -> String {
        let folders = self.label_places("");
        let files = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
        let number = |file: std::fs::DirEntry| {
            let name = file.file_name().into_string().ok()?;
            let rest = name.strip_prefix(dataset.name)?.strip_prefix('_')?;
            rest.strip_suffix("_labeled_indices.npy")?.parse::<usize>().ok()
        };
        let mut numbers: Vec<usize> = files.filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        match numbers.is_empty() {
            true => format!("There are no splits of '{}' here.", dataset.name),
            false => format!("There are splits with {} labels.", numbers.join(", ")),
        }
    }

    fn path(&self, dataset: &'static Dataset, name: &str) -> Result<PathBuf> {
        let file = dataset.files.iter().find(|file| file.name == name);
        let found = file.and_then(|file| self.locate(dataset, file)).map(|(_, path)| path);
        found.ok_or_else(|| self.absent(dataset, name))
    }

    fn absent(&self, dataset: &'static Dataset, name: &str) -> Error {
        let known = dataset.files.iter().find(|file| file.name == name);
        let remedy = match known.is_some_and(|file| !file.urls.is_empty()) {
            true => format!("It can be downloaded, or found at {}", dataset.home),
            false => format!("See {} for what there is of it", dataset.home),
        };
        let looked = self.places(dataset, name);
        Error::Absent { dataset: dataset.name, file: name.into(), looked, remedy }
    }
}

fn choose<T>(subset: Subset, train: T, test: T) -> T {
    match subset {
        Subset::Train => train,
        Subset::Test => test,
    }
}

fn wrong_kind(dataset: &'static Dataset, wanted: &'static str) -> Error {
    Error::WrongKind { name: dataset.name, found: dataset.kind.what(), wanted }
}
