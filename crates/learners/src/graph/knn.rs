//! Exact k nearest neighbours: whole cells of rows are skipped by their bounding boxes, and a matrix product in single
//! precision filters most of the rest.
//!
//! With c the centre of a cell of queries, a = q - c and b = x - c, `|q - x|^2 = |a|^2 - 2 a.b + |b|^2` is
//! fast but rounds; so it only chooses candidates: all rows that, within the bound of its error, may be as
//! near as the k-th found so far. Their distances are then summed directly in double precision, column after
//! column. The result is that of computing and sorting all distances, to the last bit.
//!
//! Memory: for each thread a block of `CELL` queries by `CELL` rows, besides the result.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;
use semisup::{Part, Stopped, Watch};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cells::{Cell, cells};

/// Most rows, or queries, of a cell.
const CELL: usize = 256;
/// The fraction of a search after which rows and queries are in their cells.
const CUT: f64 = 0.05;

/// Indices and squared distances, nearest first, of the `k` rows of `x` `[n, dim]` nearest to each of
/// `queries` `[m, dim]`: both `[m, min(k, n)]`. Equal distances are ordered by index; a row with a value
/// that is not a number is infinitely far.
///
/// # Panics
/// If `x` and `queries` differ in columns, or one of them has 2^32 rows or more.
pub fn knn(x: ArrayView2<f64>, queries: ArrayView2<f64>, k: usize) -> (Array2<usize>, Array2<f64>) {
    knn_watched(x, queries, k, &()).expect("nobody stops it")
}

/// [`knn`], watched: the fraction of the queries whose neighbours are found.
///
/// # Panics
/// As [`knn`].
pub fn knn_watched(
    x: ArrayView2<f64>,
    queries: ArrayView2<f64>,
    k: usize,
    watch: &dyn Watch,
) -> Result<(Array2<usize>, Array2<f64>), Stopped> {
    assert_eq!(x.ncols(), queries.ncols(), "rows and queries must have the same columns");
    let k = k.min(x.nrows());
    let mut index = Array2::zeros((queries.nrows(), k));
    let mut squared = Array2::zeros((queries.nrows(), k));
    if k == 0 {
        return Ok((index, squared));
    }
    let (x, queries) = (x.as_standard_layout(), queries.as_standard_layout());
    let asked = cells(queries.view(), CELL, &Part::new(watch, 0.0..CUT / 2.))?;
    let cells = cells(x.view(), CELL, &Part::new(watch, CUT / 2. ..CUT))?;
    let search = Search::new(x.view(), queries.view(), k, cells, &asked);
    let counted = Counted { watch: Part::new(watch, CUT..1.), done: AtomicUsize::new(0), n: queries.nrows() };
    let found = asked.par_iter().map(|cell| search.nearest(cell, &counted));
    let found = found.collect::<Result<Vec<Vec<Nearest>>, Stopped>>()?;
    for (&query, nearest) in asked.iter().zip(&found).flat_map(|(cell, found)| cell.rows.iter().zip(found)) {
        for (rank, &(distance, row)) in nearest.found.iter().enumerate() {
            index[[query as usize, rank]] = row as usize;
            squared[[query as usize, rank]] = distance;
        }
    }
    Ok((index, squared))
}

/// Queries whose neighbours are found, counted over all threads.
struct Counted<'a> {
    watch: Part<'a>,
    done: AtomicUsize,
    n: usize,
}

impl Counted<'_> {
    /// So many more are found.
    fn add(&self, queries: usize) -> Result<(), Stopped> {
        let done = self.done.fetch_add(queries, Ordering::Relaxed) + queries;
        self.watch.at(done as f64 / self.n as f64)
    }
}

struct Search<'a> {
    x: ArrayView2<'a, f64>,       // [n, dim]
    queries: ArrayView2<'a, f64>, // [m, dim]
    k: usize,
    cells: Vec<Cell>, // of x
    scale: f64,       // a power of two that brings all differences below 2, for the range of f32
}

impl<'a> Search<'a> {
    fn new(
        x: ArrayView2<'a, f64>,
        queries: ArrayView2<'a, f64>,
        k: usize,
        cells: Vec<Cell>,
        asked: &[Cell],
    ) -> Self {
        let extent = |column: usize| {
            let all = || cells.iter().chain(asked);
            let hi = all().fold(f64::NEG_INFINITY, |hi, cell| hi.max(cell.hi[column]));
            hi - all().fold(f64::INFINITY, |lo, cell| lo.min(cell.lo[column]))
        };
        let extent = (0..x.ncols()).map(extent).fold(0., f64::max);
        let scale = if extent > 0. { (-extent.log2().floor()).clamp(-1022., 1022.).exp2() } else { 1. };
        Self { x, queries, k, cells, scale }
    }

