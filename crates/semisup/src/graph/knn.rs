//! Exact k nearest neighbours by brute force, with a matrix product doing most of the work.
//!
//! `|q - x|^2 = |q|^2 - 2 q.x + |x|^2` is fast but rounds; so it only chooses candidates, all rows within its error
//! bound of the k-th smallest, whose distances are then computed directly. Equal distances are ordered by
//! index.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

/// Queries per block: a block's products with all rows take 32 n numbers of memory per thread.
const BLOCK: usize = 32;

/// Indices and squared distances, nearest first, of the `k` rows of `x` `[n, dim]` nearest to each of
/// `queries`
/// `[m, dim]`: both `[m, min(k, n)]`.
pub fn knn(x: ArrayView2<f64>, queries: ArrayView2<f64>, k: usize) -> (Array2<usize>, Array2<f64>) {
    assert_eq!(x.ncols(), queries.ncols(), "rows and queries must have the same columns");
    let k = k.min(x.nrows());
    let search = Search::new(x);
    let blocks: Vec<ArrayView2<f64>> = queries.axis_chunks_iter(Axis(0), BLOCK).collect();
    let found: Vec<Vec<(f64, usize)>> =
        blocks.par_iter().flat_map_iter(|block| search.block(*block, k)).collect();
    let index = Array2::from_shape_fn((found.len(), k), |(query, rank)| found[query][rank].1);
    let squared = Array2::from_shape_fn((found.len(), k), |(query, rank)| found[query][rank].0);
    (index, squared)
}

struct Search<'a> {
    x: ArrayView2<'a, f64>, // [n, dim]
    centre: Array1<f64>,    // [dim]
    centred: Array2<f64>,   // [n, dim], smaller numbers round less
    norms: Vec<f64>,        // [n], squared
    longest: f64,
}

impl<'a> Search<'a> {
    fn new(x: ArrayView2<'a, f64>) -> Self {
        let centre = x.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(x.ncols()));
        let centred = &x - &centre;
        let norms: Vec<f64> = centred.rows().into_iter().map(|row| row.dot(&row)).collect();
        let longest = norms.iter().fold(0., |longest: f64, &norm| longest.max(norm)).sqrt();
        Self { x, centre, centred, norms, longest }
    }

    fn block(&self, queries: ArrayView2<f64>, k: usize) -> Vec<Vec<(f64, usize)>> {
        let centred = &queries - &self.centre;
        let products = centred.dot(&self.centred.t()); // [block, n]
        let rows = queries.rows().into_iter().zip(centred.rows()).zip(products.rows());
        rows.map(|((query, centred), products)| self.nearest(query, centred, products, k)).collect()
    }

    fn nearest(
        &self,
        query: ArrayView1<f64>,
        centred: ArrayView1<f64>,
        products: ArrayView1<f64>,
        k: usize,
    ) -> Vec<(f64, usize)> {
        if k == 0 {
            return Vec::new();
        }
        let rough: Vec<f64> =
            self.norms.iter().zip(products).map(|(norm, product)| norm - 2. * product).collect();
        let (_, &mut kth, _) = rough.clone().select_nth_unstable_by(k - 1, f64::total_cmp);
        // Rounding of a sum of dim products, and of the centring, in units of the numbers involved.
        let reach = centred.dot(&centred).sqrt() + self.longest;
        let error = f64::EPSILON * (query.len() as f64 + 16.) * reach * (reach + self.offset());
        let candidates = (0..rough.len()).filter(|&i| rough[i] <= kth + 2. * error);
        let mut nearest: Vec<(f64, usize)> = candidates.map(|i| (squared(query, self.x.row(i)), i)).collect();
        nearest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        nearest.truncate(k);
        nearest
    }

    /// Length of what was subtracted, to which the centring's rounding is relative.
    fn offset(&self) -> f64 {
        self.centre.dot(&self.centre).sqrt()
    }
}

fn squared(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;
    use rand::Rng as _;

    use super::*;

    fn by_sorting(x: ArrayView2<f64>, query: ArrayView1<f64>, k: usize) -> Vec<(f64, usize)> {
        let mut all: Vec<(f64, usize)> =
            x.rows().into_iter().map(|row| squared(query, row)).zip(0..).collect();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.truncate(k);
        all
    }

    /// Against sorting all distances.
    fn check(x: ArrayView2<f64>, queries: ArrayView2<f64>, k: usize) {
        let (index, squared) = knn(x, queries, k);
        assert_eq!(index.dim(), (queries.nrows(), k.min(x.nrows())));
        for (i, query) in queries.rows().into_iter().enumerate() {
            let found: Vec<(f64, usize)> =
                squared.row(i).into_iter().copied().zip(index.row(i).into_iter().copied()).collect();
            assert_eq!(found, by_sorting(x, query, k));
        }
    }

    proptest! {
        /// On a coarse grid for many ties, and far from the origin for cancellation.
        #[test]
        fn agrees_with_sorting(
            n in 1usize..80, m in 1usize..70, dim in 1usize..5, k in 1usize..12,
            shift in prop::sample::select(vec![0., 1e3, 1e9]),
            step in prop::sample::select(vec![1., 1e-3]),
            seed: u64,
        ) {
            let mut rng = crate::rng(seed);
            let mut value = || shift + step * f64::from(rng.random_range(0..6));
            let x = Array2::from_shape_simple_fn((n, dim), &mut value);
            let queries = Array2::from_shape_simple_fn((m, dim), &mut value);
            check(x.view(), queries.view(), k);
        }
    }

    #[test]
    fn few_rows_and_none() {
        let x = array![[0., 0.], [3., 4.]];
        let (index, squared) = knn(x.view(), array![[3., 3.]].view(), 5);
        assert_eq!((index, squared), (array![[1, 0]], array![[1., 18.]]));
        assert_eq!(knn(Array2::zeros((0, 2)).view(), x.view(), 3).0.dim(), (2, 0));
    }
}
