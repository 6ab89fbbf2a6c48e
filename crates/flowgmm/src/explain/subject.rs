//! What an explanation is about: a model, rows, and what the model says about them.

use crate::{
    Model, Predictions, Result, Source,
    observer::Observer,
    source::{RowNames, Sampled, Wanted},
};

use super::{ExplainRequest, assessment::Assessment, display::Display};

/// Most rows that are used, if nothing else is asked for.
const ROWS: usize = 10_000;
/// Most images that are used.
const IMAGES: usize = 2000;

/// A model, rows, and what the model says about them.
pub(super) struct Subject<'a> {
    pub(super) model: &'a Model,
    pub(super) seen: Seen,
    /// What the labels say about the probabilities, if there are enough of them.
    pub(super) assessment: Option<Assessment>,
    pub(super) out_of_distribution: Option<Sampled>,
    pub(super) unlabelled: Option<Sampled>,
    pub(super) display: Display,
    pub(super) alpha: f64,
    pub(super) seed: u64,
}

impl<'a> Subject<'a> {
    pub(super) fn read(
        model: &'a Model,
        request: &ExplainRequest,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let most = request.rows.unwrap_or(if model.rows().layout().is_some() { IMAGES } else { ROWS });
        let mut read = |source: &Source, wanted: Wanted| {
            Sampled::read(model, source, wanted, most, request.seed, observer)
        };
        let rows = read(&request.data, Wanted::RowsAndLabels)?;
        let mut other =
            |source: &Option<Source>| source.as_ref().map(|source| read(source, Wanted::Rows)).transpose();
        let (out_of_distribution, unlabelled) =
            (other(&request.out_of_distribution)?, other(&request.unlabelled)?);
        let seen = Seen::new(model, rows)?;
        let (alpha, seed) = (request.alpha, request.seed);
        Ok(Self {
            model,
            assessment: Assessment::new(model, &seen, alpha, seed),
            out_of_distribution,
            unlabelled,
            display: Display::new(model, &seen),
            seen,
            alpha,
            seed,
        })
    }

    /// What the user should know about the rows of all sources.
    pub(super) fn warnings(&self) -> Vec<String> {
        let others = [&self.out_of_distribution, &self.unlabelled].into_iter().flatten();
        [&self.seen.rows].into_iter().chain(others).flat_map(|rows| rows.warnings.clone()).collect()
    }
}

/// Rows and what the model says about them, from one pass through the flow.
pub(super) struct Seen {
    pub(super) rows: Sampled,
    pub(super) predictions: Predictions,
    pub(super) predicted: Vec<usize>,
    /// The classes by the flow's own Bayes rule: those that the latent space and its boundary show.
    pub(super) by_flow: Vec<usize>,
    /// Latent distance to the decision boundary.
    pub(super) boundary: Vec<f64>,
    /// How unusual log p(x) is among rows that the flow was not trained on.
    pub(super) typicality: Vec<f64>,
}

impl Seen {
    /// Refuses rows too extreme for single precision, instead of making up a class for them.
    fn new(model: &Model, rows: Sampled) -> Result<Self> {
        let predictions = model.score(rows.x.view());
        let names = match model.rows().layout() {
            Some(_) => RowNames::Images(rows.names.clone()),
            None => RowNames::Lines(rows.names.iter().map(|line| line.parse().unwrap_or(0)).collect()),
        };
        predictions.check(&rows.name, &names)?;
        Ok(Self {
            predicted: predictions.classes(),
            by_flow: model.classes_by_flow(&predictions),
            boundary: model.boundary(predictions.z.view()),
            typicality: model.typicality(&predictions.log_marginal),
            rows,
            predictions,
        })
    }

    /// The label of a row, or its predicted class if it has none.
    pub(super) fn class(&self, row: usize) -> usize {
        self.rows.y[row].unwrap_or(self.predicted[row])
    }

    /// The rows with a label.
    pub(super) fn labelled(&self) -> Vec<usize> {
        (0..self.rows.n()).filter(|&row| self.rows.y[row].is_some()).collect()
    }

    /// The rows without a label.
    pub(super) fn unlabelled(&self) -> Vec<usize> {
        (0..self.rows.n()).filter(|&row| self.rows.y[row].is_none()).collect()
    }

    /// Whether the flow alone takes a row for another class than is predicted.
    pub(super) fn flow_differs(&self, row: usize) -> bool {
        self.by_flow[row] != self.predicted[row]
    }

    /// The rows that are predicted as class `k`, those that the flow alone takes for another only if there are no others;
    /// nearest to the decision boundary first.
    pub(super) fn predicted_as(&self, k: usize) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows.n()).filter(|&row| self.predicted[row] == k).collect();
        if rows.iter().any(|&row| !self.flow_differs(row)) {
            rows.retain(|&row| !self.flow_differs(row));
        }
        rows.sort_by(|&a, &b| self.boundary[a].total_cmp(&self.boundary[b]).then(a.cmp(&b)));
        rows
    }
}
