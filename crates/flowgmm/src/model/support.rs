//! The values that columns can have, and samples that keep to them.
//!
//! A flow has a density on the whole line: its samples go beyond the smallest and the largest value, and never meet exactly
//! a value that many training rows share (an atom), such as 0 mm of rain. So the values of each column are cut into pieces,
//!
//! ```text
//! an atom             a value that more than a tenth of the training rows have       [a, a]
//! what is between     the smallest to the largest of the other values there          [low, high]
//! ```
//!
//! and the model's own samples are cut at the same quantiles, so that each piece has as large a share of them as of the
//! training rows. A sample is moved to the nearest value of its piece. This is monotone in each column, so the dependence
//! between columns stays the model's. A column without atoms is one piece: only what is beyond its ends is moved.

use flowgmm_data::Role;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use semisup::split::evenly_spaced;
use serde::{Deserialize, Serialize};

use crate::rows::Rows;

/// A value is an atom if more than this share of the rows, and at least this many of them, have it.
const ATOM: f64 = 0.1;
const ROWS_OF_ATOM: usize = 5;
/// Training rows that tell the shares of values, at most. The ends are those of all rows.
const MOST_ROWS: usize = 4096;
/// Samples of the model that tell its quantiles, at most, and how many numbers they may have.
const DRAWS: usize = 4096;
const MOST_DRAWN: usize = 1 << 22;
/// Fewer samples than this tell no quantiles.
const FEWEST_DRAWS: usize = 20;

/// The values that each number of a row can have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Support {
    /// `[dim]`, `None` for numbers that stand for no value of their own, such as levels; empty if nothing is known.
    columns: Vec<Option<Pieces>>,
}

/// The pieces of a column, ascending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pieces {
    /// The smallest and the largest value of each piece.
    ranges: Vec<[f64; 2]>,
    /// Where samples go from one piece to the next, one fewer than there are pieces.
    cuts: Vec<f64>,
}

impl Support {
    /// Learns from training rows x `[n, dim]` and from rows that the model draws, as many as it is asked for.
    pub fn learn(rows: &Rows, x: ArrayView2<f64>, draw: impl FnOnce(usize) -> Array2<f64>) -> Self {
        let values = values(rows);
        let shares: Vec<Option<Shares>> =
            values.par_iter().map(|value| Shares::of(value.as_ref()?.training(x))).collect();
        let has_atoms = shares.iter().flatten().any(|column| column.ranges.len() > 1);
        let drawn = match has_atoms {
            true => draw((MOST_DRAWN / values.len()).clamp(FEWEST_DRAWS, DRAWS)),
            false => Array2::zeros((0, values.len())),
        };
        let columns = shares.into_iter().zip(&values);
        let columns = columns.map(|(shares, value)| Some(shares?.cut(value.as_ref()?.drawn(drawn.view()))));
        Self { columns: columns.collect() }
    }

    /// Moves the numbers of rows x `[n, dim]` to the nearest value of their piece. What is not finite stays so.
    pub fn keep(&self, x: &mut Array2<f64>) {
        for (mut values, pieces) in x.columns_mut().into_iter().zip(&self.columns) {
            if let Some(pieces) = pieces {
                values.mapv_inplace(|value| pieces.keep(value));
            }
        }
    }

    /// Whether one that was read from a file is possible for rows of `dim` numbers.
    pub fn is_valid(&self, dim: usize) -> bool {
        let sized = self.columns.is_empty() || self.columns.len() == dim;
        sized && self.columns.iter().flatten().all(Pieces::is_valid)
    }
}

impl Pieces {
    fn keep(&self, value: f64) -> f64 {
        let [low, high] = self.ranges[self.cuts.partition_point(|cut| *cut < value)];
        if value.is_finite() { value.clamp(low, high) } else { value }
    }

