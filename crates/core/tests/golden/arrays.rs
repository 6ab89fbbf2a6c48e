//! The arrays of a golden file as double-precision numbers.

use std::{collections::BTreeMap, path::Path};

use flowgmm_data::Cells;
use flowgmm_tables::{RawValues, read_arrays};
use ndarray::ArrayD;

/// Arrays by name.
pub struct Arrays(BTreeMap<String, ArrayD<f64>>);

impl Arrays {
    /// Reads `tests/golden/<file>`.
    pub fn open(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
        let arrays = read_arrays(&path, |_| true).expect("a readable golden file").expect("an npz file");
        let numbers = |values: RawValues| -> Vec<f64> {
            match values {
                RawValues::Bytes(bytes) => bytes.into_iter().map(f64::from).collect(),
                RawValues::Cells(Cells::Numbers(numbers)) => numbers,
                RawValues::Cells(Cells::Texts(_)) => panic!("{file} holds text"),
            }
        };
        let named = arrays.into_iter().map(|array| {
            let values = numbers(array.values.expect("all are wanted"));
            (
                array.name,
                ArrayD::from_shape_vec(array.shape, values).expect("as many values as the shape says"),
            )
        });
        Self(named.collect())
    }

    /// The array of this name.
    pub fn get(&self, name: &str) -> ArrayD<f64> {
        self.0.get(name).unwrap_or_else(|| panic!("no array {name}")).clone()
    }

    /// All names.
    #[allow(dead_code)] // one of the files that share this asks for what was left unread
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}
