//! Where datasets are kept: directories that are searched, and one that downloads go to.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    Checked, DataFile, Dataset, DownloadObserver, Error, Extent, KnownCopy, Network, Result, Retry,
    download::download,
    find, list,
    verify::{verify_copy, verify_found},
};

/// Directories with datasets in sub-folders (`mnist/`, `tabular/`, `text/ag_news/`, ..; see [`Dataset::folder`]).
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use flowgmm_datasets::{Store, StoreOptions, Subset};
///
/// let store = Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)));
/// store.get("mnist", &mut |progress| {
///     eprintln!("{}: {} bytes", progress.file, progress.done);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(store.images("mnist", Subset::Train)?.n, 60_000);
/// # Ok::<(), flowgmm_datasets::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    options: StoreOptions,
}

/// Where a store looks, where it puts downloads, and how it gets them. The default has no directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// Directories that are searched, in order, before that of the downloads.
    pub search: Vec<PathBuf>,
    /// The directory that downloads go to.
    pub downloads: Option<PathBuf>,
    /// Whether nothing may be downloaded.
    pub offline: bool,
    /// Proxies and certificates.
    pub network: Network,
    /// How failed requests are repeated.
    pub retry: Retry,
}

impl StoreOptions {
    /// Takes directories from variables: `FLOWGMM_DATA` is searched, else `../shared/data` if that is a directory.
    /// Downloads go to `FLOWGMM_CACHE`, else `$XDG_CACHE_HOME/flowgmm/datasets`, else `$HOME/.cache/flowgmm/datasets`.
    /// The network is that of [`Network::from_variables`].
    ///
    /// ```
    /// use flowgmm_datasets::StoreOptions;
    ///
    /// let options = StoreOptions::from_variables(|name| (name == "FLOWGMM_CACHE").then(|| "/data".into()));
    /// assert_eq!(options.downloads, Some("/data".into()));
    /// ```
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let shared = || Some(PathBuf::from("../shared/data")).filter(|path| path.is_dir());
        let cache = || path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")));
        Self {
            search: path("FLOWGMM_DATA").or_else(shared).into_iter().collect(),
            downloads: path("FLOWGMM_CACHE").or_else(|| cache().map(|cache| cache.join("flowgmm/datasets"))),
            network: Network::from_variables(&lookup),
            ..Self::default()
        }
    }
}

/// A file that was found or downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is.
    pub path: PathBuf,
    /// How it was checked.
    pub checked: Checked,
    /// Whether it was there already.
    pub was_there: bool,
}

/// A file of a dataset and its state.
#[derive(Debug)]
pub struct FileCheck {
    /// The file.
    pub file: &'static str,
    /// Its state.
    pub state: State,
}

/// Whether a file is present and intact.
#[derive(Debug)]
pub enum State {
    /// It is there, and it passed every check that is known for it.
    Present(PathBuf, Checked),
    /// It is there and failed a check.
    Damaged(PathBuf, Error),
    /// It is in none of these places.
    Absent(Vec<PathBuf>),
}

impl Store {
    /// A store with these directories and this network.
    pub fn new(options: StoreOptions) -> Self {
        Self { options }
    }

    /// A store of this directory and nothing else, without the network.
    pub fn offline(directory: impl Into<PathBuf>) -> Self {
        Self::new(StoreOptions { search: vec![directory.into()], offline: true, ..StoreOptions::default() })
    }

