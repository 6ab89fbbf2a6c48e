//! The shape of Thrift's compact encoding, in which Parquet writes its footer and page headers.
//!
//! A walk through a structure that trusts no length: every text and list must fit in the bytes that are there.
//! See <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use std::collections::HashMap;

/// Structures within structures; Parquet needs about ten.
const DEPTH: usize = 32;

/// The integers of the outermost structure by field number, and the bytes it takes; `None` if it is not one.
pub(super) fn walk(bytes: &[u8]) -> Option<(HashMap<i16, i64>, usize)> {
    let mut walk = Walk { bytes, at: 0 };
    let integers = walk.structure(DEPTH)?;
    Some((integers, walk.at))
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn structure(&mut self, depth: usize) -> Option<HashMap<i16, i64>> {
        let (mut integers, mut id) = (HashMap::new(), 0_i16);
        loop {
            let byte = self.byte()?;
            let kind = byte & 0x0f;
            if kind == 0 {
                return Some(integers);
            }
            id = match byte >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                delta => id.checked_add(delta.into())?,
            };
            match kind {
                1 | 2 => {} // true, false: the kind is the value
                4..=6 => _ = integers.insert(id, self.zigzag()?),
                other => self.skip(other, depth)?,
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1..=3 => self.advance(1),
            4..=6 => self.varint().map(drop),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { (byte >> 4).into() };
                self.fits(count)?;
                (0..count).try_for_each(|_| self.skip(byte & 0x0f, depth))
            }
            11 => {
                let count = self.varint()?;
                self.fits(count)?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip(kinds >> 4, depth)?;
                    self.skip(kinds & 0x0f, depth)
                })
            }
            12 => self.structure(depth).map(drop),
            13 => self.advance(16),
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, by: u64) -> Option<()> {
        self.fits(by)?;
        self.at += by as usize;
        Some(())
    }

    /// Whether there are still as many bytes, the least that as many elements take.
    fn fits(&self, count: u64) -> Option<()> {
        (count <= (self.bytes.len() - self.at) as u64).then_some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_found_and_lengths_are_not_trusted() {
        // Field 1: i32 = -3; field 2: a text "ab"; field 4: a list of two bytes; end; one byte of something else.
        let bytes = [0x15, 5, 0x18, 2, b'a', b'b', 0x29, 0x23, 7, 8, 0, 99];
        let (integers, size) = walk(&bytes).unwrap();
        assert_eq!((integers, size), (HashMap::from([(1, -3)]), 11));
        assert!((0..11).all(|cut| walk(&bytes[..cut]).is_none()), "cut anywhere");
        let huge_list = [0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0];
        assert!(walk(&huge_list).is_none());
        assert!(walk(&[0x1c; 1000]).is_none(), "too deep");
    }
}
