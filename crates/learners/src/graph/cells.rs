//! Rows in groups that are small in space, each with its bounding box: what lets a search skip most rows.
//!
//! Built like a k-d tree, by cutting the column of largest variance at its mean, of which only the leaves
//! are kept. The gap of two boxes bounds the distance of their rows from below. It is summed in the same
//! order as a distance, term by term not larger, and rounding is monotone: so the bound holds for the
//! rounded numbers too, to the last bit.

use ndarray::{ArrayView1, ArrayView2};
use semisup::{Stopped, Watch};

/// A group of rows.
pub(super) struct Cell {
    pub rows: Vec<u32>, // ascending
    pub lo: Vec<f64>,   // [dim]
    pub hi: Vec<f64>,   // [dim]
}

impl Cell {
    fn new(x: ArrayView2<f64>, mut rows: Vec<u32>) -> Self {
        rows.sort_unstable();
        let (mut lo, mut hi) = (vec![f64::INFINITY; x.ncols()], vec![f64::NEG_INFINITY; x.ncols()]);
        for &row in &rows {
            for ((lo, hi), &value) in lo.iter_mut().zip(&mut hi).zip(x.row(row as usize)) {
                (*lo, *hi) = (lo.min(value), hi.max(value));
            }
        }
        Self { rows, lo, hi }
    }

    /// The least squared distance that rows of two cells can have.
    pub fn gap(&self, other: &Cell) -> f64 {
        let sides = self.lo.iter().zip(&self.hi).zip(other.lo.iter().zip(&other.hi));
        sides.map(|((lo, hi), (other_lo, other_hi))| between(*lo, *hi, *other_lo, *other_hi)).sum()
    }

    /// The least squared distance that a row of this cell can have to `query`.
    pub fn gap_to(&self, query: ArrayView1<f64>) -> f64 {
        self.lo.iter().zip(&self.hi).zip(query).map(|((lo, hi), &q)| between(*lo, *hi, q, q)).sum()
    }
}

fn between(lo: f64, hi: f64, other_lo: f64, other_hi: f64) -> f64 {
    let gap = (other_lo - hi).max(lo - other_hi).max(0.);
    gap * gap
}

/// All rows of x `[n, dim]` in cells of at most `size` rows.
pub(super) fn cells(x: ArrayView2<f64>, size: usize, watch: &dyn Watch) -> Result<Vec<Cell>, Stopped> {
    let n = u32::try_from(x.nrows()).expect("fewer than 2^32 rows");
    if n == 0 { Ok(Vec::new()) } else { cut(x, (0..n).collect(), size, 0, watch) }
}

fn cut(
    x: ArrayView2<f64>,
    mut rows: Vec<u32>,
    size: usize,
    depth: usize,
    watch: &dyn Watch,
) -> Result<Vec<Cell>, Stopped> {
    /// Cutting fewer rows than this takes no longer than a moment.
    const MANY: usize = 20_000;
    if rows.len() <= size {
        return Ok(vec![Cell::new(x, rows)]);
    }
    if rows.len() >= MANY {
        watch.at(0.)?; // the cuts go deep at once, so that there is no order to count them in
    }
    let at = place(x, &mut rows, depth);
    let right = rows.split_off(at);
    let (left, right) =
        rayon::join(|| cut(x, rows, size, depth + 1, watch), || cut(x, right, size, depth + 1, watch));
    let (mut left, mut right) = (left?, right?);
    left.append(&mut right);
    Ok(left)
}

/// Reorders the rows, so that those before the returned place differ from those after it.
fn place(x: ArrayView2<f64>, rows: &mut [u32], depth: usize) -> usize {
    /// From here on cuts are at the median: a mean may cut off a single row, again and again.
    const DEEP: usize = 100;
    let middle = rows.len() / 2;
    let Some((column, mean)) = widest(x, rows) else {
        return middle; // all rows are the same
    };
    let value = |row: u32| x[[row as usize, column]];
    if depth < DEEP {
        // A mean parts a rare value from a common one, a median would part the common one.
        let below = |row: u32| value(row) <= mean;
        rows.sort_unstable_by_key(|&row| (!below(row), row));
        let at = rows.partition_point(|&row| below(row));
        if at > 0 && at < rows.len() {
            return at;
        }
    }
    rows.select_nth_unstable_by(middle, |&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    middle
}

/// The column of largest variance and its mean; None if nothing varies.
fn widest(x: ArrayView2<f64>, rows: &[u32]) -> Option<(usize, f64)> {
    let n = rows.len() as f64;
    let mut mean = vec![0.; x.ncols()];
    for &row in rows {
        mean.iter_mut().zip(x.row(row as usize)).for_each(|(mean, value)| *mean += value / n);
    }
    let mut variance = vec![0.; x.ncols()];
    for &row in rows {
        let columns = variance.iter_mut().zip(&mean).zip(x.row(row as usize));
        columns.for_each(|((variance, mean), value)| *variance += (value - mean) * (value - mean) / n);
    }
    let wider = |best: (usize, f64), (j, &v): (usize, &f64)| if v > best.1 { (j, v) } else { best };
    let (column, variance) = variance.iter().enumerate().fold((0, 0.), wider);
    (variance > 0.).then(|| (column, mean[column]))
}
