//! A fitted model as a user holds it: preprocessing, flow, mixture, class names and where it came from.
//!
//! Rows come in and go out in the user's own columns and units. log p(x) refers to those units whenever the
//! preprocessing is invertible; behind a projection it is the density of the projected row, and says so.

use std::{collections::BTreeMap, path::Path};

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Preprocess, Rng};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    container::Container,
    model::{FlowGmm, ModelSpec},
    tensor::{Place, to_vec},
    train::History,
};

/// The version of the file format this program writes.
pub const FORMAT: u32 = 1;

/// Where a model came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Program version.
    pub version: String,
    /// Seed of the run.
    pub seed: u64,
    /// BLAKE3 of the training rows and labels.
    pub data_hash: String,
    /// Rows with a label.
    pub n_labelled: usize,
    /// Rows without.
    pub n_unlabelled: usize,
    /// The configuration, as it was used.
    pub config: serde_json::Value,
    /// How often training went back to an earlier state.
    pub rollbacks: usize,
    /// The invertibility certificate on training rows, at the end of training.
    pub certificate: Option<crate::Certificate>,
}

/// Everything of a model file but its tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    spec: ModelSpec,
    preprocess: Preprocess,
    classes: Vec<String>,
    columns: Vec<String>,
    provenance: Provenance,
    history: History,
}

/// A fitted classifier, density and generator.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) gmm: FlowGmm,
    pub(crate) preprocess: Preprocess,
    pub(crate) classes: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) provenance: Provenance,
    pub(crate) history: History,
}

/// What a model says about rows.
#[derive(Clone, Debug)]
pub struct Scores {
    /// log p(k | x), `[n, K]`.
    pub log_probs: Array2<f64>,
    /// log p(x), `[n]`, in the user's units unless [`Model::likelihood_is_projected`].
    pub log_marginal: Vec<f64>,
}

impl Model {
    /// The flow and mixture, in the preprocessed space.
    pub fn gmm(&self) -> &FlowGmm {
        &self.gmm
    }

    /// The map from the user's columns to the flow's.
    pub fn preprocess(&self) -> &Preprocess {
        &self.preprocess
    }

    /// The columns the model expects, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Where it came from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// What happened while it was trained.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The same model with couplings computed by `engine`.
    pub fn with_engine(mut self, engine: crate::Engine) -> Self {
        self.gmm = self.gmm.with_engine(engine);
        self
    }

    /// Whether preprocessing drops directions, so that log p is that of the projected row.
    pub fn likelihood_is_projected(&self) -> bool {
        self.preprocess.is_projection()
    }

    /// Class probabilities and log p(x) of rows.
    pub fn score(&self, x: ArrayView2<f64>) -> Scores {
        let mut log_probs = self.gmm.log_joint(self.preprocess.apply(x).view());
        let stretch = self.preprocess.log_density_gain(x).unwrap_or_else(|| vec![0.0; x.nrows()]);
        let mut log_marginal = Vec::with_capacity(x.nrows());
        for (mut row, stretch) in log_probs.rows_mut().into_iter().zip(stretch) {
            let max = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let log_sum = row.iter().map(|v| (v - max).exp()).sum::<f64>().ln() + max;
            log_marginal.push(log_sum + stretch);
            row -= log_sum;
        }
        Scores { log_probs, log_marginal }
    }

    /// The latent images z = f(x) of rows.
    pub fn encode(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.gmm.encode(self.preprocess.apply(x).view())
    }

    /// Rows for latent points: f^-1(z) in the user's columns and units.
    pub fn decode(&self, z: ArrayView2<f64>) -> Array2<f64> {
        self.preprocess.invert(self.gmm.decode(z).view())
    }

    /// Draws rows of a class, or of classes by the prior.
    pub fn sample(
        &self,
        n: usize,
        class: Option<usize>,
        temperature: f64,
        rng: &mut Rng,
    ) -> (Array2<f64>, Vec<usize>) {
        let (x, classes) = self.gmm.sample(n, class, temperature, rng);
        (self.preprocess.invert_sampling(x.view(), temperature, rng), classes)
    }

