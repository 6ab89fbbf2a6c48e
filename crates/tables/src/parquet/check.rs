//! What a Parquet file says about sizes, checked against the bytes there are before anything is allocated.

use std::io::{Read, Result as IoResult};

use parquet::{
    arrow::ProjectionMask,
    file::metadata::{ColumnChunkMetaData, ParquetMetaData},
};

use super::{FORMAT, thrift};
use crate::{Error, Result, damage::plausible, shared::Shared};

/// Checks the magic words and the shape of the metadata: `PAR1 .. metadata, its length, PAR1`.
pub(super) fn footer(file: &Shared, name: &str) -> Result<()> {
    let damaged = |why: &str| Error::damaged(name, FORMAT, why);
    let end =
        file.size().checked_sub(8).filter(|&end| end >= 4).ok_or_else(|| damaged("it ends too early"))?;
    let tail = file.slice(end, 8).map_err(|error| Error::reading(name, FORMAT, error))?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => {
            let (name, what) = (name.to_string(), "encrypted Parquet");
            return Err(Error::Foreign { name, what, remedy: "decrypt it first" });
        }
        _ => return Err(damaged("it does not end as Parquet files do")),
    }
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let start =
        end.checked_sub(length.into()).ok_or_else(|| damaged("its metadata is longer than the file"))?;
    let metadata = file.slice(start, length as usize).map_err(|error| Error::reading(name, FORMAT, error))?;
    match thrift::walk(&metadata) {
        Some(_) => Ok(()),
        None => Err(damaged("its metadata makes no sense")),
    }
}

/// Checks that every page of the wanted columns lies in the file and unpacks to a plausible size.
pub(super) fn pages(
    file: &Shared,
    name: &str,
    metadata: &ParquetMetaData,
    mask: &ProjectionMask,
) -> Result<()> {
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        for (leaf, chunk) in row_group.columns().iter().enumerate() {
            if mask.leaf_included(leaf) && !chunk_is_sound(file, chunk).unwrap_or(false) {
                let column = chunk.column_path().string();
                let why =
                    format!("the values of column '{column}' in row group {} are not in place", group + 1);
                return Err(Error::damaged(name, FORMAT, why));
            }
        }
    }
    Ok(())
}

fn chunk_is_sound(file: &Shared, chunk: &ColumnChunkMetaData) -> IoResult<bool> {
    let start = chunk.dictionary_page_offset().filter(|&at| at > 0).unwrap_or(chunk.data_page_offset());
    let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
        return Ok(false);
    };
    let Some(end) = start.checked_add(length).filter(|&end| end <= file.size()) else { return Ok(false) };
    let mut at = start;
    while at < end {
        let Some(header) = page_header(file, at, end)? else { return Ok(false) };
        if header.packed > end - at - header.size || !plausible(header.packed, header.unpacked) {
            return Ok(false);
        }
        at += header.size + header.packed;
    }
    Ok(true)
}

struct PageHeader {
    size: u64,
    packed: u64,
    unpacked: u64,
}

/// The header of the page at `at`; statistics in it make its size unknown until it is read.
fn page_header(file: &Shared, at: u64, end: u64) -> IoResult<Option<PageHeader>> {
    for limit in [1 << 8, 1 << 12, 1 << 24] {
        let mut bytes = Vec::new();
        file.from(at).take(limit.min(end - at)).read_to_end(&mut bytes)?;
        if let Some((integers, size)) = thrift::walk(&bytes) {
            let length = |field| integers.get(&field).and_then(|&n| u64::try_from(n).ok());
            let (Some(unpacked), Some(packed)) = (length(2), length(3)) else { return Ok(None) };
            return Ok(Some(PageHeader { size: size as u64, packed, unpacked }));
        }
    }
    Ok(None)
}
