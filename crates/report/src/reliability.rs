//! A reliability diagram: accuracy against confidence, bin by bin, and how many predictions each bin holds.
//!
//! A calibrated classifier follows the diagonal. The tinted gap between a bin's accuracy and its mean
//! confidence is what expected calibration error averages.

use crate::axis::{Scale, Tick};
use crate::plot::{Area, Plot};
use crate::svg::{Drawing, Px, put, text_within};

/// Accuracy and confidence in bins of confidence.
#[derive(Clone, Debug, Default)]
pub struct Reliability {
    /// Above the diagram.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// A line inside the diagram, for example `ECE 0.021`.
    pub note: String,
    /// From low to high confidence; empty bins (`count` 0) are not drawn.
    pub bins: Vec<ReliabilityBin>,
}

/// The predictions whose confidence lies between `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// Lower end of the bin, 0..1.
    pub low: f64,
    /// Upper end of the bin, 0..1.
    pub high: f64,
    /// Their mean confidence.
    pub confidence: f64,
    /// Their accuracy.
    pub accuracy: f64,
    /// How many there are.
    pub count: usize,
}

const AREA: Area = Area { left: 46.0, top: 6.0, width: 300.0, height: 240.0 };
/// The strip of counts under the diagram.
const STRIP: Area = Area { left: 46.0, top: 258.0, width: 300.0, height: 44.0 };

impl Plot for Reliability {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let x = Scale::linear([0.0, 1.0], [AREA.left, AREA.right()]);
        let y = Scale::linear([0.0, 1.0], [AREA.bottom(), AREA.top]);
        let mut body = String::new();
        AREA.axes(&mut body, &[], &y.ticks(5));
        STRIP.axes(&mut body, &x.ticks(5), &[]);
        STRIP.axis_names(&mut body, "confidence", "");
        AREA.axis_names(&mut body, "", "accuracy");
        self.paint_bins(&mut body, &x, &y);
        put!(
            body,
            r#"<path class="fg-soft" stroke="currentColor" stroke-width="1.2" stroke-dasharray="5 3.5" d="M{} {}L{} {}"/>"#,
            Px(AREA.left),
            Px(AREA.bottom()),
            Px(AREA.right()),
            Px(AREA.top)
        );
        text_within(&mut body, AREA.left + 10.0, AREA.top + 20.0, "fg-ink fg-num", &self.note, 150.0);
        let (width, height) = (AREA.right() + 14.0, STRIP.bottom() + 42.0);
        Drawing::new(width, height, &self.title, body)
    }
}

impl Reliability {
    fn paint_bins(&self, out: &mut String, x: &Scale, y: &Scale) {
        let fullest = self.bins.iter().map(|b| b.count).max().unwrap_or(0).max(1) as f64;
        for bin in self.bins.iter().filter(|b| b.count > 0) {
            let places = (x.px(bin.low), x.px(bin.high), y.px(bin.accuracy), y.px(bin.confidence));
            let (Some(left), Some(right), Some(accuracy), Some(confidence)) = places else { continue };
            let (left, wide) = (left + 1.0, (right - left - 2.0).max(1.0));
            bar(out, "fg-heat", 0.7, [left, accuracy, wide, AREA.bottom() - accuracy]);
            bar(out, "fg-warn", 0.28, [left, accuracy.min(confidence), wide, (accuracy - confidence).abs()]);
            let tall = STRIP.height * bin.count as f64 / fullest;
            bar(out, "fg-soft", 0.45, [left, STRIP.bottom() - tall, wide, tall]);
        }
        let label = if fullest < 1e5 { fullest.to_string() } else { format!("{:.0}k", fullest / 1e3) };
        let largest = Tick { at: STRIP.top + 6.0, label };
        STRIP.tick_labels(out, &[], &[largest]);
    }
}

fn bar(out: &mut String, tone: &str, opacity: f64, [x, y, width, height]: [f64; 4]) {
    put!(
        out,
        r#"<rect x="{}" y="{}" width="{}" height="{}" class="{tone}" fill="currentColor" fill-opacity="{opacity}"/>"#,
        Px(x),
        Px(y),
        Px(width),
        Px(height)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_broken_bins_are_left_out() {
        let bin = ReliabilityBin { low: 0.8, high: 0.9, confidence: 0.85, accuracy: 0.8, count: 10 };
        let empty = ReliabilityBin { count: 0, accuracy: f64::NAN, ..bin };
        let broken = ReliabilityBin { accuracy: f64::NAN, ..bin };
        let svg = Reliability { bins: vec![bin, empty, broken], ..Reliability::default() }.to_svg();
        assert_eq!(svg.matches("fg-warn\" fill").count(), 1);
        assert!(!svg.contains("NaN"));
        assert!(Reliability::default().to_svg().contains("</svg>"));
    }
}
