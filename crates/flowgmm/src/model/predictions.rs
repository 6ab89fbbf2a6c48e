//! What a model says about rows, from one pass through the flow.
//!
//! ```text
//! x ─preprocess, f→ z, log p(x, k)      log p(x) = logsumexp_k log p(x, k)
//! log p(k | x) = (log p(x | k) + log pi_k) / T + const                     (eq. 5 of the paper at T = 1)
//! ```
//!
//! Where experts stand beside the flow, predictions rest on all of them: see [`blend`](super::blend).

use std::ops::Range;

use flowgmm_core::{
    SCORING_BATCH,
    tensor::{Place, to_array},
};
use flowgmm_data::{Cells, Column, Frame};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;
use semisup::metrics::{arg_max, log_sum_exp};

use super::{Model, Tempering, blend};
use crate::{Error, Result, rows::numbers, source::RowNames};

/// What a model says about rows.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// log p(k | x), `[n, K]`.
    pub log_probs: Array2<f64>,
    /// What log p(k | x) is made of by T: log_softmax_k(logits / T + bias), `[n, K]`; see [`Model::temperature`] and
    /// [`Model::logit_bias`]. Without experts log p(x, k), up to a constant of the row.
    pub logits: Array2<f64>,
    /// log p(x | k), `[n, K]`, in the units of `log_marginal`.
    pub log_conditional: Array2<f64>,
    /// log p(x), `[n]`, in the user's units unless [`Model::likelihood_is_projected`].
    pub log_marginal: Vec<f64>,
    /// Latent points z = f(x), `[n, latent dim]`.
    pub z: Array2<f64>,
}

impl Predictions {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.log_marginal.len()
    }

    /// The most probable class of each row.
    pub fn classes(&self) -> Vec<usize> {
        arg_max(self.log_probs.view())
    }

    /// Those of parts of the rows, one after the other.
    pub(crate) fn joined(mut parts: Vec<Self>, model: &Model) -> Self {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let k = model.classes.len();
        Self {
            log_probs: stacked(parts.iter().map(|part| part.log_probs.view()), k),
            logits: stacked(parts.iter().map(|part| part.logits.view()), k),
            log_conditional: stacked(parts.iter().map(|part| part.log_conditional.view()), k),
            log_marginal: parts.iter().flat_map(|part| part.log_marginal.iter().copied()).collect(),
            z: stacked(parts.iter().map(|part| part.z.view()), model.gmm.dim()),
        }
    }

    /// Those of some rows.
    pub(crate) fn of_rows(&self, rows: Range<usize>) -> Self {
        let pick = |of: &Array2<f64>| of.slice(s![rows.clone(), ..]).to_owned();
        Self {
            log_probs: pick(&self.log_probs),
            logits: pick(&self.logits),
            log_conditional: pick(&self.log_conditional),
            log_marginal: self.log_marginal[rows.clone()].to_vec(),
            z: pick(&self.z),
        }
    }

    /// An error that names the first row that is too extreme for single precision, instead of a class made up for it.
    pub(crate) fn check(&self, origin: &str, names: &RowNames) -> Result<()> {
        match self.log_probs.rows().into_iter().position(|row| row.iter().any(|v| v.is_nan())) {
            None => Ok(()),
            Some(row) => Err(Error::Content(format!(
                "{origin}, {}: its values are too far from the training data to be scored; look for a wrong unit or a \
                 slipped digit, or remove it",
                names.describe(row)
            ))),
        }
    }

    /// The predictions as a table: `image` (of images), `class`, `p_<class>` and `log_p_<class>` for each class, `log_p`,
    /// `boundary`, `typicality`.
    pub fn to_frame(&self, model: &Model, names: &RowNames) -> Result<Frame> {
        let classes = model.classes_ref();
        let predicted = self.classes();
        let text = |k: &usize| Some(classes[*k].as_str());
        let mut columns = Vec::with_capacity(2 * classes.len() + 5);
        let lines = match names {
            RowNames::Lines(lines) => lines.clone(),
            RowNames::Images(names) => {
                let cells = Cells::Texts(names.iter().map(|name| Some(name.as_str())).collect());
                columns.push(Column { name: "image".into(), cells });
                (1..=self.n() as u64).collect()
            }
        };
        let cells = Cells::Texts(predicted.iter().map(text).collect());
        columns.push(Column { name: "class".into(), cells });
        for (k, class) in classes.iter().enumerate() {
            let p = self.log_probs.column(k).mapv(f64::exp).to_vec();
            columns.push(numbers(format!("p_{class}"), p));
        }
        for (k, class) in classes.iter().enumerate() {
            columns.push(numbers(format!("log_p_{class}"), self.log_conditional.column(k).to_vec()));
        }
        columns.push(numbers("log_p".into(), self.log_marginal.clone()));
        columns.push(numbers("boundary".into(), model.boundary(self.z.view())));
        columns.push(numbers("typicality".into(), model.typicality(&self.log_marginal)));
        Ok(Frame::new("predictions", columns, lines)?)
    }
}

