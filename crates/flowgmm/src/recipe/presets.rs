//! The originals as they are: the paper's configuration by kind of data, and those of the authors' code.
//!
//! They do not look at the data beyond its size. They are here to be compared with, not to be relied on: with few labels
//! they often lose to logistic regression. Where every number comes from:
//!
//! | | toys (2 columns) | tables | text (300 columns or more) |
//! |---|---|---|---|
//! | couplings x hidden | 5 x 512, section 5.1 | 7 x 256, appendix D | 7 x 512, appendix D |
//! | means, covariances | N(0, I), I, section 5 | the same | the same |
//! | objective | eq. 4 | eq. 4 | eq. 4 |
//! | Adam's rate | 1e-4, notebooks | 3e-3 (Hepmass; Miniboone 3e-4), table of rates | 1e-4, table of rates |
//! | labelled, unlabelled batch | n_l, n_l, notebooks | n_l, 2000, appendix D | n_l, n_l, appendix D |
//! | length | 5000 steps, notebooks | 50 epochs, appendix D | 30 epochs, appendix D |
//!
//! The paper says nothing of rates, batches and steps of its toys; those are the ones of the notebooks that its authors
//! published. Images are in [`super::images`].

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
/// Unlabelled rows in a batch of a table, as far as there are as many.
const BATCH: usize = 2000;
/// Steps of the authors' notebooks on toys.
const TOY_STEPS: usize = 5000;
/// Coordinates of the two means in the authors' notebook on moons: (-r, -r) and (r, r). On circles theirs are at (r, 0) and (-r, 0);
/// with sigma = softplus(1) that did worse: labels at the notebooks' places, development seeds, 96.1% over eight against 97.9% over four.
const TOY_MEAN: f64 = 3.5;
/// Radius of the ring of more means in their notebooks.
const TOY_RING: f64 = 5.5;
/// The notebooks leave sigma to the mixture of the authors' code, whose default is softplus(log(e - 1)) = 1. On circles it takes
/// accuracy from 96.8% to 98.2% (six development seeds) where sigma = softplus(1), which the code for tables has, was used.
const TOY_SIGMA: f64 = 1.0;

/// The authors' code for tables has sigma = softplus of this.
const CODE_SIGMA: f64 = 1.0;

/// What kind of rows the paper would take these for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Toy,
    Table,
    Text,
}

impl Kind {
    fn of(data: &SemiSupervised) -> Self {
        match data.dim() {
            0..=2 => Self::Toy,
            TEXT_COLUMNS.. => Self::Text,
            _ => Self::Table,
        }
    }
}

impl FitConfig {
    /// The paper's sections 5.1 and 5.2 and appendix D, by kind of data: RealNVP with one hidden layer, random means, unit
    /// covariances, eq. 4 and nothing else. The module's table says where each number comes from.
    pub fn paper(data: &SemiSupervised) -> Self {
        let kind = Kind::of(data);
        let n_l = data.labelled().len().max(1);
        let mut config = Self::original(data);
        config.architecture.depth = if kind == Kind::Toy { 5 } else { 7 };
        config.architecture.hidden = vec![if kind == Kind::Table { 256 } else { 512 }];
        config.architecture.means = Means::Random { r: 1.0 };
        config.architecture.sigma = 1.0;
        config.train.schedule.peak = if kind == Kind::Table { 3e-3 } else { 1e-4 };
        config.train.batch_unlabelled = if kind == Kind::Table { BATCH } else { n_l };
        config.train.steps = match kind {
            Kind::Toy => TOY_STEPS,
            Kind::Table => 50 * config.steps_per_epoch(data),
            Kind::Text => 30 * config.steps_per_epoch(data),
        };
        config
    }

