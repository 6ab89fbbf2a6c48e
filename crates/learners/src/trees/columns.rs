//! Rows as trees see them: 32-bit numbers, column by column.

use ndarray::ArrayView2;

/// A value in the precision of trees; values out of its range become the largest there is.
pub(crate) fn single(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

/// x `[n, dim]`, stored by columns.
pub(super) struct Columns {
    values: Vec<f32>, // [dim, n]
    n: usize,
    dim: usize,
}

impl Columns {
    pub fn of(x: ArrayView2<f64>) -> Self {
        let values = x.columns().into_iter().flat_map(|column| column.into_iter().map(|&v| single(v)));
        Self { values: values.collect(), n: x.nrows(), dim: x.ncols() }
    }

    pub fn n(&self) -> usize {
        self.n
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The values of a column, `[n]`.
    pub fn column(&self, feature: usize) -> &[f32] {
        &self.values[feature * self.n..(feature + 1) * self.n]
    }
}

/// A threshold that separates two neighbouring values of a column, a < b: their middle, or a if that rounds to b.
pub(super) fn middle(a: f32, b: f32) -> f32 {
    let middle = ((f64::from(a) + f64::from(b)) / 2.) as f32;
    if middle < b { middle } else { a }
}

/// A number that orders values as they are ordered: the sign bit flipped for positive, all bits for negative ones.
pub(super) fn sort_key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_their_values() {
        let values = [f32::MIN, -2.5, -1e-30, 0., 1e-30, 3., f32::MAX];
        assert!(values.map(sort_key).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_middle_separates_neighbouring_numbers() {
        let next = 1_f32.next_up();
        assert_eq!((middle(1., 3.), middle(1., next)), (2., 1.));
        assert_eq!(middle(f32::MIN, f32::MAX), 0.);
        assert_eq!((single(1e300), single(-1e300)), (f32::MAX, f32::MIN));
    }
}
