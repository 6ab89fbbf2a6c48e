//! All learners by name: the rivals, and FlowGMM in its variants.

use std::{fmt, num::NonZeroUsize};

use flowgmm::{Em, FitConfig, MixtureStep, Model, Recipe};
use flowgmm_bench::Diglm;
use flowgmm_bench::Registry;
use flowgmm_learners::Ensemble;
use semisup::{Learner, SemiSupervised};

mod mixtures;

/// A number for the automatic recipe: results of another one are not results of this one.
const RECIPE: u32 = 5;

/// Members of the ensemble.
const MEMBERS: NonZeroUsize = NonZeroUsize::new(3).expect("three");

/// The learners `bench` and `fit --learner` know.
pub fn registry() -> Registry {
    let mut registry = Registry::rivals();
    for (name, variant) in [
        ("flowgmm", Variant::Automatic),
        ("flowgmm-no-consistency", Variant::NoConsistency),
        ("flowgmm-em", Variant::Em),
        ("flowgmm-labelled", Variant::LabelledOnly),
    ] {
        registry.register(name, FlowGmm::new(variant));
    }
    registry.register("flowgmm-paper", Paper);
    let member = FlowGmm::new(Variant::Automatic);
    registry.register("flowgmm-ensemble", Ensemble { member, members: MEMBERS });
    registry.register("diglm", Diglm::default());
    mixtures::register(&mut registry);
    registry
}

/// FlowGMM as `fit` runs it, or with one thing changed.
#[derive(Clone, Copy)]
struct FlowGmm {
    recipe: u32,
    variant: Variant,
    steps: Option<usize>,
}

/// The settings that are recorded with each result: they name the steps only where they were chosen.
impl fmt::Debug for FlowGmm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut settings = f.debug_struct("FlowGmm");
        settings.field("recipe", &self.recipe).field("variant", &self.variant);
        if let Some(steps) = self.steps {
            settings.field("steps", &steps);
        }
        settings.finish()
    }
}

#[derive(Clone, Copy, Debug)]
enum Variant {
    /// As it is: with the consistency of eq. 7.
    Automatic,
    /// Without it: eq. 4.
    NoConsistency,
    /// By EM (appendix A) instead of descent on the marginal, without consistency.
    Em,
    /// Without the unlabelled rows.
    LabelledOnly,
}

impl FlowGmm {
    fn new(variant: Variant) -> Self {
        Self { recipe: RECIPE, variant, steps: None }
    }

    fn config(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<FitConfig> {
        let mut config = match data.image_shape() {
            Some(shape) => FitConfig::image(data, shape)?,
            None => Recipe::choose(data, seed)?.config,
        };
        config.train.steps = self.steps.unwrap_or(config.train.steps);
        match self.variant {
            Variant::Automatic | Variant::LabelledOnly => {}
            Variant::NoConsistency => config.train.objective.consistency = None,
            Variant::Em => {
                config.train.objective.consistency = None;
                config.train.em = Some(Em { every: 1, mixture: MixtureStep::Fixed });
            }
        }
        Ok(config)
    }
}

impl Learner for FlowGmm {
    type Model = Model;
    type Error = flowgmm::Error;

    fn name(&self) -> String {
        match self.variant {
            Variant::Automatic => "FlowGMM".into(),
            Variant::NoConsistency => "FlowGMM, no consistency".into(),
            Variant::Em => "FlowGMM, EM".into(),
            Variant::LabelledOnly => "FlowGMM, labelled only".into(),
        }
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        let own = matches!(self.variant, Variant::LabelledOnly).then(|| data.labelled_only());
        let data = own.as_ref().unwrap_or(data);
        flowgmm::fit(&self.config(data, seed)?, data, seed)
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps: Some(steps), ..*self })
    }
}

/// FlowGMM with the paper's settings for tables or images, as they are.
#[derive(Debug)]
struct Paper;

impl Learner for Paper {
    type Model = Model;
    type Error = flowgmm::Error;

    fn name(&self) -> String {
        "FlowGMM, paper's settings".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        let config = match data.image_shape() {
            Some(shape) => FitConfig::paper_image(data, shape)?,
            None => FitConfig::paper(data),
        };
        flowgmm::fit(&config, data, seed)
    }
}
