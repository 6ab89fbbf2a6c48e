//! Features of a CSV file too large for memory, a batch of rows at a time.
//!
//! Yields `[batch, dim]` arrays, the last one possibly shorter; memory is one batch.

use std::io::Read;

use ndarray::Array2;

use crate::records::{Records, locate, number};
use crate::{Error, Result};

/// Reads the header and finds `columns` by name, in the order asked for; other columns are ignored.
///
/// The rows then come in batches of `batch` (at least 1). A file without rows yields one error.
pub fn stream_features<R: Read>(
    reader: R,
    name: &str,
    columns: &[String],
    batch: usize,
) -> Result<RowBatches<R>> {
    let records = Records::new(reader, name)?;
    let indices = locate(name, &records.columns, columns)?;
    Ok(RowBatches { records, indices, batch: batch.max(1), state: State::Start })
}

/// Batches of rows; after an error there are no more.
pub struct RowBatches<R> {
    records: Records<R>,
    indices: Vec<usize>, // [dim], positions in the file
    batch: usize,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Start,
    Reading,
    Done,
}

impl<R: Read> Iterator for RowBatches<R> {
    type Item = Result<Array2<f64>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Done {
            return None;
        }
        let rows = self.read_batch();
        let finished = !matches!(&rows, Ok(x) if x.nrows() == self.batch);
        let first = self.state == State::Start;
        self.state = if finished { State::Done } else { State::Reading };
        match rows {
            Ok(x) if x.nrows() > 0 => Some(Ok(x)),
            Ok(_) if first => Some(Err(Error::NoRows { name: self.records.name.clone() })),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl<R: Read> RowBatches<R> {
    fn read_batch(&mut self) -> Result<Array2<f64>> {
        let mut values = Vec::new();
        let mut n = 0;
        while n < self.batch {
            let Some(record) = self.records.next()? else { break };
            for &index in &self.indices {
                values.push(number(&self.records.name, &self.records.columns, &record, index)?);
            }
            n += 1;
        }
        Ok(Array2::from_shape_vec((n, self.indices.len()), values).expect("one value per row and column"))
    }
}
