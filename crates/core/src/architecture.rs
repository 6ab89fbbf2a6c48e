//! The architecture of a model before the data's size is known: couplings, means, covariances, class prior.

use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{BijectionSpec, Init, Mask, Transform},
    flow::FlowSpec,
    image::ImageFlow,
    means::Means,
    mixture::{Covariance, Trainable},
    rule::Rule,
};

/// A layer between two couplings.
///
/// Permutations are drawn from a seed of their own, a different one for each place in the flow, so that the architecture
/// is a function of the configuration and the number of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Between {
    /// Per-column shift and scale, initialised to standardise the first batch (Glow).
    ActNorm,
    /// The columns in a random fixed order.
    Permutation {
        /// Seed of the order.
        seed: u64,
    },
    /// An invertible matrix W = P L U with a random fixed permutation P (Glow).
    Linear {
        /// Seed of the permutation.
        seed: u64,
    },
}

impl Between {
    /// The layer after coupling number `after`, from 0, for rows of `dim` columns.
    fn layer(self, dim: usize, after: usize) -> BijectionSpec {
        let order = |seed: u64| {
            let mut rng = semisup::rng(seed);
            rng.set_stream(after as u64);
            let mut order: Vec<usize> = (0..dim).collect();
            order.shuffle(&mut rng);
            order
        };
        match self {
            Self::ActNorm => BijectionSpec::ActNorm,
            Self::Permutation { seed } => BijectionSpec::Permutation { order: order(seed) },
            Self::Linear { seed } => BijectionSpec::Linear { order: order(seed) },
        }
    }
}

/// The class prior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "values", deny_unknown_fields)]
pub enum Prior {
    /// The same probability for every class.
    Uniform,
    /// The class frequencies among the labelled rows.
    Empirical,
    /// Given probabilities, in the order of the class names.
    Given(Vec<f64>),
    /// What teachers predict for unlabelled rows on average, shrunk towards even shares by a symmetric Dirichlet prior; uniform
    /// without teachers. For labels that were drawn evenly from classes of uneven size.
    Estimated {
        /// Strength of the Dirichlet prior: labels that even shares count as, against those there are.
        pseudo_count: f64,
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
    /// What they do to the changed columns.
    pub coupling: Transform,
    /// The columns that the first coupling keeps; the next one keeps the others, and so on.
    #[serde(default = "keep_even", skip_serializing_if = "is_keep_even")]
    pub mask: Mask,
    /// Layers between each two couplings, data side first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<Between>,
    /// How fresh parameters are drawn.
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

fn keep_even() -> Mask {
    Mask::KeepEven
}

fn is_keep_even(mask: &Mask) -> bool {
    *mask == keep_even()
}

/// No architecture asks for more layers between two couplings than this.
const MAX_BETWEEN: usize = 16;

impl Architecture {
    /// The flow for rows of `dim` columns.
    pub fn flow(&self, dim: usize) -> FlowSpec {
        let mut mask = self.mask;
        let mut layers: Vec<BijectionSpec> = self.image.iter().flat_map(ImageFlow::layers).collect();
        for i in 0..self.depth {
            layers.push(BijectionSpec::Coupling {
                mask,
                hidden: self.hidden.clone(),
                transform: self.coupling,
            });
            if i + 1 < self.depth {
                layers.extend(self.between.iter().map(|between| between.layer(dim, i)));
            }
            mask = mask.flipped();
        }
        FlowSpec { dim, layers }
    }

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
            ("architecture.between", self.between.len() <= MAX_BETWEEN, "a list of at most 16 layers"),
            (
                "architecture.depth with the layers between",
                self.depth.saturating_mul(1 + self.between.len()) <= 1024 + self.between.len(),
                "at most 1024 layers",
            ),
            (
                "architecture.image",
                self.image.as_ref().is_none_or(ImageFlow::is_possible),
                "of images up to 65536 values whose sides every stage can halve, and of at most 512 couplings",
            ),
            ("architecture.sigma", positive(self.sigma), "a positive number"),
            ("architecture.per_class", (1..=1000).contains(&self.per_class), "between 1 and 1000"),
            ("architecture.means", means, "of positive scale"),
            (
                "architecture.prior.pseudo_count",
                !matches!(self.prior, Prior::Estimated { pseudo_count } if !positive(pseudo_count)),
                "a positive number",
            ),
        ]
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        bijection::{ConvNet, Form, ImageShape},
        image::ImageStage,
    };

    /// The configuration of a plain flow for tables.
    fn plain() -> Architecture {
        Architecture {
            depth: 3,
            hidden: vec![8],
            coupling: Transform::Affine { form: Form::ScaleThenShift },
            mask: Mask::KeepEven,
            between: Vec::new(),
            init: Init::Identity,
            means: Means::Random { r: 1.0 },
            sigma: 1.0,
            covariance: Covariance::Spherical,
            per_class: 1,
            trainable: Trainable::default(),
            prior: Prior::Uniform,
            image: None,
        }
    }

    const SHAPE: ImageShape = ImageShape { channels: 1, height: 8, width: 8 };

