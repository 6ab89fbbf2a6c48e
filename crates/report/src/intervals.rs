//! Estimates with their intervals, one below the other: a dot for the estimate, a line for what it may be.

use crate::axis::{Scale, extent, padded};
use crate::plot::{Area, Plot};
use crate::svg::{Drawing, Px, put, text_width, text_within};
use crate::theme::class_tone;

/// A forest plot.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Above the plot.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Name of the axis.
    pub x_label: String,
    /// A value to compare with, for example no difference: a dashed line.
    pub reference: Option<f64>,
    /// Top to bottom.
    pub estimates: Vec<Estimate>,
}

/// A value with what it may be.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Beside the line.
    pub name: String,
    /// The dot.
    pub value: f64,
    /// From where.
    pub low: f64,
    /// To where.
    pub high: f64,
    /// Index into the class colours.
    pub colour: usize,
}

const WIDTH: f64 = 460.0;
const ROW: f64 = 34.0;
const NAME_ROOM: f64 = 170.0;

impl Plot for Intervals {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let names = self.estimates.iter().map(|e| text_width(&e.name, 12.0)).fold(0.0, f64::max);
        let names = names.min(NAME_ROOM);
        let height = ROW * self.estimates.len().max(1) as f64;
        let left = names + 22.0;
        let area = Area { left, top: 4.0, width: WIDTH - 20.0 - left, height };
        let values = self.estimates.iter().flat_map(|e| [e.low, e.value, e.high]).chain(self.reference);
        let x = Scale::linear(padded(extent(values).unwrap_or([0.0, 1.0]), 0.06), [area.left, area.right()]);
        let mut body = String::new();
        area.axes(&mut body, &x.ticks(5), &[]);
        area.axis_names(&mut body, &self.x_label, "");
        if let Some(at) = self.reference.and_then(|value| x.px(value)) {
            put!(
                body,
                r#"<path class="fg-soft" stroke="currentColor" stroke-width="1.2" stroke-dasharray="5 3.5" d="M{} {}V{}"/>"#,
                Px(at),
                Px(area.top),
                Px(area.bottom())
            );
        }
        for (i, estimate) in self.estimates.iter().enumerate() {
            let middle = area.top + ROW * (i as f64 + 0.5);
            text_within(&mut body, names + 6.0, middle + 4.0, "fg-soft fg-end", &estimate.name, names);
            estimate.line(&mut body, &x, middle);
        }
        Drawing::new(WIDTH, area.bottom() + 42.0, &self.title, body)
    }
}

impl Estimate {
    fn line(&self, out: &mut String, x: &Scale, middle: f64) {
        let (Some(at), Some(low), Some(high)) = (x.px(self.value), x.px(self.low), x.px(self.high)) else {
            return;
        };
        put!(
            out,
            r#"<g class="{}" stroke="currentColor" stroke-linecap="round"><path stroke-width="2.2" fill="none" d="M{low} {m}H{high}M{low} {up}v10M{high} {up}v10"/><circle cx="{}" cy="{m}" r="5" fill="currentColor" stroke="none"/></g>"#,
            class_tone(self.colour),
            Px(at),
            low = Px(low),
            high = Px(high),
            m = Px(middle),
            up = Px(middle - 5.0)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text_and_broken_estimates_are_left_out() {
        let estimate = |name: &str, value: f64| Estimate {
            name: name.into(),
            value,
            low: value - 1.0,
            high: value + 1.0,
            colour: 0,
        };
        let estimates = vec![estimate("<img src=x>", 3.0), estimate("none", f64::NAN)];
        let svg = Intervals { estimates, reference: Some(0.0), ..Intervals::default() }.to_svg();
        assert!(!svg.contains("<img") && !svg.contains("NaN"));
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(Intervals::default().to_svg().contains("</svg>"));
    }
}
