//! A fitted model as a user holds it: rows, preprocessing, flow, mixture, class names and where it came from.
//!
//! Numbers come in and go out in the user's own columns and units. log p(x) refers to those units whenever the
//! preprocessing is invertible; behind a projection it is the density of the projected row, and says so.

pub(crate) mod blend;
mod describe;
pub(crate) mod evidence;
mod file;
mod layers;
mod predictions;
mod support;
mod typicality;

use flowgmm_core::{
    Certificate, FlowGmm,
    analysis::{self, Boundary, Latent},
    tensor::to_vec,
    train::History,
};
use ndarray::{Array1, Array2, ArrayView2};
use semisup::{Classifier, Preprocess, Rng, metrics::arg_max};
use serde::{Deserialize, Serialize};

use crate::{Error, Result, recipe::Decision, rows::Rows};

pub use blend::Blend;
pub use evidence::{ClassEvidence, Evidence};
pub use file::FORMAT;
pub use predictions::Predictions;
pub(crate) use support::Support;

/// What the decision about predictions is called.
const PREDICTION: &str = "prediction";

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
    pub certificate: Option<Certificate>,
    /// What labels that were held out say of the model; `None` if none could be.
    #[serde(default)]
    pub evidence: Option<Evidence>,
    /// A 95% interval of each class share, `[K]`; empty if shares were assumed or given.
    #[serde(default)]
    pub class_share_intervals: Vec<[f64; 2]>,
}

/// What of the flow's posterior is divided by its temperature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tempering {
    /// log p(x | k) / T + log pi_k: models of file formats 3 and 4. A temperature far from 1 lets the class shares decide.
    #[default]
    Likelihood,
    /// (log p(x | k) + log pi_k) / T: the temperature changes how sure a prediction is, never which class it is.
    Joint,
}

/// A fitted classifier, density and generator.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) rows: Rows,
    pub(crate) preprocess: Preprocess,
    pub(crate) gmm: FlowGmm,
    pub(crate) classes: Vec<String>,
    /// What the logarithms of the flow's posteriors are divided by.
    pub(crate) temperature: f64,
    /// What of the flow's posterior that temperature divides.
    pub(crate) tempering: Tempering,
    /// The experts beside the flow.
    pub(crate) blend: Option<Blend>,
    /// log p(x) of rows that the flow was not trained on, or of training rows where there were too few; ascending, and
    /// evenly spaced by rank if there are very many.
    pub(crate) typical: Vec<f64>,
    /// The values that samples keep to.
    pub(crate) support: Support,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) provenance: Provenance,
    pub(crate) history: History,
}

impl Model {
    /// What its rows are, and how they become numbers.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The flow and mixture, in the preprocessed space.
    pub fn gmm(&self) -> &FlowGmm {
        &self.gmm
    }

    /// The map from the user's columns to the flow's.
    pub fn preprocess(&self) -> &Preprocess {
        &self.preprocess
    }

    /// The names of the numbers that the model expects, in order.
    pub fn columns(&self) -> Vec<String> {
        self.rows.columns()
    }

    /// The names of the user's columns that the model reads, in order; texts by the columns of their embedding, of images none.
    pub fn input_columns(&self) -> Vec<String> {
        match &self.rows {
            Rows::Matrix { columns } => columns.clone(),
            Rows::Table { encoding, .. } => encoding.column_names().map(String::from).collect(),
            Rows::Images { .. } => Vec::new(),
        }
    }

    pub(crate) fn classes_ref(&self) -> &[String] {
        &self.classes
    }

    /// Where it came from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// What happened while it was trained.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The model with couplings computed by `engine`.
    pub fn with_engine(mut self, engine: flowgmm_core::Engine) -> Self {
        self.gmm = self.gmm.with_engine(engine);
        self
    }

