//! A dataset of the paper as a problem with few labels: what `fit --dataset NAME` learns from.

use std::{collections::BTreeMap, path::Path};

use flowgmm::{ImageArray, Source};
use flowgmm_datasets::{DatasetKind, find};
use ndarray::ArrayView2;
use semisup::Problem;

use crate::{
    DataDirectory, DrawRule, DrawnLabels, Error, LoadError, Loader as _, PlanDataset, Result, Skipped,
    TestRows, draw_labels,
};

/// A dataset by its name, with the paper's preparation and as many labels.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedProblem {
    /// Its name, as the registry spells it.
    pub name: &'static str,
    /// Labelled and unlabelled rows, and test rows.
    pub problem: Problem,
    /// The learning rate that the paper's table of rates has for it, where that is not the preset's.
    pub learning_rate: Option<f64>,
}

impl NamedProblem {
    /// Reads a dataset below `root` and keeps `per_class` labels of each class (the paper's number if absent), drawn by `seed`. Of
    /// texts, `encoder` is the directory of a sentence encoder.
    pub fn read(
        root: &Path,
        name: &str,
        per_class: Option<usize>,
        encoder: Option<&Path>,
        seed: u64,
    ) -> Result<Self> {
        let unusable = |why: String| Error::Unusable { dataset: name.into(), why };
        let known = find(name).map_err(|error| unusable(error.to_string()))?;
        let mut options = BTreeMap::from([("kind".to_string(), "dataset".to_string())]);
        // A directory of data joined with an absolute path is that path.
        let encoder = encoder.and_then(|directory| std::path::absolute(directory).ok());
        options.extend(encoder.map(|directory| ("encoder".to_string(), directory.display().to_string())));
        let dataset = PlanDataset::of_file(known.name, options);
        let mut data = DataDirectory::new(root);
        let loaded = data.check(&dataset).and_then(|()| data.load(&dataset));
        let loaded = loaded.map_err(|error| match error {
            LoadError::Absent(why) => {
                Error::Absent(vec![Skipped { dataset: name.into(), learner: None, why }])
            }
            LoadError::Unusable(why) => unusable(why.to_string()),
        })?;
        // The authors test on a tenth of tables that have no test rows of their own.
        let rule = DrawRule {
            labels: DrawnLabels::PerClass(per_class.unwrap_or(labels_of(known.name))),
            test: TestRows { share: 0.1, limit: usize::MAX },
            unlabelled_limit: usize::MAX,
        };
        let problem = draw_labels(&loaded.all, loaded.test.as_ref(), &rule, seed)?;
        let learning_rate = matches!(known.kind, DatasetKind::MiniBoone).then_some(3e-4);
        Ok(Self { name: known.name, problem, learning_rate })
    }
}

impl NamedProblem {
    /// Rows to learn from, with the labels there are, and rows to be scored on.
    pub fn sources(&self) -> flowgmm::Result<(Source, Source)> {
        let Problem { train, test } = &self.problem;
        let shape = train.image_shape();
        let known = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
        let classes = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
        let of = |x: ArrayView2<f64>| match shape {
            None => Ok(Source::named_matrix(x, train.columns())),
            Some(shape) => ImageArray::new(shape, x.iter().map(|&v| v as u8).collect()).map(Source::images),
        };
        Ok((of(train.x())?.labels(known), of(test.x())?.labels(classes)))
    }
}

/// Labels of each class in the paper's experiments; of datasets that it does not have, ten.
fn labels_of(name: &str) -> usize {
    match name {
        "ag-news" => 50,
        "yahoo-answers" => 80,
        "mnist" | "svhn" => 100,
        "cifar10" => 400,
        _ => 10,
    }
}
