//! Numbers as text, appended to bytes.

use std::{io::Write, num::NonZeroU8};

/// Powers of ten that are exact in double precision.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The nearest number that is written with this many significant digits.
pub(super) fn significant(value: f64, digits: NonZeroU8) -> f64 {
    let digits = digits.get();
    if value == 0.0 || !value.is_finite() || digits > 16 {
        return value;
    }
    let shift = i32::from(digits) - 1 - value.abs().log10().floor() as i32;
    match usize::try_from(shift).ok().and_then(|shift| POWERS.get(shift)) {
        // Whole number and power are exact, so the quotient is the number nearest to the decimal.
        Some(power) if digits <= 15 => (value * power).round() / power,
        _ => format!("{value:.*e}", usize::from(digits) - 1).parse().expect("a number was written"),
    }
}

/// A whole number below 10^15 without a point, as `{:.0}` writes it.
pub(super) fn whole(out: &mut Vec<u8>, value: f64) {
    if value == 0.0 && value.is_sign_negative() {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
}

/// The shortest digits that read back the same, as `{:?}` writes them.
///
/// `zmij` finds the same digits many times faster, with two exceptions that are left to the standard library: when to
/// use an exponent, and a number exactly between two shortest texts, which one rounds to even and the other up.
pub(super) fn shortest(out: &mut Vec<u8>, value: f64) {
    if (1e-4..1e15).contains(&value.abs()) {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value).as_bytes();
        let decimals = text.iter().rev().position(|&byte| byte == b'.').unwrap_or(0);
        if fraction_bits(value) != decimals as i32 + 1 {
            out.extend_from_slice(text);
            return;
        }
    }
    write!(out, "{value:?}").expect("memory takes everything");
}

/// How many bits a normal number has after the point, and so how many decimals when written in full. Between two texts
/// of d decimals lies a number that has d + 1.
fn fraction_bits(value: f64) -> i32 {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    -(exponent + mantissa.trailing_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two roundings, of the product and of the whole number, may part from one only where a tie is nearly met.
    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        let seven = NonZeroU8::new(7).unwrap();
        let cases = [
            (0.123456789, "0.1234568"),
            (-98765.4321, "-98765.43"),
            (1.0, "1.0"),
            (1e-30 / 3.0, "3.333333e-31"),
            (1e30 / 3.0, "3.333333e29"),
            (123456789.0, "123456800.0"),
            (0.99999999, "1.0"),
            (0.0, "0.0"),
            (5e-324, "5e-324"),
        ];
        for (value, text) in cases {
            assert_eq!(format!("{:?}", significant(value, seven)), text);
        }
        assert!(significant(f64::INFINITY, seven).is_infinite() && significant(f64::NAN, seven).is_nan());
        let all = NonZeroU8::new(17).unwrap();
        assert_eq!(significant(0.1 + 0.2, all), 0.1 + 0.2);
    }

    #[track_caller]
    fn check(value: f64) {
        let mut text = Vec::new();
        shortest(&mut text, value);
        assert_eq!(String::from_utf8(text).unwrap(), format!("{value:?}"));
        if value == value.trunc() && value.abs() < 1e15 {
            let mut text = Vec::new();
            whole(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value:.0}"));
        }
    }

    #[test]
    fn numbers_at_the_borders_are_written_as_the_standard_library_writes_them() {
        let borders = [
            0.0,
            936133872426321.0 + 0.25,
            8388608.0 + 1.0 / 1024.0,
            1e-4,
            1e-5,
            1e15,
            1e16,
            9007199254740993.0,
            0.1,
            123.0,
            5e-324,
            f64::MAX,
        ];
        for value in borders.into_iter().flat_map(|v: f64| [v, v.next_up(), v.next_down()]) {
            check(value);
            check(-value);
        }
        check(f64::INFINITY);
        // Every power of two, where the spacing of numbers changes.
        (-1074..1024).for_each(|exponent| check(2f64.powi(exponent)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn rounding_keeps_seven_digits(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_normal());
            let rounded = significant(value, NonZeroU8::new(7).unwrap());
            prop_assert!((rounded - value).abs() <= 5.000001e-7 * value.abs(), "{value:e} became {rounded:e}");
            let text = format!("{rounded:e}");
            let digits = text.split('e').next().unwrap().chars().filter(char::is_ascii_digit).count();
            prop_assert!(digits <= 7, "{text}");
        }

        #[test]
        fn every_number_is_written_as_the_standard_library_writes_it(bits: u64, scale in 0_u32..19) {
            check(f64::from_bits(bits)); // NaN included
            check((bits >> 11) as f64 / 2f64.powi(scale as i32)); // halves, quarters, ..
            check((bits as i64 >> 8) as f64 / 10f64.powi(scale as i32));
            check(((bits as i64) >> 20) as f64);
        }
    }
}
