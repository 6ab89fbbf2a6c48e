//! Rows to train on, as numbers of single precision: in memory, and behind them on disk if there are more.

use std::sync::Arc;

use burn_tensor::Tensor;
use ndarray::{Array2, ArrayView2};
use semisup::Rng;

use super::RowCache;
use crate::{Result, dequantise::DiscreteRows, tensor::Place};

/// Training rows in single precision, from which batches are gathered.
#[derive(Clone, Debug)]
pub struct TrainingMatrix {
    dim: usize,
    /// The rows in memory, `[n, dim]`.
    values: Vec<f32>,
    /// The rows after those, if memory does not hold all.
    cached: Option<Arc<RowCache>>,
    /// The rows before preprocessing, if they are dequantised.
    discrete: Option<DiscreteRows>,
}

impl TrainingMatrix {
    /// Copies the rows of an array.
    pub fn new(x: ArrayView2<f64>) -> Self {
        Self { dim: x.ncols(), values: x.iter().map(|&v| v as f32).collect(), cached: None, discrete: None }
    }

    /// Joins rows that come in parts, of `dim` columns each.
    pub fn from_parts(dim: usize, parts: impl IntoIterator<Item = Array2<f64>>) -> Self {
        let mut values = Vec::new();
        for part in parts {
            assert_eq!(part.ncols(), dim, "columns of a part");
            values.extend(part.iter().map(|&v| v as f32));
        }
        Self { dim, values, cached: None, discrete: None }
    }

    /// Adds rows after these.
    ///
    /// # Panics
    /// If they have other columns, only one of both is dequantised, or one of both has a cache.
    pub fn append(&mut self, other: Self) {
        assert_eq!(self.dim, other.dim, "columns");
        assert!(self.cached.is_none() && other.cached.is_none(), "rows in memory");
        self.values.extend(other.values);
        match (&mut self.discrete, other.discrete) {
            (None, None) => {}
            (Some(own), Some(other)) => own.append(&other),
            _ => panic!("rows of which some are dequantised"),
        }
    }

    /// These rows, dequantised with fresh noise whenever a batch is drawn.
    pub fn dequantised(mut self, discrete: Option<DiscreteRows>) -> Self {
        self.discrete = discrete;
        self
    }

    /// These rows, and after them those of a cache.
    ///
    /// # Panics
    /// If they have other columns, or these are dequantised.
    pub fn with_cache(mut self, cache: Arc<RowCache>) -> Self {
        assert!(self.dim == cache.dim() && self.discrete.is_none(), "rows of the same kind");
        self.cached = Some(cache);
        self
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.in_memory() + self.cached.as_ref().map_or(0, |cache| cache.len())
    }

    fn in_memory(&self) -> usize {
        self.values.len() / self.dim.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether rows are dequantised whenever they are drawn.
    pub(super) fn is_dequantised(&self) -> bool {
        self.discrete.is_some()
    }

    /// The rows in memory, `[n, dim]`.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// All rows as an array.
    pub(crate) fn array(&self) -> Result<Array2<f64>> {
        let all: Vec<usize> = (0..self.len()).collect();
        let values = self.undisturbed(&all)?.into_iter().map(f64::from).collect();
        Ok(Array2::from_shape_vec((self.len(), self.dim), values).expect("rows fill their shape"))
    }

    /// `count` consecutive rows from `start` on as a tensor.
    pub(crate) fn chunk(&self, start: usize, count: usize, place: &Place) -> Result<Tensor<2>> {
        let rows: Vec<usize> = (start..start + count).collect();
        Ok(place.rows_f32(self.undisturbed(&rows)?, [count, self.dim]))
    }

    /// Some rows for a batch; discrete ones are dequantised with noise from `rng`.
    pub(super) fn gather(&self, rows: &[usize], rng: &mut Rng) -> Result<Vec<f32>> {
        match &self.discrete {
            Some(discrete) => Ok(discrete.draw(rows, rng)),
            None => self.undisturbed(rows),
        }
    }

    /// Rows as they are, without noise.
    fn undisturbed(&self, rows: &[usize]) -> Result<Vec<f32>> {
        let (mut out, mut bytes) = (Vec::with_capacity(rows.len() * self.dim), Vec::new());
        let in_memory = self.in_memory();
        for &row in rows {
            match &self.cached {
                Some(cache) if row >= in_memory => cache.read(row - in_memory, &mut bytes, &mut out)?,
                _ => out.extend_from_slice(&self.values[row * self.dim..(row + 1) * self.dim]),
            }
        }
        Ok(out)
    }
}
