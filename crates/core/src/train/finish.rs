//! The model that a run leaves, with running statistics of its own where it has batch normalisation.

use burn_tensor::Tensor;

use super::{Noise, Observer, Perturbation, Trainer, TrainingMatrix};
use crate::{Result, model::FlowGmm, objective::predictions};

/// Batches over which the running statistics of a finished model are averaged.
const FINAL_BATCHES: usize = 64;
/// Batches over which those of a model in training are averaged, for its accuracy.
const INTERIM_BATCHES: usize = 4;
/// Rows per pass when all labelled or unlabelled rows are predicted.
const PREDICTION_BATCH: usize = 2048;

impl Trainer<'_> {
    /// The model to keep: averaged weights if there is an average, and their running statistics over training batches.
    /// Statistics gathered during training would belong to other weights. An error if the observer stops it.
    pub fn finished_watched(&self, observer: &mut dyn Observer) -> Result<FlowGmm> {
        self.with_running_statistics(self.state.averaged(), FINAL_BATCHES, &mut || self.go_on(observer))
    }

    fn with_running_statistics(
        &self,
        mut model: FlowGmm,
        count: usize,
        go_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<FlowGmm> {
        if !model.has_running_statistics() {
            return Ok(model);
        }
        let place = model.place();
        let views = self.config.views.as_ref().map(|views| views as &dyn Perturbation);
        let noise = Noise { sigma: self.config.noise, labelled: views, unlabelled: views, two_views: false };
        let mut batches = self.batches(noise);
        for i in 0..count {
            go_on()?;
            let batch = batches.batch(self.state.step + i, None, &place)?;
            let x = match batch.unlabelled {
                None => batch.x_l,
                Some(rows) => Tensor::cat(vec![batch.x_l, rows.x], 0),
            };
            model.update_running_statistics(x, 1.0 / (i + 1) as f64);
        }
        Ok(model)
    }

    /// Accuracy of the current weights, not of their average, on all labelled rows.
    pub(super) fn labelled_accuracy(&self) -> Result<f64> {
        // Its step is taken already, so that this is finished whatever the observer wants.
        let mut go_on = || Ok(());
        let model = self.with_running_statistics(self.state.model.clone(), INTERIM_BATCHES, &mut go_on)?;
        let predicted = predicted(&model, &self.rows.labelled, &mut go_on)?;
        let right = predicted.iter().zip(&self.rows.y).filter(|(a, b)| a == b).count();
        Ok(right as f64 / self.rows.y.len().max(1) as f64)
    }

    /// Predictions of the model to keep for all unlabelled rows, unperturbed, one-hot, `[n_u, K]`.
    pub(super) fn pseudo_labels(&self, observer: &mut dyn Observer) -> Result<Vec<f32>> {
        let k = self.rows.n_classes;
        let mut one_hot = vec![0.0; self.rows.unlabelled.len() * k];
        let model = self.finished_watched(observer)?;
        let classes = predicted(&model, &self.rows.unlabelled, &mut || self.go_on(observer))?;
        for (row, class) in classes.into_iter().enumerate() {
            one_hot[row * k + class] = 1.0;
        }
        Ok(one_hot)
    }
}

/// The class that a model predicts for each row.
fn predicted(
    model: &FlowGmm,
    rows: &TrainingMatrix,
    go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<usize>> {
    let (place, n) = (model.place(), rows.len());
    let mut classes = Vec::with_capacity(n);
    for start in (0..n).step_by(PREDICTION_BATCH) {
        go_on()?;
        let chunk = rows.chunk(start, PREDICTION_BATCH.min(n - start), &place)?;
        classes.extend(predictions(&model.densities(chunk)));
    }
    Ok(classes)
}
