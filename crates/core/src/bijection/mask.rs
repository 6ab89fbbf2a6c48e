//! Which columns a coupling keeps and which it changes.

use serde::{Deserialize, Serialize};

/// The kept columns of a coupling; the others are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mask {
    /// Keep columns 0, 2, 4, ...
    KeepEven,
    /// Keep columns 1, 3, 5, ...
    KeepOdd,
    /// Keep the first half (the authors' tabular code, even layers).
    KeepFirst,
    /// Keep the second half.
    KeepSecond,
}

impl Mask {
    /// The kept and the changed columns. A single column is always changed: there is no other to condition on.
    pub fn split(self, dim: usize) -> (Vec<usize>, Vec<usize>) {
        if dim == 1 {
            return (Vec::new(), vec![0]);
        }
        (0..dim).partition(|&j| match self {
            Self::KeepEven => j % 2 == 0,
            Self::KeepOdd => j % 2 == 1,
            Self::KeepFirst => j < dim / 2,
            Self::KeepSecond => j >= dim / 2,
        })
    }

    /// The mask that keeps what this one changes.
    pub fn flipped(self) -> Self {
        match self {
            Self::KeepEven => Self::KeepOdd,
            Self::KeepOdd => Self::KeepEven,
            Self::KeepFirst => Self::KeepSecond,
            Self::KeepSecond => Self::KeepFirst,
        }
    }
}
