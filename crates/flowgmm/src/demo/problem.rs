//! The problems: data to learn from, data to be scored on, and how to learn.

use std::{fmt, str::FromStr};

use flowgmm_data::{Cells, Column, Frame};
use ndarray::ArrayView2;
use semisup::{Labelled, SemiSupervised, Toy};
use serde::{Serialize, Serializer};

use crate::{Error, FitConfig, Preset, Recipe, Result, observer::Observer, rows::numbers};

/// Labels of each digit.
const DIGIT_LABELS: usize = 5;

/// A problem of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemName {
    /// Two half circles, 10 labels.
    Moons,
    /// A circle within a circle, 11 labels.
    Circles,
    /// Three arcs of a ring of eight Gaussians, 19 labels.
    EightGaussians,
    /// Five bent arms, 13 labels.
    Pinwheel,
    /// Handwritten digits, 8 x 8 pixels, 50 labels.
    Digits,
}

impl ProblemName {
    /// All problems, in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::Moons, Self::Circles, Self::EightGaussians, Self::Pinwheel, Self::Digits];

    /// The name by which it is asked for: `moons`, `eight-gaussians`, `digits`.
    pub fn name(self) -> &'static str {
        self.toy().map_or("digits", Toy::name)
    }

    /// The problem in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Moons => "Two half circles, 10 labels",
            Self::Circles => "A circle within a circle, 11 labels",
            Self::EightGaussians => "Three arcs of a ring of eight Gaussians, 19 labels",
            Self::Pinwheel => "Five bent arms, 13 labels",
            Self::Digits => "Handwritten digits, 8 x 8 pixels, 50 labels",
        }
    }

    /// The toy problem it is, if it is one.
    pub(super) fn toy(self) -> Option<Toy> {
        match self {
            Self::Moons => Some(Toy::Moons),
            Self::Circles => Some(Toy::Circles),
            Self::EightGaussians => Some(Toy::EightGaussians),
            Self::Pinwheel => Some(Toy::Pinwheel),
            Self::Digits => None,
        }
    }
}

impl fmt::Display for ProblemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ProblemName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|problem| problem.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Request(format!("the demo has no problem '{name}'. It has {known}"))
        })
    }
}

impl Serialize for ProblemName {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Which points of a toy have labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToyLabels {
    /// Points drawn at random from each class.
    Random,
    /// The places that the authors' notebooks chose by hand on moons and circles; at random on the others.
    Notebooks,
}

/// The settings and the data of a problem: what [`run_with`](super::run_with) fits.
pub fn problem(
    preset: Preset,
    labels: ToyLabels,
    name: ProblemName,
    seed: u64,
) -> Result<(FitConfig, semisup::Problem)> {
    let Problem { train, test, config, .. } = Problem::new(name, preset, labels, seed, &mut ())?;
    Ok((config, semisup::Problem { train, test }))
}

/// Data to learn from, data to be scored on, and how to learn.
pub(super) struct Problem {
    pub(super) name: ProblemName,
    pub(super) train: SemiSupervised,
    pub(super) test: Labelled,
    pub(super) config: FitConfig,
}

impl Problem {
    /// A problem with its data drawn by `seed`.
    pub(super) fn new(
        name: ProblemName,
        preset: Preset,
        labels: ToyLabels,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        if let Some(toy) = name.toy() {
            let semisup::Problem { train, test } = match labels {
                ToyLabels::Random => toy.problem(seed),
                ToyLabels::Notebooks => toy.notebook_problem(seed),
            };
            let config = match preset {
                Preset::Auto => FitConfig::toy(),
                _ => Recipe::of(preset, &train, seed)?.config,
            };
            return Ok(Self { name, train, test, config });
        }
        let semisup::Problem { train, test } = semisup::digits_problem(DIGIT_LABELS, seed);
        let config = Recipe::watched(preset, &train, seed, observer)?.config;
        Ok(Self { name, train, test, config })
    }

    /// The rows as tables, so that they can be tried with other commands.
    pub(super) fn tables(&self) -> Result<[(String, Frame); 2]> {
        let Self { name, train, test, .. } = self;
        let class = |k: usize| train.classes()[k].as_str();
        let train_labels = train.y().iter().map(|y| y.map(class)).collect();
        let test_labels = test.y().iter().map(|&y| Some(class(y))).collect();
        Ok([
            table(format!("{name}-train.csv"), train.columns(), train.x(), train_labels)?,
            table(format!("{name}-test.csv"), test.columns(), test.x(), test_labels)?,
        ])
    }
}

/// Rows with their labels in a last column `class`.
fn table(
    name: String,
    columns: &[String],
    x: ArrayView2<f64>,
    labels: Vec<Option<&str>>,
) -> Result<(String, Frame)> {
    let values = columns.iter().zip(x.columns());
    let mut cells: Vec<Column> =
        values.map(|(name, values)| numbers(name.clone(), values.to_vec())).collect();
    cells.push(Column { name: "class".into(), cells: Cells::Texts(labels.into_iter().collect()) });
    let frame = Frame::new(&name, cells, (1..=x.nrows() as u64).collect())?;
    Ok((name, frame))
}
