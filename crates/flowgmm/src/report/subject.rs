//! The fit that is reported on, with its test rows scored.

use flowgmm_core::tensor::Place;
use ndarray::{Array2, Axis};
use semisup::SemiSupervised;
pub(super) use semisup::split::evenly_spaced;

use super::{Overview, ReportRequest};
use crate::{
    FitConfig, Fitter, Model, Settings,
    error::{Error, Result},
    fit::Fit,
    observer::Observer,
    rows::Rows,
    source::{Chunks, Source, Wanted},
};

/// Unlabelled rows that are scored, at most.
const UNLABELLED: usize = 20_000;
/// Unlabelled images that are scored, at most.
const UNLABELLED_IMAGES: usize = 2000;

/// A fit, and what it is judged by.
pub(super) struct Subject<'a> {
    pub(super) fit: &'a Fit,
    pub(super) overview: Overview,
    pub(super) test: Option<TestRows>,
    place: Place,
}

/// Labelled rows that the model has not seen, each mapped through its flow once.
pub(super) struct TestRows {
    /// `[n, dim]`
    pub(super) x: Array2<f64>,
    /// `[n]`
    pub(super) y: Vec<usize>,
    /// What each row is called, `[n]`.
    pub(super) names: Vec<String>,
    /// log p(k | x), `[n, K]`.
    pub(super) log_probs: Array2<f64>,
}

/// Unlabelled training rows and what the model predicts of them.
pub(super) struct ScoredRows {
    /// Rows of the training data, `[n]`.
    pub(super) rows: Vec<usize>,
    /// log p(k | x), `[n, K]`.
    pub(super) log_probs: Array2<f64>,
}

impl<'a> Subject<'a> {
    /// Reads and scores the test rows; also what the user should know about them.
    pub(super) fn new(
        fit: &'a Fit,
        request: &ReportRequest,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Vec<String>)> {
        let (test, warnings) = match request.test {
            None => (None, Vec::new()),
            Some(source) => {
                let (rows, warnings) = TestRows::read(&fit.model, source, observer)?;
                (Some(rows), warnings)
            }
        };
        let place = Place::on(&fit.settings.device)?;
        let overview = overview(fit, request);
        Ok((Self { fit, overview, test, place }, warnings))
    }

    pub(super) fn model(&self) -> &'a Model {
        &self.fit.model
    }

    pub(super) fn data(&self) -> &'a SemiSupervised {
        &self.fit.training.data
    }

    pub(super) fn rows(&self) -> &'a Rows {
        &self.fit.training.rows
    }

    pub(super) fn settings(&self) -> &'a Settings {
        &self.fit.settings
    }

    /// Unlabelled training rows, evenly spaced if there are very many.
    pub(super) fn unlabelled(&self) -> ScoredRows {
        let all = self.data().unlabelled();
        let most = if self.rows().layout().is_some() { UNLABELLED_IMAGES } else { UNLABELLED };
        let rows: Vec<usize> = evenly_spaced(all.len(), most).into_iter().map(|i| all[i]).collect();
        let log_probs = self.model().score(self.data().x().select(Axis(0), &rows).view()).log_probs;
        ScoredRows { rows, log_probs }
    }

    /// A model fitted to other rows as the reported one was; nothing if it diverges or the rows do not suffice.
    pub(super) fn refit(
        &self,
        config: &FitConfig,
        data: &SemiSupervised,
        observer: &mut dyn Observer,
    ) -> Result<Option<Model>> {
        let settings = self.settings();
        let fitter = Fitter::new(config, data, settings.seed).rows(self.rows().clone());
        match fitter.engine(settings.engine).place(self.place.clone()).run(observer) {
            Ok(model) => Ok(Some(model)),
            Err(Error::Diverged { .. } | Error::Data(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

fn overview(fit: &Fit, request: &ReportRequest) -> Overview {
    let training = &fit.training;
    let data = &training.data;
    let columns = |n: usize| format!("with {n} {}", if n == 1 { "column" } else { "columns" });
    let shape = match (training.rows.layout(), &training.schema) {
        (Some(layout), _) => format!("of {} pixels", layout.describe()),
        (None, Some(schema)) => columns(schema.columns().len()),
        (None, None) => columns(data.dim()),
    };
    Overview {
        name: request.name.clone(),
        model_name: request.model_name.clone(),
        noun: if training.rows.layout().is_some() { "image" } else { "row" },
        shape,
        classes: data.classes().to_vec(),
        n_labelled: data.labelled().len(),
        n_unlabelled: data.unlabelled().len(),
        has_test_rows: request.test.is_some(),
        flow_weight: fit.model.blend().map(|blend| blend.flow_weight()),
        version: env!("CARGO_PKG_VERSION"),
        seed: fit.settings.seed,
        fit_seconds: fit.seconds.as_secs_f64(),
    }
}

impl TestRows {
    fn read(model: &Model, source: &Source, observer: &mut dyn Observer) -> Result<(Self, Vec<String>)> {
        let classes = model.classes_ref();
        let mut chunks = Chunks::open(source, model.rows(), classes, Wanted::LabelledRows)?;
        let mut test = Self {
            x: Array2::zeros((0, model.rows().dim())),
            y: Vec::new(),
            names: Vec::new(),
            log_probs: Array2::zeros((0, classes.len())),
        };
        while let Some(chunk) = chunks.next(observer)? {
            let found = model.score(chunk.x.view());
            found.check(chunks.name(), &chunk.names)?;
            test.x.append(Axis(0), chunk.x.view()).expect("as many columns");
            test.log_probs.append(Axis(0), found.log_probs.view()).expect("as many classes");
            test.names.extend((0..chunk.y.len()).map(|row| chunk.names.get(row).into_owned()));
            test.y.extend(chunk.y.iter().flatten());
        }
        if test.y.is_empty() {
            return Err(semisup::Error::NoLabels { name: chunks.name().to_string() }.into());
        }
        Ok((test, chunks.into_warnings()))
    }
}
