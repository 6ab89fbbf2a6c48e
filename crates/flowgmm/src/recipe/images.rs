//! Configurations for images: one that CPUs can train, and the paper's.

use semisup::SemiSupervised;

use crate::{
    Error, Result,
    config::{FitConfig, Prepare, QuantileTransform},
};
use flowgmm_core::{
    ImageFlow, Means, Transform,
    bijection::{Form, ImageShape, Init},
    objective::{Agreement, Consistency, LabelledTerm, Objective, Scale, UnlabelledTerm},
    train::{AdamConfig, DecayShape, ImageViews, Schedule},
};

/// Largest value of a pixel.
const WHITE: f64 = 255.0;
/// Log-odds, in the discriminative terms, of an image at the middle of its class against another class, when means are
/// drawn from N(0, I): enough to be sure, not so much that an image at the wrong place cannot move.
const LOG_ODDS: f64 = 7.84;

impl FitConfig {
    /// For images on a CPU: a small flow with light nets, trained by likelihood, labels and consistent views together.
    /// Columns are pixel values 0 to 255.
    pub fn image(data: &SemiSupervised, shape: ImageShape) -> Result<Self> {
        check(data, shape)?;
        let mut config = Self::of_pixels();
        config.architecture.image = Some(ImageFlow::light(shape)?);
        config.architecture.depth = 2;
        config.architecture.hidden = vec![256];
        config.architecture.coupling = Transform::Affine { form: Form::ScaleThenShift };
        config.architecture.init = Init::Identity;
        config.architecture.means = Means::Random { r: 1.0 };
        config.train.steps = 18_000;
        config.train.batch_labelled = 48;
        config.train.batch_unlabelled = 96;
        config.train.schedule =
            Schedule { peak: 2e-3, warm_up: 0.02, shape: DecayShape::Cosine { floor: 0.01 } };
        config.train.adam = AdamConfig { clip: Some(1.0), ..AdamConfig::default() };
        config.train.ema = Some(0.999);
        config.train.objective = Objective {
            labelled: 1.0,
            labelled_term: LabelledTerm::Joint,
            unlabelled: 0.5,
            unlabelled_term: UnlabelledTerm::Marginal,
            scale: Scale::PerDimension,
            cross_entropy: 1.0,
            // Means are sqrt(2 dim) apart, the middle of a class dim nats more likely under its own.
            temperature: shape.dim() as f64 / LOG_ODDS,
            consistency: Some(Consistency {
                agreement: Agreement::CrossEntropy { confidence: 0.95 },
                weight: 2.0,
                ramp: 0.2,
            }),
            alignment: 0.5,
            soft_targets: None,
        };
        config.train.views =
            Some(ImageViews { rotate: 10.0, scale: 0.1, shear: 0.1, ..ImageViews::shifts(shape, 2) });
        Ok(config)
    }

    /// The paper's section 5.3 and appendix E: RealNVP with residual nets (2 scales of 3 couplings, 8 blocks, 64 maps),
    /// random means, unit covariances, Adam at 1e-4 on grey and 1e-3 on colour images. Some 2.5 TFLOP a step: for a GPU.
    ///
    /// With unlabelled images: the labelled likelihood weighed by 3, consistency (eq. 7) rising to 1 over the first 100 passes
    /// through the labels, batches of 32 and 32, 3,000 passes through the labels of grey images and 1,000 of colour ones.
    /// Without: eq. 4 with n_u = 0, batches of 64, 100 epochs.
    pub fn paper_image(data: &SemiSupervised, shape: ImageShape) -> Result<Self> {
        check(data, shape)?;
        if !shape.height.is_multiple_of(2) || !shape.width.is_multiple_of(2) {
            return Err(Error::Config(format!(
                "height and width of images must be even, got {} x {}; pad or crop them",
                shape.height, shape.width
            )));
        }
        let grey = shape.channels == 1;
        let passes = if grey { 3000 } else { 1000 };
        let mut config = Self::of_pixels();
        config.architecture.image = Some(ImageFlow::Paper { shape, hidden: 64, blocks: 8 });
        config.architecture.depth = 0;
        config.architecture.init = Init::Random;
        config.architecture.means = Means::Random { r: 1.0 };
        let (n_l, supervised) = (data.labelled().len(), data.unlabelled().is_empty());
        config.train.batch_labelled = if supervised { 64 } else { 32 };
        config.train.batch_unlabelled = 32;
        config.train.steps = if supervised { 100 * n_l.div_ceil(64) } else { passes * n_l.div_ceil(32) };
        config.train.schedule =
            Schedule { peak: if grey { 1e-4 } else { 1e-3 }, warm_up: 0.0, shape: DecayShape::Constant };
        config.train.adam = AdamConfig::default();
        config.train.ema = None;
        let consistency =
            Consistency { agreement: Agreement::Likelihood, weight: 1.0, ramp: 100.0 / passes as f64 };
        config.train.objective = match supervised {
            true => Objective::likelihood(),
            false => Objective { labelled: 3.0, consistency: Some(consistency), ..Objective::likelihood() },
        };
        // Crops of images padded by 4; mirrored where left and right do not matter.
        config.train.views = Some(ImageViews { flip: !grey, ..ImageViews::shifts(shape, 4) });
        Ok(config)
    }

    fn of_pixels() -> Self {
        let mut config = Self::toy();
        config.quantile_transform = QuantileTransform::Off;
        config.prepare = Prepare::Pixels;
        config.teachers = Vec::new();
        config.calibration = None;
        config.train.noise = 0.0;
        config.train.view_noise = 0.0;
        config
    }
}

/// Whether rows are images of this shape.
fn check(data: &SemiSupervised, shape: ImageShape) -> Result<()> {
    let ImageShape { channels, height, width } = shape;
    if shape.dim() != data.dim() {
        return Err(Error::Config(format!(
            "images of {channels} x {height} x {width} have {} columns, the data have {}",
            shape.dim(),
            data.dim()
        )));
    }
    match data.x().iter().find(|v| !(0.0..=WHITE).contains(*v)) {
        None => Ok(()),
        Some(v) => Err(Error::Config(format!("a pixel has a value from 0 to 255, got {v}"))),
    }
}
