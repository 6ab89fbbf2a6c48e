//! What must hold of the settings of a training run.

use super::TrainConfig;
use crate::rule::Rule;

impl TrainConfig {
    /// What must hold of the settings.
    pub fn rules(&self) -> Vec<Rule> {
        let fraction = |v: f64| (0.0..=1.0).contains(&v);
        let weight = |v: f64| v.is_finite() && v >= 0.0;
        let objective = &self.objective;
        let extra = [&objective.consistency.map(|c| c.weight), &objective.soft_targets.map(|s| s.weight)];
        let weights =
            [objective.labelled, objective.unlabelled, objective.cross_entropy, objective.alignment];
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
                self.views.is_none_or(|v| v.is_sensible()),
                "moves within the image, rotations up to 180, scales up to 0.9, shears up to 1",
            ),
            (
                "train.refine",
                self.refine.is_none_or(|r| r.is_sensible()),
                "fractions of training, rest not before from, every above 0",
            ),
            (
                "train.objective weights",
                weights.into_iter().chain(extra.into_iter().copied().flatten()).all(weight),
                "at least 0",
            ),
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
