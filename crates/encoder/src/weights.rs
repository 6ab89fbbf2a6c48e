//! `model.safetensors`: tensors by name, read after their sizes are checked against the file's.
//!
//! ```text
//! u64 length of the header | header: JSON {name: {dtype, shape, data_offsets}} | data
//! ```
//!
//! The header is read first; a tensor is read alone when it is asked for, so a file that claims more than it holds
//! costs no memory, and tensors that are not used (a pooler, a language-model head) cost no time.

use crate::error::{Error, Result};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What safetensors itself allows.
const LARGEST_HEADER: u64 = 100_000_000;

/// An open weight file.
pub(crate) struct Weights {
    path: PathBuf,
    file: File,
    header: Metadata,
    /// Where the data begins.
    data: u64,
    digest: blake3::Hash,
}

impl Weights {
    /// Reads the header and digests the whole file.
    pub(crate) fn open(path: &Path) -> Result<Weights> {
        let mut file = File::open(path).map_err(Error::io(path))?;
        let size = file.metadata().map_err(Error::io(path))?.len();
        let cut = || {
            Error::damaged(path, format!("{size} bytes are too few for a safetensors file: it is cut short"))
        };

        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| cut())?;
        let length = u64::from_le_bytes(length);
        if length > LARGEST_HEADER {
            return Err(Error::damaged(
                path,
                format!("is not a safetensors file: a header of {length} bytes"),
            ));
        }
        let data = 8 + length;
        if data > size {
            return Err(cut());
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(Error::io(path))?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|e| Error::damaged(path, format!("its safetensors header is broken: {e}")))?;

        for (name, info) in header.tensors() {
            let (start, end) = info.data_offsets;
            if start > end || end as u64 > size - data {
                return Err(Error::damaged(
                    path,
                    format!(
                        "is cut short: tensor {name} ends at byte {end} of the data, the file has {}",
                        size - data
                    ),
                ));
            }
        }

        file.rewind().map_err(Error::io(path))?;
        let digest = blake3::Hasher::new().update_reader(&file).map_err(Error::io(path))?.finalize();
        Ok(Weights { path: path.to_owned(), file, header, data, digest })
    }

    /// BLAKE3 of the file.
    pub(crate) fn digest(&self) -> blake3::Hash {
        self.digest
    }

    /// What stands before `name` in this file's names, such as `bert.`; the shortest, if there are several.
    pub(crate) fn prefix_of(&self, name: &str) -> Result<String> {
        let keys = self.header.offset_keys();
        let prefixes = keys.iter().filter_map(|key| key.strip_suffix(name));
        let shortest = prefixes.filter(|p| p.is_empty() || p.ends_with('.')).min_by_key(|p| p.len());
        shortest.map(str::to_owned).ok_or_else(|| self.lacks(name))
    }

    /// Whether there is such a tensor.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    /// The tensor `name`, which must have this shape and finite numbers, as f32.
    pub(crate) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let info = self.header.info(name).ok_or_else(|| self.lacks(name))?;
        let bytes_each = self.check(name, info, shape)?;
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        let at = SeekFrom::Start(self.data + start as u64);
        self.file.seek(at).and_then(|_| self.file.read_exact(&mut bytes)).map_err(Error::io(&self.path))?;

        let values: Vec<f32> = match info.dtype {
            Dtype::F32 => {
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            Dtype::BF16 => bytes.chunks_exact(2).map(|b| f32::from_le_bytes([0, 0, b[0], b[1]])).collect(),
            _ => bytes.chunks_exact(bytes_each).map(|b| f16(u16::from_le_bytes([b[0], b[1]]))).collect(),
        };
        match values.iter().position(|v| !v.is_finite()) {
            Some(i) => Err(Error::damaged(
                &self.path,
                format!("number {i} of tensor {name} is {}, not finite", values[i]),
            )),
            None => Ok(values),
        }
    }

    /// Bytes per number, if type, shape and extent of the tensor are as they must be.
    fn check(&self, name: &str, info: &TensorInfo, shape: &[usize]) -> Result<usize> {
        let bytes_each = match info.dtype {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
            other => {
                return Err(Error::Unsupported {
                    path: self.path.clone(),
                    what: format!("tensor {name} of type {other:?}"),
                    supported: "F32, F16, BF16",
                });
            }
        };
        if info.shape != shape {
            let what = format!(
                "tensor {name} has the shape {:?}, by config.json it should be {shape:?}",
                info.shape
            );
            return Err(Error::damaged(&self.path, what));
        }
        let bytes = shape.iter().try_fold(bytes_each, |bytes: usize, n| bytes.checked_mul(*n));
        let (start, end) = info.data_offsets;
        if bytes != Some(end - start) {
            let what = format!("tensor {name} of shape {shape:?} has {} bytes", end - start);
            return Err(Error::damaged(&self.path, what));
        }
        Ok(bytes_each)
    }

    fn lacks(&self, name: &str) -> Error {
        Error::damaged(&self.path, format!("has no tensor {name}, which its config.json calls for"))
    }
}

/// Half precision: shifting the bits into place divides by 2^112, and keeps subnormal numbers right.
fn f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = u32::from(bits & 0x7fff) << 13;
    if bits & 0x7c00 == 0x7c00 {
        return f32::from_bits(sign | 0x7f80_0000 | rest & 0x007f_ffff);
    }
    const TWO_112: f32 = f32::from_bits((112 + 127) << 23);
    f32::from_bits((f32::from_bits(rest) * TWO_112).to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_exact() {
        for bits in 0..=u16::MAX {
            let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
            let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
            let want = match exponent {
                0 => sign * mantissa * 2f64.powi(-24),
                31 if mantissa == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                e => sign * (1.0 + mantissa / 1024.0) * 2f64.powi(e - 15),
            };
            let got = f64::from(f16(bits));
            assert!(got == want || got.is_nan() && want.is_nan(), "{bits:#06x}: {got}, expected {want}");
        }
    }
}
