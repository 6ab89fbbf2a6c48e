//! Cycles of the calendar: where a local time t (days since 1970-01-01) is in the year, the week and the day.
//!
//! ```text
//! season    sin, cos of 2 pi t / 365.2425
//! weekday   sin, cos of 2 pi floor(t) / 7
//! hour      sin, cos of 2 pi (t - floor(t))
//! ```
//!
//! On a circle, 31 December is beside 1 January and Sunday beside Monday. Any run of neighbouring days (a weekend, a
//! winter) is an arc, which one line cuts off, so two columns are enough for a linear model; and a flow sees two numbers,
//! where one-hot weekdays would be seven columns of 0 and 1 that determine each other.

use std::collections::HashSet;
use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// Fewer dates than this have no cycles: nothing could be learnt from them.
const FEWEST: usize = 20;
/// A cycle counts if dates fall on at least this many of its months, weekdays or hours.
const SEVERAL: usize = 3;
/// Dates within so many days have no season.
const SEASON_SPAN: f64 = 180.;
/// Days of a year, on average over four centuries.
const YEAR: f64 = 365.2425;

/// A cycle of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cycle {
    /// The time of the year.
    Season,
    /// The day of the week.
    Weekday,
    /// The time of the day.
    Hour,
}

impl Cycle {
    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Season => "season",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }

    /// The sine and cosine of a local time.
    pub(crate) fn point(self, t: f64) -> [f64; 2] {
        let (sin, cos) = (TAU * self.phase(t)).sin_cos();
        [sin, cos]
    }

    /// The cycles that vary over these local times.
    pub(crate) fn that_vary(times: &[f64]) -> Vec<Self> {
        if times.len() < FEWEST {
            return Vec::new();
        }
        let (first, last) =
            times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)));
        let varies = |cycle: &Self| {
            let parts: HashSet<u64> = times.iter().map(|&t| cycle.part(t)).collect();
            parts.len() >= SEVERAL && (*cycle != Self::Season || last - first > SEASON_SPAN)
        };
        [Self::Season, Self::Weekday, Self::Hour].into_iter().filter(varies).collect()
    }

    /// How much of the cycle has passed, from 0 to 1.
    fn phase(self, t: f64) -> f64 {
        match self {
            Self::Season => (t / YEAR).rem_euclid(1.),
            Self::Weekday => t.floor().rem_euclid(7.) / 7.,
            Self::Hour => t.rem_euclid(1.),
        }
    }

    /// Its month, weekday or hour, counted from 0.
    fn part(self, t: f64) -> u64 {
        let parts = match self {
            Self::Season => 12.,
            Self::Weekday => 7.,
            Self::Hour => 24.,
        };
        (self.phase(t) * parts).round() as u64 % parts as u64
    }
}

/// Whether each of these cycles is there once, in order.
pub(crate) fn are_cycles(cycles: &[Cycle]) -> bool {
    cycles.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_apart(a: [f64; 2], b: [f64; 2], distance: f64) {
        let found = (a[0] - b[0]).hypot(a[1] - b[1]);
        assert!((found - distance).abs() < 0.02, "{found}, not {distance}");
    }

    #[test]
    fn neighbours_on_the_calendar_are_neighbours_on_the_circle() {
        let (sylvester, new_year, july) = (19722., 19723., 19905.); // 2023-12-31, 2024-01-01, 2024-07-01
        let one_day = 2. * (TAU / YEAR / 2.).sin();
        check_apart(Cycle::Season.point(sylvester), Cycle::Season.point(new_year), one_day);
        check_apart(Cycle::Season.point(new_year), Cycle::Season.point(july), 2.);
        let one_of_seven = 2. * (TAU / 14.).sin();
        check_apart(Cycle::Weekday.point(sylvester), Cycle::Weekday.point(new_year), one_of_seven);
        check_apart(Cycle::Weekday.point(new_year), Cycle::Weekday.point(new_year + 7.6), 0.);
        check_apart(Cycle::Hour.point(new_year - 1. / 48.), Cycle::Hour.point(july + 1. / 48.), TAU / 24.);
        for cycle in [Cycle::Season, Cycle::Weekday, Cycle::Hour] {
            for t in [-719_162., -0.5, 0., 3e38] {
                let [sin, cos] = cycle.point(t);
                assert!((sin.hypot(cos) - 1.).abs() < 1e-12, "{cycle:?} at {t}");
            }
        }
    }

    #[test]
    fn only_what_varies_counts() {
        let times = |step: f64, n: usize| (0..n).map(|i| 19723. + step * i as f64).collect::<Vec<_>>();
        assert_eq!(Cycle::that_vary(&times(1., 100)), [Cycle::Weekday]);
        assert_eq!(Cycle::that_vary(&times(1., 200)), [Cycle::Season, Cycle::Weekday]);
        assert_eq!(Cycle::that_vary(&times(7., 100)), [Cycle::Season], "every Monday");
        assert_eq!(Cycle::that_vary(&times(1. / 8., 30)), [Cycle::Weekday, Cycle::Hour]);
        assert_eq!(Cycle::that_vary(&times(YEAR / 2., 100))[..1], [Cycle::Weekday], "two times of the year");
        assert_eq!(Cycle::that_vary(&times(40., 19)), [], "too few");
    }
}
