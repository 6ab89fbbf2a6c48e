//! What a run leaves: the model to keep, with statistics of its own where it has batch normalisations.

use burn::tensor::Tensor;

use super::{Perturbation, Rows, Trainer, batches::Noise};
use crate::{model::FlowGmm, objective::predictions};

/// Batches over which the statistics of a finished model are averaged, and of one that is only looked at.
const SETTLING: usize = 64;
const GLANCE: usize = 4;
/// Rows per pass over all labelled rows.
const PREDICTION_BATCH: usize = 2048;

impl Trainer<'_> {
    /// The model to keep: averaged weights if there is an average, and statistics of its own on training batches.
    /// Those gathered on the way would belong to other weights.
    pub fn finished(&self) -> FlowGmm {
        self.settled(self.state.averaged(), SETTLING)
    }

    fn settled(&self, mut model: FlowGmm, count: usize) -> FlowGmm {
        if !model.has_statistics() {
            return model;
        }
        let place = model.place();
        let views = self.config.views.as_ref().map(|views| views as &dyn Perturbation);
        let noise = Noise { sigma: self.config.noise, labelled: views, unlabelled: views, two_views: false };
        let mut batches = self.batches(noise);
        for i in 0..count {
            let batch = batches.batch(self.state.step + i, None, &place);
            let x = match batch.unlabelled {
                None => batch.x_l,
                Some(rows) => Tensor::cat(vec![batch.x_l, rows.x], 0),
            };
            model.settle(x, 1.0 / (i + 1) as f64);
        }
        model
    }

    /// Accuracy of the weights as they are on all labelled rows.
    pub(super) fn labelled_accuracy(&self) -> f64 {
        let model = self.settled(self.state.model.clone(), GLANCE);
        let predicted = decided(&model, &self.rows.labelled);
        let right = predicted.iter().zip(&self.rows.y).filter(|(a, b)| a == b).count();
        right as f64 / self.rows.y.len().max(1) as f64
    }

    /// What the model to keep would say of every unlabelled row as it is, one-hot, `[n_u, K]`.
    pub(super) fn decisions(&self) -> Vec<f32> {
        let k = self.rows.n_classes;
        let mut one_hot = vec![0.0; self.rows.unlabelled.len() * k];
        for (row, class) in decided(&self.finished(), &self.rows.unlabelled).into_iter().enumerate() {
            one_hot[row * k + class] = 1.0;
        }
        one_hot
    }
}

/// The class a model gives each row.
fn decided(model: &FlowGmm, rows: &Rows) -> Vec<usize> {
    let (place, n) = (model.place(), rows.len());
    let starts = (0..n).step_by(PREDICTION_BATCH);
    let classes = starts.flat_map(|start| {
        predictions(&model.densities(rows.stretch(start, PREDICTION_BATCH.min(n - start), &place)))
    });
    classes.collect()
}
