//! A confusion matrix as a heat map: agreement in blue on the diagonal, errors in orange off it.

use crate::plot::Plot;
use crate::svg::{Drawing, Esc, Px, put, put_within, text_width, text_within};

/// How often true class (row) was predicted as class (column).
#[derive(Clone, Debug, Default)]
pub struct Confusion {
    /// Above the matrix.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Class names, in order.
    pub classes: Vec<String>,
    /// `counts[true][predicted]`; missing entries count as zero.
    pub counts: Vec<Vec<usize>>,
}

/// Room for a class name beside its row.
const NAME_ROOM: f64 = 88.0;

impl Plot for Confusion {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let n = self.classes.len();
        let widest = self.classes.iter().map(|c| text_width(c, 12.0)).fold(0.0, f64::max);
        let names = widest.min(NAME_ROOM);
        let cell = (330.0 / n.max(1) as f64).clamp(30.0, 46.0);
        let upright = widest <= cell - 4.0;
        let left = 24.0 + names + 8.0;
        let top = 24.0 + if upright { 16.0 } else { names * 0.72 + 10.0 };
        let side = cell * n as f64;

        let mut body = String::new();
        for (row, name) in self.classes.iter().enumerate() {
            let middle = top + cell * (row as f64 + 0.5);
            text_within(&mut body, left - 8.0, middle + 4.0, "fg-soft fg-end", name, names);
            let across = left + cell * (row as f64 + 0.5);
            column_name(&mut body, across, top - 7.0, name, if upright { None } else { Some(names) });
            let total: usize = (0..n).map(|column| self.count(row, column)).sum();
            for column in 0..n {
                let x = left + cell * column as f64;
                let count = self.count(row, column);
                let hue = if row == column { "fg-heat" } else { "fg-warn" };
                // The tint is the share of the row, so that rare classes are read like common ones.
                let share = count as f64 / total.max(1) as f64;
                paint_cell(&mut body, [x, middle - cell / 2.0], cell, hue, share, count);
            }
        }
        put!(
            body,
            r#"<g class="fg-soft fg-mid"><text x="{}" y="12">predicted</text><text transform="translate(12 {}) rotate(-90)">true</text></g>"#,
            Px(left + side / 2.0),
            Px(top + side / 2.0)
        );
        // Slanted names lean over the right edge of the last column.
        let lean = if upright { 4.0 } else { (names * 0.72 - cell / 2.0 + 12.0).max(4.0) };
        Drawing::new(left + side + lean, top + side + 4.0, &self.title, body)
    }
}

impl Confusion {
    fn count(&self, row: usize, column: usize) -> usize {
        self.counts.get(row).and_then(|r| r.get(column)).copied().unwrap_or(0)
    }
}

fn paint_cell(out: &mut String, [x, y]: [f64; 2], cell: f64, hue: &str, share: f64, count: usize) {
    let (left, up, side) = (Px(x + 1.0), Px(y + 1.0), Px(cell - 2.0));
    put!(
        out,
        r#"<rect x="{left}" y="{up}" width="{side}" height="{side}" rx="2" class="fg-grid" fill="currentColor" fill-opacity=".6"/>"#
    );
    if count == 0 {
        return;
    }
    // At most a little over half, so that the same ink reads on every cell in both themes.
    let opacity = 0.07 + 0.5 * share;
    let size = (1.6 * (cell - 6.0) / count.to_string().len() as f64).clamp(7.0, 12.0);
    put!(
        out,
        r#"<rect x="{left}" y="{up}" width="{side}" height="{side}" rx="2" class="{hue}" fill="currentColor" fill-opacity="{opacity:.2}"/><text x="{}" y="{}" font-size="{}" class="fg-ink fg-mid fg-num">{count}</text>"#,
        Px(x + cell / 2.0),
        Px(y + cell / 2.0 + size / 3.0),
        Px(size)
    );
}

/// Above its column; slanted and cut to `room` when names are wider than columns.
fn column_name(out: &mut String, x: f64, y: f64, name: &str, room: Option<f64>) {
    let (x, y) = (Px(x), Px(y));
    match room {
        None => put!(out, r#"<text x="{x}" y="{y}" class="fg-soft fg-mid">{}</text>"#, Esc(name)),
        Some(room) => {
            put!(out, r#"<text transform="translate({x} {y}) rotate(-45)" class="fg-soft">"#);
            put_within(out, name, room);
            out.push_str("</text>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text_and_missing_counts_are_zero() {
        let classes = vec!["<img src=x onerror=alert(1)>".into(), "b".into()];
        let svg = Confusion { classes, counts: vec![vec![5, 1]], ..Confusion::default() }.to_svg();
        assert!(!svg.contains("<img"));
        assert!(svg.contains("&lt;img"));
        assert!(svg.contains(">5</text>"));
        assert!(Confusion::default().to_svg().contains("</svg>"));
    }
}
