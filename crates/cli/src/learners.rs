//! All learners by name: the rivals, and FlowGMM in its variants.

use std::num::NonZeroUsize;

use flowgmm::{Em, FitConfig, MixtureStep, Model, Recipe};
use flowgmm_arena::Registry;
use flowgmm_rivals::Ensemble;
use semisup::{Learner, SemiSupervised};

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
        registry.register(name, FlowGmm { recipe: RECIPE, variant });
    }
    registry.register("flowgmm-paper", Paper);
    let member = FlowGmm { recipe: RECIPE, variant: Variant::Automatic };
    registry.register("flowgmm-ensemble", Ensemble { member, members: MEMBERS });
    registry
}

/// FlowGMM as `fit` runs it, or with one thing changed.
#[derive(Debug)]
struct FlowGmm {
    #[expect(dead_code, reason = "part of the settings that are recorded with each result")]
    recipe: u32,
    variant: Variant,
}

#[derive(Debug)]
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
        let mut config = Recipe::choose(data, seed)?.config;
        match self.variant {
            Variant::Automatic | Variant::LabelledOnly => {}
            Variant::NoConsistency => config.train.objective.consistency = None,
            Variant::Em => {
                config.train.objective.consistency = None;
                config.train.em = Some(Em { every: 1, mixture: MixtureStep::Fixed });
            }
        }
        flowgmm::fit(&config, data, seed)
    }
}

/// FlowGMM with the paper's settings for tables, as they are.
#[derive(Debug)]
struct Paper;

impl Learner for Paper {
    type Model = Model;
    type Error = flowgmm::Error;

    fn name(&self) -> String {
        "FlowGMM, paper's settings".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        flowgmm::fit(&FitConfig::paper(data), data, seed)
    }
}
