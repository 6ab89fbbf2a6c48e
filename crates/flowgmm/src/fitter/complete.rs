//! What follows training: certificate, temperature, class shares, typicality, the values of samples.

use flowgmm_core::{FlowGmm, certify_watched, train::TrainState};
use ndarray::Axis;
use semisup::{SemiSupervised, split::evenly_spaced};

use super::{
    Fitter, data_hash,
    experts::Experts,
    held_out::HeldOut,
    posterior,
    shares::{Shares, estimates},
    some_rows,
};
use crate::{
    Error, Result,
    config::{Calibration, ForestConfig},
    model::{Model, Provenance, Support, Tempering},
    observer::{Observer, Phase, watched},
    prepared::{Prepared, enough_unlabelled},
    recipe::Decision,
};

/// Training rows whose round trip is certified, at most.
const CERTIFIED: usize = 256;
/// Training rows that tell what is typical where no row was kept from training, at most.
const TYPICAL: usize = 4096;
/// Rows that class shares are estimated from, at most.
const COUNTED: usize = 2048;

impl Fitter<'_> {
    /// The model of a finished run.
    pub(super) fn complete(
        mut self,
        problem: Prepared,
        state: TrainState,
        gmm: FlowGmm,
        held: Option<HeldOut>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let sample = problem.x_of(&evenly_spaced(problem.n(), CERTIFIED));
        let certificate = watched(observer, &Phase::Certifying, sample.nrows(), |watch| {
            Ok(certify_watched(&gmm, sample.view(), watch)?)
        })?;
        let provenance = Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.seed,
            data_hash: data_hash(self.data),
            n_labelled: self.data.labelled().len(),
            n_unlabelled: self
                .wide
                .map_or(self.data.unlabelled().len() + problem.cached(), |wide| wide.total),
            config: serde_json::to_value(self.config).expect("plain data"),
            rollbacks: state.rollbacks,
            certificate: Some(certificate),
            evidence: None,
            class_share_intervals: Vec::new(),
        };
        let temperature = match (self.config.calibration, &held) {
            // The posterior that was trained is the tempered one.
            (None, _) | (Some(Calibration::Folds { .. }), None) => {
                self.config.train.objective.temperature.max(1.0)
            }
            (Some(Calibration::Folds { .. }), Some(held)) => {
                problem.temperature_for(&gmm, held.of_flow(1.0).expected, observer)?
            }
            (Some(Calibration::Expected { accuracy }), _) => {
                problem.temperature_for(&gmm, accuracy, observer)?
            }
        };
        let experts = match self.config.forest {
            None => None,
            Some(ForestConfig { n_trees }) => {
                Some(Experts::fit(&problem, &problem.whole(), n_trees, self.seed)?)
            }
        };
        let taught = problem.average_prediction(&problem.whole());
        let kept = problem.kept().to_vec();
        self.decisions.push(ranked_among(kept.len(), self.rows.noun(), enough_unlabelled(self.data)));
        let mut model = Model {
            gmm,
            preprocess: problem.preprocess,
            classes: self.data.classes().to_vec(),
            rows: self.rows,
            temperature,
            tempering: Tempering::Joint,
            blend: None,
            typical: Vec::new(),
            support: Support::default(),
            decisions: self.decisions,
            provenance,
            history: state.history,
        };
        let x = some_rows(self.data.x(), COUNTED);
        let mut others: Vec<Vec<f64>> = taught.into_iter().collect();
        others.extend(estimates(model.score(x.view()).log_probs.exp().view()));
        model.provenance.evidence = held.as_ref().map(|held| held.of_flow(temperature));
        if let Some(experts) = experts {
            let (blend, evidence) = posterior::blend(&model, experts, held.as_ref(), self.data)?;
            others.extend(estimates(blend.forest().smoothed(x.view()).view()));
            (model.blend, model.provenance.evidence) = (Some(blend), evidence);
        }
        model.provenance.class_share_intervals =
            Shares { prior: &self.config.architecture.prior, shares: model.class_shares(), others }
                .intervals(self.data);
        model.decide_prediction();
        let typical = match kept.is_empty() {
            true => some_rows(self.data.x(), TYPICAL),
            false => self.data.x().select(Axis(0), &kept),
        };
        model.learn_typicality(typical.view(), observer)?;
        check_finite(&model, self.data)?;
        if self.data.image_shape().is_none() {
            model.learn_support(self.data.x(), self.seed);
        }
        Ok(model)
    }
}

/// Which rows, or images, typicality is a rank among; at least `enough` must be unlabelled for some to be kept from training.
fn ranked_among(kept: usize, rows: &str, enough: usize) -> Decision {
    let (choice, why) = match kept {
        0 => (
            format!("ranked among training {rows}"),
            format!("which flatters them; give at least {enough} unlabelled {rows}"),
        ),
        n => (
            format!("ranked among {n} unlabelled {rows} that the flow was not trained on"),
            format!("{rows} that it was trained on look more likely than fresh ones"),
        ),
    };
    Decision { what: "typicality".into(), choice, why }
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