    fn is_valid(&self) -> bool {
        let numbers = || self.ranges.as_flattened().iter().chain(&self.cuts);
        numbers().all(|value| value.is_finite())
            && self.ranges.as_flattened().is_sorted()
            && self.cuts.is_sorted()
            && self.ranges.len() == self.cuts.len() + 1
    }
}

/// A number of a row that is a value of its own, and the one that says whether it is missing.
struct Value {
    dim: usize,
    missing: Option<usize>,
}

/// Which numbers of a row are values of their own, `[dim]`. Pixels are put right by their layout.
fn values(rows: &Rows) -> Vec<Option<Value>> {
    match rows {
        Rows::Images { .. } => Vec::new(),
        Rows::Matrix { columns } => {
            (0..columns.len()).map(|dim| Some(Value { dim, missing: None })).collect()
        }
        Rows::Table { encoding, .. } => {
            let features = encoding.features();
            let value = |(dim, role): (usize, &Role)| {
                let next = features.get(dim + 1).filter(|next| next.role == Role::Missing);
                let value = Value { dim, missing: next.map(|_| dim + 1) };
                matches!(role, Role::Number { .. } | Role::Date { .. }).then_some(value)
            };
            features.iter().map(|feature| &feature.role).enumerate().map(value).collect()
        }
    }
}

impl Value {
    /// The values of training rows: all, or some and the smallest and the largest.
    fn training(&self, x: ArrayView2<f64>) -> Vec<f64> {
        let all = || self.present(x, 0..x.nrows());
        if x.nrows() <= MOST_ROWS {
            return all().collect();
        }
        let some = self.present(x, evenly_spaced(x.nrows(), MOST_ROWS).into_iter());
        some.chain(all().min_by(f64::total_cmp)).chain(all().max_by(f64::total_cmp)).collect()
    }

    /// The values of rows that were drawn, ascending.
    fn drawn(&self, x: ArrayView2<f64>) -> Vec<f64> {
        let mut drawn: Vec<f64> = self.present(x, 0..x.nrows()).filter(|value| value.is_finite()).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        drawn
    }

    /// The values of these rows that are not missing.
    fn present<'a>(
        &'a self,
        x: ArrayView2<'a, f64>,
        rows: impl Iterator<Item = usize> + 'a,
    ) -> impl Iterator<Item = f64> + 'a {
        let x_of =
            move |row: usize| (x[[row, self.dim]], self.missing.map_or(0.0, |missing| x[[row, missing]]));
        rows.map(x_of).filter(|(_, missing)| *missing <= 0.5).map(|(value, _)| value)
    }
}

/// The pieces of the values of training rows, and the share of the rows in each.
struct Shares {
    ranges: Vec<[f64; 2]>,
    shares: Vec<f64>,
}