    /// A configuration that reaches a kind of bijection. No wildcard: a new kind needs a setting of its own.
    fn reaching(spec: &BijectionSpec) -> Architecture {
        let between = |layer| Architecture { between: vec![layer], ..plain() };
        let image = |flow| Architecture { image: Some(flow), ..plain() };
        match spec {
            BijectionSpec::Coupling { mask, transform, .. } => {
                Architecture { mask: *mask, coupling: *transform, ..plain() }
            }
            BijectionSpec::ActNorm => between(Between::ActNorm),
            BijectionSpec::Permutation { .. } => between(Between::Permutation { seed: 0 }),
            BijectionSpec::Linear { .. } => between(Between::Linear { seed: 0 }),
            BijectionSpec::ConvAffine { net: ConvNet::Plain { hidden }, .. } => {
                let stages = vec![ImageStage { couplings: 1, hidden: *hidden }];
                image(ImageFlow::Plain { shape: SHAPE, stages })
            }
            BijectionSpec::ConvAffine { net: ConvNet::Residual { hidden, blocks }, .. } => {
                image(ImageFlow::Paper { shape: SHAPE, hidden: *hidden, blocks: *blocks })
            }
            BijectionSpec::Logit { .. }
            | BijectionSpec::Squeeze { .. }
            | BijectionSpec::ChannelMix { .. }
            | BijectionSpec::ConvAffine { net: ConvNet::Light { .. }, .. } => {
                image(ImageFlow::light(SHAPE).unwrap())
            }
            BijectionSpec::FactorOut { .. } => image(ImageFlow::Paper { shape: SHAPE, hidden: 2, blocks: 1 }),
        }
    }

    /// All kinds, from the list in serde's error message.
    fn all_kinds() -> BTreeSet<String> {
        let error =
            serde_json::from_str::<BijectionSpec>(r#"{"kind":"none of them"}"#).unwrap_err().to_string();
        let listed = error.split("expected one of").nth(1).expect("a list of kinds");
        listed.split('`').skip(1).step_by(2).map(String::from).collect()
    }

    fn stored_kind(spec: &BijectionSpec) -> String {
        serde_json::to_value(spec).unwrap()["kind"].as_str().expect("every kind is named").to_string()
    }

    /// Which net a convolutional coupling has.
    fn net(spec: &BijectionSpec) -> Option<std::mem::Discriminant<ConvNet>> {
        let BijectionSpec::ConvAffine { net, .. } = spec else { return None };
        Some(std::mem::discriminant(net))
    }

    #[test]
    fn every_bijection_has_an_example_and_a_configuration_that_reaches_it() {
        let examples = BijectionSpec::examples(SHAPE.dim(), &mut semisup::rng(0));
        let shown: BTreeSet<String> = examples.iter().map(stored_kind).collect();
        assert_eq!(shown, all_kinds(), "BijectionSpec::examples has every kind");
        for example in &examples {
            let flow = reaching(example).flow(SHAPE.dim());
            flow.validate().unwrap();
            let same = |layer: &BijectionSpec| layer.kind() == example.kind() && net(layer) == net(example);
            assert!(flow.layers.iter().any(same), "{} is not in {flow:?}", example.kind());
        }
    }

    #[test]
    fn layers_come_between_couplings_and_change_nothing_else() {
        let between = vec![Between::ActNorm, Between::Permutation { seed: 3 }];
        let flow = Architecture { between, ..plain() }.flow(6);
        let kinds: Vec<&str> = flow.layers.iter().map(BijectionSpec::kind).collect();
        let step = ["affine", "act-norm", "permutation"];
        assert_eq!(kinds, [&step[..], &step[..], &step[..1]].concat());
        let (first, second) = (&flow.layers[2], &flow.layers[5]);
        assert_ne!(first, second, "each place has its own order");
        let couplings: Vec<BijectionSpec> = flow.layers.iter().step_by(3).cloned().collect();
        assert_eq!(couplings, plain().flow(6).layers);
    }

    /// Layers are listed before they are checked one by one: a list that no memory holds is refused before.
    #[test]
    fn absurd_numbers_of_layers_are_refused_before_they_are_listed() {
        let broken = |architecture: &Architecture| {
            let rules = architecture.rules();
            rules.into_iter().find(|(_, holds, _)| !holds).map(|(what, ..)| what)
        };
        let staged = |couplings, stages, shape| {
            let stages = vec![ImageStage { couplings, hidden: 8 }; stages];
            Architecture { image: Some(ImageFlow::Light { shape, stages }), ..plain() }
        };
        assert_eq!(broken(&staged(4, 3, SHAPE)), None);
        assert_eq!(broken(&staged(usize::MAX, 2, SHAPE)), Some("architecture.image"));
        assert_eq!(
            broken(&staged(4, 4, SHAPE)),
            Some("architecture.image"),
            "8 x 8 pixels are halved three times"
        );
        let huge = ImageShape { channels: usize::MAX, height: 8, width: 8 };
        assert_eq!(broken(&staged(4, 2, huge)), Some("architecture.image"));
        let paper = ImageFlow::Paper { shape: SHAPE, hidden: usize::MAX, blocks: 1 };
        assert_eq!(broken(&Architecture { image: Some(paper), ..plain() }), Some("architecture.image"));
        let deep = Architecture { depth: 1024, between: vec![Between::ActNorm; 3], ..plain() };
        assert_eq!(broken(&deep), Some("architecture.depth with the layers between"));
    }

    #[test]
    fn settings_that_are_as_ever_are_not_written() {
        let json = serde_json::to_value(plain()).unwrap();
        assert!(json.get("between").is_none() && json.get("mask").is_none(), "{json}");
        assert_eq!(serde_json::from_value::<Architecture>(json).unwrap(), plain());
    }

    #[test]
    fn the_old_key_of_the_pseudo_count_is_an_error_that_names_the_new_one() {
        let old = r#"{"kind":"estimated","values":{"imagined":0.1}}"#;
        let error = serde_json::from_str::<Prior>(old).unwrap_err().to_string();
        assert!(error.contains("imagined") && error.contains("pseudo_count"), "{error}");
    }
}