    /// The nearest rows of each query of a cell.
    fn nearest(&self, asked: &Cell, counted: &Counted) -> Result<Vec<Nearest>, Stopped> {
        /// Cells that are visited between two looks at the watch.
        const VISITS: usize = 256;
        let mut near: Vec<(f64, &Cell)> = self.cells.iter().map(|cell| (asked.gap(cell), cell)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.rows[0].cmp(&b.1.rows[0])));
        let mut group = Group::new(self, asked);
        for cells in near.chunks(VISITS) {
            counted.add(0)?;
            cells.iter().for_each(|(gap, cell)| group.visit(*gap, cell));
        }
        counted.add(asked.rows.len())?;
        Ok(group.found)
    }
}

/// The queries of one cell, and the buffers to compare them with a cell of rows.
struct Group<'s, 'a> {
    search: &'s Search<'a>,
    asked: &'s Cell,
    found: Vec<Nearest>,   // one per query
    centre: Vec<f64>,      // [dim], of the queries
    a: Centred,            // all queries
    b: Centred,            // the rows of a cell
    active: Array2<f32>,   // [CELL, dim], the queries compared with it
    products: Array2<f32>, // [CELL, CELL], -2 a.b
}

impl<'s, 'a> Group<'s, 'a> {
    fn new(search: &'s Search<'a>, asked: &'s Cell) -> Self {
        let dim = search.x.ncols();
        let nearest = || Nearest { k: search.k, found: Vec::with_capacity(search.k) };
        let centre: Vec<f64> = asked.lo.iter().zip(&asked.hi).map(|(lo, hi)| lo / 2. + hi / 2.).collect();
        let mut a = Centred::new(dim);
        a.fill(search.queries, &asked.rows, &centre, search.scale);
        Self {
            search,
            asked,
            found: asked.rows.iter().map(|_| nearest()).collect(),
            centre,
            a,
            b: Centred::new(dim),
            active: Array2::zeros((CELL, dim)),
            products: Array2::zeros((CELL, CELL)),
        }
    }

    fn query(&self, slot: usize) -> ArrayView1<'a, f64> {
        let queries = self.search.queries;
        queries.index_axis_move(Axis(0), self.asked.rows[slot] as usize)
    }

    /// Takes the rows of a cell into account, `gap` being the least distance of any.
    fn visit(&mut self, gap: f64, cell: &Cell) {
        let Search { x, scale, .. } = *self.search;
        // Only queries that the cell may still give a neighbour: as near as the last, and of a smaller index.
        let active: Vec<usize> = (0..self.found.len())
            .filter(|&slot| self.found[slot].admits(gap, cell.rows[0]))
            .filter(|&slot| self.found[slot].admits(cell.gap_to(self.query(slot)), cell.rows[0]))
            .collect();
        if active.is_empty() {
            return;
        }
        for (&slot, mut to) in active.iter().zip(self.active.rows_mut()) {
            to.assign(&self.a.values.row(slot));
        }
        self.b.fill(x, &cell.rows, &self.centre, scale);
        let block = s![..active.len(), ..cell.rows.len()];
        let a = self.active.slice(s![..active.len(), ..]);
        let b = self.b.values.slice(s![..cell.rows.len(), ..]);
        general_mat_mul(-2., &a, &b.t(), 0., &mut self.products.slice_mut(block));
        for (i, &slot) in active.iter().enumerate() {
            self.refine(i, slot, cell);
        }
    }

    /// Offers to the i-th active query all rows of the cell that may be near enough.
    fn refine(&mut self, i: usize, slot: usize, cell: &Cell) {
        /// Rows looked at together.
        const STRIP: usize = 16;
        let query = self.query(slot);
        let margin = Margin::new(self.a.squared[slot], self.b.longest, query.len(), self.search.scale);
        let nearest = &mut self.found[slot];
        let mut limit = margin.limit(nearest.last().0);
        let products = self.products.row(i);
        let (products, _) = products.as_slice().expect("a row of a block is contiguous").as_chunks::<STRIP>();
        let (norms, _) = self.b.rounded.as_chunks::<STRIP>();
        for ((products, norms), rows) in products.iter().zip(norms).zip(cell.rows.chunks(STRIP)) {
            let near = |at: usize| u32::from(!exceeds(norms[at] + products[at], limit));
            if (0..STRIP).map(near).sum::<u32>() == 0 {
                continue;
            }
            for ((&product, &norm), &row) in products.iter().zip(norms).zip(rows) {
                if !exceeds(norm + product, limit) {
                    let distance = squared_distance(query, self.search.x.row(row as usize), nearest.last().0);
                    if nearest.offer(distance, row) {
                        limit = margin.limit(nearest.last().0);
                    }
                }
            }
        }
    }
}

