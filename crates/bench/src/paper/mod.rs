//! The paper's tables, figures and appendices: which command makes each, what it costs, and ours beside theirs.
//!
//! ```text
//! items() ─Item::ours(experiments)→ cells with their number and ours, read from committed results
//!         ─run_toys, run_distances, a plan→ results anew
//! ```
//!
//! Numbers of the paper are copied from its tables. Ours are never: they are read from `experiments/results`, or they are
//! absent and say why.

mod items;
mod ours;
mod run;

pub use items::items;
pub use ours::{OurNumber, ShownCell};
pub use run::{distances_page, run_distances, run_toys};

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
    /// By a plan of this name below the directory of experiments.
    Plan(&'static str),
    /// By fits to toys, with and without their unlabelled points.
    Toys(&'static [flowgmm::demo::ProblemName]),
    /// By draws of Gaussians.
    Distances,
    /// By commands that a user types.
    Commands(&'static [&'static str]),
}

impl Item {
    /// The commands that make the item.
    pub fn commands(&self) -> Vec<String> {
        match self.how {
            How::Plan(_) | How::Toys(_) | How::Distances => vec![format!("flowgmm paper {} --run", self.id)],
            How::Commands(commands) => commands.iter().map(|command| command.to_string()).collect(),
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
    /// A number in a file of results, times a factor.
    Json {
        /// The file below `results`.
        file: &'static str,
        /// The JSON pointer.
        pointer: &'static str,
        /// What it is multiplied by.
        factor: f64,
    },
    /// There is none, for this reason.
    Absent(&'static str),
}
