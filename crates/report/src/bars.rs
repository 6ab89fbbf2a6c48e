//! Horizontal bars with names: counts per class, shares per group.

use crate::axis::extent;
use crate::plot::Plot;
use crate::svg::{Drawing, Px, put, text_width, text_within};
use crate::theme::class_tone;

/// Bars from a common zero, one below the other.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Above the bars.
    pub title: String,
    /// Below them, in a page.
    pub caption: String,
    /// Top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Beside the bar.
    pub name: String,
    /// Its length; what is negative or not finite has none.
    pub value: f64,
    /// The value in words, at the bar's end.
    pub shown: String,
    /// Index into the class colours.
    pub colour: usize,
}

const WIDTH: f64 = 460.0;
const ROW: f64 = 26.0;
const NAME_ROOM: f64 = 150.0;

impl Plot for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let widest = |text: fn(&Bar) -> &str| {
            self.bars.iter().map(|bar| text_width(text(bar), 12.0)).fold(0.0, f64::max)
        };
        let names = widest(|bar| &bar.name).min(NAME_ROOM);
        let shown = widest(|bar| &bar.shown).min(NAME_ROOM);
        let left = names + 10.0;
        let room = WIDTH - left - shown - 12.0;
        let longest = extent(self.bars.iter().map(|bar| bar.value)).map_or(1.0, |[_, hi]| hi.max(1e-12));
        let mut body = String::new();
        for (i, bar) in self.bars.iter().enumerate() {
            let middle = ROW * (i as f64 + 0.5);
            let length = if bar.value > 0.0 { room * (bar.value / longest).min(1.0) } else { 0.0 };
            text_within(&mut body, names, middle + 4.0, "fg-soft fg-end", &bar.name, names);
            put!(
                body,
                r#"<rect x="{}" y="{}" width="{}" height="{}" rx="2.5" class="{}" fill="currentColor" fill-opacity=".85"/>"#,
                Px(left),
                Px(middle - 0.32 * ROW),
                Px(length.max(1.0)),
                Px(0.64 * ROW),
                class_tone(bar.colour)
            );
            text_within(&mut body, left + length + 7.0, middle + 4.0, "fg-ink fg-num", &bar.shown, NAME_ROOM);
        }
        Drawing::new(WIDTH, ROW * self.bars.len().max(1) as f64, &self.title, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text_and_broken_values_have_no_length() {
        let bar = |name: &str, value: f64| Bar { name: name.into(), value, shown: "5 <b>".into(), colour: 1 };
        let bars = vec![bar("<img src=x>", 3.0), bar("none", f64::NAN), bar("less", -2.0)];
        let svg = Bars { bars, ..Bars::default() }.to_svg();
        assert!(!svg.contains("<img") && !svg.contains("<b>") && !svg.contains("NaN"));
        assert_eq!(svg.matches("width=\"1\"").count(), 2);
        assert!(Bars::default().to_svg().contains("</svg>"));
    }
}
