//! The settings and where they came from, and how training went.

use flowgmm_core::{Certificate, train::EpochRecord};
use flowgmm_report::{
    AxisScale, Grid, GridWidth, LineChart, Plot, Section, Series, Table, TableCell, TableColumn,
};
use serde::Serialize;

use super::Overview;
use crate::{
    Calibration, Decision,
    fit::Fit,
    pages::{losses, percent},
};

/// Settings of a fit, and how training went.
#[derive(Clone, Debug, Serialize)]
pub struct Choices {
    /// What was decided from the data, and why; empty if a preset left nothing to decide.
    pub decisions: Vec<Decision>,
    /// Settings that the user gave.
    pub overridden: Vec<OverriddenSetting>,
    /// Where the settings came from, in words.
    pub settings: String,
    /// Flow and mixture, in words.
    pub architecture: String,
    /// Number of parameters.
    pub parameters: usize,
    /// The preprocessing, in words.
    pub preprocessing: String,
    /// What differences of class log-densities, or of the blend's log-probabilities, are divided by.
    pub temperature: f64,
    /// How that was chosen; `None` if it was not calibrated.
    pub calibration: Option<Calibration>,
    /// How exactly the flow inverts.
    pub certificate: Option<Certificate>,
    /// How often training went back to an earlier state.
    pub rollbacks: usize,
    /// What happened in each epoch.
    pub epochs: Vec<EpochRecord>,
    #[serde(skip)]
    losses: LineChart,
}

/// A setting that the user gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverriddenSetting {
    /// Its path: `train.steps`.
    pub path: String,
    /// Its value, as JSON.
    pub value: String,
    /// Where it came from.
    pub origin: &'static str,
}

impl Choices {
    /// Those of a fit.
    pub(super) fn of(fit: &Fit) -> Self {
        let model = &fit.model;
        let overridden = fit.settings.overridden().map(|(path, value, origin)| OverriddenSetting {
            path: path.to_string(),
            value: value.as_str().map_or_else(|| value.to_string(), String::from),
            origin: origin.name(),
        });
        Self {
            decisions: fit.decisions().to_vec(),
            overridden: overridden.collect(),
            settings: fit.settings.describe(),
            architecture: model.describe_architecture(),
            parameters: model.n_parameters(),
            preprocessing: model.preprocess().describe(),
            temperature: model.temperature(),
            calibration: fit.settings.config.calibration,
            certificate: model.provenance().certificate,
            rollbacks: model.provenance().rollbacks,
            epochs: fit.history().epochs.clone(),
            losses: losses("Terms of the loss", model),
        }
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let figures = vec![self.losses.figure(), self.accuracy(overview).figure()];
        Section {
            heading: "What was chosen, and how training went".into(),
            text: self.text(overview),
            tables: [self.decided(), Some(self.model(overview)), self.given()]
                .into_iter()
                .flatten()
                .collect(),
            grids: vec![Grid::of(GridWidth::Two, figures)],
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let rows = overview.nouns();
        // What typicality is ranked among is said of every fit, whoever chose the settings.
        let none_chosen = self.decisions.iter().all(|decision| decision.what == "typicality");
        let chosen = match (none_chosen, overview.noun) {
            (_, "image") => "The settings are those of a preset for images",
            (true, _) => "The settings are those of the preset",
            (false, _) => {
                "The settings were chosen from the data, by cross-validating quick teachers on the labelled rows"
            }
        };
        let but = if self.overridden.is_empty() { "." } else { ", except for those that you gave." };
        format!(
            "{chosen}{but} {}\n\nThe curves show the negative log-likelihood of labelled and of unlabelled {rows} and the \
             other terms of the loss, each before it is weighted. They should fall and level off. The accuracy on the \
             labelled training {rows} should rise; it says nothing about other {rows}.",
            self.calibrated(overview)
        )
    }

    /// How the temperature came about.
    fn calibrated(&self, overview: &Overview) -> String {
        let (temperature, rows) = (self.temperature, overview.nouns());
        if overview.flow_weight.is_some() {
            return format!(
                "The temperature is {temperature:.2}: the logarithms of the blend's probabilities are divided by it, so that its \
                 mean confidence matches its accuracy on held-out labels, as far as there are any."
            );
        }
        if temperature == 1.0 {
            return "The temperature is 1: probabilities are used as the model gives them.".into();
        }
        let why = match self.calibration {
            Some(Calibration::Folds { .. }) => {
                "on held-out labels the model was more confident than accurate".into()
            }
            Some(Calibration::Expected { accuracy }) => format!(
                "the model's mean confidence on unlabelled {rows} is to match an expected accuracy of {}",
                percent(accuracy)
            ),
            None => "the model was trained at this temperature".into(),
        };
        format!(
            "The temperature is {temperature:.2}, since {why}: differences between the log-densities of classes are \
             divided by it."
        )
    }

    /// Nothing if a preset left nothing to decide.
    fn decided(&self) -> Option<Table> {
        let row = |d: &Decision| {
            vec![TableCell::from(d.what.as_str()), d.choice.as_str().into(), d.why.as_str().into()]
        };
        (!self.decisions.is_empty()).then(|| Table {
            caption: "Decisions.".into(),
            columns: vec![TableColumn::text("What"), TableColumn::text("Choice"), TableColumn::prose("Why")],
            rows: self.decisions.iter().map(row).collect(),
        })
    }

    fn model(&self, overview: &Overview) -> Table {
        let mut rows = vec![
            ("Model", self.architecture.clone()),
            ("Parameters", self.parameters.to_string()),
            ("Preprocessing", self.preprocessing.clone()),
            ("Settings", self.settings.clone()),
            ("Training", self.training()),
            ("Temperature", format!("{:.3}", self.temperature)),
        ];
        rows.extend(
            self.certificate
                .as_ref()
                .map(|found| ("Round trip x → z → x", found.describe(&overview.nouns()))),
        );
        Table {
            caption: "The model.".into(),
            columns: vec![TableColumn::text("What"), TableColumn::text("Value")],
            rows: rows.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect(),
        }
    }

    /// How training ended.
    fn training(&self) -> String {
        match self.epochs.last() {
            None => "no record".into(),
            Some(last) => format!(
                "{} steps; final loss {:.4}, labelled accuracy {}{}",
                last.step,
                last.loss,
                percent(last.labelled_accuracy),
                match self.rollbacks {
                    0 => String::new(),
                    1 => "; went back to an earlier state once".into(),
                    n => format!("; went back to an earlier state {n} times"),
                }
            ),
        }
    }

    /// Settings that the user gave, if any.
    fn given(&self) -> Option<Table> {
        let row =
            |s: &OverriddenSetting| vec![s.path.as_str().into(), s.value.as_str().into(), s.origin.into()];
        (!self.overridden.is_empty()).then(|| Table {
            caption: "Settings that you gave.".into(),
            columns: vec![
                TableColumn::text("Setting"),
                TableColumn::text("Value"),
                TableColumn::text("From"),
            ],
            rows: self.overridden.iter().map(row).collect(),
        })
    }

    fn accuracy(&self, overview: &Overview) -> LineChart {
        let point = |record: &EpochRecord| [record.step as f64, 100.0 * record.labelled_accuracy];
        let (rows, points) = (overview.nouns(), self.epochs.iter().map(point).collect());
        LineChart {
            title: format!("Accuracy on labelled training {rows}"),
            x_label: "training step".into(),
            y_label: "percent".into(),
            y_scale: AxisScale::Percent,
            series: vec![Series { name: format!("labelled training {rows}"), points, ..Series::default() }],
            ..LineChart::default()
        }
    }
}
