//! A fitted model as a user holds it: preprocessing, flow, mixture, class names and where it came from.
//!
//! Rows come in and go out in the user's own columns and units. log p(x) refers to those units whenever the
//! preprocessing is invertible; behind a projection it is the density of the projected row, and says so.

use std::path::Path;

use flowgmm_data::{Encoding, Layout};
use ndarray::{Array1, Array2, ArrayView2};
use semisup::{Classifier, Preprocess, Rng};
use serde::{Deserialize, Serialize};

use crate::{Error, Result, recipe::Decision};
use flowgmm_core::{
    Container, FlowGmm, ModelSpec, fill, model_tensors,
    tensor::{Place, to_vec},
    train::History,
};

/// Steps between the smallest and the largest of the stored quantiles.
const QUANTILES: usize = 200;

/// The version of the file format this program writes.
pub const FORMAT: u32 = 3;

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

/// A column of text that was embedded before the table was encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextColumn {
    /// The user's column; its embedding is in columns `<column>_0` and so on.
    pub column: String,
    /// Numbers of an embedding.
    pub dim: usize,
    /// Tokens of a text that are read.
    pub max_tokens: usize,
    /// What identifies the encoder: a digest of its files and settings.
    pub encoder: String,
}

/// Everything of a model file but its tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    spec: ModelSpec,
    preprocess: Preprocess,
    classes: Vec<String>,
    columns: Vec<String>,
    /// How the user's table becomes the columns; absent if the model was fitted to a matrix.
    encoding: Option<Encoding>,
    #[serde(default)]
    texts: Vec<TextColumn>,
    /// How pictures become the columns; absent if the model was fitted to something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
    temperature: f64,
    typical: Vec<f64>,
    decisions: Vec<Decision>,
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
    pub(crate) encoding: Option<Encoding>,
    pub(crate) texts: Vec<TextColumn>,
    pub(crate) layout: Option<Layout>,
    /// What the logarithms of posteriors are divided by.
    pub(crate) temperature: f64,
    /// Quantiles of log p(x) over training rows, evenly spaced from the smallest to the largest.
    pub(crate) typical: Vec<f64>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) provenance: Provenance,
    pub(crate) history: History,
}

/// What a model says about rows.
#[derive(Clone, Debug)]
pub struct Scores {
    /// log p(k | x), `[n, K]`.
    pub log_probs: Array2<f64>,
    /// log p(x | k), `[n, K]`, in the units of `log_marginal`.
    pub log_conditional: Array2<f64>,
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