    /// Downloads go to this directory, which is searched first.
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.options.search.insert(0, directory.clone());
        self.options.downloads = Some(directory);
        self
    }

    /// Makes sure that all files of a dataset are there, and downloads those that are not.
    pub fn get(&self, name: &str, observer: &mut DownloadObserver) -> Result<Vec<Fetched>> {
        self.get_dataset(find(name)?, observer)
    }

    /// [`Store::get`] for a dataset that need not be in the registry.
    pub fn get_dataset(
        &self,
        dataset: &'static Dataset,
        observer: &mut DownloadObserver,
    ) -> Result<Vec<Fetched>> {
        if let Some((copy, path)) = self.merged(dataset) {
            let checked = verify_copy(&path, copy.checksum)?;
            return Ok(vec![Fetched { path, checked, was_there: true }]);
        }
        dataset.files.iter().map(|file| self.get_file(dataset, file, observer)).collect()
    }

    fn get_file(
        &self,
        dataset: &'static Dataset,
        file: &'static DataFile,
        observer: &mut DownloadObserver,
    ) -> Result<Fetched> {
        let target = self.options.downloads.as_ref().map(|root| root.join(dataset.folder).join(file.name));
        if let Some((name, path)) = self.locate(dataset, file) {
            match verify_found(&path, &name, file) {
                Ok(checked) => return Ok(Fetched { path, checked, was_there: true }),
                // Our own copy can be replaced; another directory is not ours to repair.
                Err(_) if Some(&path) == target.as_ref() && !self.options.offline => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(path) = self.all_parts(dataset, file) {
            return Ok(Fetched { path, checked: Checked::Nothing, was_there: true });
        }
        if self.options.offline {
            let place = self.options.search.first().cloned().unwrap_or_default().join(dataset.folder);
            return Err(Error::Offline { dataset: dataset.name, file: file.name, place });
        }
        let target = target.ok_or(Error::NoCache)?;
        if file.urls.is_empty() {
            let (dataset, home) = (dataset.name, dataset.home);
            return Err(Error::NoSource { dataset, file: file.name, home, place: target });
        }
        let checked = download(file, &target, &self.options.network, self.options.retry, observer)?;
        Ok(Fetched { path: target, checked, was_there: false })
    }

    /// The first of the parts of an archive, if all of them are there.
    fn all_parts(&self, dataset: &Dataset, file: &DataFile) -> Option<PathBuf> {
        let parts = file.copies.iter().filter(|copy| copy.extent == Extent::Part);
        let found: Option<Vec<PathBuf>> = parts.map(|part| self.locate_name(dataset, part.name)).collect();
        found?.into_iter().next()
    }

    /// The state of every file of a dataset; reads all that are there.
    pub fn check(&self, name: &str) -> Result<Vec<FileCheck>> {
        let dataset = find(name)?;
        let state = |path: PathBuf, checked| match checked {
            Ok(checked) => State::Present(path, checked),
            Err(error) => State::Damaged(path, error),
        };
        if let Some((copy, path)) = self.merged(dataset) {
            let checked = verify_copy(&path, copy.checksum);
            return Ok(vec![FileCheck { file: copy.name, state: state(path, checked) }]);
        }
        let mut checks = Vec::new();
        for file in dataset.files {
            let parts: Vec<&KnownCopy> =
                file.copies.iter().filter(|copy| copy.extent == Extent::Part).collect();
            if let Some((name, path)) = self.locate(dataset, file) {
                let checked = verify_found(&path, &name, file);
                checks.push(FileCheck { file: file.name, state: state(path, checked) });
            } else if parts.iter().any(|part| self.locate_name(dataset, part.name).is_some()) {
                checks.extend(parts.iter().map(|part| self.check_part(dataset, part)));
            } else {
                let state = State::Absent(self.places(dataset, file.name));
                checks.push(FileCheck { file: file.name, state });
            }
        }
        Ok(checks)
    }

    fn check_part(&self, dataset: &Dataset, part: &KnownCopy) -> FileCheck {
        let state = match self.locate_name(dataset, part.name) {
            Some(path) => State::Present(path, Checked::Nothing),
            None => State::Absent(self.places(dataset, part.name)),
        };
        FileCheck { file: part.name, state }
    }

    /// The one file that holds the rows of all files.
    pub(crate) fn merged(&self, dataset: &'static Dataset) -> Option<(&'static KnownCopy, PathBuf)> {
        let copy = dataset.merged.as_ref()?;
        Some((copy, self.locate_name(dataset, copy.name)?))
    }

    /// A file that holds the content of `file`, and the name it has.
    pub(crate) fn locate(&self, dataset: &Dataset, file: &DataFile) -> Option<(String, PathBuf)> {
        let whole = file.copies.iter().filter(|copy| copy.extent == Extent::Whole).map(|copy| copy.name);
        let mut names = std::iter::once(file.name).chain(whole);
        names.find_map(|name| {
            let path = self.locate_name(dataset, name)?;
            Some((path.file_name()?.to_str()?.to_string(), path))
        })
    }

    /// A file of this name, with `.gz` added or taken away.
    pub(crate) fn locate_name(&self, dataset: &Dataset, name: &str) -> Option<PathBuf> {
        self.places(dataset, name).into_iter().find(|path| path.is_file())
    }

    /// Where a file of this name is looked for, in order.
    pub(crate) fn places(&self, dataset: &Dataset, name: &str) -> Vec<PathBuf> {
        let other = name.strip_suffix(".gz").map_or_else(|| format!("{name}.gz"), String::from);
        let mut places = Vec::new();
        for root in self.roots() {
            for folder in self.folders(root, dataset, name) {
                places.extend([folder.join(name), folder.join(&other)]);
            }
        }
        places
    }

    /// `root/folder`, and `root` itself for names that no other dataset uses: all relatives of MNIST share theirs.
    fn folders(&self, root: &Path, dataset: &Dataset, name: &str) -> Vec<PathBuf> {
        let mut folders = vec![root.join(dataset.folder)];
        let users = list().filter(|other| other.files.iter().any(|file| file.name == name)).count();
        let generic = name.starts_with("train.") || name.starts_with("test.");
        if users <= 1 && !generic {
            folders.push(root.into());
        }
        folders
    }

    /// Where the authors' label splits of a set are looked for.
    pub(crate) fn label_places(&self, file: &str) -> Vec<PathBuf> {
        self.roots().map(|root| root.join("labels").join(file)).collect()
    }

    /// All directories, each once.
    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let downloads = self.options.downloads.iter().filter(|path| !self.options.search.contains(path));
        self.options.search.iter().chain(downloads)
    }
}
