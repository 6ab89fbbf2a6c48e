//! Student's t distribution, by the regularised incomplete beta function.
//!
//! P(|T| >= t) = I_x(df / 2, 1 / 2) with x = df / (df + t^2), and I by its continued fraction (Lentz's method).

/// P(|T| >= |t|) for `df` degrees of freedom.
pub(crate) fn student_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.;
    }
    incomplete_beta(df / (df + t * t), df / 2., 0.5)
}

/// I_x(a, b), x in [0, 1].
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0. || x >= 1. {
        return x.clamp(0., 1.);
    }
    // The fraction converges fast on this side; the other side is its mirror image.
    if x > (a + 1.) / (a + b + 2.) {
        return 1. - incomplete_beta(1. - x, b, a);
    }
    let log_front = a * x.ln() + b * (-x).ln_1p() - (ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b));
    log_front.exp() / a / fraction(x, a, b)
}

/// 1 + c_1 / (1 + c_2 / (1 + ...)).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut c, mut d) = (1., 1., 0.);
    for i in 1..500 {
        let m = f64::from(i / 2);
        let term = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2. * m - 1.) * (a + 2. * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2. * m) * (a + 2. * m + 1.))
        };
        d = 1. / away(1. + term * d);
        c = away(1. + term / c);
        value *= c * d;
        if (c * d - 1.).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln Gamma(z), z > 0, by Lanczos' series (g = 7, nine terms; error below 1e-14).
fn ln_gamma(z: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if z < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * z).sin()).ln() - ln_gamma(1. - z);
    }
    let z = z - 1.;
    let sum =
        TERMS.iter().zip(1..).fold(0.999_999_999_999_809_9, |sum, (term, i)| sum + term / (z + f64::from(i)));
    let t = z + 7.5;
    0.5 * (2. * std::f64::consts::PI).ln() + (z + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_of_one_two_and_four_degrees() {
        for t in [0.01f64, 0.3, 1., 2.776, 10., 400.] {
            let one = 1. - 2. / std::f64::consts::PI * t.atan();
            let two = 1. - t / (2. + t * t).sqrt();
            let u = t * t / (4. + t * t);
            let four = 1. - u.sqrt() * (1.5 - 0.5 * u);
            for (df, exact) in [(1., one), (2., two), (4., four)] {
                let found = student_two_sided(t, df);
                // The closed forms themselves lose digits where they are near 0.
                assert!((found - exact).abs() < 1e-13, "{df} degrees, t = {t}: {found}, {exact}");
                assert_eq!(found, student_two_sided(-t, df));
            }
        }
    }

    /// The quantiles of 97.5% in every table of t.
    #[test]
    fn the_table_of_t() {
        for (df, t) in [(4., 2.776_445_105), (9., 2.262_157_163), (30., 2.042_272_456), (100., 1.983_971_519)]
        {
            assert!((student_two_sided(t, df) - 0.05).abs() < 1e-9, "{df}: {}", student_two_sided(t, df));
        }
        assert_eq!((student_two_sided(0., 3.), student_two_sided(f64::INFINITY, 3.)), (1., 0.));
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        assert!(ln_gamma(1.).abs() < 1e-14 && (ln_gamma(11.) - 3_628_800f64.ln()).abs() < 1e-12);
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-14);
        assert!((ln_gamma(0.25) - 3.625_609_908_221_908f64.ln()).abs() < 1e-13);
    }
}
