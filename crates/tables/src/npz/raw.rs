//! Arrays of an NPZ file as they are, with any number of dimensions.

use std::{
    io::{BufReader, Read},
    path::Path,
};

use flowgmm_data::Cells;

use super::{FORMAT, members};
use crate::{
    Error, InputFormat, Result,
    column::ColumnBuilder,
    missing::Missing,
    npy::{Header, Order},
    source::{Input, Source},
};

/// An array of an NPZ file.
#[derive(Clone, Debug)]
pub struct RawArray {
    /// Its name.
    pub name: String,
    /// Its shape; empty for a single number.
    pub shape: Vec<usize>,
    /// Its elements, if they were asked for; the last index runs fastest.
    pub values: Option<RawValues>,
}

/// Elements of an array.
#[derive(Clone, Debug)]
pub enum RawValues {
    /// Of type uint8.
    Bytes(Vec<u8>),
    /// Of any other type.
    Cells(Cells),
}

/// The arrays of an NPZ file whose headers can be read, with the elements of those that are `wanted`. `None` if the file
/// is no zip archive.
pub fn read_arrays(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Option<Vec<RawArray>>> {
    let input = Input::open(Source::File(path.into()))?;
    if !input.head.starts_with(b"PK\x03\x04") {
        return Ok(None);
    }
    let name = input.name.clone();
    let file = input.into_shared(InputFormat::Npz)?;
    let mut arrays = Vec::new();
    for member in members(&file, &name)? {
        let mut stream = BufReader::with_capacity(1 << 16, member.open(&file, &name)?);
        let wanted = wanted(&member.array);
        let header = match Header::read_any(&mut stream, &name, &member.array) {
            Ok(header) => header,
            Err(error) if wanted => return Err(error),
            Err(_) => continue, // it is not wanted
        };
        let shape = header.dims.iter().map(|&size| size as usize).collect();
        let values = match wanted {
            true => Some(elements(&mut stream, &header, &name, &member.array)?),
            false => None,
        };
        arrays.push(RawArray { name: member.array, shape, values });
    }
    Ok(Some(arrays))
}

fn elements(stream: &mut impl Read, header: &Header, file: &str, array: &str) -> Result<RawValues> {
    if header.order == Order::Fortran && header.dims.len() > 1 {
        return Err(Error::Unsupported {
            name: file.into(),
            column: array.into(),
            found: "array in Fortran order".into(),
            remedy: "Save it in the usual order: np.ascontiguousarray(x)",
        });
    }
    let mut bytes = Vec::new();
    // Memory is allocated as bytes arrive, not as the header claims; the end checks the archive's sum.
    let read = stream.read_to_end(&mut bytes);
    read.map_err(|error| Error::reading(file, FORMAT, error))?;
    if bytes.len() as u64 != header.bytes() {
        let (found, expected, shape) = (bytes.len(), header.bytes(), header.shape());
        let why = format!("array '{array}' of shape {shape} needs {expected} bytes, but has {found}");
        return Err(Error::damaged(file, FORMAT, why));
    }
    if header.element.is_byte() {
        return Ok(RawValues::Bytes(bytes));
    }
    let n = bytes.len() / header.element.size as usize;
    let mut column = ColumnBuilder::new(Missing::default(), n);
    header.element.push_all(&bytes, 0..n, &mut column);
    Ok(RawValues::Cells(column.finish()))
}
