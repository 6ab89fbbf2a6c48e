//! DIGLM, the deep invertible generalised linear model of Nalisnick, Matsukawa, Teh, Gorur and Lakshminarayanan (2019),
//! the model nearest to FlowGMM: a linear classifier on the latent space of a flow whose likelihood regularises it.
//!
//! ```text
//! p(y | x) = softmax(W z + b),  z = f(x)          log p(x) = log N(z; 0, I) + log|det df/dx|
//! minimised: mean_labelled -log p(y | x)  +  lambda / dim mean_all -log p(x)
//! ```
//!
//! Labelled rows have both terms, unlabelled ones the likelihood alone. FlowGMM has one Gaussian for each class in the
//! latent space and no classifier; here one Gaussian is shared by all classes. The flow, its preprocessing, views and
//! schedule are those of FlowGMM on the same data ([`Recipe::of`]), so that only the model differs.

use burn_tensor::Tensor;
use ndarray::{Array2, ArrayView2, s};
use semisup::{Classifier, Learner, Preprocess, SemiSupervised, Watch, metrics::log_softmax};

use flowgmm::{Error, FitConfig, Prepared, Preset, Recipe, Reporting, Result};
use flowgmm_core::{
    Flow, SCORING_BATCH, Theta,
    bijection::{Bijection, Mapped, NormStatistics},
    objective::Batch,
    tensor::{Place, log_normalise, one_hot, to_array, to_scalar},
    train::{Adam, Average, Batches, Noise, Perturbation, Purpose, TrainConfig, TrainingRows, stream},
};

/// Rows that the flow's data-dependent layers see first.
const ADAPTING: usize = 2048;
/// Batches over which the running statistics of the finished flow are averaged.
const STATISTICS_BATCHES: usize = 64;
/// Steps without a finite gradient, one after the other, before training gives up.
const PATIENCE: usize = 10;

/// DIGLM as a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diglm {
    /// Weight of the likelihood per dimension, where a label weighs 1.
    pub lambda: f64,
    /// Optimiser steps; as many as FlowGMM would take if absent.
    pub steps: Option<usize>,
}

impl Default for Diglm {
    /// A nat per dimension weighs as much as a nat of a label, as in FlowGMM's settings for images.
    fn default() -> Self {
        Self { lambda: 1.0, steps: None }
    }
}

impl Diglm {
    /// The settings of FlowGMM on these data, of which DIGLM uses the flow and its training.
    fn config(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<FitConfig> {
        if !(self.lambda.is_finite() && self.lambda >= 0.0) {
            return Err(Error::Config(format!("lambda must be a number from 0, got {}", self.lambda)));
        }
        let mut config = Recipe::watched(Preset::Auto, data, seed, &mut Reporting::to(watch))?.config;
        config.teachers = Vec::new();
        config.train.steps = self.steps.unwrap_or(config.train.steps);
        config.validate()?;
        Ok(config)
    }
}

impl Learner for Diglm {
    type Model = DiglmModel;
    type Error = Error;

    fn name(&self) -> String {
        "DIGLM".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<DiglmModel> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<DiglmModel> {
        let config = self.config(data, seed, watch)?;
        let problem = Prepared::new(&config, data, &mut Reporting::to(watch))?;
        let place = Place::cpu();
        let rng = &mut stream(seed, Purpose::Parameters, 0);
        let (architecture, dim) = (&config.architecture, problem.dim());
        let mut flow = Flow::new(architecture.flow(dim), architecture.init, rng, &place)?;
        let n = problem.n();
        let first: Vec<usize> = (0..n.min(ADAPTING)).map(|i| i * n / n.min(ADAPTING)).collect();
        flow.adapt(&place.rows(problem.x_of(&first).view()));
        let fresh = Hybrid::new(flow, data.n_classes(), &place);
        let rows = problem.rows(&problem.whole());
        let hybrid = train(&config.train, self.lambda, &rows, fresh, seed, watch)?;
        Ok(DiglmModel { preprocess: problem.preprocess, hybrid, classes: data.classes().to_vec() })
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps: Some(steps), ..*self })
    }
}

/// A fitted [`Diglm`].
#[derive(Clone, Debug)]
pub struct DiglmModel {
    preprocess: Preprocess,
    hybrid: Hybrid,
    classes: Vec<String>,
}

impl Classifier for DiglmModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let place = self.hybrid.head.place();
        let mut logits = Array2::zeros((x.nrows(), self.classes.len()));
        for start in (0..x.nrows()).step_by(SCORING_BATCH) {
            let rows = s![start..(start + SCORING_BATCH).min(x.nrows()), ..];
            let x = self.preprocess.apply(x.slice(rows));
            let z = self.hybrid.flow.forward(place.rows(x.view())).value;
            logits.slice_mut(rows).assign(&to_array(&self.hybrid.logits(z)));
        }
        log_softmax(logits.view())
    }
}

