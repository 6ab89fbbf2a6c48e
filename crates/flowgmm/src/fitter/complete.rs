//! What follows training: certificate, temperature, class shares, typicality, the values of samples.

use flowgmm_core::{
    FlowGmm, Prior, certify_watched,
    checkpoint::Progress,
    train::{Purpose, TrainState, stream},
};
use ndarray::{Array2, Axis};
use semisup::{SemiSupervised, split};

use super::{Fitter, data_hash, some_rows};
use crate::{
    Error, Result,
    config::Calibration,
    model::{Model, Provenance, Support},
    observer::{Observer, Phase, watched},
    prepared::Prepared,
};

/// Training rows whose round trip is certified, at most.
const CERTIFIED: usize = 256;
/// Training rows that tell what is typical, at most.
const TYPICAL: usize = 4096;

impl Fitter<'_> {
    /// The model of a finished run.
    pub(super) fn complete(
        mut self,
        problem: Prepared,
        state: TrainState,
        mut gmm: FlowGmm,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let sample = some_rows(problem.x.view(), CERTIFIED);
        let certificate = watched(observer, &Phase::Certifying, sample.nrows(), |watch| {
            Ok(certify_watched(&gmm, sample.view(), watch)?)
        })?;
        let provenance = Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.seed,
            data_hash: data_hash(self.data),
            n_labelled: self.data.labelled().len(),
            n_unlabelled: self.data.unlabelled().len(),
            config: serde_json::to_value(self.config).expect("plain data"),
            rollbacks: state.rollbacks,
            certificate: Some(certificate),
        };
        let temperature = match self.config.calibration {
            // The posterior that was trained is the tempered one.
            None => self.config.train.objective.temperature.max(1.0),
            Some(Calibration::Folds { folds, fraction }) => {
                self.calibrate(&problem, folds, fraction, observer)?
            }
            Some(Calibration::Expected { accuracy }) => problem.temperature_for(&gmm, accuracy, observer)?,
        };
        if let Prior::Estimated { pseudo_count } = self.config.architecture.prior
            && !self.data.unlabelled().is_empty()
        {
            let mut values = gmm.mixture().values();
            let shares = problem.shares(&gmm, temperature, pseudo_count, observer)?;
            values.log_prior = shares.into_iter().map(f64::ln).collect();
            gmm.set_mixture(&values)?;
        }
        let mut model = Model {
            gmm,
            preprocess: problem.preprocess,
            classes: self.data.classes().to_vec(),
            rows: self.rows,
            temperature,
            typical: Vec::new(),
            support: Support::default(),
            decisions: self.decisions,
            provenance,
            history: state.history,
        };
        model.learn_typicality(some_rows(self.data.x(), TYPICAL).view(), observer)?;
        check_finite(&model, self.data)?;
        if self.data.image_shape().is_none() {
            model.learn_support(self.data.x(), self.seed);
        }
        Ok(model)
    }

    /// The temperature at which short runs without a fold give that fold's labels the most probability.
    fn calibrate(
        &mut self,
        problem: &Prepared,
        folds: usize,
        fraction: f64,
        observer: &mut dyn Observer,
    ) -> Result<f64> {
        let y = problem.y_labelled();
        let fewest = self.data.class_counts().into_iter().min().unwrap_or(0);
        if fewest < 2 {
            return Ok(self.config.train.objective.temperature.max(1.0));
        }
        let mut short = self.config.train.clone();
        short.steps = ((short.steps as f64 * fraction) as usize).max(1);
        let folds =
            split::folds(&y, folds.min(fewest), &mut stream(self.seed, Purpose::Folds, u64::MAX >> 16));
        // The finished run is in the checkpoint already; these are quick to do again.
        let checkpoints = self.checkpoints.take();
        let (mut log_joint, mut truth) = (Array2::zeros((0, self.data.n_classes())), Vec::new());
        for (fold, held) in folds.iter().enumerate() {
            let shown = problem.without(held, observer)?;
            let state = TrainState::new(self.fresh(problem, &shown, self.seed, observer)?, &short);
            let rows = problem.rows(&shown);
            observer.phase(&Phase::Calibrating { fold: fold + 1, folds: folds.len() }, Some(short.steps));
            match self.train(&short, &rows, self.seed, state, &Progress::default(), observer) {
                Ok((_, gmm)) => {
                    let joint = problem.joint_of(&gmm, held);
                    if joint.iter().all(|v| v.is_finite()) {
                        log_joint.append(Axis(0), joint.view()).expect("as many classes");
                        truth.extend(held.iter().map(|&at| y[at]));
                    }
                }
                Err(Error::Diverged { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        self.checkpoints = checkpoints;
        // Never surer than the model itself: held-out rows that are all right say nothing of the rest.
        Ok(semisup::fit_temperature(log_joint.view(), &truth).clamp(1.0, 1e3))
    }
}

/// A model that cannot score its own labelled rows is not worth keeping, however training ended.
fn check_finite(model: &Model, data: &SemiSupervised) -> Result<()> {
    let scores = model.score(data.labelled_only().x());
    if scores.log_probs.iter().chain(&scores.log_marginal).all(|v| v.is_finite()) {
        return Ok(());
    }
    let step = model.history().epochs.last().map_or(0, |record| record.step);
    let cause = "the model's scores are not finite".into();
    Err(Error::Diverged { step, cause, rollbacks: model.provenance().rollbacks })
}
