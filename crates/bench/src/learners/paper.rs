//! FlowGMM with the settings of the paper and of the authors' notebooks, as they are.

use std::fmt;

use flowgmm::{FitConfig, Fitter, Model, Preset, Recipe, Reporting};
use semisup::{Learner, SemiSupervised, Watch};

use crate::Registry;

pub(super) fn register(registry: &mut Registry) {
    let paper = Original { preset: Preset::Paper, rate: None, rows: Rows::All, steps: None };
    registry.register("flowgmm-paper", paper);
    registry.register("flowgmm-paper-miniboone", Original { rate: Some(3e-4), ..paper });
    let toy = Original { preset: Preset::PaperToy, ..paper };
    registry.register("flowgmm-paper-toy", toy);
    registry.register("flowgmm-paper-toy-labelled", Original { rows: Rows::LabelledOnly, ..toy });
}

/// A preset that takes its numbers from the paper or its authors.
#[derive(Clone, Copy)]
struct Original {
    preset: Preset,
    /// Learning rate, where the paper's table of rates has another for the dataset.
    rate: Option<f64>,
    rows: Rows,
    steps: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    All,
    LabelledOnly,
}

/// The settings that are recorded with each result: only what differs from the preset is named.
impl fmt::Debug for Original {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut settings = f.debug_struct("Paper");
        settings.field("preset", &self.preset);
        if let Some(rate) = self.rate {
            settings.field("rate", &rate);
        }
        if self.rows == Rows::LabelledOnly {
            settings.field("rows", &self.rows);
        }
        if let Some(steps) = self.steps {
            settings.field("steps", &steps);
        }
        settings.finish()
    }
}

impl Original {
    fn config(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<FitConfig> {
        let mut config = Recipe::of(self.preset, data, seed)?.config;
        config.train.schedule.peak = self.rate.unwrap_or(config.train.schedule.peak);
        config.train.steps = self.steps.unwrap_or(config.train.steps);
        Ok(config)
    }
}

impl Learner for Original {
    type Model = Model;
    type Error = flowgmm::Error;

    fn name(&self) -> String {
        let of = if self.preset == Preset::PaperToy { "the authors' notebooks" } else { "paper's settings" };
        match self.rows {
            Rows::All => format!("FlowGMM, {of}"),
            Rows::LabelledOnly => format!("FlowGMM, {of}, labelled only"),
        }
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> flowgmm::Result<Model> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> flowgmm::Result<Model> {
        let own = (self.rows == Rows::LabelledOnly).then(|| data.labelled_only());
        let data = own.as_ref().unwrap_or(data);
        Fitter::new(&self.config(data, seed)?, data, seed).run(&mut Reporting::to(watch))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps: Some(steps), ..*self })
    }
}
