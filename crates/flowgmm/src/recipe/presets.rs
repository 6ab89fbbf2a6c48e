//! The originals as they are: the paper's configuration for tables and text, and that of the authors' code.
//!
//! Neither looks at the data beyond its size. They are here to be compared with, not to be relied on: with few labels
//! both often lose to logistic regression.

use semisup::SemiSupervised;

use crate::config::{FitConfig, Prepare, QuantileTransform};
use flowgmm_core::{
    Means,
    bijection::{Form, Init},
    objective::{LabelledTerm, Objective},
    train::{AdamConfig, Decay, DecayShape},
};

/// Columns from which the paper takes the wider network of its text experiments.
const TEXT_COLUMNS: usize = 300;
/// Unlabelled rows in a batch, as far as there are as many.
const BATCH: usize = 2000;

impl FitConfig {
    /// The paper's section 5.2 and appendix: seven couplings with one hidden layer, random means, unit covariances,
    /// eq. 4 and nothing else, 50 epochs (30 for embeddings of text).
    pub fn paper(data: &SemiSupervised) -> Self {
        let text = data.dim() >= TEXT_COLUMNS;
        let mut config = Self::original(data, if text { 30 } else { 50 });
        config.architecture.depth = 7;
        config.architecture.hidden = vec![if text { 512 } else { 256 }];
        config.architecture.means = Means::Random { r: 1.0 };
        config.architecture.sigma = 1.0;
        config.train.schedule.peak = if text { 1e-4 } else { 3e-3 };
        config
    }

    /// The authors' published code for tables: ten couplings with two hidden layers and dropout of 0.5 between them,
    /// antipodal means for two classes, 0.56 N(0, I) for more, sigma = softplus(1), the likelihood given the label on
    /// labelled rows, AdamW under a cosine, gradients clipped at 100.
    ///
    /// Three things differ: couplings keep every other column instead of the first and the second half in turn, the
    /// gain of the scale is not weight-normalised, and batches have 2,000 unlabelled rows instead of 5,000.
    pub fn reference_code(data: &SemiSupervised) -> Self {
        let text = data.dim() >= TEXT_COLUMNS;
        let mut config = Self::original(data, if text { 100 } else { 15 });
        config.architecture.depth = if text { 7 } else { 10 };
        config.architecture.hidden = vec![if text { 1024 } else { 256 }; 2];
        config.architecture.means = if data.n_classes() == 2 {
            Means::Antipodal { distance: 7.5 }
        } else {
            Means::Random { r: 0.56 }
        };
        config.architecture.sigma = 1f64.exp().ln_1p();
        config.train.schedule.peak = if text { 3e-4 } else { 1e-3 };
        config.train.objective.labelled_term = LabelledTerm::Conditional;
        config.train.objective.unlabelled = if text { 0.6 } else { 10.0 };
        config.train.dropout = 0.5;
        config.train.schedule.shape = DecayShape::Cosine { floor: 0.0 };
        config.train.adam =
            AdamConfig { clip: Some(100.0), decay: Decay::Decoupled(1e-5), ..AdamConfig::default() };
        config
    }

    /// What both have in common.
    fn original(data: &SemiSupervised, epochs: usize) -> Self {
        let mut config = Self::toy();
        let n_u = data.unlabelled().len();
        let rows = if n_u > 0 { n_u } else { data.n() };
        config.quantile_transform = QuantileTransform::Off;
        config.prepare = Prepare::Standardise;
        config.architecture.init = Init::Random;
        config.architecture.coupling = flowgmm_core::Transform::Affine { form: Form::ShiftThenScale };
        config.teachers = Vec::new();
        config.train.steps = epochs * rows.div_ceil(BATCH);
        config.train.batch_unlabelled = BATCH;
        config.train.batch_labelled = data.labelled().len().clamp(1, BATCH);
        config.train.schedule.warm_up = 0.0;
        config.train.schedule.shape = DecayShape::Constant;
        config.train.adam = AdamConfig { clip: None, decay: Decay::None, ..AdamConfig::default() };
        config.train.ema = None;
        config.train.objective = Objective::likelihood();
        config.train.noise = 0.0;
        config.train.view_noise = 0.0;
        config
    }
}

#[cfg(test)]
mod tests {
    use semisup::{ImageShape, Toy, digits_problem};

    use super::*;

    /// The paper's posterior is the flow's Bayes rule (eq. 5) and nothing else.
    #[test]
    fn only_the_automatic_recipe_of_tables_has_a_forest() {
        let (table, images) = (Toy::Moons.problem(0).train, digits_problem(5, 0).train);
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        let presets = [
            FitConfig::toy(),
            FitConfig::table(&table),
            FitConfig::paper(&table),
            FitConfig::reference_code(&table),
            FitConfig::image(&images, shape).unwrap(),
            FitConfig::paper_image(&images, shape).unwrap(),
        ];
        assert!(presets.iter().all(|config| config.forest.is_none()));
        assert!(crate::Recipe::choose(&table, 0).unwrap().config.forest.is_some());
    }
}
