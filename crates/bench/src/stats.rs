//! Means over draws, and whether one learner is better than another on the same draws.
//!
//! With differences d_1 .. d_n, one for each draw that both finished:
//!
//! - the paired t-test: t = mean(d) / (sd(d) / sqrt n), two-sided p from Student's distribution with n - 1 degrees
//!   of freedom, which takes the d_i as normal;
//! - the sign-flip test, which takes only their signs as exchangeable: p is the share of all 2^n ways to flip signs
//!   whose |sum| is at least that of the data. It is exact, and cannot go below 2 / 2^n: 0.0625 for five draws.

use rand::Rng as _;
use serde::Serialize;

use crate::student::student_two_sided;

/// Above this many draws signs are flipped at random.
const EXACT: usize = 20;
/// How often.
const FLIPS: usize = 100_000;

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanSd {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// The standard deviation, by n - 1; 0 for one value.
    pub sd: f64,
}

impl MeanSd {
    /// Mean and standard deviation of values, if there are any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (n > 0).then(|| Self { n, mean, sd: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0. } })
    }
}

/// Two learners compared on the same draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// Number of draws.
    pub n: usize,
    /// Mean difference, the first less the second.
    pub difference: f64,
    /// Two-sided p of the paired t-test.
    pub p_t: f64,
    /// Two-sided p of the sign-flip test.
    pub p_flip: f64,
    /// The least p that the sign-flip test can give for that many draws.
    pub least_p_flip: f64,
}

/// Compares values of the same draws; nothing for fewer than two.
///
/// # Panics
/// If there is not one value of each for every draw.
pub fn paired(first: &[f64], second: &[f64]) -> Option<Paired> {
    assert_eq!(first.len(), second.len(), "one value of each for every draw");
    let d: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let MeanSd { n, mean, sd } = MeanSd::of(&d).filter(|spread| spread.n > 1)?;
    let error = sd / (n as f64).sqrt();
    let p_t = if mean == 0. { 1. } else { student_two_sided(mean / error, (n - 1) as f64) };
    Some(Paired { n, difference: mean, p_t, p_flip: sign_flip(&d), least_p_flip: least_p_flip(n) })
}

/// The least p of the sign-flip test for `n` draws.
pub fn least_p_flip(n: usize) -> f64 {
    if n <= EXACT { 2. / (1u64 << n) as f64 } else { 1. / (FLIPS + 1) as f64 }
}

fn sign_flip(d: &[f64]) -> f64 {
    // Sums that are equal but for rounding are equal.
    let slack = 1e-12 * d.iter().map(|d| d.abs()).sum::<f64>();
    let least = d.iter().sum::<f64>().abs() - slack;
    let reaches = |signs: u64| {
        let signed = d.iter().enumerate().map(|(i, d)| if signs >> (i % 64) & 1 == 1 { -d } else { *d });
        signed.sum::<f64>().abs() >= least
    };
    if d.len() <= EXACT {
        let all = 1u64 << d.len();
        return (0..all).filter(|&signs| reaches(signs)).count() as f64 / all as f64;
    }
    let mut rng = semisup::rng(0);
    let mut random = || {
        let flipped = d.iter().map(|d| if rng.random::<bool>() { -d } else { *d });
        flipped.sum::<f64>().abs() >= least
    };
    // The data themselves are one of the ways.
    (1 + (0..FLIPS).filter(|_| random()).count()) as f64 / (FLIPS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_by_hand() {
        assert_eq!(MeanSd::of(&[1., 2., 6.]), Some(MeanSd { n: 3, mean: 3., sd: 7f64.sqrt() }));
        assert_eq!(MeanSd::of(&[4.]), Some(MeanSd { n: 1, mean: 4., sd: 0. }));
        assert_eq!(MeanSd::of(&[]), None);
    }

    /// Student's data on sleep (1908): ten patients, two drugs; R's `t.test(paired = TRUE)` gives t = -4.0621,
    /// p = 0.002833.
    #[test]
    fn the_t_test_agrees_with_student() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let test = paired(&first, &second).unwrap();
        assert!((test.difference + 1.58).abs() < 1e-12);
        assert!((test.p_t - 0.002833).abs() < 5e-7, "{}", test.p_t);
        // Nine differences have one sign and one is 0: only those two signs, with either sign of the 0, reach as far.
        assert_eq!(test.p_flip, 4. / 1024.);
    }

    /// Darwin's maize (Fisher 1935, The Design of Experiments, section 21): of 32768 ways to flip signs, 863 sums
    /// reach 314 upwards, 1726 either way.
    #[test]
    fn the_sign_flip_test_agrees_with_fisher() {
        let d = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        let test = paired(&d, &[0.; 15]).unwrap();
        assert_eq!(test.p_flip, 1726. / 32768.);
        assert!((test.p_t - 0.0497).abs() < 5e-5, "{}", test.p_t);
    }

    #[test]
    fn five_draws_cannot_go_below_a_sixteenth() {
        let test = paired(&[1., 1.1, 1.2, 1.3, 1.4], &[0.; 5]).unwrap();
        assert_eq!((test.p_flip, test.least_p_flip), (0.0625, 0.0625));
        assert!(test.p_t < 1e-3);
    }

    #[test]
    fn equal_learners_and_single_draws_prove_nothing() {
        let same = paired(&[0.5, 0.7], &[0.5, 0.7]).unwrap();
        assert_eq!((same.difference, same.p_t, same.p_flip), (0., 1., 1.));
        assert_eq!(paired(&[0.5], &[0.4]), None);
        assert_eq!(paired(&[1.5, 2.5], &[0.5, 1.5]).unwrap().p_t, 0., "a constant difference");
    }

    #[test]
    fn many_draws_are_flipped_at_random_with_much_the_same_result() {
        let d: Vec<f64> = (0..24).map(|i| (i as f64 * 1.7).sin() + 0.25).collect();
        let test = paired(&d, &[0.; 24]).unwrap();
        // Far from the ends the two tests agree for 24 draws of bounded differences.
        assert!((test.p_flip - test.p_t).abs() < 0.02, "{} {}", test.p_flip, test.p_t);
        assert!(test.p_flip > 0.01 && test.p_flip < 0.9, "{}", test.p_flip);
    }
}
