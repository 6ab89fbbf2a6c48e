//! Datasets by name, with the paper's preparation (appendix D): what `kind = "dataset"` in a plan stands for.
//!
//! | dataset | rows to draw from | test rows | options |
//! |---|---|---|---|
//! | hepmass | `1000_train.csv`, balanced, discrete columns dropped, standardised | `1000_test.csv` | `fraction`, `test_fraction`: shares of the rows, 0.2 and 0.04 as in the authors' code |
//! | miniboone | outliers and discrete columns dropped, balanced, standardised | as the plan says | `recipe = "code"`: the authors' code instead |
//! | ag-news, yahoo-answers | embedded texts of `train.csv` | those of `test.csv` | `encoder`: directory of a sentence encoder; `cache`: of its embeddings |
//! | images, UCI tables | as they are | their own, or as the plan says | |
//!
//! Relative directories are below the directory of data. The paper embeds texts by BERT; any encoder that `fit --encoder` takes
//! will do.

use std::{ops::ControlFlow, path::PathBuf};

use flowgmm_datasets::{
    Dataset, DatasetKind, MiniBooneRecipe, RowSelection, Subset, TextSet, balance, find, prepare_hepmass,
    prepare_miniboone,
};
use flowgmm_encoder::{Cache, Encoder, Options};
use ndarray::Array2;
use semisup::{Labelled, rng};

use crate::{
    LoadError, PlanDataset,
    load::{AllAndTest, DataDirectory, option},
};

impl DataDirectory {
    /// The rows of a known dataset.
    pub(crate) fn known(&self, dataset: &PlanDataset) -> Result<AllAndTest, LoadError> {
        let known = find(&dataset.file)?;
        match known.kind {
            DatasetKind::Idx(_) | DatasetKind::Cifar10 | DatasetKind::Svhn => self.images(dataset),
            DatasetKind::Hepmass => self.hepmass(dataset, known),
            DatasetKind::MiniBoone => {
                let recipe = match option(dataset, "recipe") {
                    None | Some("paper") => MiniBooneRecipe::Paper,
                    Some("code") => MiniBooneRecipe::Code,
                    Some(other) => {
                        return Err(format!("recipe: '{other}' is neither 'paper' nor 'code'").into());
                    }
                };
                Ok((prepare_miniboone(&self.there(known, self.store.table(known.name))?, recipe)?, None))
            }
            DatasetKind::AgNews | DatasetKind::Yahoo => self.embedded(dataset, known),
            DatasetKind::Uci(..) => Ok((self.there(known, self.store.table(known.name))?, None)),
        }
    }

    fn hepmass(&self, dataset: &PlanDataset, known: &'static Dataset) -> Result<AllAndTest, LoadError> {
        let part = |subset, name: &str, usual: f64, seed: u64| {
            let share = match option(dataset, name) {
                None => usual,
                Some(text) => text.parse().map_err(|_| format!("{name}: '{text}' is no number"))?,
            };
            let rng = &mut rng(seed);
            let rows = if share < 1.0 { RowSelection::Fraction(share, rng) } else { RowSelection::All };
            let read = self.there(known, self.store.hepmass(known.name, subset, rows))?;
            Ok::<Labelled, LoadError>(balance(&read))
        };
        let (train, test) =
            (part(Subset::Train, "fraction", 0.2, 0)?, part(Subset::Test, "test_fraction", 0.04, 1)?);
        let (train, test) = prepare_hepmass(&train, &test)?;
        Ok((train, Some(test)))
    }

    fn embedded(&self, dataset: &PlanDataset, known: &'static Dataset) -> Result<AllAndTest, LoadError> {
        let Some(directory) = option(dataset, "encoder") else {
            let name = known.name;
            return Err(format!(
                "'{name}' are texts: name the directory of a sentence encoder (config.json, tokenizer.json, \
                 model.safetensors) by options = {{ encoder = \"DIRECTORY\" }}"
            )
            .into());
        };
        let encoder = Encoder::open(&self.path(directory)?, Options::default())?;
        let cache = option(dataset, "cache").map(|directory| Cache::open(&self.root.join(directory)));
        let cache = cache.transpose()?;
        let part = |subset| {
            let texts: TextSet = self.there(known, self.store.texts(known.name, subset))?;
            embed(&encoder, cache.as_ref(), &texts)
        };
        Ok((part(Subset::Train)?, Some(part(Subset::Test)?)))
    }

    /// What was read, or that it is not there and what to do about it.
    fn there<T>(&self, known: &'static Dataset, read: flowgmm_datasets::Result<T>) -> Result<T, LoadError> {
        match read {
            Err(flowgmm_datasets::Error::Absent { .. }) => Err(self.absent(known)),
            read => Ok(read?),
        }
    }

    /// Directories that a known dataset needs besides its files.
    pub(crate) fn check_known(&self, dataset: &PlanDataset) -> Result<(), LoadError> {
        option(dataset, "encoder").map_or(Ok(()), |directory| self.path(directory).map(|_: PathBuf| ()))
    }
}

fn embed(encoder: &Encoder, cache: Option<&Cache>, texts: &TextSet) -> Result<Labelled, LoadError> {
    let joined: Vec<String> = (0..texts.n()).map(|row| texts.joined(row)).collect();
    let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let rows = match cache {
        Some(cache) => encoder.embed_cached(&joined, cache, go_on)?.embeddings,
        None => encoder.embed(&joined, go_on)?,
    };
    let dim = encoder.dim();
    let x = Array2::from_shape_vec((texts.n(), dim), rows.into_iter().map(f64::from).collect())?;
    let columns = (1..=dim).map(|j| format!("e{j}")).collect();
    Ok(Labelled::new(x, texts.labels.clone(), texts.classes.clone(), columns)?)
}
