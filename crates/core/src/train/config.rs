//! The settings of a training run, and what must hold of them.

use serde::{Deserialize, Serialize};

use super::{AdamConfig, ImageViews, Refine, Schedule};
use crate::{
    em::Em,
    objective::{Objective, TermName},
    rule::Rule,
};

/// How a run trains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Optimiser steps.
    pub steps: usize,
    /// Labelled rows per step (all of them if there are fewer).
    pub batch_labelled: usize,
    /// Unlabelled rows per step.
    pub batch_unlabelled: usize,
    /// Learning rate.
    pub schedule: Schedule,
    /// Optimiser.
    pub adam: AdamConfig,
    /// Decay of the moving average of the weights, if the average is wanted.
    pub ema: Option<f64>,
    /// What is minimised.
    pub objective: Objective,
    /// Standard deviation of Gaussian noise on all training inputs.
    pub noise: f64,
    /// Standard deviation of the Gaussian perturbation that makes the two views of consistency.
    pub view_noise: f64,
    /// Views of images, for labelled rows too, in place of both noises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<ImageViews>,
    /// Refinement by hard pseudo-labels in the last part of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refine: Option<Refine>,
    /// Dropout rate in the first hidden layer of every coupling's conditioner. Above 0, composed operations compute the
    /// steps, whatever the engine: the kernels have no dropout.
    pub dropout: f64,
    /// Expectation-maximisation instead of plain gradient descent on the marginal.
    pub em: Option<Em>,
    /// Parts that the unlabelled rows are cut into, if each step's gradient is to be an exact sum over them: several workers can
    /// then hold the rows, and their number changes no bit. Not with EM, refinement or views of images.
    #[serde(default)]
    pub shards: Option<usize>,
}

/// Shards of a run, at most.
pub(super) const MOST_SHARDS: usize = 4096;

impl TrainConfig {
    /// What must hold of the settings.
    pub fn rules(&self) -> Vec<Rule> {
        let fraction = |v: f64| (0.0..=1.0).contains(&v);
        let weight = |v: f64| v.is_finite() && v >= 0.0;
        let objective = &self.objective;
        let mut weights = TermName::ALL.iter().map(|term| objective.weight_of(*term));
        vec![
            ("train.steps", self.steps > 0, "at least 1"),
            ("train.batch_labelled", self.batch_labelled > 0, "at least 1"),
            ("train.batch_unlabelled", self.batch_unlabelled > 0, "at least 1"),
            ("train.schedule.peak", self.schedule.peak.is_finite() && self.schedule.peak > 0.0, "positive"),
            ("train.schedule.warm_up", (0.0..1.0).contains(&self.schedule.warm_up), "at least 0, below 1"),
            (
                "train.adam betas",
                [self.adam.beta1, self.adam.beta2].iter().all(|b| (0.0..1.0).contains(b)),
                "at least 0, below 1",
            ),
            ("train.adam.epsilon", self.adam.epsilon > 0.0, "positive"),
            ("train.adam.clip", self.adam.clip.is_none_or(|c| c > 0.0), "positive"),
            ("train.ema", self.ema.is_none_or(|d| (0.0..1.0).contains(&d)), "at least 0, below 1"),
            ("train.noise", weight(self.noise), "at least 0"),
            ("train.dropout", (0.0..1.0).contains(&self.dropout), "at least 0, below 1"),
            ("train.view_noise", weight(self.view_noise), "at least 0"),
            (
                "train.views",
                self.views.is_none_or(|v| v.is_valid()),
                "moves within the image, rotations up to 180, scales up to 0.9, shears up to 1",
            ),
            (
                "train.refine",
                self.refine.is_none_or(|r| r.is_valid()),
                "fractions of training, rest not before from, every above 0",
            ),
            ("train.em.wait", self.em.is_none_or(|em| fraction(em.wait)), "between 0 and 1"),
            (
                "train.shards",
                self.shards.is_none_or(|shards| (1..=MOST_SHARDS).contains(&shards)),
                "between 1 and 4096",
            ),
            (
                "train.shards",
                self.shards.is_none() || (self.em.is_none() && self.refine.is_none() && self.views.is_none()),
                "absent with train.em, train.refine and train.views, whose targets and views are not cut into shards",
            ),
            ("train.objective weights", weights.all(weight), "at least 0"),
            (
                "train.objective",
                objective.labelled > 0.0 || objective.cross_entropy > 0.0,
                "using the labels: labelled or cross_entropy above 0",
            ),
            (
                "train.objective.temperature",
                objective.temperature.is_finite() && objective.temperature > 0.0,
                "positive",
            ),
            (
                "train.objective.consistency.ramp",
                objective.consistency.is_none_or(|c| fraction(c.ramp)),
                "between 0 and 1",
            ),
            (
                "train.objective.soft_targets.until",
                objective.soft_targets.is_none_or(|s| fraction(s.until)),
                "between 0 and 1",
            ),
        ]
    }
}