    /// The authors' notebooks on toys in the plane: five couplings with two hidden layers of 512 (the code's nets have one
    /// more than the paper says), two means at (-3.5, -3.5) and (3.5, 3.5) or more on a ring of radius 5.5, sigma = 1, eq. 4 and
    /// nothing else, Adam at 1e-4 with an L2 penalty of 0.01, a tenth of the rate after a half and after four fifths of 5,000 steps,
    /// batches of n_l labelled and n_l unlabelled rows.
    ///
    /// Four things differ. The loss is the sum of both means of eq. 4, where the notebooks take one mean over all rows, so that their
    /// penalty counts twice; points are scaled to variance 1; first layers start as those of nets that see the kept columns alone
    /// (`init = "masked"` is theirs); and both toys of two classes have the means of moons. With everything as in the notebooks,
    /// circles were at 97.3% over eleven development seeds, and one of three moons was lost.
    pub fn paper_toy(data: &SemiSupervised) -> Self {
        let n_l = data.labelled().len().max(1);
        let mut config = Self::original(data);
        config.prepare = Prepare::Scale;
        config.architecture.depth = 5;
        config.architecture.hidden = vec![512; 2];
        config.architecture.means = match data.n_classes() {
            2 => Means::Antipodal { distance: 2.0 * TOY_MEAN * (data.dim() as f64).sqrt() },
            _ => Means::Ring { r: TOY_RING },
        };
        config.architecture.sigma = TOY_SIGMA;
        config.train.steps = TOY_STEPS;
        config.train.batch_labelled = n_l;
        config.train.batch_unlabelled = n_l;
        config.train.schedule.peak = 1e-4;
        config.train.schedule.shape = DecayShape::Drops { at: [0.5, 0.8], factor: 0.1 };
        config.train.adam.decay = Decay::L2(0.01);
        config
    }

    /// The authors' published code for tables: ten couplings with two hidden layers and dropout of 0.5 between them,
    /// antipodal means for two classes, 0.56 N(0, I) for more, sigma = softplus(1), the likelihood given the label on
    /// labelled rows, AdamW under a cosine, gradients clipped at 100.
    ///
    /// Three things differ: couplings keep every other column instead of the first and the second half in turn, the
    /// gain of the scale is not weight-normalised, and batches have 2,000 unlabelled rows instead of 5,000.
    pub fn reference_code(data: &SemiSupervised) -> Self {
        let text = Kind::of(data) == Kind::Text;
        let mut config = Self::original(data);
        config.train.steps = if text { 100 } else { 15 } * config.steps_per_epoch(data);
        config.architecture.depth = if text { 7 } else { 10 };
        config.architecture.hidden = vec![if text { 1024 } else { 256 }; 2];
        config.architecture.means = if data.n_classes() == 2 {
            Means::Antipodal { distance: 7.5 }
        } else {
            Means::Random { r: 0.56 }
        };
        config.architecture.sigma = CODE_SIGMA.exp().ln_1p();
        config.train.schedule.peak = if text { 3e-4 } else { 1e-3 };
        config.train.objective.labelled_term = LabelledTerm::Conditional;
        config.train.objective.unlabelled = if text { 0.6 } else { 10.0 };
        config.train.dropout = 0.5;
        config.train.schedule.shape = DecayShape::Cosine { floor: 0.0 };
        config.train.adam =
            AdamConfig { clip: Some(100.0), decay: Decay::Decoupled(1e-5), ..AdamConfig::default() };
        config
    }

    /// What they have in common.
    fn original(data: &SemiSupervised) -> Self {
        let mut config = Self::toy();
        config.quantile_transform = QuantileTransform::Off;
        config.prepare = Prepare::Standardise;
        config.architecture.init = Init::Random;
        config.architecture.coupling = flowgmm_core::Transform::Affine { form: Form::ShiftThenScale };
        config.teachers = Vec::new();
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

    /// Steps of one pass through the unlabelled rows, or all rows where there are no others.
    fn steps_per_epoch(&self, data: &SemiSupervised) -> usize {
        let n_u = data.unlabelled().len();
        let rows = if n_u > 0 { n_u } else { data.n() };
        rows.div_ceil(self.train.batch_unlabelled)
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
            FitConfig::paper_toy(&table),
            FitConfig::reference_code(&table),
            FitConfig::image(&images, shape).unwrap(),
            FitConfig::paper_image(&images, shape).unwrap(),
        ];
        assert!(presets.iter().all(|config| config.forest.is_none()));
        assert!(crate::Recipe::choose(&table, 0).unwrap().config.forest.is_some());
    }
    /// Rows of noise, the first of which are labelled.
    fn rows(n: usize, dim: usize, labelled: usize) -> SemiSupervised {
        let x = ndarray::Array2::from_shape_fn((n, dim), |(i, j)| ((i * 7 + j * 3) % 11) as f64);
        let y = (0..n).map(|i| (i < labelled).then_some(i % 2)).collect();
        let names = |n: usize| (0..n).map(|j| format!("x{j}")).collect();
        SemiSupervised::new(x, y, names(2), names(dim)).unwrap()
    }