/// A flow and a linear map of its latent space.
#[derive(Clone, Debug)]
struct Hybrid {
    flow: Flow,
    /// W `[K, dim]` and b `[1, K]`.
    head: Theta,
}

impl Hybrid {
    /// A flow with a classifier whose weights are 0.
    fn new(flow: Flow, n_classes: usize, place: &Place) -> Self {
        let dim = flow.dim();
        let w = ("W".to_string(), [n_classes, dim], vec![0.0; n_classes * dim]);
        let b = ("b".to_string(), [1, n_classes], vec![0.0; n_classes]);
        Self { head: Theta::new(vec![w, b], place), flow }
    }

    /// W z + b, `[n, K]`.
    fn logits(&self, z: Tensor<2>) -> Tensor<2> {
        z.matmul(self.head.part(0).transpose()) + self.head.part(1)
    }

    /// What is minimised, `[1]`.
    fn loss(&self, batch: &Batch, lambda: f64) -> Tensor<1> {
        let x = match &batch.unlabelled {
            None => batch.x_l.clone(),
            Some(rows) => Tensor::cat(vec![batch.x_l.clone(), rows.x.clone()], 0),
        };
        let Mapped { value: z, log_det } = self.flow.forward(x); // one pass for all rows
        let dim = self.flow.dim() as f64;
        let log_normal = z.clone().square().sum_dim(1) * -0.5 - 0.5 * dim * std::f64::consts::TAU.ln();
        let nll = (log_normal + log_det).mean_dim(0).neg();
        let logits = self.logits(z.narrow(0, 0, batch.y_l.len()));
        let [_, k] = logits.dims();
        let hot = one_hot(&batch.y_l, k, &self.head.place());
        let cross_entropy = (log_normalise(logits) * hot).sum_dim(1).mean_dim(0).neg();
        (cross_entropy + nll * (lambda / dim)).reshape([1])
    }

    /// The parameters that gradients train, the classifier's last.
    fn trained(&self) -> Vec<&Theta> {
        let flow = self.flow.thetas().into_iter().zip(self.flow.trained());
        flow.filter_map(|(theta, on)| on.then_some(theta)).chain([&self.head]).collect()
    }

    /// The parameters that gradients train, to be updated.
    fn trained_mut(&mut self) -> Vec<&mut Theta> {
        let on = self.flow.trained();
        let flow = self.flow.thetas_mut().into_iter().zip(on);
        flow.filter_map(|(theta, on)| on.then_some(theta)).chain([&mut self.head]).collect()
    }

    fn values(&self) -> Vec<Tensor<1>> {
        self.trained().into_iter().map(|theta| theta.value().clone()).collect()
    }

    /// A loss, and its gradient by each of the trained parameters.
    fn gradient(&self, batch: &Batch, lambda: f64) -> (f64, Vec<Tensor<1>>) {
        let mut tracked = self.clone();
        tracked.flow = tracked.flow.with_statistics(NormStatistics::Batch);
        for theta in tracked.trained_mut() {
            let leaf = theta.value().clone().autodiff().require_grad();
            theta.set(leaf);
        }
        let loss = tracked.loss(batch, lambda);
        let mut graph = loss.backward();
        let of = |theta: &Theta| {
            let leaf = theta.value();
            leaf.grad_remove(&mut graph).unwrap_or_else(|| leaf.clone().without_autodiff().zeros_like())
        };
        (to_scalar(&loss), tracked.trained().into_iter().map(of).collect())
    }
}

