//! What all figures have in common: the [`Plot`] trait, and the frame with axes most of them draw in.

use crate::axis::Tick;
use crate::page::Figure;
use crate::svg::{Drawing, Esc, Px, put, put_within, text_width};

/// Something that can be drawn, as a file of its own or as a figure of a page.
pub trait Plot {
    /// Shown above the drawing; may be empty.
    fn title(&self) -> &str;

    /// Shown below the drawing in a page; may be empty.
    fn caption(&self) -> &str {
        ""
    }

    /// The drawing without its title.
    fn draw(&self) -> Drawing;

    /// A complete SVG file with its own style sheet, right on white and in a dark viewer.
    fn to_svg(&self) -> String {
        self.draw().standalone(self.title())
    }

    /// A figure for a page, whose title and caption are HTML so that they stay readable at any width.
    fn figure(&self) -> Figure {
        Figure::new(self.title(), self.caption(), &self.draw())
    }
}

/// The rectangle data is drawn in.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Opens a clipped group whose origin stays that of the figure. A nested `<svg>` clips without an id,
    /// and ids of several figures in one page would collide.
    pub fn open_clip(&self, out: &mut String) {
        put!(
            out,
            r#"<svg x="{0}" y="{1}" width="{2}" height="{3}" viewBox="{0} {1} {2} {3}">"#,
            Px(self.left),
            Px(self.top),
            Px(self.width),
            Px(self.height)
        );
    }

    /// Horizontal grid lines with their labels, and labels under the x axis.
    pub fn axes(&self, out: &mut String, x: &[Tick], y: &[Tick]) {
        let (left, right, bottom) = (Px(self.left), Px(self.right()), Px(self.bottom()));
        if !y.is_empty() {
            out.push_str(r#"<path class="fg-grid" stroke="currentColor" d=""#);
            y.iter().for_each(|t| put!(out, "M{left} {}H{right}", Px(t.at)));
            out.push_str(r#""/>"#);
        }
        put!(out, r#"<path class="fg-rule" stroke="currentColor" d="M{left} {bottom}H{right}"#);
        x.iter().for_each(|t| put!(out, "M{} {bottom}v4", Px(t.at)));
        out.push_str(r#""/>"#);
        self.tick_labels(out, x, y);
    }

    pub fn tick_labels(&self, out: &mut String, x: &[Tick], y: &[Tick]) {
        out.push_str(r#"<g class="fg-tick fg-num fg-soft">"#);
        let mut free = self.left - 24.0;
        for t in x {
            let half = text_width(&t.label, 11.0) / 2.0;
            if t.at - half < free || t.at + half > self.right() + 12.0 {
                continue; // it would touch the label before it, or leave the drawing
            }
            free = t.at + half + 5.0;
            let (at, below) = (Px(t.at), Px(self.bottom() + 16.0));
            put!(out, r#"<text x="{at}" y="{below}" class="fg-mid">{}</text>"#, Esc(&t.label));
        }
        for t in y {
            let (beside, at) = (Px(self.left - 6.0), Px(t.at + 4.0));
            put!(out, r#"<text x="{beside}" y="{at}" class="fg-end">{}</text>"#, Esc(&t.label));
        }
        out.push_str("</g>");
    }

    /// The names of both axes: below the x labels, and upright at the left edge of the figure.
    pub fn axis_names(&self, out: &mut String, x_label: &str, y_label: &str) {
        let (middle, below) = (Px(self.left + self.width / 2.0), Px(self.bottom() + 34.0));
        let centre = Px(self.top + self.height / 2.0);
        put!(out, r#"<g class="fg-soft fg-mid"><text x="{middle}" y="{below}">"#);
        put_within(out, x_label, self.width);
        put!(out, r#"</text><text transform="translate(12 {centre}) rotate(-90)">"#);
        put_within(out, y_label, self.height + 20.0);
        out.push_str("</text></g>");
    }
}

/// Room for the widest of these labels left of an axis.
pub(crate) fn label_room(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|t| text_width(&t.label, 11.0)).fold(0.0, f64::max)
}

/// Named colour samples in rows under `top`, wrapping at `width`; returns the height they took.
pub(crate) fn legend(out: &mut String, left: f64, top: f64, width: f64, items: &[(String, &str)]) -> f64 {
    const ROW: f64 = 18.0;
    const SAMPLE: f64 = 22.0;
    const GAP: f64 = 16.0;
    let (mut x, mut y) = (left, top);
    for (sample, name) in items {
        let wide = (SAMPLE + text_width(name, 12.0)).min(width);
        if x > left && x + wide > left + width {
            (x, y) = (left, y + ROW);
        }
        put!(out, r#"<g transform="translate({} {})">{sample}"#, Px(x), Px(y + ROW / 2.0));
        crate::svg::text_within(out, SAMPLE, 4.0, "fg-soft", name, width - SAMPLE);
        out.push_str("</g>");
        x += wide + GAP;
    }
    if items.is_empty() { 0.0 } else { y + ROW - top }
}