/// Rows relative to a centre, scaled and in single precision.
struct Centred {
    values: Array2<f32>,  // [CELL, dim], of which squared.len() rows are in use
    squared: Vec<f64>,    // lengths
    rounded: [f32; CELL], // lengths in f32, and infinity where there is no row
    longest: f64,         // squared
}

impl Centred {
    fn new(dim: usize) -> Self {
        let values = Array2::zeros((CELL, dim));
        Self { values, squared: Vec::with_capacity(CELL), rounded: [f32::INFINITY; CELL], longest: 0. }
    }

    fn fill(&mut self, x: ArrayView2<f64>, rows: &[u32], centre: &[f64], scale: f64) {
        self.squared.clear();
        self.rounded.fill(f32::INFINITY);
        for ((&row, mut to), rounded) in rows.iter().zip(self.values.rows_mut()).zip(&mut self.rounded) {
            let row = x.index_axis_move(Axis(0), row as usize);
            let row = row.to_slice().expect("standard layout");
            let to = to.as_slice_mut().expect("standard layout");
            for ((to, value), centre) in to.iter_mut().zip(row).zip(centre) {
                *to = ((value - centre) * scale) as f32;
            }
            let squared = length_squared(to);
            *rounded = squared as f32;
            self.squared.push(squared);
        }
        self.longest = self.squared.iter().fold(0., |longest, &squared| longest.max(squared));
    }
}

/// |a|^2, in lanes for speed.
fn length_squared(a: &[f32]) -> f64 {
    const LANES: usize = 8;
    let (strips, rest) = a.as_chunks::<LANES>();
    let mut sums = [0.; LANES];
    for strip in strips {
        for (sum, &a) in sums.iter_mut().zip(strip) {
            *sum += f64::from(a) * f64::from(a);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&a| f64::from(a) * f64::from(a)).sum::<f64>()
}

/// How far |b|^2 - 2 a.b in single precision can be from the truth.
///
/// With u = 2^-24: a and b round by u each, a sum of dim products by dim u, in any order and with blocks
/// added up by at most dim u more, and |a|^2, |b|^2 and the last sum by a few u; all relative to |a|, |b| and
/// their products, hence below (2 dim + 32) u (|a| + |b|)^2. The rest covers double precision, and underflow.
struct Margin {
    dim: f64,
    a_squared: f64,
    error: f64,
    scale: f64,
}

impl Margin {
    fn new(a_squared: f64, b_squared: f64, dim: usize, scale: f64) -> Self {
        let (dim, reach) = (dim as f64, a_squared.sqrt() + b_squared.sqrt());
        let unit = f64::from(f32::EPSILON) / 2.;
        let error = unit * (2. * dim + 32.) * reach * reach + dim * f64::from(f32::MIN_POSITIVE);
        Self { dim, a_squared, error, scale }
    }

    /// What |b|^2 - 2 a.b does not exceed for rows whose computed squared distance is at most `distance`.
    fn limit(&self, distance: f64) -> f32 {
        let truth = distance * (1. + (self.dim + 8.) * f64::EPSILON) + self.dim * f64::MIN_POSITIVE;
        (((truth * self.scale) * self.scale - self.a_squared + self.error) as f32).next_up()
    }
}

/// The best rows of one query so far.
struct Nearest {
    k: usize,
    found: Vec<(f64, u32)>, // squared distance and row, ascending, at most k
}

impl Nearest {
    /// What a row must be below to be among the k.
    fn last(&self) -> (f64, u32) {
        if self.found.len() < self.k { (f64::INFINITY, u32::MAX) } else { self.found[self.k - 1] }
    }

    fn admits(&self, distance: f64, row: u32) -> bool {
        (distance, row) < self.last()
    }

    fn offer(&mut self, distance: f64, row: u32) -> bool {
        let better = self.admits(distance, row);
        if better {
            let place = self.found.partition_point(|&found| found < (distance, row));
            self.found.truncate(self.k - 1);
            self.found.insert(place, (distance, row));
        }
        better
    }
}

/// Never for what is not a number, which must be looked at.
fn exceeds(score: f32, limit: f32) -> bool {
    score > limit
}

/// |a - b|^2, or infinity as soon as it is known to exceed `enough`.
fn squared_distance(a: ArrayView1<f64>, b: ArrayView1<f64>, enough: f64) -> f64 {
    const STRIP: usize = 8;
    let (a, b) = (a.to_slice().expect("standard layout"), b.to_slice().expect("standard layout"));
    let mut sum = 0.;
    for (a, b) in a.chunks(STRIP).zip(b.chunks(STRIP)) {
        for (a, b) in a.iter().zip(b) {
            sum += (a - b) * (a - b);
        }
        if sum > enough || sum.is_nan() {
            return f64::INFINITY;
        }
    }
    sum
}
