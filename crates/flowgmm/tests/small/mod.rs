//! A small problem, small settings, and every path through training that keeps state of its own.
#![allow(dead_code)] // each test file uses its own part of this

use flowgmm::{
    Em, FitConfig, Fitter, FlowGmm, MixtureStep, Model, MultiStart, Prior, Result, Trainable,
    objective::{Agreement, Consistency},
    tensor::to_vec,
    train::{DecayShape, Refine, Schedule},
};
use semisup::{SemiSupervised, Toy};

/// Ten labelled moon points and sixty without a label.
pub fn data() -> SemiSupervised {
    let train = Toy::Moons.problem(1).train;
    let mut rows = train.labelled();
    rows.extend(train.unlabelled().into_iter().take(60));
    train.select(&rows).unwrap()
}

/// A small network for a few dozen steps.
pub fn config() -> FitConfig {
    let mut config = FitConfig::toy();
    config.architecture.depth = 2;
    config.architecture.hidden = vec![8];
    config.multi_start = MultiStart { starts: 1, fraction: 0.25, folds: 2 };
    config.train.steps = 40;
    config.train.batch_labelled = 8;
    config.train.batch_unlabelled = 16;
    config.train.em = None;
    config
}

/// Bits of all parameters, trained or not.
pub fn parameters(model: &Model) -> Vec<Vec<u64>> {
    model
        .gmm()
        .thetas()
        .into_iter()
        .map(|theta| to_vec(theta.value()).into_iter().map(f64::to_bits).collect())
        .collect()
}

pub fn all_finite(gmm: &FlowGmm) -> bool {
    gmm.thetas().into_iter().all(|theta| to_vec(theta.value()).iter().all(|v| v.is_finite()))
}

/// Every path through training that keeps state of its own.
pub fn variants() -> Vec<(&'static str, FitConfig)> {
    let with = |change: &dyn Fn(&mut FitConfig)| {
        let mut config = config();
        change(&mut config);
        config
    };
    let consistent = |agreement| {
        with(&|c| c.train.objective.consistency = Some(Consistency { agreement, weight: 0.5, ramp: 0.5 }))
    };
    let em = |mixture| {
        with(&|c| {
            c.train.em = Some(Em::new(1, mixture));
            c.train.objective.alignment = 0.5;
            c.architecture.per_class = 2;
        })
    };
    vec![
        ("toy", config()),
        ("several starts", with(&|c| c.multi_start.starts = 2)),
        ("EM, closed form", em(MixtureStep::ClosedForm)),
        ("EM, alternating", em(MixtureStep::Alternating { iterations: 3 })),
        ("EM, fixed mixture", em(MixtureStep::Fixed)),
        ("EM and several starts", {
            let mut config = em(MixtureStep::ClosedForm);
            config.multi_start.starts = 2;
            config
        }),
        ("no average", with(&|c| c.train.ema = None)),
        ("likelihood", consistent(Agreement::Likelihood)),
        ("squared difference", consistent(Agreement::SquaredDifference)),
        ("cross-entropy", consistent(Agreement::CrossEntropy { confidence: 0.6 })),
        ("refined", {
            let mut config = consistent(Agreement::CrossEntropy { confidence: 0.6 });
            config.train.refine = Some(Refine { from: 0.3, every: 0.2, rest: 0.6 });
            config
        }),
        (
            "trained mixture",
            with(&|c| {
                c.architecture.trainable = Trainable { means: true, covariances: true, weights: true };
                c.architecture.prior = Prior::Empirical;
                c.train.objective.alignment = 0.5;
            }),
        ),
        ("rolled back", with(&|c| c.train.schedule = constant(1e3))),
        ("diverging", with(&|c| c.train.schedule = constant(1e6))),
    ]
}

pub fn constant(peak: f64) -> Schedule {
    Schedule { peak, warm_up: 0.0, shape: DecayShape::Constant }
}

/// A fit to numbers, without anybody watching.
pub fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> Result<Model> {
    Fitter::new(config, data, seed).run(&mut ())
}