impl Shares {
    /// The pieces of these values; `None` if there are no values.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let (mut ranges, mut shares): (Vec<[f64; 2]>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut between_atoms = false;
        for run in values.chunk_by(|a, b| a == b) {
            let share = run.len() as f64 / n;
            let is_atom = share > ATOM && run.len() >= ROWS_OF_ATOM;
            match (ranges.last_mut(), shares.last_mut()) {
                (Some([_, high]), Some(sum)) if between_atoms && !is_atom => {
                    *high = run[0];
                    *sum += share;
                }
                _ => {
                    ranges.push([run[0]; 2]);
                    shares.push(share);
                }
            }
            between_atoms = !is_atom;
        }
        (!ranges.is_empty()).then_some(Self { ranges, shares })
    }

    /// The pieces, cut where ascending samples of the model have the same share below. Too few samples say nothing: then it
    /// is in the middle between two pieces.
    fn cut(self, drawn: Vec<f64>) -> Pieces {
        let mut below = 0.0;
        let between = self.ranges.windows(2).zip(&self.shares).map(|(pair, share)| {
            below += share;
            if drawn.len() < FEWEST_DRAWS {
                return pair[0][1] / 2.0 + pair[1][0] / 2.0;
            }
            let at = (below * drawn.len() as f64).round() as usize;
            drawn[at.clamp(1, drawn.len()) - 1]
        });
        let cuts = between.collect();
        Pieces { ranges: self.ranges, cuts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Rows {
        Rows::Matrix { columns: vec!["x".into()] }
    }

    fn column(values: &[f64]) -> Array2<f64> {
        Array2::from_shape_vec((values.len(), 1), values.to_vec()).unwrap()
    }

    #[test]
    fn atoms_keep_their_share_and_nothing_leaves_the_range() {
        let rain: Vec<f64> = (0..100).map(|i| if i < 60 { 0.0 } else { f64::from(i) / 10.0 }).collect();
        // A model that is wrong by a shift and a factor has the same ranks.
        let samples: Vec<f64> = (0..1000).map(|i| f64::from(i) / 50.0 - 4.0).collect();
        let support = Support::learn(&matrix(), column(&rain).view(), |n| {
            assert!(n >= 1000);
            column(&samples)
        });
        assert!(support.is_valid(1));
        let mut kept = column(&samples);
        support.keep(&mut kept);
        assert_eq!(kept.iter().filter(|v| **v == 0.0).count(), 600);
        assert!(kept.iter().all(|v| *v == 0.0 || (6.0..=9.9).contains(v)));
        let mut real = column(&[6.0, 9.9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        support.keep(&mut real);
        assert!(real[[2, 0]].is_nan() && real[[3, 0]] == f64::INFINITY && real[[4, 0]] == f64::NEG_INFINITY);
    }

    #[test]
    fn codes_keep_their_shares() {
        let codes = [[1.0].repeat(30), [2.0].repeat(15), [5.0].repeat(55)].concat();
        let samples: Vec<f64> = (0..1000).map(|i| f64::from(i) / 200.0).collect();
        let support = Support::learn(&matrix(), column(&codes).view(), |_| column(&samples));
        let mut kept = column(&samples);
        support.keep(&mut kept);
        let count = |code: f64| kept.iter().filter(|v| **v == code).count();
        assert_eq!([1.0, 2.0, 5.0].map(count), [300, 150, 550]);
    }

    #[test]
    fn a_column_without_atoms_is_only_kept_within_its_range() {
        let many: Vec<f64> = (0..40_000).map(|i| f64::from(i * 7919 % 40_000)).collect();
        let support = Support::learn(&matrix(), column(&many).view(), |_| panic!("nothing to draw for"));
        let mut x = column(&[-1.0, 0.0, 0.3, 39_998.5, 39_999.5]);
        support.keep(&mut x);
        assert_eq!(x.as_slice().unwrap(), [0.0, 0.0, 0.3, 39_998.5, 39_999.0]);
        // Of few rows, each has more than a tenth.
        let few = Support::learn(&matrix(), column(&[1.0, 2.0, 4.0]).view(), |_| panic!("no atoms"));
        let mut x = column(&[0.0, 2.5]);
        few.keep(&mut x);
        assert_eq!(x.as_slice().unwrap(), [1.0, 2.5]);
    }

    #[test]
    fn impossible_ones_are_refused() {
        let read = |text: &str| serde_json::from_str::<Support>(text).unwrap();
        assert!(read("[]").is_valid(3) && read("[null]").is_valid(1) && !read("[null]").is_valid(2));
        assert!(read(r#"[{"ranges":[[0,0],[1,9]],"cuts":[0.5]}]"#).is_valid(1));
        for bad in [
            r#"[{"ranges":[],"cuts":[]}]"#,
            r#"[{"ranges":[[1,0]],"cuts":[]}]"#,
            r#"[{"ranges":[[0,5],[4,9]],"cuts":[1]}]"#,
            r#"[{"ranges":[[0,1]],"cuts":[1]}]"#,
            r#"[{"ranges":[[0,1],[2,3],[4,5]],"cuts":[2,1]}]"#,
        ] {
            assert!(!read(bad).is_valid(1), "{bad}");
        }
    }
}
