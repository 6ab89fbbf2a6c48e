//! Rounding to a grid: the nearest multiple of the step, as the decimal or fraction that a user would write.

/// The multiple of the grid nearest to a value; without a grid the value itself.
pub(crate) fn snap(value: f64, grid: Option<f64>) -> f64 {
    let Some(grid) = grid else { return value };
    let multiple = (value / grid).round();
    let snapped = match as_fraction(grid) {
        // Whole numbers this small are exact, so the quotient is the double nearest to the decimal.
        Some((over, under)) if (multiple * over).abs() < 9e15 => multiple * over / under,
        _ => multiple * grid,
    };
    // A value that was computed may be an ulp away from the decimal, and is on the grid all the same.
    let same = (value - snapped).abs() <= 4. * f64::EPSILON * value.abs();
    if same || !snapped.is_finite() { value } else { snapped + 0. } // -0 is 0
}

/// The grid as a quotient of whole numbers: over a power of ten, or one over a whole number.
fn as_fraction(grid: f64) -> Option<(f64, f64)> {
    let whole = |value: f64| (value - value.round()).abs() <= 1e-13 * value && value < 1e9;
    let decimal = (0..=12).map(|digits| 10_f64.powi(digits)).find(|&power| whole(grid * power));
    decimal
        .map(|power| ((grid * power).round(), power))
        .or_else(|| whole(1. / grid).then(|| (1., (1. / grid).round())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_near_the_grid_become_what_the_user_wrote() {
        for (value, grid, expected) in [
            (0.30000001, 0.1, 0.3),
            (2.6, 1., 3.),
            (-0.2, 1., 0.),
            (-17.4, 5., -15.),
            (0.7000000000001, 0.05, 0.7),
            (3.1, 2.5, 2.5),
            (1e-7, 3e-7, 0.),
            (100.0 / 255. + 1e-5, 1. / 255., 100. / 255.),
        ] {
            assert_eq!(snap(value, Some(grid)).to_bits(), f64::to_bits(expected), "{value} on {grid}");
        }
        assert_eq!(snap(0.123, None), 0.123);
        assert_eq!(snap(0.1 + 0.2, Some(0.1)), 0.1 + 0.2, "an ulp off the decimal, as the user's own");
        assert_eq!(snap(1e300, Some(1.)), 1e300);
    }

    #[test]
    fn every_decimal_on_a_grid_is_itself() {
        for grid in [1e-4_f64, 0.05, 0.1, 0.25, 1., 20.] {
            let digits = if grid < 1. { 4 } else { 0 };
            for multiple in -3000..3000 {
                let value: f64 = format!("{:.digits$}", f64::from(multiple) * grid).parse().unwrap();
                assert_eq!(snap(value, Some(grid)), value, "{multiple} times {grid}");
            }
        }
    }
}
