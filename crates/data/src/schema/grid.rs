//! The step of measurement: the largest s such that every value is a multiple of s, up to rounding.
//!
//! s divides the difference of any two multiples, so s = gap / m for the smallest gap and a whole m; m is small
//! because a sample of many values on a grid has neighbours. Each candidate is sharpened on ever larger values,
//! which know s more precisely, then rounded to the decimal the user meant. Values that are multiples plus an offset
//! (0.5, 1.5, 2.5) have a larger step between them: s times the common divisor of what they are apart.

/// Most parts the smallest gap is cut into.
const MOST_PARTS: u32 = 30;
/// Values this near each other, relative to the largest, are one value written twice.
const SAME: f64 = 1e-12;
/// Relative error of values that were rounded to 32 bits, with some room.
const ROUNDING: f64 = 1.5e-7;

/// The step of ascending, different values, if there are at most `finest` steps from the first to the last. Whole
/// numbers always have one.
pub(super) fn of(values: &[f64], finest: f64) -> Option<f64> {
    if values.iter().all(|value| value.fract() == 0. && value.abs() < 9e15) {
        let divisor = values.iter().fold(0, |divisor, value| common_divisor(divisor, value.abs() as u64));
        return (divisor > 0 && values.len() > 1).then_some(divisor as f64);
    }
    let range = values.last()? - values.first()?;
    let gap = smallest_gap(values)?;
    let mut by_size: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    by_size.sort_unstable_by(f64::total_cmp);
    (1..=MOST_PARTS)
        .map(|m| gap / f64::from(m))
        .take_while(|step| range / step <= finest)
        .find_map(|step| sharpened(&by_size, step))
}

/// The largest step between ascending, different values that are multiples of `step`.
pub(super) fn between(values: &[f64], step: f64) -> f64 {
    let Some(first) = values.first() else { return step };
    let apart = values.iter().map(|value| ((value - first) / step).round() as u64);
    step * apart.fold(0, common_divisor).max(1) as f64
}

/// The smallest difference of neighbours that is not rounding.
pub(super) fn smallest_gap(values: &[f64]) -> Option<f64> {
    let largest = values.first()?.abs().max(values.last()?.abs());
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > SAME * largest);
    gaps.min_by(f64::total_cmp).filter(|gap| gap.is_finite())
}

/// A better step near this one of which all values (not negative, ascending) are multiples.
fn sharpened(values: &[f64], mut step: f64) -> Option<f64> {
    let doubt = ROUNDING * values.last()? / step; // of a step that is the difference of two rounded values
    for &value in values {
        let multiple = multiple_of(value, step, doubt + ROUNDING)?;
        if multiple > 0. {
            step = value / multiple;
        }
    }
    let decimal: f64 = format!("{step:.3e}").parse().ok()?;
    let fits = |step: f64| values.iter().all(|&value| multiple_of(value, step, ROUNDING).is_some());
    let near = (decimal - step).abs() <= 1e-6 * step;
    if near && fits(decimal) { Some(decimal) } else { fits(step).then_some(step) }
}

/// How many steps a value is, if it is a whole number of them up to this relative error; only 0 is none.
fn multiple_of(value: f64, step: f64, error: f64) -> Option<f64> {
    let steps = value / step;
    let slack = (steps * error).min(0.05);
    let multiple = steps.round();
    let is_multiple = (steps - multiple).abs() <= slack && (multiple > 0. || value == 0.);
    is_multiple.then_some(multiple)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    fn step(mut values: Vec<f64>) -> Option<f64> {
        values.sort_by(f64::total_cmp);
        values.dedup();
        of(&values, 1e5)
    }

    #[test]
    fn decimals_fractions_and_whole_numbers_have_their_step() {
        let mut rng = semisup::rng(3);
        let mut sample = |step: f64, most: i32| -> Vec<f64> {
            (0..300).map(|_| f64::from(rng.random_range(-most..most)) * step).collect()
        };
        for expected in [0.1, 0.01, 0.05, 0.25, 2.5, 1e-4, 0.2, 1e-7] {
            assert_eq!(step(sample(expected, 900)), Some(expected), "{expected}");
        }
        assert_eq!(step(sample(5., 900)), Some(5.));
        assert_eq!(step(vec![3., 4., 1e6]), Some(1.));
        let pixels = step(sample(1. / 255., 255)).unwrap();
        assert!((pixels * 255. - 1.).abs() < 1e-9, "{pixels}");
        let in_32_bits: Vec<f64> =
            sample(0.1, 500).into_iter().map(|value| f64::from(value as f32)).collect();
        assert_eq!(step(in_32_bits), Some(0.1));
        let shifted: Vec<f64> = sample(0.1, 500).into_iter().map(|value| 1000. + value).collect();
        assert_eq!(step(shifted), Some(0.1));
        assert_eq!(step(vec![0.1 + 0.2, 0.3, 0.4, 0.7]), Some(0.1));
        assert_eq!(step(vec![0.6, 1.5, 2.4]), Some(0.3));
    }

    #[test]
    fn an_offset_does_not_make_steps_smaller() {
        assert_eq!(between(&[0.5, 1.5, 4.5], 0.5), 1.);
        assert_eq!(between(&[3., 13., 33.], 1.), 10.);
        assert_eq!(between(&[0.37, 1.37, 2.37], 0.01), 1.);
        assert_eq!(between(&[0., 1., 3.], 1.), 1.);
        assert_eq!(between(&[7.], 1.), 1.);
    }

    #[test]
    fn continuous_values_have_none() {
        let mut rng = semisup::rng(4);
        for n in [4, 10, 100, 3000] {
            assert_eq!(step((0..n).map(|_| rng.random_range(-1. ..1.)).collect()), None, "{n}");
        }
        assert_eq!(step(vec![0.5]), None);
        assert_eq!(step(vec![7.]), None);
        assert_eq!(step(vec![-1e308, 0.5, 1e308]), None);
        assert_eq!(step(vec![1e-30, 1.5, 3., 4.5]), None, "small is not nothing");
        assert_eq!(step(vec![0.5, 1., 1.5, 3.0001]), None, "near is not on");
    }
}
