//! Labels that are given beside a table in memory: to learn from, they are a column like any other.

use flowgmm_data::{Cells, Column, Frame};

use super::{Labels, Source};
use crate::{Error, Result};

/// Labels that are given, as the column that they become.
pub(super) struct GivenLabels<'a> {
    pub(super) name: String,
    pub(super) labels: &'a [Option<String>],
}

/// The labels of a table in memory, if they are given: in a column that the table has no other of the name of.
pub(super) fn given_labels(source: &Source) -> Result<Option<GivenLabels<'_>>> {
    let Labels::Given { name, labels } = &source.labels else { return Ok(None) };
    let mut name = name.clone();
    if let Some(first) = source.frames(&[])?.next() {
        let first = first?;
        while first.column(&name).is_some() {
            name.push('_');
        }
    }
    Ok(Some(GivenLabels { name, labels }))
}

impl GivenLabels<'_> {
    /// The rows from `start` on with their labels in a last column.
    pub(super) fn beside(&self, rows: Frame, start: usize) -> Result<Frame> {
        let labels = (start..start + rows.n()).map(|row| self.labels.get(row).and_then(Option::as_deref));
        let cells = Cells::Texts(labels.collect());
        let (table, lines) = (rows.name().to_string(), rows.lines().to_vec());
        let mut columns = rows.into_columns();
        columns.push(Column { name: self.name.clone(), cells });
        Ok(Frame::new(&table, columns, lines)?)
    }

    /// What to say of a table of so many rows with another number of labels.
    pub(super) fn wrong_number(&self, source: &Source, rows: usize) -> Error {
        let (name, labels) = (source.name(), self.labels.len());
        Error::Content(format!(
            "{name} has {rows} rows, and {labels} labels are given: give one for each row"
        ))
    }
}
