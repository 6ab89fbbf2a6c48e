//! Numbers straight from bytes.
//!
//! Most cells are short decimals: an integer below 2^53 and a power of ten up to 10^22 are both exact in `f64`, so
//! one division rounds once and the result is the nearest number (Clinger 1990). Everything else goes to the
//! standard library, which is also the definition of what a number is.

use flowgmm_data::read_number;

/// The finite number a trimmed cell shows, as [`read_number`] reads it.
#[inline]
pub(crate) fn parse(cell: &[u8]) -> Option<f64> {
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match short_decimal(digits) {
        Some(value) => Some(if negative { -value } else { value }),
        None => parse_any(cell),
    }
}

/// `12`, `0.5`, `.5`, `12.`: digits and at most one point, at most 18 bytes (so that the mantissa fits in 64 bits).
#[inline]
fn short_decimal(cell: &[u8]) -> Option<f64> {
    if cell.is_empty() || cell.len() > 18 {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut point = cell.len();
    for (at, &byte) in cell.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + u64::from(byte - b'0'),
            b'.' if point == cell.len() => point = at,
            _ => return None,
        }
    }
    if point == cell.len() {
        return (mantissa <= EXACT).then_some(mantissa as f64);
    }
    let decimals = cell.len() - point - 1;
    (cell.len() > 1 && mantissa <= EXACT).then(|| mantissa as f64 / POWERS[decimals])
}

/// The plain short decimal that text starts with, and its length, if the cell ends there: at a delimiter, or with the
/// line. What it gives is what [`parse`] gives of the cell; other cells may be numbers too.
#[inline]
pub(crate) fn leading(text: &[u8], delimiter: u8) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let first = usize::from(negative);
    let (mut at, mut mantissa, mut point) = (first, 0_u64, None);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'0'..=b'9' => mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')),
            b'.' if point.is_none() => point = Some(at),
            byte if byte == delimiter => break,
            b'\r' if at + 1 == text.len() => break,
            _ => return None,
        }
        at += 1;
    }
    let (length, decimals) = (at - first, point.map_or(0, |point| at - point - 1));
    // At most 18 bytes, so that the mantissa has not overflowed; more than the point alone.
    if length > 18 || length <= usize::from(point.is_some()) || mantissa > EXACT {
        return None;
    }
    let value = mantissa as f64 / POWERS[decimals];
    let end = if text.get(at) == Some(&b'\r') { text.len() } else { at };
    Some((if negative { -value } else { value }, end))
}

#[cold]
fn parse_any(cell: &[u8]) -> Option<f64> {
    // Letters can only begin "inf" and "nan", which are no numbers to compute with.
    if !matches!(cell.first()?, b'0'..=b'9' | b'.' | b'-' | b'+') {
        return None;
    }
    std::str::from_utf8(cell).ok().and_then(read_number)
}

const EXACT: u64 = 1 << 53;

const POWERS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str) {
        let (found, expected) = (parse(text.as_bytes()), read_number(text));
        assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "'{text}'");
        for (after, used) in [("", 0), ("\r", 1), (",5", 0)] {
            if let Some((value, length)) = leading(format!("{text}{after}").as_bytes(), b',') {
                let cell = text.split(',').next().unwrap();
                assert_eq!(Some(value.to_bits()), read_number(cell).map(f64::to_bits), "'{text}'");
                assert_eq!(length, cell.len() + if cell == text { used } else { 0 }, "'{text}'");
            }
        }
    }

    #[test]
    fn odd_cells_read_as_the_standard_library_reads_them() {
        let cells = "0 -0 -0.0 5. .5 . - + +1 -.5 1e5 1E-400 1e999 inf -inf nan infinity 1_000 0x10 1,5 -- 1.2.3 é \
                     9007199254740993 9007199254740992 123456789012345678 1234567890123456789012 -e 1e+ 00012 \
                     0.1234567890123456 99999999999999999.9";
        cells.split_whitespace().for_each(check);
        check("");
    }

    proptest! {
        #[test]
        fn every_number_reads_as_the_standard_library_reads_it(bits: u64, decimals in 0_usize..12) {
            let value = f64::from_bits(bits);
            check(&format!("{value:?}"));
            check(&format!("{:.decimals$}", (bits as f64) / 1e16));
            check(&format!("{}.{}", bits >> 40, bits & 0xffff));
        }
    }
}
