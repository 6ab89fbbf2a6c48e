//! The types of NumPy's elements, and an element as a cell.

use crate::column::ColumnBuilder;

/// The type of an element, from its `descr`: byte order, kind, size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    kind: Kind,
    big_endian: bool,
    /// Bytes.
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Bytes, padded with zeros.
    Bytes,
    /// UTF-32, padded with zeros.
    Unicode,
}

impl Element {
    /// `<f4`, `|b1`, `>i8`, `<U12`, ..., if it is a type that is read.
    pub fn parse(descr: &str) -> Option<Self> {
        let mut letters = descr.chars();
        let big_endian = match letters.next()? {
            '<' | '|' => false,
            '=' => cfg!(target_endian = "big"),
            '>' => true,
            _ => return None,
        };
        let kind = letters.next()?;
        let size: u64 = letters.as_str().parse().ok()?;
        let (kind, size) = match (kind, size) {
            ('b', 1) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            ('f', 2 | 4 | 8) => (Kind::Float, size),
            ('S' | 'a', 1..) => (Kind::Bytes, size),
            ('U', 1..) => (Kind::Unicode, size.checked_mul(4)?),
            _ => return None,
        };
        Some(Self { kind, big_endian, size })
    }

    /// Whether elements are bytes from 0 to 255.
    pub fn is_byte(self) -> bool {
        (self.kind, self.size) == (Kind::Unsigned, 1)
    }

    /// Adds the elements at these places to a column.
    pub fn push_all(self, bytes: &[u8], places: impl Iterator<Item = usize>, column: &mut ColumnBuilder) {
        let size = self.size as usize;
        let at = |place: usize| &bytes[place * size..(place + 1) * size];
        // One loop per type: the choice is made once, not for every element.
        match (self.kind, self.size) {
            (Kind::Bool, _) => places.for_each(|p| column.truth(at(p)[0] != 0)),
            (Kind::Float, 2) => places.for_each(|p| column.number(half(self.word::<2>(at(p)) as u16))),
            (Kind::Float, 4) => {
                places.for_each(|p| column.number(f32::from_bits(self.word::<4>(at(p)) as u32).into()))
            }
            (Kind::Float, _) => places.for_each(|p| column.number(f64::from_bits(self.word::<8>(at(p))))),
            (Kind::Signed, _) => places.for_each(|p| column.number(self.signed(at(p)) as f64)),
            (Kind::Unsigned, _) => places.for_each(|p| column.number(self.unsigned(at(p)) as f64)),
            (Kind::Bytes, _) => places.for_each(|p| {
                let text = at(p);
                let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                column.text(&String::from_utf8_lossy(&text[..end]));
            }),
            (Kind::Unicode, _) => places.for_each(|p| {
                let codes = at(p).chunks_exact(4).map(|code| self.word::<4>(code) as u32);
                let text: String =
                    codes.map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                column.text(text.trim_end_matches('\0'));
            }),
        }
    }

    fn word<const N: usize>(self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..N].copy_from_slice(&bytes[..N]);
        if self.big_endian {
            word[..N].reverse();
        }
        u64::from_le_bytes(word)
    }

    fn unsigned(self, bytes: &[u8]) -> u64 {
        match self.size {
            1 => bytes[0].into(),
            2 => self.word::<2>(bytes),
            4 => self.word::<4>(bytes),
            _ => self.word::<8>(bytes),
        }
    }

    fn signed(self, bytes: &[u8]) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        ((self.unsigned(bytes) << unused) as i64) >> unused // copies the sign bit down
    }
}

/// IEEE 754 half precision: 1 sign, 5 exponent (bias 15), 10 fraction bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    match (bits >> 10) & 0x1f {
        0 => sign * fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => {
            // Straight into the bits of an f64: 11 exponent bits (bias 1023), 52 fraction bits.
            let bits = (u64::from(exponent) + 1023 - 15) << 52 | u64::from(bits & 0x3ff) << 42;
            sign * f64::from_bits(bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missing::Missing;

    fn read(descr: &str, bytes: &[u8]) -> Vec<Option<String>> {
        let element = Element::parse(descr).unwrap();
        let mut column = ColumnBuilder::new(Missing::default(), 0);
        element.push_all(bytes, 0..bytes.len() / element.size as usize, &mut column);
        let cells = column.finish();
        (0..cells.len()).map(|row| cells.text(row).map(|text| text.into_owned())).collect()
    }

    fn texts(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| text.to_string())).collect()
    }

    #[test]
    fn numbers_of_every_size_and_order() {
        assert_eq!(read("<i2", &[0xff, 0xff, 1, 0]), texts(&["-1", "1"]));
        assert_eq!(read(">i2", &[0xff, 0xfe]), texts(&["-2"]));
        assert_eq!(read("|u1", &[255]), texts(&["255"]));
        assert_eq!(read("|i1", &[255]), texts(&["-1"]));
        assert_eq!(read(">u4", &[0, 0, 1, 0]), texts(&["256"]));
        assert_eq!(read("<i8", &i64::MIN.to_le_bytes()), texts(&["-9.223372036854776e18"]));
        assert_eq!(read("<f4", &0.5_f32.to_le_bytes()), texts(&["0.5"]));
        assert_eq!(read(">f8", &f64::NAN.to_be_bytes()), texts(&[""]));
        assert_eq!(read("|b1", &[0, 1]), texts(&["false", "true"]));
    }

    #[test]
    fn half_precision() {
        // numpy: np.array([1, -2, 65504, 2**-24, 0.1, np.inf], '<f2').view('<u2')
        let halves = [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (1, 2_f64.powi(-24))];
        halves.iter().for_each(|&(bits, value)| assert_eq!(half(bits), value));
        assert_eq!(half(0x2e66), 0.0999755859375);
        assert_eq!(half(0x7c00), f64::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn texts_lose_their_padding() {
        assert_eq!(read("|S3", b"ab\0c\0\0\0\0\0"), texts(&["ab", "c", ""]));
        assert_eq!(read("<U2", &[0xe9, 0, 0, 0, 0, 0, 0, 0]), texts(&["é"]));
        assert_eq!(read(">U1", &[0, 0, 0, b'7']), texts(&["7"]));
        assert_eq!(read("<U1", &[0xff, 0xff, 0xff, 0xff]), texts(&["\u{fffd}"]));
        assert!(
            ["|O", "<c8", "<M8[D]", "|S0", "<U0", "<f16", "", "é1", "<i3"]
                .iter()
                .all(|d| Element::parse(d).is_none())
        );
    }
}