    /// Writes the model file, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = Header {
            format: FORMAT,
            spec: self.gmm.spec(),
            preprocess: self.preprocess.clone(),
            classes: self.classes.clone(),
            columns: self.columns.clone(),
            provenance: self.provenance.clone(),
            history: self.history.clone(),
        };
        let header = serde_json::to_string(&header).expect("plain data");
        Container { header, tensors: model_tensors(&self.gmm, "") }.write(path)
    }

    /// Reads a model file, trusting nothing in it.
    pub fn load(path: &Path, place: &Place) -> Result<Self> {
        let mut file = Container::read(path)?;
        let bad = |reason: String| Error::ModelFile { path: path.to_path_buf(), reason };
        let version: Version = serde_json::from_str(&file.header)
            .map_err(|e| bad(format!("its header is not readable: {e}")))?;
        if version.format != FORMAT {
            return Err(bad(format!(
                "it has format {}, this program reads format {FORMAT}; use the version that wrote it, or fit again",
                version.format
            )));
        }
        let header: Header = serde_json::from_str(&file.header)
            .map_err(|e| bad(format!("its header is not readable: {e}")))?;
        header
            .spec
            .flow
            .validate()
            .and_then(|()| header.spec.mixture.validate())
            .map_err(|e| bad(e.to_string()))?;
        header.preprocess.validate().map_err(|e| bad(e.to_string()))?;
        if header.classes.len() != header.spec.mixture.n_classes()
            || header.columns.len() != header.preprocess.dim_in()
            || header.preprocess.dim_out() != header.spec.flow.dim
            || header.spec.flow.dim != header.spec.mixture.dim
        {
            return Err(bad("classes, columns, preprocessing and architecture do not fit together".into()));
        }
        let stored: usize = file.tensors.values().map(|(_, values)| values.len()).sum();
        let expected = header.spec.n_parameters();
        if expected != Some(stored) {
            return Err(bad(format!("it holds {stored} numbers, its architecture needs another count")));
        }
        let mut gmm = FlowGmm::blank(&header.spec, place).map_err(|e| bad(e.to_string()))?;
        fill(&mut gmm, &mut file, "").map_err(bad)?;
        if let Some(extra) = file.tensors.keys().next() {
            return Err(bad(format!("tensor {extra} belongs to no part of the architecture")));
        }
        let Header { preprocess, classes, columns, provenance, history, .. } = header;
        Ok(Self { gmm, preprocess, classes, columns, provenance, history })
    }
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Classifier for Model {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.score(x).log_probs
    }
}

/// All parameters by part: `flow.0.W1`, ..., `mixture.means`, with a prefix.
pub(crate) fn model_tensors(gmm: &FlowGmm, prefix: &str) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let mut tensors = BTreeMap::new();
    for (name, theta) in gmm.theta_names().iter().zip(gmm.thetas()) {
        let values: Vec<f32> = to_vec(theta.value()).into_iter().map(|v| v as f32).collect();
        for part in theta.parts() {
            let piece = values[part.offset..part.offset + part.len()].to_vec();
            tensors.insert(format!("{prefix}{name}.{}", part.name), (part.shape.to_vec(), piece));
        }
    }
    tensors
}

/// Fills a model's parameters from a file, checking names, shapes and finiteness.
pub(crate) fn fill(gmm: &mut FlowGmm, file: &mut Container, prefix: &str) -> std::result::Result<(), String> {
    let names = gmm.theta_names();
    let place = gmm.place();
    for (name, theta) in names.iter().zip(gmm.thetas_mut()) {
        let mut values = Vec::with_capacity(theta.len());
        for part in theta.parts() {
            let piece = file.take(&format!("{prefix}{name}.{}", part.name), &part.shape)?;
            values.extend(piece.into_iter().map(f64::from));
        }
        theta.set(place.vector(values));
    }
    Ok(())
}
