//! The fast search against its naive twin: all distances, sorted. Not one bit may differ.

use flowgmm_learners::knn;
use proptest::prelude::*;
use rand::Rng as _;
use semisup::ndarray::{Array2, ArrayView1, ArrayView2, array, s};

/// The k nearest rows of one query: squared distance and index, equal distances by index, NaN as infinity.
fn by_sorting(x: ArrayView2<f64>, query: ArrayView1<f64>, k: usize) -> Vec<(u64, usize)> {
    let squared = |row: ArrayView1<f64>| query.iter().zip(row).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let number = |squared: f64| if squared.is_nan() { f64::INFINITY } else { squared };
    let mut all: Vec<(f64, usize)> = x.rows().into_iter().map(|row| number(squared(row))).zip(0..).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all.into_iter().take(k).map(|(squared, row)| (squared.to_bits(), row)).collect()
}

fn check(x: ArrayView2<f64>, queries: ArrayView2<f64>, k: usize) {
    let (index, squared) = knn(x, queries, k);
    assert_eq!(index.dim(), (queries.nrows(), k.min(x.nrows())));
    for (i, query) in queries.rows().into_iter().enumerate() {
        let bits = squared.row(i).into_iter().map(|squared| squared.to_bits());
        let found: Vec<(u64, usize)> = bits.zip(index.row(i).into_iter().copied()).collect();
        assert_eq!(found, by_sorting(x, query, k), "query {i} of {:?} in {:?}", queries.dim(), x.dim());
    }
}

/// Numbers in [0, 1), or on a grid of `levels` steps of it if that is not 0.
fn numbers(n: usize, dim: usize, levels: u32, seed: u64) -> Array2<f64> {
    let mut rng = semisup::rng(seed);
    let value = || match levels {
        0 => rng.random(),
        levels => f64::from(rng.random_range(0..levels)) / f64::from(levels),
    };
    Array2::from_shape_simple_fn((n, dim), value)
}

proptest! {
    /// Small shapes: grids for ties, offsets for cancellation, scales for the range of single precision.
    #[test]
    fn agrees_with_sorting(
        n in 1usize..80, m in 1usize..70, dim in 1usize..9, k in 1usize..12,
        shift in prop::sample::select(vec![0., 1e3, -1e8, 1e16]),
        step in prop::sample::select(vec![1., 1e-3, 1e-30, 1e-170, 1e30, 1e160]),
        levels in prop::sample::select(vec![0, 1, 2, 6]),
        seed: u64,
    ) {
        let x = numbers(n, dim, levels, seed) * step + shift;
        let queries = numbers(m, dim, levels, seed ^ 1) * step + shift;
        check(x.view(), queries.view(), k);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Several cells of rows and of queries, clusters far apart, columns of very different widths.
    #[test]
    fn agrees_with_sorting_over_many_cells(
        n in 200usize..1500, m in 1usize..600, dim in 1usize..20, k in 1usize..20,
        levels in prop::sample::select(vec![0, 2, 9]),
        far in prop::sample::select(vec![0., 10., 1e6]),
        seed: u64,
    ) {
        let rows = |n, seed: u64| {
            let mut x = numbers(n, dim, levels, seed);
            x.rows_mut().into_iter().enumerate().for_each(|(i, mut row)| row += far * (i % 3) as f64);
            x.columns_mut().into_iter().enumerate().for_each(|(j, mut column)| column *= 10f64.powi(j as i32 % 4));
            x
        };
        check(rows(n, seed).view(), rows(m, seed ^ 1).view(), k);
    }
}

#[test]
fn rows_search_among_themselves() {
    for (n, dim, levels) in
        [(1, 1, 0), (1, 7, 0), (257, 1, 0), (513, 3, 4), (700, 54, 0), (300, 300, 0), (600, 2, 1)]
    {
        let x = numbers(n, dim, levels, n as u64);
        for k in [1, 2, 11, n, n + 3] {
            check(x.view(), x.view(), k);
        }
    }
}

/// Neighbours that differ by a few units in the last place of data at 1e8: no single precision can tell.
#[test]
fn huge_offsets_do_not_blur() {
    let x = numbers(900, 5, 0, 3) * 1e-6 + 1e8;
    check(x.view(), x.slice(s![..200, ..]), 8);
    let mut x = numbers(900, 5, 0, 4);
    x.column_mut(2).mapv_inplace(|v| v + 1e8);
    x.row_mut(17).fill(-1e12);
    check(x.view(), x.view(), 8);
}

/// A thousand copies of each of three rows, in turn: the first copies win.
#[test]
fn duplicates_are_ordered_by_index() {
    let x = Array2::from_shape_fn((3000, 4), |(i, j)| ((i % 3) * j) as f64);
    let (index, squared) = knn(x.view(), x.slice(s![..3, ..]), 3);
    assert_eq!(index, array![[0, 3, 6], [1, 4, 7], [2, 5, 8]]);
    assert!(squared.iter().all(|&squared| squared == 0.));
    check(x.view(), x.slice(s![100..110, ..]), 1005);
}

#[test]
fn any_layout_of_memory() {
    let x = numbers(400, 6, 0, 5);
    let transposed = x.t().as_standard_layout().into_owned();
    assert_eq!(
        knn(transposed.t(), transposed.t().slice(s![..;2, ..]), 4),
        knn(x.view(), x.slice(s![..;2, ..]), 4)
    );
}

#[test]
fn few_rows_none_and_not_a_number() {
    let x = array![[0., 0.], [3., 4.]];
    let (index, squared) = knn(x.view(), array![[3., 3.]].view(), 5);
    assert_eq!((index, squared), (array![[1, 0]], array![[1., 18.]]));
    assert_eq!(knn(Array2::zeros((0, 2)).view(), x.view(), 3).0.dim(), (2, 0));
    assert_eq!(knn(x.view(), Array2::zeros((0, 2)).view(), 3).0.dim(), (0, 2));
    assert_eq!(knn(x.view(), x.view(), 0).0.dim(), (2, 0));
    assert_eq!(knn(Array2::zeros((3, 0)).view(), Array2::zeros((1, 0)).view(), 2).0, array![[0, 1]]);
    let mut x = numbers(600, 3, 0, 6);
    x[[5, 1]] = f64::NAN;
    x[[400, 0]] = f64::INFINITY;
    check(x.view(), x.view(), 600);
}

#[test]
fn same_bits_at_any_thread_count() {
    let x = numbers(3000, 4, 50, 7);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| knn(x.view(), x.view(), 10))
    };
    assert_eq!(run(1), run(3));
}
