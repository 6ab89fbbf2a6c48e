//! The file under models and checkpoints: safetensors with one JSON header of our own and a digest.
//!
//! Written atomically ([`atomic_write`]). The digest (BLAKE3 of the whole file with the digest's own digits set to zero)
//! makes every damaged byte an error, and the safetensors format has no code in it: files from untrusted sources are
//! safe to load.

use std::{collections::BTreeMap, fs, path::Path};

use safetensors::{Dtype, SafeTensors};
use serde::Serialize;

use crate::{Error, Result, atomic_write};

/// Tensors by name with their shapes, and a JSON text.
///
/// ```
/// use flowgmm_core::Container;
/// let mut file = Container { header: "{}".into(), ..Container::default() };
/// file.tensors.insert("w".into(), (vec![2], vec![1.0, 2.0]));
/// let bytes = file.to_bytes();
/// assert_eq!(Container::from_bytes(&bytes), Ok(file));
/// assert!(Container::from_bytes(&bytes[1..]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// The file's own description, as JSON.
    pub header: String,
    /// Shape and row-major values of each tensor.
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

#[derive(Serialize)]
struct Entry {
    dtype: &'static str,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

const DIGEST_KEY: &str = "\"digest\":\"";
const DIGEST_DIGITS: usize = 64;

impl Container {
    /// Replaces the file at `path` in one step: readers see the old or the new one, never a part.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic_write(path, &self.to_bytes()).map_err(|source| Error::Io { path: path.to_path_buf(), source })
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Self::from_bytes(&bytes).map_err(|reason| Error::ModelFile { path: path.to_path_buf(), reason })
    }

    /// The file as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries: BTreeMap<&str, serde_json::Value> = BTreeMap::new();
        let metadata =
            BTreeMap::from([("digest", "0".repeat(DIGEST_DIGITS)), ("flowgmm", self.header.clone())]);
        entries.insert("__metadata__", serde_json::to_value(metadata).expect("strings"));
        let mut offset = 0;
        for (name, (shape, values)) in &self.tensors {
            let end = offset + 4 * values.len();
            let entry = Entry { dtype: "F32", shape: shape.clone(), data_offsets: [offset, end] };
            entries.insert(name, serde_json::to_value(entry).expect("numbers and strings"));
            offset = end;
        }
        let mut json = serde_json::to_vec(&entries).expect("strings and numbers");
        json.resize(json.len().next_multiple_of(8), b' '); // the format requires aligned data
        let mut bytes = Vec::with_capacity(8 + json.len() + offset);
        bytes.extend((json.len() as u64).to_le_bytes());
        bytes.extend(json);
        for (_, values) in self.tensors.values() {
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        }
        let digest = blake3::hash(&bytes).to_hex();
        let at = digest_position(&bytes).expect("just written");
        bytes[at..at + DIGEST_DIGITS].copy_from_slice(digest.as_bytes());
        bytes
    }

    /// Reads and checks the bytes of a file; the error says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let damaged =
            "the file is damaged (its checksum does not match); write it again or restore a copy".to_string();
        let (size, parsed) =
            SafeTensors::read_metadata(bytes).map_err(|e| format!("not safetensors: {e}"))?;
        let metadata = parsed.metadata().as_ref().ok_or("it has no metadata: some other safetensors file")?;
        let header = metadata.get("flowgmm").ok_or("it was not written by flowgmm")?.clone();
        let at = digest_position(&bytes[..8 + size]).ok_or("it has no checksum")?;
        let stored = &bytes[at..at + DIGEST_DIGITS];
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes[..at]).update(&[b'0'; DIGEST_DIGITS]).update(&bytes[at + DIGEST_DIGITS..]);
        if hasher.finalize().to_hex().as_bytes() != stored {
            return Err(damaged);
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| format!("not safetensors: {e}"))?;
        let mut out = BTreeMap::new();
        for (name, view) in tensors.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(format!("tensor {name} is {:?}, expected F32", view.dtype()));
            }
            let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            out.insert(name, (view.shape().to_vec(), values.collect()));
        }
        Ok(Self { header, tensors: out })
    }

    /// Takes a tensor out, checking its shape and that its values are finite; the error says what is wrong with it.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> std::result::Result<Vec<f32>, String> {
        let (found, values) = self.tensors.remove(name).ok_or_else(|| format!("tensor {name} is missing"))?;
        if found != shape {
            return Err(format!("tensor {name} has shape {found:?}, the architecture says {shape:?}"));
        }
        if let Some(bad) = values.iter().find(|v| !v.is_finite()) {
            return Err(format!("tensor {name} holds {bad}"));
        }
        Ok(values)
    }
}

/// Where the digest's digits are: metadata sorts first, and its first key is the digest.
fn digest_position(bytes: &[u8]) -> Option<usize> {
    let window = &bytes[..bytes.len().min(256)];
    let at = window.windows(DIGEST_KEY.len()).position(|w| w == DIGEST_KEY.as_bytes())? + DIGEST_KEY.len();
    (at + DIGEST_DIGITS <= bytes.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Container {
        let tensors = BTreeMap::from([
            ("a".to_string(), (vec![2, 2], vec![1.0, -2.5, 3.0, f32::MIN_POSITIVE])),
            ("b".to_string(), (vec![0], vec![])),
        ]);
        Container { header: "{\"class\":\"\u{e9}\\\"\"}".into(), tensors }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Container::from_bytes(&small().to_bytes()), Ok(small()));
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_noticed() {
        let bytes = small().to_bytes();
        for end in 0..bytes.len() {
            assert!(Container::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        for at in 0..bytes.len() {
            for flip in [1u8, 0x20, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                assert!(Container::from_bytes(&changed).is_err(), "byte {at} xor {flip}");
            }
        }
    }
}
