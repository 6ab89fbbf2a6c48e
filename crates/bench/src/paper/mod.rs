//! The paper's tables, figures and appendices: which command makes each, what it costs, and ours beside theirs.
//!
//! ```text
//! items() ─Item::ours(experiments)→ cells with their number and ours, read from committed results
//!         ─a plan, run_toys, run_distances, run_calibration and its like→ results anew
//! ```
//!
//! Analyses of image models fit the models they need by the preset for CPUs, for as many steps as are asked for, and keep
//! them ([`Models`]).
//!
//! Numbers of the paper are copied from its tables. Ours are never: they are read from `experiments/results`, or they are
//! absent and say why.

mod boundary;
mod calibration;
mod distances;
mod domains;
mod features;
mod files;
mod generation;
mod interpolation;
mod items;
mod models;
mod ours;
mod toys;

pub use boundary::run_boundary;
pub use calibration::run_calibration;
pub use distances::{distances_page, run_distances};
pub use domains::run_domains;
pub use features::{Moves, run_features};
pub use generation::run_generation;
pub use interpolation::run_interpolation;
pub use items::items;
pub use models::{Labels, Models};
pub use ours::{OurNumber, ShownCell};
pub use toys::{FIRST_SEED, ToyRun, read_toy_runs, run_toys};

/// A table, figure or appendix of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The name it is asked for by.
    pub id: &'static str,
    /// What it is, in the paper's words.
    pub title: &'static str,
    /// How it is made here.
    pub how: How,
    /// How long that takes on two cores, and what is different from the paper.
    pub cost: &'static str,
    /// Data that it needs, by the names of `flowgmm data list`.
    pub data: &'static [&'static str],
    /// Its numbers.
    pub cells: Vec<Cell>,
}

/// How an item is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// By plans of these names below the directory of experiments.
    Plans(&'static [&'static str]),
    /// By fits to toys, with and without their unlabelled points.
    Toys(&'static [flowgmm::demo::ProblemName]),
    /// By draws of Gaussians.
    Distances,
    /// By looking at models of images, which are fitted first if they are not there.
    Images(Analysis),
    /// By commands that a user types.
    Commands(&'static [&'static str]),
}

/// What is done with models of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// NLL and ECE before and after sigma^2 is learnt.
    Calibration,
    /// Latent interpolation.
    Interpolation,
    /// Distances to the decision boundary.
    Boundary,
    /// Features of a middle layer.
    Features,
    /// Images of other sets.
    Domains,
    /// Images of the means, and samples.
    Generation,
}

impl Item {
    /// The commands that make the item.
    pub fn commands(&self) -> Vec<String> {
        match self.how {
            How::Commands(commands) => commands.iter().map(|command| command.to_string()).collect(),
            _ => vec![format!("flowgmm paper {} --run", self.id)],
        }
    }
}

/// A number of the paper and where ours is.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its row: a method.
    pub row: &'static str,
    /// Its column: a dataset.
    pub column: &'static str,
    /// The paper's number; `None` where it shows a picture, or has no such row.
    pub theirs: Option<f64>,
    /// Digits after the point.
    pub digits: usize,
    /// Where ours is.
    pub ours: Ours,
}

/// Where one of our numbers is.
#[derive(Clone, Debug, PartialEq)]
pub enum Ours {
    /// The accuracy, in percent, of a learner (or a family of settings `NAME/..`) on a dataset of a plan.
    Plan {
        /// The plan's name.
        plan: &'static str,
        /// The dataset's name in the plan.
        dataset: &'static str,
        /// The learner, or what the names of a family begin with.
        learner: &'static str,
    },
    /// The mean accuracy, in percent, of fits to a toy.
    Toys {
        /// With these settings, by the name in [`ToyRun`].
        settings: &'static str,
        /// The toy's name.
        toy: &'static str,
        /// Without the unlabelled points.
        labelled_only: bool,
    },
    /// The mean accuracy, in percent, of five fits of `fit --preset paper-toy` to a toy of the notebooks, from `toys-fit.jsonl`.
    ToyFits {
        /// The toy's name.
        toy: &'static str,
        /// The first of the seeds.
        first: u64,
    },
    /// A number in a file of results, times a factor.
    Json {
        /// The file below `results`.
        file: &'static str,
        /// The JSON pointer.
        pointer: String,
        /// What it is multiplied by.
        factor: f64,
    },
    /// There is none, for this reason.
    Absent(&'static str),
}