/// Rows of several arrays, one after the other; no rows without an array.
fn stacked<'a>(parts: impl Iterator<Item = ArrayView2<'a, f64>>, columns: usize) -> Array2<f64> {
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => Array2::zeros((0, columns)),
        false => concatenate(Axis(0), &parts).expect("parts of the same columns"),
    }
}

impl Model {
    /// Class probabilities, densities and latent points of rows `[n, dim]`, from one pass through the flow.
    pub fn score(&self, x: ArrayView2<f64>) -> Predictions {
        let batches: Vec<ArrayView2<f64>> = x.axis_chunks_iter(Axis(0), SCORING_BATCH).collect();
        // Batches side by side: what lies between the kernels of one takes a thread alone. A GPU has its own order.
        let place = self.gmm.place();
        let passes: Vec<_> = if batches.len() > 1 && place.device == Place::cpu().device {
            batches.into_par_iter().map(|batch| self.pass(batch)).collect()
        } else {
            batches.into_iter().map(|batch| self.pass(batch)).collect()
        };
        let (flow, regressed): (Vec<_>, Vec<_>) = passes.into_iter().unzip();
        let flow = Predictions::joined(flow, self);
        match &self.blend {
            None => flow,
            Some(blend) => {
                let of_all = || stacked(regressed.iter().flatten().map(|of| of.view()), self.classes.len());
                let regressed = blend.experts.regression.is_some().then(of_all);
                let logits = blend.logits(flow.log_probs.view(), regressed, x);
                let log_probs = blend::tempered(logits.view(), blend.weights.temperature);
                Predictions { log_probs, logits, ..flow }
            }
        }
    }

    /// What the flow and the regression in its space say of some rows; the latter as log p(k | x) `[n, K]`.
    fn pass(&self, x: ArrayView2<f64>) -> (Predictions, Option<Array2<f64>>) {
        let prepared = self.preprocess.apply(x);
        let regression = self.blend.as_ref().and_then(|blend| blend.experts.regression.as_ref());
        let regressed = regression.map(|regression| regression.log_probs(prepared.view()));
        let densities = self.gmm.densities(self.gmm.place().rows(prepared.view()));
        let gain = self.preprocess.log_density_gain(x);
        let flow = self.posterior(to_array(&densities.log_joint()), gain, to_array(&densities.z));
        (flow, regressed)
    }

    /// The flow's posterior of log p(x, k) `[n, K]`, which is in the flow's units; `gain` is what log p(x) gains in the user's.
    fn posterior(&self, log_joint: Array2<f64>, gain: Option<Vec<f64>>, z: Array2<f64>) -> Predictions {
        let log_prior = Array1::from(self.log_prior());
        let mut log_conditional = &log_joint - &log_prior;
        let logits = match self.tempering {
            Tempering::Likelihood => log_conditional.clone(),
            Tempering::Joint => log_joint.clone(),
        };
        let bias = match self.tempering {
            Tempering::Likelihood => log_prior,
            Tempering::Joint => Array1::zeros(log_prior.len()),
        };
        let mut log_probs = log_joint;
        let gain = gain.unwrap_or_else(|| vec![0.0; log_probs.nrows()]);
        let mut log_marginal = Vec::with_capacity(log_probs.nrows());
        let rows = log_probs.rows_mut().into_iter().zip(log_conditional.rows_mut()).zip(logits.rows());
        for (((mut row, mut conditional), logits), gain) in rows.zip(gain) {
            let log_sum = log_sum_exp(row.view());
            log_marginal.push(log_sum + gain);
            row -= log_sum;
            if self.temperature != 1.0 {
                row.assign(&(&logits / self.temperature + &bias));
                let max = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                row -= max;
                let log_sum = row.iter().map(|v| v.exp()).sum::<f64>().ln();
                row -= log_sum;
            }
            conditional += gain;
        }
        Predictions { log_probs, logits, log_conditional, log_marginal, z }
    }
}
