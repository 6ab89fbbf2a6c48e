//! The header of a NumPy array: a Python dictionary of three entries.

use std::io::Read;

use super::{FORMAT, element::Element};
use crate::{Error, Result};

/// What an array is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub element: Element,
    pub order: Order,
    pub n: u64,
    /// Numbers of a row, whatever its dimensions; `None` for an array of one dimension.
    pub d: Option<u64>,
    /// The shape as it is stored.
    pub dims: Vec<u64>,
    /// Bytes before the elements.
    pub size: u64,
}

/// Which index of an array of two dimensions runs fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The column.
    C,
    /// The row.
    Fortran,
}

/// NumPy's own limit is 10 kB.
const LONGEST: u32 = 1 << 20;

impl Header {
    /// Reads up to the first element of an array that is a column or a matrix. `array` is what messages call the array
    /// in the file `name`.
    pub fn read(stream: &mut impl Read, name: &str, array: &str) -> Result<Self> {
        Self::read_any(stream, name, array)?.tabular(name, array)
    }

    /// Reads up to the first element of an array of any number of dimensions; a single number has none.
    pub fn read_any(stream: &mut impl Read, name: &str, array: &str) -> Result<Self> {
        let mut exactly = |length: u64| -> Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let taken = stream.take(length).read_to_end(&mut bytes);
            taken.map_err(|error| Error::reading(name, FORMAT, error))?;
            match bytes.len() as u64 == length {
                true => Ok(bytes),
                false => Err(Error::damaged(name, FORMAT, format!("array '{array}' ends in its header"))),
            }
        };
        let damaged = |why: &str| Error::damaged(name, FORMAT, format!("array '{array}' {why}"));
        let start = exactly(8)?;
        let length_bytes = match (start.starts_with(b"\x93NUMPY"), start[6]) {
            (true, 1) => 2,
            (true, 2 | 3) => 4,
            (true, _) => return Err(damaged("has a header of an unknown version")),
            (false, _) => return Err(damaged("does not start as NumPy arrays do")),
        };
        let mut length = [0; 4];
        length[..length_bytes].copy_from_slice(&exactly(length_bytes as u64)?);
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            return Err(damaged("has a header of an absurd length"));
        }
        let text = exactly(length.into())?;
        let size = 8 + length_bytes as u64 + u64::from(length);
        Self::parse(&String::from_utf8_lossy(&text), size, name, array)
    }

    /// Number of columns.
    pub fn width(&self) -> u64 {
        self.d.unwrap_or(1)
    }

    /// Bytes of a row; [`Header::parse`] made sure that there are so few.
    pub fn row_bytes(&self) -> u64 {
        self.width() * self.element.size
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.n * self.row_bytes()
    }

    /// `[3, 2]`
    pub fn shape(&self) -> String {
        format!("{:?}", self.dims)
    }

    /// This header, or an error unless the array has one or two dimensions.
    fn tabular(self, name: &str, array: &str) -> Result<Self> {
        if matches!(self.dims.len(), 1 | 2) {
            return Ok(self);
        }
        Err(Error::Unsupported {
            name: name.into(),
            column: array.into(),
            found: format!("array of shape {}", self.shape()),
            remedy: "Reshape it to [n, d]: x.reshape(len(x), -1)",
        })
    }

    fn parse(text: &str, size: u64, name: &str, array: &str) -> Result<Self> {
        let damaged = |why: &str| Error::damaged(name, FORMAT, format!("array '{array}' {why}"));
        let descr = entry(text, "descr").ok_or_else(|| damaged("does not say its type"))?;
        let order = match entry(text, "fortran_order") {
            Some(value) if value.starts_with("False") => Order::C,
            Some(value) if value.starts_with("True") => Order::Fortran,
            _ => return Err(damaged("does not say its order")),
        };
        let shape =
            entry(text, "shape").and_then(numbers).ok_or_else(|| damaged("does not say its shape"))?;
        let unsupported = |found: &str, remedy| Error::Unsupported {
            name: name.into(),
            column: array.into(),
            found: found.into(),
            remedy,
        };
        let (n, d) = match *shape.as_slice() {
            [] => (1, None),
            [n] => (n, None),
            [n, ref rest @ ..] if !rest.contains(&0) => {
                let d = rest.iter().try_fold(1u64, |d, &size| d.checked_mul(size));
                (n, Some(d.ok_or_else(|| damaged(&format!("has the absurd shape {shape:?}")))?))
            }
            _ => {
                return Err(unsupported(
                    &format!("array of shape {shape:?}"),
                    "Reshape it to [n, d]: x.reshape(len(x), -1)",
                ));
            }
        };
        let quoted = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
        let Some(quoted) = quoted else {
            return Err(unsupported("record", "Save its fields as separate arrays, with np.savez"));
        };
        let element = Element::parse(quoted).ok_or_else(|| match quoted.contains('O') {
            true => unsupported("object (pickled)", "Convert it first: x.astype(str) or x.astype(float)"),
            false => unsupported(quoted, "Convert it first: x.astype(float)"),
        })?;
        let bytes = d.unwrap_or(1).checked_mul(element.size).and_then(|row| row.checked_mul(n));
        match bytes {
            Some(bytes) if bytes <= i64::MAX as u64 => Ok(Self { element, order, n, d, dims: shape, size }),
            _ => Err(damaged(&format!("has the absurd shape {shape:?}"))),
        }
    }
}

/// What follows `'key':` in a Python dictionary.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
    Some(text[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
}

/// The numbers of a Python tuple; Python 2 wrote `3L`.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('(')?.split(')').next()?;
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header> {
        Header::parse(text, 0, "f.npy", "x")?.tabular("f.npy", "x")
    }

    #[track_caller]
    fn assert_complains(text: &str, part: &str) {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.contains("f.npy") && message.contains("'x'") && message.contains(part), "{message}");
    }

    #[test]
    fn headers_of_numpy() {
        let header = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!((header.n, header.d, header.order, header.bytes()), (3, Some(4), Order::C, 48));
        let header = parse("{'descr': '|S5', 'fortran_order': True, 'shape': (3L,), }").unwrap();
        assert_eq!(
            (header.n, header.d, header.order, header.shape().as_str()),
            (3, None, Order::Fortran, "[3]")
        );
    }

    #[test]
    fn what_is_not_a_table_is_explained() {
        let with = |descr: &str, shape: &str| {
            format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")
        };
        assert_complains(&with("'|O'", "(3,)"), "astype(str)");
        assert_complains(&with("'<c16'", "(3,)"), "<c16");
        assert_complains(&with("[('a', '<f4')]", "(3,)"), "record");
        assert_complains(&with("'<f4'", "()"), "shape []");
        assert_complains(&with("'<f4'", "(2, 3, 4)"), "reshape");
        assert_complains(&with("'<f4'", "(2, 0)"), "shape [2, 0]");
        assert_complains(&with("'<f4'", "(9223372036854775807, 4)"), "absurd");
        assert_complains(&with("'<f4'", "(-1,)"), "does not say its shape");
        assert_complains("{}", "does not say its type");
        assert_complains("{'descr': '<f4', 'shape': (1,)}", "order");
    }
}
