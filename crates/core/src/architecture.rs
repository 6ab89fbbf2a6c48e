//! The architecture of a model before the data's size is known: couplings, means, covariances, class prior.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{BijectionSpec, Form, Init, Mask},
    flow::FlowSpec,
    image::ImageFlow,
    means::Means,
    mixture::{Covariance, Trainable},
    rule::Rule,
};

/// Which coupling a flow is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum CouplingKind {
    /// Affine, in this form.
    Affine {
        /// Order of scale and shift.
        form: Form,
    },
    /// Rational-quadratic splines.
    Spline {
        /// Bins of each spline.
        bins: usize,
        /// Half-width of the box.
        bound: f64,
    },
}

/// The class prior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "values")]
pub enum Prior {
    /// All classes alike.
    Uniform,
    /// As often as among the labelled rows.
    Empirical,
    /// Given probabilities, in the order of the class names.
    Given(Vec<f64>),
    /// All alike while training; then as often as makes the unlabelled rows most likely, beside so many imagined rows for
    /// each of them, alike in all classes. For labels that were taken evenly from classes that are not even.
    Estimated {
        /// Imagined rows for each unlabelled row.
        imagined: f64,
    },
}

/// The architecture before the data's size is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Number of couplings.
    pub depth: usize,
    /// Widths of their hidden layers.
    pub hidden: Vec<usize>,
    /// Their kind.
    pub coupling: CouplingKind,
    /// How they start.
    pub init: Init,
    /// Where the means go.
    pub means: Means,
    /// Standard deviation of every Gaussian.
    pub sigma: f64,
    /// Their shape.
    pub covariance: Covariance,
    /// Gaussians per class.
    pub per_class: usize,
    /// What of the mixture is trained.
    pub trainable: Trainable,
    /// Class prior.
    pub prior: Prior,
    /// Layers for images, before the couplings above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageFlow>,
}

impl Architecture {
    /// The flow for rows of `dim` columns.
    pub fn flow(&self, dim: usize) -> FlowSpec {
        let mut mask = Mask::KeepEven;
        let couplings = (0..self.depth).map(|_| {
            let hidden = self.hidden.clone();
            let layer = match self.coupling {
                CouplingKind::Affine { form } => BijectionSpec::Affine { mask, hidden, form },
                CouplingKind::Spline { bins, bound } => BijectionSpec::Spline { mask, hidden, bins, bound },
            };
            mask = mask.flipped();
            layer
        });
        let images = self.image.iter().flat_map(ImageFlow::layers);
        FlowSpec { dim, layers: images.chain(couplings).collect() }
    }
}

impl Prior {
    /// log pi_k, given how many labels each class has.
    pub fn log(&self, counts: &[usize]) -> Result<Vec<f64>> {
        let probabilities: Vec<f64> = match self {
            Self::Uniform | Self::Estimated { .. } => vec![1.0; counts.len()],
            Self::Empirical => counts.iter().map(|&n| n as f64).collect(),
            Self::Given(values) => values.clone(),
        };
        let total: f64 = probabilities.iter().sum();
        if probabilities.len() != counts.len() || probabilities.iter().any(|p| *p <= 0.0 || !p.is_finite()) {
            return Err(Error::Config(format!(
                "a class prior needs one positive number for each of {} classes, got {probabilities:?}",
                counts.len()
            )));
        }
        Ok(probabilities.iter().map(|p| (p / total).ln()).collect())
    }
}

impl Architecture {
    /// What must hold of the settings.
    pub fn rules(&self) -> Vec<Rule> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        let means = match self.means {
            Means::Random { r } | Means::Ring { r } | Means::Centroids { r } => positive(r),
            Means::Antipodal { distance } => positive(distance),
            Means::Separated { r, apart } => positive(r) && positive(apart),
        };
        vec![
            (
                "architecture.depth",
                self.depth <= 1024 && (self.depth > 0 || self.image.is_some()),
                "between 1 and 1024",
            ),
            ("architecture.sigma", positive(self.sigma), "a positive number"),
            ("architecture.per_class", (1..=1000).contains(&self.per_class), "between 1 and 1000"),
            ("architecture.means", means, "of positive scale"),
            (
                "architecture.prior.imagined",
                !matches!(self.prior, Prior::Estimated { imagined } if !positive(imagined)),
                "a positive number",
            ),
        ]
    }
}
