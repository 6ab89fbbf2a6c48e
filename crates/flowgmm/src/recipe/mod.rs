//! Configurations that work: one for two-dimensional toys, one for numeric tables.

mod choose;
mod held_out;
mod images;
mod presets;
mod suits;

use std::str::FromStr;

use semisup::SemiSupervised;

pub use choose::{Decision, Recipe};
pub(crate) use suits::unsuitable;

use crate::{
    Error, Result,
    config::{Calibration, Dequantise, FitConfig, MultiStart, Prepare, QuantileTransform},
    observer::{Observer, Phase, watched},
    teachers::{Teacher, TeacherMethod},
};
use flowgmm_core::{
    Architecture, Covariance, Means, Prior, Trainable, Transform,
    bijection::{Form, Init, Mask},
    objective::{Agreement, Consistency, LabelledTerm, Objective, Scale, SoftTargets, UnlabelledTerm},
    train::{AdamConfig, Decay, DecayShape, Schedule, TrainConfig},
};

/// Steps that the choice of settings is counted in.
const PER_MILLE: usize = 1000;

/// Where settings come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Chosen from the data: of tables by cross-validation on the labelled rows, of images for CPUs.
    #[default]
    Auto,
    /// The paper's configuration for this kind of data, as it is.
    Paper,
    /// The configuration of the authors' notebooks on toys in the plane, as it is.
    PaperToy,
    /// The configuration of the authors' code for tables, as it is.
    ReferenceCode,
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "paper" => Ok(Self::Paper),
            "paper-toy" => Ok(Self::PaperToy),
            "reference-code" => Ok(Self::ReferenceCode),
            _ => Err(Error::Request(format!(
                "unknown preset '{name}'; use auto, paper, paper-toy or reference-code"
            ))),
        }
    }
}

impl Recipe {
    /// The settings of a preset for these rows. The same data and seed give the same settings.
    pub fn of(preset: Preset, data: &SemiSupervised, seed: u64) -> Result<Self> {
        Self::watched(preset, data, seed, &mut ())
    }

    /// [`Recipe::of`], watched by somebody who may stop it.
    pub fn watched(
        preset: Preset,
        data: &SemiSupervised,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        watched(observer, &Phase::Choosing, PER_MILLE, |watch| match (data.image_shape(), preset) {
            (None, Preset::Auto) => Self::choose_watched(data, seed, watch),
            _ => Self::start(preset, data),
        })
    }

    /// The settings of a preset before anything is chosen from the rows.
    pub(crate) fn start(preset: Preset, data: &SemiSupervised) -> Result<Self> {
        let image = |config: FitConfig, choice: &str| {
            let (what, why) = ("preset".into(), "as the preset says".into());
            Self { decisions: vec![Decision { what, choice: choice.into(), why }], ..Self::from(config) }
        };
        Ok(match (data.image_shape(), preset) {
            (Some(shape), Preset::Paper) => image(FitConfig::paper_image(data, shape)?, "the paper's"),
            (Some(shape), _) => image(FitConfig::image(data, shape)?, "for images on CPUs"),
            (None, Preset::Auto) => FitConfig::table(data).into(),
            (None, Preset::Paper) => FitConfig::paper(data).into(),
            (None, Preset::PaperToy) => FitConfig::paper_toy(data).into(),
            (None, Preset::ReferenceCode) => FitConfig::reference_code(data).into(),
        })
    }
}

impl FitConfig {
    /// For toy problems in the plane.
    pub fn toy() -> Self {
        Self {
            quantile_transform: QuantileTransform::Off,
            dequantise: Dequantise::Off,
            prepare: Prepare::Scale,
            architecture: Architecture {
                depth: 8,
                hidden: vec![64],
                coupling: Transform::Affine { form: Form::ScaleThenShift },
                mask: Mask::KeepEven,
                between: Vec::new(),
                init: Init::Identity,
                means: Means::Separated { r: 4.0, apart: 3.0 },
                sigma: 1.0,
                covariance: Covariance::Spherical,
                per_class: 1,
                trainable: Trainable::default(),
                prior: Prior::Uniform,
                image: None,
            },
            teachers: vec![Teacher::plain(TeacherMethod::LabelSpreading {
                space: None,
                neighbours: 10,
                alpha: 0.99,
            })],
            calibration: None,
            forest: None,
            sample: None,
            multi_start: MultiStart { starts: 1, fraction: 0.1, folds: 3 },
            train: TrainConfig {
                steps: 2500,
                batch_labelled: 64,
                batch_unlabelled: 256,
                schedule: Schedule { peak: 3e-3, warm_up: 0.02, shape: DecayShape::Cosine { floor: 0.01 } },
                adam: AdamConfig { clip: Some(5.0), decay: Decay::Decoupled(1e-4), ..AdamConfig::default() },
                ema: Some(0.99),
                objective: Objective {
                    labelled: 1.0,
                    labelled_term: LabelledTerm::Joint,
                    unlabelled: 1.0,
                    unlabelled_term: UnlabelledTerm::Marginal,
                    scale: Scale::PerDimension,
                    cross_entropy: 1.0,
                    temperature: 1.0,
                    consistency: Some(Consistency {
                        agreement: Agreement::Likelihood,
                        weight: 0.3,
                        ramp: 0.3,
                    }),
                    alignment: 0.0,
                    soft_targets: Some(SoftTargets { weight: 1.0, until: 0.3 }),
                },
                noise: 0.04,
                view_noise: 0.05,
                views: None,
                refine: None,
                dropout: 0.0,
                em: None,
                shards: None,
            },
        }
    }

    /// For numeric tables with few labels.
    pub fn table(data: &SemiSupervised) -> Self {
        let mut config = Self::toy();
        config.quantile_transform = QuantileTransform::Skewed;
        config.prepare = Prepare::PcaStandardised { dims: 32, whiten: 0.0 };
        config.architecture.hidden = vec![if data.dim() <= 8 { 128 } else { 256 }];
        config.architecture.means = Means::Separated { r: 5.0, apart: 3.0 };
        config.calibration = Some(Calibration::Folds { folds: 5, fraction: 0.3 });
        config.train.steps = 2000;
        config.train.batch_unlabelled = 200;
        config.train.schedule.peak = 1e-3;
        config.train.objective.alignment = 0.3;
        config.train.objective.consistency =
            Some(Consistency { agreement: Agreement::Likelihood, weight: 1.0, ramp: 0.3 });
        config.train.noise = 0.25;
        config.train.view_noise = 0.25;
        config
    }
}
