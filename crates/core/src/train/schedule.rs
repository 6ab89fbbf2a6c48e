//! Learning rates over training.

use serde::{Deserialize, Serialize};

/// How the learning rate falls after warm-up, as a factor of its peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum DecayShape {
    /// Always the peak.
    Constant,
    /// Multiplied by `factor` after each `every` of training (a fraction).
    Step {
        /// Fraction of training between two drops.
        every: f64,
        /// What is left after a drop.
        factor: f64,
    },
    /// Multiplied by `factor` at each of two fractions of training.
    Drops {
        /// When.
        at: [f64; 2],
        /// What is left after a drop.
        factor: f64,
    },
    /// Half a cosine from the peak down to `floor` times the peak.
    Cosine {
        /// What is left at the end.
        floor: f64,
    },
}

/// A learning-rate schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The highest learning rate.
    pub peak: f64,
    /// Fraction of training over which the rate rises linearly to the peak.
    pub warm_up: f64,
    /// How it falls after that.
    pub shape: DecayShape,
}

impl Schedule {
    /// The learning rate of step `step` (from 0) of `steps`.
    pub fn rate(&self, step: usize, steps: usize) -> f64 {
        let progress = step as f64 / steps.max(1) as f64;
        let warm = self.warm_up * steps as f64;
        if (step as f64) < warm {
            return self.peak * (step as f64 + 1.0) / (warm + 1.0);
        }
        let after = (progress - self.warm_up) / (1.0 - self.warm_up).max(1e-12);
        self.peak
            * match self.shape {
                DecayShape::Constant => 1.0,
                DecayShape::Step { every, factor } => factor.powi((after / every.max(1e-12)) as i32),
                DecayShape::Drops { at, factor } => {
                    factor.powi(at.iter().filter(|at| after >= **at).count() as i32)
                }
                DecayShape::Cosine { floor } => {
                    floor + (1.0 - floor) * 0.5 * (1.0 + (std::f64::consts::PI * after).cos())
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(shape: DecayShape, warm_up: f64) -> Vec<f64> {
        let schedule = Schedule { peak: 2.0, warm_up, shape };
        (0..100).map(|step| schedule.rate(step, 100)).collect()
    }

    #[test]
    fn a_cosine_falls_from_the_peak_to_its_floor() {
        let rates = rates(DecayShape::Cosine { floor: 0.1 }, 0.0);
        assert_eq!(rates[0], 2.0);
        assert!(rates.windows(2).all(|w| w[1] < w[0]));
        assert!((rates[50] - 2.0 * 0.55).abs() < 1e-12 && rates[99] < 0.202);
    }

    #[test]
    fn steps_drop_at_their_fractions() {
        let rates = rates(DecayShape::Step { every: 0.25, factor: 0.5 }, 0.0);
        assert_eq!([rates[0], rates[24], rates[25], rates[50], rates[99]], [2.0, 2.0, 1.0, 0.5, 0.25]);
    }

    #[test]
    fn two_drops_are_where_they_are_asked_for() {
        let rates = rates(DecayShape::Drops { at: [0.5, 0.8], factor: 0.1 }, 0.0);
        let about = |step: usize, rate: f64| (rates[step] - rate).abs() < 1e-12;
        assert!(about(0, 2.0) && about(49, 2.0) && about(50, 0.2) && about(79, 0.2) && about(80, 0.02));
    }

    #[test]
    fn warm_up_rises_and_then_gives_way() {
        let rates = rates(DecayShape::Constant, 0.1);
        assert!(rates[..10].windows(2).all(|w| w[1] > w[0]) && rates[0] > 0.0);
        assert!(rates[10..].iter().all(|&r| r == 2.0));
    }
}