    /// What labels that were held out say of its predictions; `None` if none could be held out.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.provenance.evidence.as_ref()
    }

    /// What was decided about the fit, and why.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// T, which the logits of predictions ([`Predictions::logits`]) are divided by; 1 unless calibrated. Without experts it is
    /// the paper's sigma^2 (section 6.1): widening every Gaussian by sigma divides the differences of their log-densities by
    /// sigma^2.
    pub fn temperature(&self) -> f64 {
        self.blend.as_ref().map_or(self.temperature, |blend| blend.weights.temperature)
    }

    /// T in the flow's own posterior, log p(k | x) = (log p(x | k) + log pi_k) / T + const.
    pub fn flow_temperature(&self) -> f64 {
        self.temperature
    }

    /// The experts beside the flow; `None` if predictions are the flow's own Bayes rule.
    pub fn blend(&self) -> Option<&Blend> {
        self.blend.as_ref()
    }

    /// The model without the experts: predictions by the flow's own Bayes rule (eq. 5 of the paper).
    pub fn pure_flow(mut self) -> Self {
        if self.blend.take().is_some() {
            self.provenance.evidence =
                self.provenance.evidence.map(|evidence| evidence.flow_alone(self.temperature));
            self.decide_prediction();
        }
        self
    }

    /// Says among the decisions what predictions rest on.
    pub(crate) fn decide_prediction(&mut self) {
        let evidence = self.evidence().map(Evidence::describe);
        let (choice, otherwise) = match &self.blend {
            None => ("the flow alone, by Bayes' rule".to_string(), "no forest was asked for"),
            Some(blend) => {
                let shares = blend.percentages().into_iter().map(|(name, share)| format!("{share}% {name}"));
                (shares.collect::<Vec<_>>().join(", "), "no label could be held out")
            }
        };
        self.decisions.retain(|decision| decision.what != PREDICTION);
        self.decisions.push(Decision {
            what: PREDICTION.into(),
            choice,
            why: evidence.unwrap_or(otherwise.into()),
        });
    }

    /// The classes of rows by the flow's own Bayes rule, `[n]`: those of [`Predictions::classes`] unless experts say
    /// otherwise.
    pub fn classes_by_flow(&self, of: &Predictions) -> Vec<usize> {
        let log_prior = Array1::from(self.log_prior());
        arg_max(
            match self.tempering {
                Tempering::Likelihood => &of.log_conditional / self.temperature + log_prior,
                Tempering::Joint => &of.log_conditional + &log_prior,
            }
            .view(),
        )
    }

    /// What is added to the logits of predictions after they are divided by T, `[K]`: 0, but for models of old files, which
    /// add log pi_k.
    pub fn logit_bias(&self) -> Vec<f64> {
        match (&self.blend, self.tempering) {
            (None, Tempering::Likelihood) => self.log_prior(),
            (Some(_), _) | (None, Tempering::Joint) => vec![0.0; self.classes.len()],
        }
    }

    /// log pi_k: how common the model takes each class to be, `[K]`.
    pub fn log_prior(&self) -> Vec<f64> {
        to_vec(&self.gmm.mixture().log_prior())
    }

    /// pi_k: how common the model takes each class to be, `[K]`.
    pub fn class_shares(&self) -> Vec<f64> {
        self.gmm.mixture().values().log_prior.into_iter().map(f64::exp).collect()
    }

    /// A 95% interval of each class share, `[K]`; empty if shares were assumed or given.
    pub fn class_share_intervals(&self) -> &[[f64; 2]] {
        &self.provenance.class_share_intervals
    }

    /// The model at another temperature, above 0.
    pub fn at_temperature(mut self, temperature: f64) -> Self {
        assert!(temperature.is_finite() && temperature > 0.0, "a temperature is positive");
        match &mut self.blend {
            Some(blend) => blend.weights.temperature = temperature,
            None => self.temperature = temperature,
        }
        self
    }

    /// The model with its probabilities calibrated on labelled rows, by the temperature of least NLL, with a weak prior at
    /// the present one: few rows without a mistake do not make the model certain.
    pub fn calibrated(self, x: ArrayView2<f64>, y: &[usize]) -> Self {
        let logits = self.score(x).logits;
        let (bias, near) = (self.logit_bias(), self.temperature());
        let temperature = semisup::metrics::fit_temperature_near(logits.view(), &bias, y, near);
        self.at_temperature(temperature)
    }

    /// The model with the temperatures, and the weights of its parts, of one that learnt them from held-out labels.
    pub(crate) fn weighed_like(mut self, other: &Self) -> Self {
        self.temperature = other.temperature;
        if let (Some(own), Some(learnt)) = (&mut self.blend, &other.blend) {
            own.weights = learnt.weights;
        }
        self
    }

    /// Whether log p is that of the projected row only, because what preprocessing drops has no density.
    pub fn likelihood_is_projected(&self) -> bool {
        self.preprocess.log_density_gain(Array2::zeros((0, self.preprocess.dim_in())).view()).is_none()
    }

    /// What log p(x) is the density of, in words.
    pub fn likelihood(&self) -> String {
        match self.likelihood_is_projected() && self.rows.layout().is_none() {
            true => "of the projected row, since what preprocessing drops has no variance".into(),
            false => self.rows.likelihood(),
        }
    }

    /// Number of parameters.
    pub fn n_parameters(&self) -> usize {
        self.gmm.thetas().iter().map(|theta| theta.len()).sum()
    }

    /// Remembers what values training rows have, so that samples keep to them.
    pub(crate) fn learn_support(&mut self, x: ArrayView2<f64>, seed: u64) {
        let draw = |n: usize| self.draw(n, None, 1.0, &mut semisup::rng(seed)).0;
        self.support = Support::learn(&self.rows, x, draw);
    }

    /// The latent mixture with the flow's own posterior: its prior and its temperature.
    pub(crate) fn latent(&self) -> Latent {
        let mixture = self.gmm.mixture();
        let divisor = match self.tempering {
            Tempering::Likelihood => 1.0,
            Tempering::Joint => self.temperature,
        };
        let bias = mixture.values().log_prior.iter().map(|log_pi| log_pi / divisor).collect();
        Latent::new(mixture, self.temperature, bias)
    }

    /// Latent distance of points z to the decision boundary of the flow's posterior, `[n]`; infinite for a single class.
    pub fn boundary(&self, z: ArrayView2<f64>) -> Vec<f64> {
        match self.classes.len() {
            0 | 1 => vec![f64::INFINITY; z.nrows()],
            _ => {
                let found: Vec<Boundary> = analysis::boundary_of_latent(&self.latent(), z);
                found.iter().map(|boundary| boundary.distance).collect()
            }
        }
    }

    /// Draws rows of a class, or of classes by the prior. Numbers keep to the range of the training rows, and values that
    /// many of those share have about their share of the samples at temperature 1.
    pub fn sample(
        &self,
        n: usize,
        class: Option<usize>,
        temperature: f64,
        rng: &mut Rng,
    ) -> (Array2<f64>, Vec<usize>) {
        let (mut x, classes) = self.draw(n, class, temperature, rng);
        self.support.keep(&mut x);
        (x, classes)
    }

    /// Draws rows of the density as it is, which is positive everywhere.
    fn draw(
        &self,
        n: usize,
        class: Option<usize>,
        temperature: f64,
        rng: &mut Rng,
    ) -> (Array2<f64>, Vec<usize>) {
        let (x, classes) = self.gmm.sample(n, class, temperature, rng);
        (self.preprocess.invert_sampling(x.view(), temperature, rng), classes)
    }

    /// The number of a class.
    pub fn class(&self, name: &str) -> Result<usize> {
        self.classes.iter().position(|class| class == name).ok_or_else(|| {
            let known = crate::names(&self.classes);
            Error::Request(format!("the model has no class '{name}'. It knows {known}"))
        })
    }
}

impl Classifier for Model {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.score(x).log_probs
    }
}
