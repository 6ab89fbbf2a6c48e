//! Learners made of learners (meta-estimators): on standardised columns, tuned by cross-validation, averaged.

use std::num::NonZeroUsize;

use ndarray::{Array2, ArrayView2, Zip};
use rand::Rng as _;
use semisup::{Classifier, Learner, Part, Preprocess, SemiSupervised, Watch, rng, split};

/// A learner on columns standardised by the mean and variance of all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Standardised<L>(pub L);

/// The model that [`Standardised`] fits.
#[derive(Clone, Debug, PartialEq)]
pub struct StandardisedModel<M> {
    preprocess: Preprocess,
    model: M,
}

impl<L: Learner> Learner for Standardised<L>
where
    L::Error: From<semisup::Error>,
{
    type Model = StandardisedModel<L::Model>;
    type Error = L::Error;

    fn name(&self) -> String {
        self.0.name()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<Self::Model, L::Error> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Self::Model, L::Error> {
        let preprocess = Preprocess::standardise(data.x())?;
        let scaled = data.with_rows(preprocess.apply(data.x()))?;
        Ok(StandardisedModel { preprocess, model: self.0.fit_watched(&scaled, seed, watch)? })
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self(self.0.with_steps(steps)?))
    }
}

impl<M: Classifier> Classifier for StandardisedModel<M> {
    fn classes(&self) -> &[String] {
        self.model.classes()
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.model.log_probs(self.preprocess.apply(x).view())
    }
}

/// The candidate with the best accuracy in a cross-validation over the labelled rows; the rows of a held-out fold stay in
/// the data without their labels. Of equally good candidates, and if there are too few labels to hold one out, the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned<L> {
    /// The candidate that is taken unless another is better.
    pub default: L,
    /// The other candidates.
    pub others: Vec<L>,
    /// Number of folds.
    pub folds: usize,
}

impl<L: Learner> Tuned<L>
where
    L::Error: From<semisup::Error>,
{
    /// The best candidate for these data.
    pub fn choose(&self, data: &SemiSupervised, seed: u64) -> Result<&L, L::Error> {
        self.choose_watched(data, seed, &())
    }

    fn choose_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<&L, L::Error> {
        let labelled = data.labelled();
        let y: Vec<usize> = data.y().iter().flatten().copied().collect();
        let folds = split::folds(&y, self.folds, &mut rng(seed));
        if self.others.is_empty() || folds.is_empty() {
            return Ok(&self.default);
        }
        let mut right = vec![0; 1 + self.others.len()];
        let n_fits = folds.len() * right.len();
        for (i, fold) in folds.iter().enumerate() {
            let held_out: Vec<usize> = fold.iter().map(|&i| labelled[i]).collect();
            let shown = hide(data, &held_out)?;
            let x = data.x().select(ndarray::Axis(0), &held_out);
            let n = right.len();
            for (j, (right, candidate)) in right.iter_mut().zip(self.candidates()).enumerate() {
                let part = Part::of(watch, i * n + j, n_fits);
                let predicted = candidate.fit_watched(&shown, seed, &part)?.predict(x.view());
                *right += predicted.iter().zip(fold).filter(|(k, i)| **k == y[**i]).count();
            }
        }
        let best = right.iter().max().expect("the default is there");
        Ok(self.candidates().zip(&right).find(|(_, right)| *right == best).expect("it is one of them").0)
    }

    fn candidates(&self) -> impl Iterator<Item = &L> {
        std::iter::once(&self.default).chain(&self.others)
    }
}

/// The data without the labels of some rows.
fn hide(data: &SemiSupervised, rows: &[usize]) -> semisup::Result<SemiSupervised> {
    let mut y = data.y().to_vec();
    rows.iter().for_each(|&row| y[row] = None);
    let hidden =
        SemiSupervised::new(data.x().to_owned(), y, data.classes().to_vec(), data.columns().to_vec())?;
    Ok(hidden.with_steps(data.steps().to_vec()).with_image_shape(data.image_shape()))
}

impl<L: Learner> Learner for Tuned<L>
where
    L::Error: From<semisup::Error>,
{
    type Model = L::Model;
    type Error = L::Error;

    fn name(&self) -> String {
        format!("{}, tuned", self.default.name())
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<L::Model, L::Error> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<L::Model, L::Error> {
        // As many fits as folds and candidates ask for, and one more.
        let fits = self.folds * (1 + self.others.len());
        let chosen = fits as f64 / (fits + 1) as f64;
        let best = self.choose_watched(data, seed, &Part::new(watch, 0.0..chosen))?;
        best.fit_watched(data, seed, &Part::new(watch, chosen..1.))
    }
}

/// Several models fitted with different seeds, whose probabilities are averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble<L> {
    /// The learner of each member.
    pub member: L,
    /// Number of members.
    pub members: NonZeroUsize,
}

/// The model that [`Ensemble`] fits.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleModel<M> {
    members: Vec<M>, // at least one
}

impl<L: Learner> Learner for Ensemble<L> {
    type Model = EnsembleModel<L::Model>;
    type Error = L::Error;

    fn name(&self) -> String {
        format!("{} x {}", self.members, self.member.name())
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<Self::Model, L::Error> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Self::Model, L::Error> {
        let (mut seeds, n) = (rng(seed), self.members.get());
        let members = (0..n).map(|i| self.member.fit_watched(data, seeds.random(), &Part::of(watch, i, n)));
        Ok(EnsembleModel { members: members.collect::<Result<_, _>>()? })
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { member: self.member.with_steps(steps)?, members: self.members })
    }
}

impl<M> EnsembleModel<M> {
    /// The members.
    pub fn members(&self) -> &[M] {
        &self.members
    }
}

impl<M: Classifier> Classifier for EnsembleModel<M> {
    fn classes(&self) -> &[String] {
        self.members[0].classes()
    }

    /// log of the mean of the members' probabilities.
    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let all: Vec<Array2<f64>> = self.members.iter().map(|member| member.log_probs(x)).collect();
        let mut largest = all[0].clone();
        all.iter().for_each(|one| Zip::from(&mut largest).and(one).for_each(|a, &b| *a = a.max(b)));
        let mut sum: Array2<f64> = Array2::zeros(largest.dim());
        for one in &all {
            Zip::from(&mut sum).and(one).and(&largest).for_each(|sum, &one, &largest| {
                // -inf - -inf is NaN: the class has probability 0 in every member.
                *sum += if largest == f64::NEG_INFINITY { 0. } else { (one - largest).exp() };
            });
        }
        let count = all.len() as f64;
        Zip::from(&mut sum).and(&largest).for_each(|sum, &largest| {
            *sum = if largest == f64::NEG_INFINITY { largest } else { largest + (*sum / count).ln() };
        });
        sum
    }
}