    /// Section 5.1 and appendix D, number by number.
    #[test]
    fn the_papers_numbers_are_the_papers() {
        let of = |data: &SemiSupervised| {
            let FitConfig { architecture, train, .. } = FitConfig::paper(data);
            assert!(
                train.objective == Objective::likelihood() && architecture.means == Means::Random { r: 1.0 }
            );
            let batches = (train.batch_labelled, train.batch_unlabelled);
            (architecture.depth, architecture.hidden, train.schedule.peak, batches, train.steps)
        };
        assert_eq!(of(&Toy::Moons.problem(0).train), (5, vec![512], 1e-4, (10, 10), 5000));
        // 10,000 unlabelled rows are 5 batches of 2,000; 50 epochs.
        assert_eq!(of(&rows(10_020, 21, 20)), (7, vec![256], 3e-3, (20, 2000), 250));
        // 2,000 unlabelled rows are 10 batches of n_l = 200; 30 epochs.
        assert_eq!(of(&rows(2_200, 384, 200)), (7, vec![512], 1e-4, (200, 200), 300));
    }

    /// The notebooks' numbers: five couplings of two layers of 512, means at (3.5, 3.5) and (-3.5, -3.5), their mixture's default
    /// sigma, batches of n_l + n_l, Adam with L2, two drops of the rate.
    #[test]
    fn the_toys_numbers_are_the_notebooks() {
        let FitConfig { architecture, train, .. } = FitConfig::paper_toy(&Toy::Circles.problem(0).train);
        assert_eq!((architecture.depth, architecture.hidden), (5, vec![512, 512]));
        let Means::Antipodal { distance } = architecture.means else { panic!("{:?}", architecture.means) };
        assert!((distance / 2.0 - 3.5 * 2.0_f64.sqrt()).abs() < 1e-12 && architecture.sigma == 1.0);
        assert!(train.objective == Objective::likelihood() && train.adam.decay == Decay::L2(0.01));
        let batches = (train.batch_labelled, train.batch_unlabelled, train.steps);
        assert_eq!((batches, train.schedule.peak), ((11, 11, 5000), 1e-4));
        let more = FitConfig::paper_toy(&Toy::Pinwheel.problem(0).train).architecture;
        assert_eq!((more.means, more.sigma), (Means::Ring { r: 5.5 }, 1.0));
    }

    /// Appendix E: 100 epochs of batches of 64 with all labels; 3,000 passes through 1,000 labels by 32.
    #[test]
    fn supervised_images_are_trained_for_100_epochs() {
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        let few = digits_problem(5, 0).train;
        let all = few.labelled_only();
        let supervised = FitConfig::paper_image(&all, shape).unwrap().train;
        let n_l = all.labelled().len();
        assert_eq!((supervised.steps, supervised.batch_labelled), (100 * n_l.div_ceil(64), 64));
        assert!(supervised.objective.consistency.is_none(), "there is nothing to be consistent on");
        let train = FitConfig::paper_image(&few, shape).unwrap().train;
        assert_eq!((train.steps, train.batch_labelled), (3000 * n_l.div_ceil(32), 32));
        let ramp = train.objective.consistency.unwrap().ramp;
        assert!((ramp * 3000.0 - 100.0).abs() < 1e-9, "the first 100 passes");
        assert_eq!(train.objective.labelled, 3.0);
    }
}