/// Trains by Adam. The result has the moving average of the weights, and batch statistics of its own.
fn train(
    config: &TrainConfig,
    lambda: f64,
    rows: &TrainingRows,
    mut hybrid: Hybrid,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Hybrid> {
    let place = hybrid.head.place();
    let views = config.views.as_ref().map(|views| views as &dyn Perturbation);
    let noise = Noise { sigma: config.noise, labelled: views, unlabelled: views, two_views: false };
    let mut batches = Batches::new(rows, (config.batch_labelled, config.batch_unlabelled), seed, noise);
    let mut average = hybrid.values();
    let mut adam = Adam::new(config.adam, &average);
    let mut failures = 0;
    for step in 0..config.steps {
        watch.at(step as f64 / config.steps as f64)?;
        let (loss, gradients) = hybrid.gradient(&batches.batch(step, None, &place)?, lambda);
        let norm = Adam::norm(&gradients);
        if !(loss.is_finite() && norm.is_finite()) {
            // A step that would spoil the weights is left out.
            failures += 1;
            if failures > PATIENCE {
                let cause = format!("the loss is {loss}, its gradient's norm {norm}");
                return Err(Error::Diverged { step, cause, rollbacks: failures });
            }
            continue;
        }
        failures = 0;
        // Taken out while they change, so that nobody else holds them and no copy is made.
        let mut thetas: Vec<Tensor<1>> = hybrid.trained_mut().into_iter().map(Theta::take).collect();
        let t = step as f64 + 1.0;
        let decay = config.ema.map_or(0.0, |decay| decay.min((1.0 + t) / (10.0 + t)));
        let following = Some(Average { thetas: &mut average, decay });
        adam.step(&mut thetas, following, &gradients, norm, config.schedule.rate(step, config.steps));
        hybrid.trained_mut().into_iter().zip(thetas).for_each(|(theta, value)| theta.put(value));
    }
    hybrid.trained_mut().into_iter().zip(average).for_each(|(theta, value)| theta.set(value));
    update_statistics(&mut hybrid.flow, &mut batches, config.steps, &place)?;
    Ok(hybrid)
}

/// Computes the running statistics of batch normalisation on training batches.
fn update_statistics(flow: &mut Flow, batches: &mut Batches, step: usize, place: &Place) -> Result<()> {
    if !flow.trained().contains(&false) {
        return Ok(());
    }
    for i in 0..STATISTICS_BATCHES {
        let batch = batches.batch(step + i, None, place)?;
        let x = match batch.unlabelled {
            None => batch.x_l,
            Some(rows) => Tensor::cat(vec![batch.x_l, rows.x], 0),
        };
        flow.update_running_statistics(x, 1.0 / (i + 1) as f64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowgmm_core::{
        FlowSpec,
        bijection::{Form, Init},
        objective::UnlabelledBatch,
        tensor::to_vec,
    };

    /// A small flow in double precision with a head that is not zero, and a batch.
    fn problem() -> (Hybrid, Batch) {
        let place = Place::cpu_f64();
        let mut rng = semisup::rng(1);
        let spec = FlowSpec::couplings(4, 2, &[5], Form::ScaleThenShift);
        let flow = Flow::new(spec, Init::Random, &mut rng, &place).unwrap();
        let mut hybrid = Hybrid::new(flow, 3, &place);
        let numbers = |n: usize, by: f64| (0..n).map(|i| (by * (i + 1) as f64).sin()).collect::<Vec<f64>>();
        hybrid.head.set(place.vector(numbers(15, 1.3)));
        let x = |n: usize, by: f64| place.matrix(numbers(4 * n, by), [n, 4]);
        let unlabelled =
            UnlabelledBatch { x: x(3, 0.7), other_view: None, soft_targets: None, responsibilities: None };
        (hybrid, Batch { x_l: x(2, 1.1), y_l: vec![2, 0], unlabelled: Some(unlabelled) })
    }

    #[test]
    fn gradients_agree_with_differences() {
        const H: f64 = 1e-6;
        let (mut hybrid, batch) = problem();
        let place = hybrid.head.place();
        let (_, gradients) = hybrid.gradient(&batch, 0.8);
        for (at, gradient) in gradients.iter().enumerate() {
            let by_autodiff = to_vec(gradient);
            let start = to_vec(&hybrid.values()[at]);
            for i in 0..start.len() {
                let mut moved = |by: f64| {
                    let mut values = start.clone();
                    values[i] += by;
                    hybrid.trained_mut()[at].set(place.vector(values));
                    to_scalar(&hybrid.loss(&batch, 0.8))
                };
                let numeric = (moved(H) - moved(-H)) / (2.0 * H);
                moved(0.0);
                // Differences of f64 with such steps are good to about 1e-9.
                assert!((by_autodiff[i] - numeric).abs() < 1e-7, "{at}, {i}: {} {numeric}", by_autodiff[i]);
            }
            assert!(by_autodiff.iter().any(|g| g.abs() > 1e-3), "vector {at} does not matter");
        }
    }

    /// The loss by its definition, from the flow's own z and log-det.
    #[test]
    fn the_loss_is_cross_entropy_and_likelihood() {
        let (hybrid, batch) = problem();
        let unlabelled = &batch.unlabelled.as_ref().unwrap().x;
        let Mapped { value, log_det } =
            hybrid.flow.forward(Tensor::cat(vec![batch.x_l.clone(), unlabelled.clone()], 0));
        let (z, log_det) = (to_array(&value), to_vec(&log_det));
        let log_p = |row: usize| {
            let square: f64 = z.row(row).iter().map(|v| v * v).sum();
            -0.5 * square - 2.0 * std::f64::consts::TAU.ln() + log_det[row]
        };
        let likelihood = (0..5).map(log_p).sum::<f64>() / 5.0;
        let log_probs = log_softmax(to_array(&hybrid.logits(value)).view());
        let expected = -(log_probs[[0, 2]] + log_probs[[1, 0]]) / 2.0 - 0.8 / 4.0 * likelihood;
        assert!((to_scalar(&hybrid.loss(&batch, 0.8)) - expected).abs() < 1e-12);
    }
}
