//! Parquet files, a batch of rows of the wanted columns at a time.

mod check;
mod thrift;

use flowgmm_data::Frame;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder},
    },
    file::metadata::ParquetMetaData,
};

use crate::{Options, Result, Warning, damage::decode, record_batch::Layout, shared::Shared};

pub(crate) const FORMAT: &str = "Parquet";

/// Batches of rows of a Parquet file.
pub(crate) struct Batches {
    name: String,
    layout: Layout,
    reader: ParquetRecordBatchReader,
}

/// Checks the file's structure, finds the columns, and leaves the rest of them unread.
pub(crate) fn open(
    file: Shared,
    name: &str,
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Batches> {
    check::footer(&file, name)?;
    let builder = decode(name, FORMAT, || ParquetRecordBatchReaderBuilder::try_new(file.clone()))?;
    let layout = Layout::new(name, builder.schema(), options, warnings)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), layout.roots().iter().copied());
    check::pages(&file, name, builder.metadata(), &mask)?;
    let rows = options.rows(values_per_row(builder.metadata(), &mask));
    let reader = decode(name, FORMAT, || builder.with_projection(mask).with_batch_size(rows).build())?;
    Ok(Batches { name: name.into(), layout, reader })
}

/// Values of a row in the wanted columns, counting those in lists.
fn values_per_row(metadata: &ParquetMetaData, mask: &ProjectionMask) -> usize {
    let Some(group) = metadata.row_groups().first() else { return 1 };
    let wanted = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    let values = wanted.map(|(_, chunk)| chunk.num_values().max(0) as usize).fold(0, usize::saturating_add);
    values / group.num_rows().max(1) as usize
}

impl Iterator for Batches {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = decode(&self.name, FORMAT, || self.reader.next().transpose());
        batch.and_then(|batch| batch.map(|batch| self.layout.frame(&batch)).transpose()).transpose()
    }
}
