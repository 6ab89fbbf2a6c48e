//! How many labels a plan asks for, and which rows they are of.
//!
//! ```toml
//! labels = 5                                         # 5 of each class
//! labels = { random_per_class = 5 }                  # 5 x K rows of all rows, whatever their class
//! labels = { random_total = 10 }                     # 10 rows of all rows, whatever their class
//! labels = [2, 5, 20, { random_per_class = 5 }]      # one after the other
//! ```

use std::{fmt, path::Path};

use serde::{Deserialize, Serialize};

/// Where labels come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelSource {
    /// As many of each class, drawn.
    PerClass(usize),
    /// As many times the number of classes, drawn from all rows: a class may have none.
    RandomPerClass(usize),
    /// As many in all, drawn from all rows: a class may have none.
    RandomTotal(usize),
    /// A list of rows in a file.
    Split(String),
}

impl fmt::Display for LabelSource {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LabelSource::PerClass(n) => write!(f, "{n} per class"),
            LabelSource::RandomPerClass(n) => write!(f, "{n} x K at random"),
            LabelSource::RandomTotal(n) => write!(f, "{n} at random"),
            LabelSource::Split(file) => {
                write!(f, "{}", Path::new(file).file_stem().unwrap_or_default().to_string_lossy())
            }
        }
    }
}

impl LabelSource {
    /// As short as the head of a column needs it: a number alone is of each class.
    pub(crate) fn short(&self) -> String {
        match self {
            LabelSource::PerClass(n) => n.to_string(),
            _ => self.to_string(),
        }
    }

    /// Whether it gives no label at all.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(
            self,
            LabelSource::PerClass(0) | LabelSource::RandomPerClass(0) | LabelSource::RandomTotal(0)
        )
    }
}

/// One number of labels, or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "labels: expected a number of each class, { random_per_class = N }, { random_total = N }, or a list of these"
)]
pub(crate) enum Labels {
    One(Count),
    Several(Vec<Count>),
}

/// A number of labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Count {
    PerClass(usize),
    Random(RandomCount),
}

/// A number of labels that are drawn whatever their class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RandomCount {
    RandomPerClass(usize),
    RandomTotal(usize),
}

impl Labels {
    /// One source for each number.
    pub fn sources(&self) -> Vec<LabelSource> {
        let source = |count: &Count| match *count {
            Count::PerClass(n) => LabelSource::PerClass(n),
            Count::Random(RandomCount::RandomPerClass(n)) => LabelSource::RandomPerClass(n),
            Count::Random(RandomCount::RandomTotal(n)) => LabelSource::RandomTotal(n),
        };
        match self {
            Labels::One(count) => vec![source(count)],
            Labels::Several(counts) => counts.iter().map(source).collect(),
        }
    }
}
