//! Axes: from a data range to pixels, with ticks at numbers people would choose.
//!
//! A [`Scale`] maps a domain onto pixels, linearly or by logarithm. Ticks step by 1, 2 or 5 times a power
//! of ten, and every label of one axis shows the same number of decimals.

/// How values become positions along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal differences, equal lengths, every value inside the range.
    #[default]
    Linear,
    /// As `Linear`, but the highest 2 % of the values may leave the top, so that one early spike does not
    /// flatten the rest of a loss curve. Works for negative losses, where `Log` cannot.
    Focused,
    /// From 0 to 100, whatever the values: a curve that stays at 100 is then seen to be at the top.
    Percent,
    /// Equal ratios, equal lengths; values that are not positive are not drawn.
    Log,
}

/// A labelled position on an axis.
pub(crate) struct Tick {
    pub at: f64, // pixels
    pub label: String,
}

/// A map from a finite, non-empty domain to pixels.
pub(crate) struct Scale {
    domain: [f64; 2], // log10 of it when `log`
    pixels: [f64; 2],
    log: bool,
}

impl Scale {
    pub fn linear(domain: [f64; 2], pixels: [f64; 2]) -> Self {
        Scale { domain: proper(domain), pixels, log: false }
    }

    /// `domain` in data units; its ends must be positive to count.
    pub fn log(domain: [f64; 2], pixels: [f64; 2]) -> Self {
        Scale { domain: proper(domain.map(f64::log10)), pixels, log: true }
    }

    /// Where `value` lies; nothing for NaN, infinities, or the logarithm of what has none.
    pub fn px(&self, value: f64) -> Option<f64> {
        let value = if self.log { value.log10() } else { value };
        let [lo, hi] = self.domain;
        let t = (value - lo) / (hi - lo);
        t.is_finite().then(|| self.pixels[0] + t * (self.pixels[1] - self.pixels[0]))
    }

    /// About `target` ticks inside the domain.
    pub fn ticks(&self, target: usize) -> Vec<Tick> {
        let [lo, hi] = self.domain;
        let values = if self.log { log_ticks(lo, hi, target) } else { nice_ticks(lo, hi, target) };
        values.into_iter().filter_map(|(v, label)| self.px(v).map(|at| Tick { at, label })).collect()
    }
}

/// The smallest range holding the finite values, or nothing when there are none.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some([v, v]),
        Some([lo, hi]) => Some([lo.min(v), hi.max(v)]),
    })
}

/// `range` widened by `share` of its length at both ends.
pub(crate) fn padded([lo, hi]: [f64; 2], share: f64) -> [f64; 2] {
    let pad = (hi - lo) * share;
    [lo - pad, hi + pad]
}

/// A range a division can trust: finite ends in order, never of zero length.
fn proper([a, b]: [f64; 2]) -> [f64; 2] {
    if !a.is_finite() || !b.is_finite() {
        return [0.0, 1.0];
    }
    let (lo, hi) = (a.min(b), a.max(b));
    // Relative, so that f64 can still tell the ends of a range around 1e9 apart.
    let least = 1e-9 * lo.abs().max(hi.abs()).max(1e-3);
    if hi - lo > least { [lo, hi] } else { [lo - 0.5 * lo.abs().max(1.0), hi + 0.5 * hi.abs().max(1.0)] }
}

fn nice_ticks(lo: f64, hi: f64, target: usize) -> Vec<(f64, String)> {
    let step = nice_step((hi - lo) / target.max(1) as f64);
    let slack = 1e-9 * (hi - lo);
    let first = ((lo - slack) / step).ceil() as i64;
    let last = ((hi + slack) / step).floor() as i64;
    (first..=last).map(|i| (i as f64 * step, tick_label(i as f64 * step, step))).collect()
}

/// The number among 1, 2, 5 x 10^n nearest to `raw`, by ratio.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let lead = raw / power;
    power
        * if lead < 1.5 {
            1.0
        } else if lead < 3.2 {
            2.0
        } else if lead < 7.1 {
            5.0
        } else {
            10.0
        }
}

fn tick_label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let plain = if value.abs() >= 1e6 || decimals > 5 {
        if value == 0.0 { "0".into() } else { format!("{value:.1e}").replace(".0e", "e") }
    } else {
        format!("{value:.decimals$}")
    };
    match plain.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        Some(digits) => format!("\u{2212}{digits}"), // a true minus sign is as wide as a plus
        None => plain,
    }
}

/// Powers of ten, with steps between them when there are few; within one decade plain numbers.
fn log_ticks(lo: f64, hi: f64, target: usize) -> Vec<(f64, String)> {
    if hi - lo < 0.7 {
        return nice_ticks(10f64.powf(lo), 10f64.powf(hi), target);
    }
    let every = ((hi - lo) / target.max(1) as f64).ceil().max(1.0) as i32;
    let leads: &[f64] = match hi - lo {
        decades if decades < 1.6 => &[1.0, 2.0, 5.0],
        decades if decades < 3.2 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let decades = (lo.floor() as i32..=hi.ceil() as i32).filter(|d| d.rem_euclid(every) == 0);
    decades
        .flat_map(|d| leads.iter().map(move |lead| (lead * 10f64.powi(d), d)))
        .filter(|(v, _)| (lo - 1e-9..=hi + 1e-9).contains(&v.log10()))
        .map(|(v, d)| {
            (v, if (-3..5).contains(&d) { tick_label(v, 10f64.powi(d)) } else { power_label(v, d) })
        })
        .collect()
}

fn power_label(value: f64, decade: i32) -> String {
    let raised: String = decade.to_string().chars().map(superscript).collect();
    let lead = (value / 10f64.powi(decade)).round();
    if lead == 1.0 { format!("10{raised}") } else { format!("{lead}\u{b7}10{raised}") }
}

fn superscript(c: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, target: usize) -> Vec<String> {
        scale.ticks(target).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn ticks_are_numbers_people_would_choose() {
        let linear = |lo, hi| labels(&Scale::linear([lo, hi], [0.0, 100.0]), 5);
        assert_eq!(linear(0.0, 100.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(linear(-1.3, 1.1), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(linear(0.0, 0.3), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]);
        assert_eq!(linear(2.31, 2.39), ["2.32", "2.34", "2.36", "2.38"]);
        assert_eq!(linear(0.0, 5e6), ["0", "1e6", "2e6", "3e6", "4e6", "5e6"]);
        let log = |lo, hi| labels(&Scale::log([lo, hi], [0.0, 100.0]), 5);
        assert_eq!(log(0.01, 1000.0), ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(log(1.0, 60.0), ["1", "3", "10", "30"]);
        assert_eq!(log(1e-8, 1e8), ["10⁻⁸", "10⁻⁴", "1", "10⁴", "10⁸"].map(|s| s.replace("10⁴", "10000")));
    }

    #[test]
    fn a_degenerate_domain_still_maps_to_finite_pixels() {
        for domain in [[3.0, 3.0], [f64::NAN, 1.0], [0.0, f64::INFINITY], [5.0, -5.0], [1e12, 1e12]] {
            let scale = Scale::linear(domain, [0.0, 100.0]);
            assert!(scale.px(1.0).is_some_and(f64::is_finite), "{domain:?}");
            assert!(scale.ticks(5).len() < 20, "{domain:?}");
        }
        assert!(Scale::log([-1.0, 0.0], [0.0, 1.0]).ticks(5).len() < 20);
        assert_eq!(Scale::log([1.0, 10.0], [0.0, 1.0]).px(-1.0), None);
        assert_eq!(Scale::linear([0.0, 1.0], [0.0, 1.0]).px(f64::NAN), None);
    }
}
