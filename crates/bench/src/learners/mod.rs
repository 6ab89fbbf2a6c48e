//! All learners by name: the baselines, FlowGMM and its variants, DIGLM.

mod diglm;
mod mixtures;
mod paper;
mod recipe;

use std::{fmt, num::NonZeroUsize};

use flowgmm::{Em, FitConfig, Fitter, MixtureStep, Model, Preset, Recipe, Reporting};
use flowgmm_learners::Ensemble;
use semisup::{Learner, SemiSupervised, Watch};

use crate::Registry;

pub use diglm::{Diglm, DiglmModel};

/// Members of the ensemble.
const MEMBERS: NonZeroUsize = NonZeroUsize::new(3).expect("three");

/// All learners by name: those of [`flowgmm_learners`], FlowGMM and its variants, DIGLM, and the mixtures of the paper's
/// appendices.
///
/// | name | what |
/// |---|---|
/// | flowgmm | FlowGMM with settings chosen from the data |
/// | flowgmm-ensemble | the averaged probabilities of three such fits |
/// | flowgmm-no-consistency, flowgmm-em, flowgmm-labelled | FlowGMM without consistency, by EM, without the unlabelled rows |
/// | flowgmm-pure | FlowGMM that answers by the flow's posterior alone |
/// | flowgmm-no-teachers | FlowGMM whose start no teacher guides |
/// | flowgmm-paper, flowgmm-paper-miniboone | FlowGMM with the paper's settings for this kind of data; with its rate for Miniboone |
/// | flowgmm-paper-toy, flowgmm-paper-toy-labelled | FlowGMM with the settings of the authors' notebooks; without the unlabelled rows |
/// | diglm | [`Diglm`] |
/// | eq4, eq4-em, eq4-means, eq4-means-half, eq4-means-double, eq4-joint, eq4-closed-form, eq4-alternating | FlowGMM by the likelihood of eq. 4 alone, with different ways to place or learn the mixture |
///
/// ```
/// let registry = flowgmm_bench::registry();
/// assert!(["flowgmm", "diglm", "eq4", "knn"].iter().all(|name| registry.get(name).is_some()));
/// ```
pub fn registry() -> Registry {
    let mut registry = Registry::baselines();
    for (name, variant) in [
        ("flowgmm", Variant::Automatic),
        ("flowgmm-pure", Variant::Pure),
        ("flowgmm-no-consistency", Variant::NoConsistency),
        ("flowgmm-em", Variant::Em),
        ("flowgmm-labelled", Variant::LabelledOnly),
        ("flowgmm-no-teachers", Variant::NoTeachers),
    ] {
        registry.register(name, FlowGmm::new(variant));
    }
    paper::register(&mut registry);
    let member = FlowGmm::new(Variant::Automatic);
    registry.register("flowgmm-ensemble", Ensemble { member, members: MEMBERS });
    registry.register("diglm", Diglm::default());
    mixtures::register(&mut registry);
    registry
}

/// FlowGMM with settings chosen from the data, or with one thing changed.
#[derive(Clone, Copy)]
struct FlowGmm {
    recipe: u32,
    variant: Variant,
    steps: Option<usize>,
}

/// The settings that are recorded with each result. The steps are named only where the caller set them.
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
    /// With the consistency of eq. 7.
    Automatic,
    /// With the posterior of the flow alone, whatever else the recipe would average it with.
    Pure,
    /// Without consistency: eq. 4.
    NoConsistency,
    /// By EM (appendix A) instead of descent on the marginal, without consistency.
    Em,
    /// Without the unlabelled rows.
    LabelledOnly,
    /// Without teachers.
    NoTeachers,
}

impl FlowGmm {
    fn new(variant: Variant) -> Self {
        Self { recipe: recipe::RECIPE, variant, steps: None }
    }

    fn config(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> flowgmm::Result<FitConfig> {
        let mut config = Recipe::watched(Preset::Auto, data, seed, &mut Reporting::to(watch))?.config;
        config.train.steps = self.steps.unwrap_or(config.train.steps);
        match self.variant {
            Variant::Automatic | Variant::LabelledOnly => {}
            Variant::Pure => config.forest = None,
            Variant::NoConsistency => config.train.objective.consistency = None,
            Variant::NoTeachers => {
                config.teachers.clear();
                config.forest = None;
            }
            Variant::Em => {
                config.train.objective.consistency = None;
                config.train.em = Some(Em::new(1, MixtureStep::Fixed));
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
            Variant::Pure => "FlowGMM, flow alone".into(),
            Variant::NoConsistency => "FlowGMM, no consistency".into(),
            Variant::Em => "FlowGMM, EM".into(),
            Variant::LabelledOnly => "FlowGMM, labelled only".into(),
            Variant::NoTeachers => "FlowGMM, no teachers".into(),
        }
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> flowgmm::Result<Model> {
        let own = matches!(self.variant, Variant::LabelledOnly).then(|| data.labelled_only());
        let data = own.as_ref().unwrap_or(data);
        Fitter::new(&self.config(data, seed, watch)?, data, seed).run(&mut Reporting::to(watch))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps: Some(steps), ..*self })
    }
}
