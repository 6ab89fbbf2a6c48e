//! A column of lists of d numbers, such as embeddings, as d columns `name_0 .. name_{d-1}`.

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use flowgmm_data::Column;

use super::convert::numbers;
use crate::{Error, Result, column::ColumnBuilder, missing::MissingRules};

/// Whether a type is lists of numbers.
pub(super) fn is_read(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, List(field) | LargeList(field) | FixedSizeList(field, _) if field.data_type().is_numeric())
}

/// The name of the column of element `i`.
pub(super) fn element(column: &str, i: usize) -> String {
    format!("{column}_{i}")
}

/// The column of lists that a name of an element belongs to.
pub(super) fn list_of(element: &str) -> Option<&str> {
    let (column, index) = element.rsplit_once('_')?;
    (!index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())).then_some(column)
}

/// A batch of a column of lists.
pub(super) struct Lists<'a> {
    pub file: &'a str,
    pub column: &'a str,
    pub first_row: u64,
}

impl Lists<'_> {
    /// Its elements as columns. Lists must be as long as those before, if there were any (`known`).
    pub fn expand(
        &self,
        array: &ArrayRef,
        known: Option<usize>,
        missing: &MissingRules,
    ) -> Result<Vec<Column>> {
        let (values, ranges) = parts(array);
        let values = numbers(&values).expect("checked by `is_read`");
        let fixed = match array.data_type() {
            DataType::FixedSizeList(_, d) => Some(*d as usize),
            _ => None,
        };
        let first =
            || (0..array.len()).find(|&row| array.is_valid(row)).map(|row| ranges[row + 1] - ranges[row]);
        let d = match known.or(fixed).or_else(first) {
            Some(d) if d > 0 => d,
            _ => return Err(self.empty(array.data_type())),
        };
        Error::check_columns(self.file, d as u64)?;
        let new = |i| ColumnBuilder::new(missing.of(&element(self.column, i)), array.len());
        let mut columns: Vec<ColumnBuilder> = (0..d).map(new).collect();
        for row in 0..array.len() {
            if array.is_null(row) {
                columns.iter_mut().for_each(ColumnBuilder::missing);
                continue;
            }
            let (start, found) = (ranges[row], ranges[row + 1] - ranges[row]);
            if found != d {
                let row = self.first_row + row as u64;
                let (name, column) = (self.file.into(), self.column.into());
                return Err(Error::ListLength { name, row, column, found, expected: d });
            }
            for (i, column) in columns.iter_mut().enumerate() {
                let at = start + i;
                column.number(values[at]);
            }
        }
        let named = columns.into_iter().enumerate();
        Ok(named.map(|(i, c)| Column { name: element(self.column, i), cells: c.finish() }).collect())
    }

    fn empty(&self, found: &DataType) -> Error {
        Error::Unsupported {
            name: self.file.into(),
            column: self.column.into(),
            found: format!("{found}, empty in all of the first rows,"),
            remedy: "Leave the column out, or put a row with a list first",
        }
    }
}

/// The numbers of all lists, and where in them each list starts, `[n + 1]`.
fn parts(array: &ArrayRef) -> (ArrayRef, Vec<usize>) {
    match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            (lists.values().clone(), lists.value_offsets().iter().map(|&at| at as usize).collect())
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            (lists.values().clone(), lists.value_offsets().iter().map(|&at| at as usize).collect())
        }
        _ => {
            let lists = array.as_fixed_size_list();
            let d = lists.value_length() as usize;
            (lists.values().clone(), (0..=lists.len()).map(|row| row * d).collect())
        }
    }
}
