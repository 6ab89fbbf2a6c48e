//! The small amount of SVG every figure needs: escaped text, short numbers, and the document around it.
//!
//! All text reaches the markup through [`Esc`] and all numbers through [`Px`]; nothing else is written from
//! outside. That, and that only this crate can make a [`Drawing`], is why a page cannot carry foreign markup.

use std::fmt;

use crate::safe_text::{safe_text, with_tooltip};
use crate::theme;

/// Appends formatted markup to a `String`.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        write!($out, $($arg)*).expect("writing to a String cannot fail")
    }};
}
pub(crate) use put;

/// A figure's markup with its size, before it becomes a file or a part of a page.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What a screen reader says.
    pub(crate) label: String,
    pub(crate) body: String,
    /// Style classes of the whole drawing.
    pub(crate) class: &'static str,
    /// The multiple of its drawn size that it may grow to in a page.
    pub(crate) max_growth: f64,
    /// How far labels reach beyond the left edge.
    pub(crate) overhang: f64,
}

/// Height of the title strip of a standalone file.
const TITLE_HEIGHT: f64 = 28.0;
/// A figure in a page grows to this multiple of its drawn size and no further.
const MAX_GROWTH: f64 = 1.3;
/// On a narrow screen a drawing wider than this scrolls instead of shrinking until its text is lost.
const MAX_SHRUNK_WIDTH: f64 = 480.0;
const LEAST_SCALE: f64 = 0.75;

impl Drawing {
    pub(crate) fn new(width: f64, height: f64, label: &str, body: String) -> Self {
        Drawing {
            width,
            height,
            label: safe_text(label, MAX_TEXT_CHARS).into_owned(),
            body,
            class: "fg",
            max_growth: MAX_GROWTH,
            overhang: 0.0,
        }
    }

    /// For a page, which brings the style sheet and shows the title itself.
    pub(crate) fn inline(&self) -> String {
        let least = if self.width > MAX_SHRUNK_WIDTH { self.width * LEAST_SCALE } else { 0.0 };
        format!(
            r#"<svg class="{}" viewBox="{} 0 {} {}" style="min-width:{}px;max-width:{}px" role="img" aria-label="{}">{}</svg>"#,
            self.class,
            Px(-self.overhang),
            Px(self.width + self.overhang),
            Px(self.height),
            Px(least),
            Px(self.width * self.max_growth),
            Esc(&self.label),
            self.body
        )
    }

    /// For a file of its own: style sheet, background, and a title above the drawing (at negative y).
    pub(crate) fn standalone(&self, title: &str) -> String {
        let top = if title.is_empty() { 0.0 } else { TITLE_HEIGHT };
        let (width, height) = (self.width + self.overhang, self.height + top);
        let mut out = String::with_capacity(self.body.len() + 4096);
        put!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="fg" width="{0}" height="{1}" viewBox="{5} -{2} {0} {1}" role="img" aria-label="{3}"><style>{4}</style><rect x="{5}" y="-{2}" width="100%" height="100%" class="fg-paper" fill="currentColor"/>"#,
            Px(width),
            Px(height),
            Px(top),
            Esc(&self.label),
            theme::figure_css(),
            Px(-self.overhang)
        );
        if top > 0.0 {
            let title = fit(title, width - 16.0, 14.0);
            put!(out, r#"<text x="8" y="-9" class="fg-title fg-ink">{}</text>"#, Esc(&title));
        }
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }
}

/// Text made safe by [`safe_text`], for element content and quoted attributes, without characters XML forbids.
pub(crate) struct Esc<'a>(pub &'a str);

impl fmt::Display for Esc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in safe_text(self.0, usize::MAX).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\u{fffe}' | '\u{ffff}' => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A length with one decimal at most: a tenth of a pixel is finer than any dot we draw.
pub(crate) struct Px(pub f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round();
        // `+ 0.0` turns minus zero into zero; NaN never gets here from data, see `Scale::px`.
        write!(f, "{}", if tenths.is_finite() { tenths / 10.0 + 0.0 } else { 0.0 })
    }
}

/// `text` at (x, y) in the style classes `class`, cut to `room` pixels; the full text stays as a tooltip.
pub(crate) fn text_within(out: &mut String, x: f64, y: f64, class: &str, text: &str, room: f64) {
    put!(out, r#"<text x="{}" y="{}" class="{class}">"#, Px(x), Px(y));
    put_within(out, text, room);
    out.push_str("</text>");
}

/// The content of a `<text>` element: `text` cut to `room` pixels, with the full text as a tooltip if it is cut.
pub(crate) fn put_within(out: &mut String, text: &str, room: f64) {
    let (safe, full) = with_tooltip(text, MAX_TEXT_CHARS);
    let shown = fit(&safe, room, 12.0);
    put!(out, "{}", Esc(&shown));
    if shown != safe {
        put!(out, "<title>{}</title>", Esc(full.as_deref().unwrap_or(&safe)));
    }
}

/// No text in a figure has room for more characters.
const MAX_TEXT_CHARS: usize = 120;

/// About how wide `text` will be: we cannot ask the font, so this errs on the wide side.
pub(crate) fn text_width(text: &str, font_size: f64) -> f64 {
    text.chars().map(|c| char_width(c) * font_size).sum()
}

/// `text`, or as much of it as fits into `room` pixels with an ellipsis.
pub(crate) fn fit(text: &str, room: f64, font_size: f64) -> String {
    if text_width(text, font_size) <= room {
        return text.to_string();
    }
    let mut left = room - font_size * 0.9; // the ellipsis
    let kept = text.chars().take_while(|&c| {
        left -= char_width(c) * font_size;
        left >= 0.0
    });
    kept.collect::<String>().trim_end().to_string() + "…"
}

/// In units of the font size.
fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' | 'f' | 't' | 'r' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.97,
        '<' | '>' | '=' | '+' | '~' | '\u{2212}' => 0.84,
        c if c.is_ascii_uppercase() => 0.72,
        c if (c as u32) < 0x1100 => 0.62,
        _ => 1.05,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_leaves_no_markup_and_no_control_characters() {
        let nasty = "<img src=x onerror=\"a('b')\">&\u{0}\u{202e}\u{ffff}";
        let safe = r"&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;\u{0}\u{202e}";
        assert_eq!(Esc(nasty).to_string(), safe);
    }

    #[test]
    fn lengths_are_short() {
        let shown = [1.0, 1.25, -0.04, 12.3456, f64::NAN].map(|v| Px(v).to_string());
        assert_eq!(shown, ["1", "1.3", "0", "12.3", "0"]);
    }

    #[test]
    fn long_text_is_cut_and_short_text_is_not() {
        assert_eq!(fit("moons", 100.0, 12.0), "moons");
        let cut = fit(&"long name ".repeat(20), 100.0, 12.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 105.0);
    }
}
