//! The models by name, and their files: a file that is replaced is loaded, and served once it is valid.
//!
//! A request holds the version it began with; the version before goes when nobody holds it any more.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::SystemTime,
};

use flowgmm::{Error, ErrorKind, Model, Source, tensor::Place};

use crate::{
    failure::{Failure, Result},
    metrics::Metrics,
    served::Served,
};

/// The models that are served, by name.
#[derive(Default)]
pub struct Registry {
    models: RwLock<BTreeMap<String, Arc<Served>>>,
}

/// What tells that a file was replaced.
type Stamp = (u64, Option<SystemTime>, u64);

impl Registry {
    /// Loads models from their files. Two files of one stem are an error.
    pub fn load(paths: &[PathBuf], data: Option<&Source>) -> flowgmm::Result<Self> {
        let mut models = BTreeMap::new();
        for path in paths {
            let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let model = Model::load(path, &Place::cpu())?;
            let served = Served::new(stem.clone(), 1, path.clone(), model, data.cloned());
            if models.insert(stem.clone(), Arc::new(served)).is_some() {
                return Err(Error::Request(format!(
                    "two model files are called '{stem}'; rename one, since models are served by that name"
                )));
            }
        }
        Ok(Self { models: RwLock::new(models) })
    }

    /// All models.
    pub fn all(&self) -> Vec<Arc<Served>> {
        self.models.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// A model by its name.
    pub fn get(&self, name: &str) -> Result<Arc<Served>> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.get(name).cloned().ok_or_else(|| {
            let known = models.keys().cloned().collect::<Vec<_>>().join(", ");
            let known =
                if known.is_empty() { "no model is served".into() } else { format!("there is {known}") };
            Failure::not_found(format!("there is no model of that name; {known}"))
        })
    }

    /// Serves another model in place of the one of this name.
    pub fn replace(&self, name: &str, model: Model, data: Option<Source>) -> Arc<Served> {
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let (version, path) =
            models.get(name).map_or((1, PathBuf::new()), |old| (old.version + 1, old.path.clone()));
        let new = Arc::new(Served::new(name.into(), version, path, model, data));
        models.insert(name.into(), new.clone());
        new
    }
}

/// Looks at the models' files and loads those that were replaced.
pub struct Watcher {
    stamps: BTreeMap<String, Option<Stamp>>,
}

impl Watcher {
    /// Takes the files as they are for those that were loaded.
    pub fn new(registry: &Registry) -> Self {
        let stamps = registry.all().iter().map(|served| (served.name.clone(), stamp(&served.path))).collect();
        Self { stamps }
    }

    /// Loads what was replaced since the last look. A file that cannot be used changes nothing, and is said once.
    pub fn look(&mut self, registry: &Registry, metrics: &Metrics) {
        for served in registry.all() {
            let now = stamp(&served.path);
            let seen = self.stamps.entry(served.name.clone()).or_default();
            // A file that is gone may be about to come back.
            if now.is_none() || *seen == now {
                continue;
            }
            match Model::load(&served.path, &Place::cpu()) {
                Ok(model) if stamp(&served.path) == now => {
                    let new = registry.replace(&served.name, model, served.source().cloned());
                    metrics.reloaded(&served.name, true);
                    tracing::info!(model = %served.name, version = new.version, "the model file was replaced");
                    *seen = now;
                }
                Ok(_) => {} // replaced again meanwhile
                Err(error) => {
                    metrics.reloaded(&served.name, false);
                    let old = served.version;
                    tracing::warn!(model = %served.name, %error, "the new file cannot be used; version {old} goes on");
                    // A file that vanished while it was read is looked at again.
                    if error.kind() != ErrorKind::Io {
                        *seen = now;
                    }
                }
            }
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    Some((found.len(), found.modified().ok(), inode))
}