    /// How the user's table becomes the model's columns, if it was fitted to a table.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.encoding.as_ref()
    }

    /// The same model, for tables that `encoding` turns into its columns.
    ///
    /// # Panics
    /// If the encoding makes other columns than the model was fitted to.
    pub fn with_encoding(mut self, encoding: Encoding) -> Self {
        assert_eq!(encoding.feature_names(), self.columns, "the encoding of the training rows");
        self.encoding = Some(encoding);
        self
    }

    /// The columns of text that must be embedded before the table is encoded.
    pub fn texts(&self) -> &[TextColumn] {
        &self.texts
    }

    /// The same model, for tables with these columns of text.
    pub fn with_texts(mut self, texts: Vec<TextColumn>) -> Self {
        self.texts = texts;
        self
    }

    /// How pictures become rows, if the model was fitted to pictures.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The same model, for pictures that `layout` turns into its rows.
    ///
    /// # Panics
    /// If the layout makes rows of another length.
    pub fn with_layout(mut self, layout: Layout) -> Self {
        assert_eq!(layout.dim(), self.columns.len(), "the layout of the training pictures");
        self.layout = Some(layout);
        self
    }

    /// What was decided about the fit, and why.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The same model with these reasons for its settings.
    pub fn with_decisions(mut self, decisions: Vec<Decision>) -> Self {
        self.decisions = decisions;
        self
    }

    /// T in log p(k | x) = log p(x | k) / T + log pi_k + const; 1 unless calibrated. It is the paper's sigma^2 (section 6.1):
    /// widening every Gaussian by sigma divides the differences of their log-densities by sigma^2.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// pi_k: how common the model takes each class to be.
    pub fn class_shares(&self) -> Vec<f64> {
        self.gmm.mixture().values().log_prior.into_iter().map(f64::exp).collect()
    }

    /// The same model at another temperature, above 0.
    pub fn at_temperature(mut self, temperature: f64) -> Self {
        assert!(temperature.is_finite() && temperature > 0.0, "a temperature is positive");
        self.temperature = temperature;
        self
    }

    /// The same model with its probabilities calibrated on labelled rows, by the temperature of least NLL.
    pub fn calibrated(mut self, x: ArrayView2<f64>, y: &[usize]) -> Self {
        let log_prior = to_vec(&self.gmm.mixture().log_prior());
        let scores = self.score(x);
        self.temperature =
            semisup::metrics::fit_temperature_with(scores.log_conditional.view(), &log_prior, y);
        self
    }

    /// Whether log p is that of the projected row only, because what preprocessing drops has no density.
    pub fn likelihood_is_projected(&self) -> bool {
        self.preprocess.log_density_gain(Array2::zeros((0, self.preprocess.dim_in())).view()).is_none()
    }

    /// For each log p(x), how unusual it is among training rows: the two-sided p-value of its rank, near 0 for rows
    /// less likely, or more likely, than nearly all of them.
    pub fn typicality(&self, log_marginal: &[f64]) -> Vec<f64> {
        let m = self.typical.len().max(1) as f64;
        let rank = |v: &f64| self.typical.partition_point(|q| q < v) as f64;
        log_marginal
            .iter()
            .map(|v| 2.0 * ((rank(v) + 0.5) / (m + 1.0)).min((m - rank(v) + 0.5) / (m + 1.0)))
            .collect()
    }

    /// Remembers what log p(x) training rows have.
    pub(crate) fn learn_typicality(&mut self, x: ArrayView2<f64>) {
        let mut values = self.score(x).log_marginal;
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1);
        self.typical = (0..=QUANTILES).map(|i| values[i * last / QUANTILES]).collect();
    }

    /// Class probabilities and log p(x) of rows.
    pub fn score(&self, x: ArrayView2<f64>) -> Scores {
        let mut log_probs = self.gmm.log_joint(self.preprocess.apply(x).view());
        let log_prior = Array1::from(to_vec(&self.gmm.mixture().log_prior()));
        let mut log_conditional = &log_probs - &log_prior;
        let stretch = self.preprocess.log_density_gain(x).unwrap_or_else(|| vec![0.0; x.nrows()]);
        let mut log_marginal = Vec::with_capacity(x.nrows());
        for ((mut row, mut conditional), stretch) in
            log_probs.rows_mut().into_iter().zip(log_conditional.rows_mut()).zip(stretch)
        {
            let max = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let log_sum = row.iter().map(|v| (v - max).exp()).sum::<f64>().ln() + max;
            log_marginal.push(log_sum + stretch);
            row -= log_sum;
            if self.temperature != 1.0 {
                row.assign(&(&conditional / self.temperature + &log_prior));
                let max = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                row -= max;
                let log_sum = row.iter().map(|v| v.exp()).sum::<f64>().ln();
                row -= log_sum;
            }
            conditional += stretch;
        }
        Scores { log_probs, log_conditional, log_marginal }
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
            encoding: self.encoding.clone(),
            texts: self.texts.clone(),
            layout: self.layout,
            temperature: self.temperature,
            typical: self.typical.clone(),
            decisions: self.decisions.clone(),
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
        if let Some(encoding) = &header.encoding {
            encoding.validate().map_err(|e| bad(e.to_string()))?;
            if encoding.feature_names() != header.columns {
                return Err(bad("its table encoding and its columns do not fit together".into()));
            }
        }
        if let Some(layout) = &header.layout {
            layout.validate().map_err(|e| bad(e.to_string()))?;
            if layout.dim() != header.columns.len() {
                return Err(bad("its layout of pictures and its columns do not fit together".into()));
            }
        }
        if !(header.temperature.is_finite() && header.temperature > 0.0)
            || header.typical.iter().any(|v| v.is_nan())
            || !header.typical.is_sorted()
        {
            return Err(bad("its calibration is not made of numbers in order".into()));
        }
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
        let Header {
            preprocess,
            classes,
            columns,
            encoding,
            texts,
            layout,
            temperature,
            typical,
            decisions,
            provenance,
            history,
            ..
        } = header;
        Ok(Self {
            gmm,
            preprocess,
            classes,
            columns,
            encoding,
            texts,
            layout,
            temperature,
            typical,
            decisions,
            provenance,
            history,
        })
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
