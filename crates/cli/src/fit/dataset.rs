//! `fit --dataset`: a dataset of the paper by its name, in place of a file.

use std::path::{Path, PathBuf};

use flowgmm::{Override, Preset, SettingOrigin, Source};
use flowgmm_bench::NamedProblem;

use crate::{bench, exit::Result};

/// Arguments of `fit` for datasets by name.
#[derive(clap::Args)]
pub struct DatasetArgs {
    /// Dataset of `flowgmm data list` with the paper's preparation and labels, in place of FILE and --test
    #[arg(long, value_name = "NAME", hide_short_help = true, conflicts_with_all = ["file", "label", "unlabelled", "test", "text"])]
    pub dataset: Option<String>,
    /// With --dataset: labels of each class [default: the paper's number]
    #[arg(long, value_name = "N", requires = "dataset", hide_short_help = true)]
    pub labels_per_class: Option<usize>,
    /// With --dataset: directory of the datasets [default: FLOWGMM_DATA, else ../shared/data]
    #[arg(
        long,
        value_name = "DIR",
        env = "FLOWGMM_DATA",
        hide_env = true,
        default_value = "../shared/data",
        hide_default_value = true,
        hide_short_help = true
    )]
    pub data: PathBuf,
}

/// Rows to learn from, rows to be scored on, and settings that go with them.
pub struct NamedRows {
    pub train: Source,
    pub test: Source,
    pub settings: Vec<Override>,
}

impl DatasetArgs {
    /// The rows of `--dataset`, if it is given.
    pub fn read(&self, encoder: Option<&Path>, preset: Preset, seed: u64) -> Result<Option<NamedRows>> {
        let Some(name) = &self.dataset else { return Ok(None) };
        let found = NamedProblem::read(&self.data, name, self.labels_per_class, encoder, seed);
        let found = found.map_err(bench::failure)?;
        let (train, test) = found.sources()?;
        let rate = found.learning_rate.filter(|_| preset == Preset::Paper);
        let rate = rate.map(|rate| Override::from("train.schedule.peak", rate, SettingOrigin::Recipe));
        Ok(Some(NamedRows { train, test, settings: rate.into_iter().collect() }))
    }
}
