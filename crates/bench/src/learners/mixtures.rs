//! FlowGMM by likelihood alone (eq. 4), with the mixtures of the paper's appendices A and B.
//!
//! No teacher, no consistency, no cross-entropy: what differs between these learners is the mixture and nothing else.

use std::fmt;

use flowgmm::{
    Em, FitConfig, Fitter, Means, MixtureStep, Model, Reporting, Trainable,
    objective::{Objective, Scale},
};
use semisup::{Learner, SemiSupervised, Watch};

use crate::Registry;

/// Fraction of training after which the mixture is first estimated: before, latent points know nothing of the classes.
const WAIT: f64 = 0.5;
/// Iterations of EM each time the mixture is updated.
const ITERATIONS: usize = 5;

pub(super) fn register(registry: &mut Registry) {
    for (name, way) in [
        ("eq4", Way::Descent),
        ("eq4-em", Way::Em(MixtureStep::Fixed)),
        ("eq4-means-half", Way::Centroids { r: 0.5 }),
        ("eq4-means", Way::Centroids { r: 1.0 }),
        ("eq4-means-double", Way::Centroids { r: 2.0 }),
        ("eq4-joint", Way::Joint),
        ("eq4-closed-form", Way::EmAfter { mixture: MixtureStep::ClosedForm, wait: WAIT }),
        (
            "eq4-alternating",
            Way::EmAfter { mixture: MixtureStep::Alternating { iterations: ITERATIONS }, wait: WAIT },
        ),
    ] {
        registry.register(name, Likelihood { way, steps: None });
    }
}

/// Eq. 4 with one way to place or learn the mixture.
#[derive(Clone, Copy)]
struct Likelihood {
    way: Way,
    steps: Option<usize>,
}

/// The settings that are recorded with each result. The steps are named only where the caller set them.
impl fmt::Debug for Likelihood {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut settings = f.debug_struct("Likelihood");
        settings.field("way", &self.way);
        if let Some(steps) = self.steps {
            settings.field("steps", &steps);
        }
        settings.finish()
    }
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// Fixed random means N(0, I), gradient descent on the marginal likelihood: the paper's method.
    Descent,
    /// Random means N(0, I), EM's E-steps (appendix A), the mixture fixed.
    Em(MixtureStep),
    /// The same, and the mixture is estimated with the E-steps (appendix B) once the flow has warmed up.
    EmAfter { mixture: MixtureStep, wait: f64 },
    /// Means of the labelled rows' latent points, scaled by r (appendix B).
    Centroids { r: f64 },
    /// Means, covariances and weights descend together with the flow (appendix B).
    Joint,
}

impl Likelihood {
    fn config(&self, data: &SemiSupervised) -> flowgmm::Result<FitConfig> {
        let mut config = match data.image_shape() {
            Some(shape) => FitConfig::image(data, shape)?,
            None => FitConfig::table(data),
        };
        config.train.steps = self.steps.unwrap_or(config.train.steps);
        config.teachers = Vec::new();
        config.calibration = None;
        config.architecture.means = Means::Random { r: 1.0 };
        config.train.objective = Objective { scale: Scale::PerDimension, ..Objective::likelihood() };
        match self.way {
            Way::Descent => {}
            Way::Em(mixture) => config.train.em = Some(Em::new(1, mixture)),
            Way::EmAfter { mixture, wait } => config.train.em = Some(Em { every: 1, mixture, wait }),
            Way::Centroids { r } => config.architecture.means = Means::Centroids { r },
            Way::Joint => {
                config.architecture.trainable = Trainable { means: true, covariances: true, weights: true };
            }
        }
        Ok(config)
    }
}

impl Learner for Likelihood {
    type Model = Model;
    type Error = flowgmm::Error;

    fn name(&self) -> String {
        match self.way {
            Way::Descent => "eq. 4".into(),
            Way::Em(_) => "eq. 4, EM".into(),
            Way::EmAfter { mixture: MixtureStep::Alternating { .. }, .. } => {
                "eq. 4, flow and mixture in turn".into()
            }
            Way::EmAfter { .. } => "eq. 4, mixture in closed form".into(),
            Way::Centroids { r } => format!("eq. 4, means from data x {r}"),
            Way::Joint => "eq. 4, mixture by descent".into(),
        }
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> flowgmm::Result<Model> {
        Fitter::new(&self.config(data)?, data, seed).run(&mut Reporting::to(watch))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps: Some(steps), ..*self })
    }
}
