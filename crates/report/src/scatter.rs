//! A few named points in the plane, for example learners by time and accuracy.

use crate::axis::{AxisScale, Scale, extent, padded};
use crate::plot::{Area, Plot, label_room};
use crate::svg::{Drawing, Px, put, text_width, text_within};
use crate::theme::class_tone;

/// A scatter plot with a name beside each point. Points that are not finite are left out.
#[derive(Clone, Debug, Default)]
pub struct Scatter {
    /// Above the plot.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Name of the x axis.
    pub x_label: String,
    /// Name of the y axis.
    pub y_label: String,
    /// How x values become places: `Linear` or `Log`.
    pub x_scale: AxisScale,
    /// The points.
    pub points: Vec<NamedPoint>,
}

/// A point and its name.
#[derive(Clone, Debug, Default)]
pub struct NamedPoint {
    /// Beside the point.
    pub name: String,
    /// `[x, y]`.
    pub at: [f64; 2],
    /// Index into the class colours.
    pub colour: usize,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 260.0;
const RADIUS: f64 = 4.5;
/// Height of a name, by which names are kept apart.
const LINE: f64 = 14.0;
/// From the middle of a point to its name.
const GAP: f64 = 9.0;
/// How far a name may move up or down to find room.
const MOVES: [f64; 7] = [0.0, 8.0, LINE, 22.0, -8.0, -LINE, -22.0];

impl Plot for Scatter {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let mut area = Area { left: 0.0, top: 10.0, width: 0.0, height: HEIGHT };
        let of = |axis: usize| extent(self.points.iter().map(|p| p.at[axis])).unwrap_or([0.1, 1.0]);
        let y = Scale::linear(padded(of(1), 0.12), [area.bottom(), area.top]);
        let y_ticks = y.ticks(5);
        area.left = 32.0 + label_room(&y_ticks);
        area.width = WIDTH - 16.0 - area.left;
        let pixels = [area.left, area.right()];
        let x = match self.x_scale {
            AxisScale::Log => Scale::log(padded(of(0).map(f64::log10), 0.15).map(|v| 10f64.powf(v)), pixels),
            _ => Scale::linear(padded(of(0), 0.15), pixels),
        };
        let mut body = String::new();
        area.axes(&mut body, &x.ticks(6), &y_ticks);
        area.axis_names(&mut body, &self.x_label, &self.y_label);
        let mut placed: Vec<(&NamedPoint, f64, f64)> = Vec::new(); // points, and where they are
        for point in &self.points {
            if let (Some(px), Some(py)) = (x.px(point.at[0]), y.px(point.at[1])) {
                placed.push((point, px, py));
            }
        }
        placed.sort_by(|a, b| a.2.total_cmp(&b.2)); // names that make room keep the order of their points
        let mut names: Vec<[f64; 3]> = Vec::new(); // left, right, height of those that are drawn
        for &(point, px, py) in &placed {
            let tone = class_tone(point.colour);
            let (cx, cy) = (Px(px), Px(py));
            put!(body, r#"<circle class="{tone}" cx="{cx}" cy="{cy}" r="{RADIUS}" fill="currentColor"/>"#);
            let wide = text_width(&point.name, 12.0);
            let right = (px + GAP + wide <= area.right()).then_some(px + GAP);
            let left = (px - GAP - wide >= area.left).then_some(px - GAP - wide);
            let sides: Vec<f64> = [right, left].into_iter().flatten().collect();
            let free = |left: f64, height: f64| {
                let apart =
                    |[l, r, h]: &[f64; 3]| left > *r || left + wide < *l || (height - h).abs() >= LINE;
                let (top, bottom) = (height - LINE, height + 4.0);
                let over = |&(_, x, y): &(&NamedPoint, f64, f64)| {
                    (left - RADIUS..=left + wide + RADIUS).contains(&x) && (top..=bottom).contains(&y)
                };
                names.iter().all(apart) && !placed.iter().any(over)
            };
            let mut places = MOVES.iter().flat_map(|by| sides.iter().map(move |side| (*side, py + 4.0 + by)));
            let (at, height) = places
                .find(|&(at, height)| free(at, height))
                .unwrap_or((sides.first().copied().unwrap_or(px), py + 4.0));
            if height != py + 4.0 {
                let (ex, ey) = (Px(if at > px { at - 1.0 } else { at + wide + 1.0 }), Px(height - 4.0));
                put!(
                    body,
                    r#"<line class="{tone}" x1="{cx}" y1="{cy}" x2="{ex}" y2="{ey}" stroke="currentColor"/>"#
                );
            }
            names.push([at, at + wide, height]);
            text_within(&mut body, at, height, "fg-soft", &point.name, wide + 1.0);
        }
        Drawing::new(WIDTH, area.bottom() + 42.0, &self.title, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_kept_apart_and_broken_points_are_left_out() {
        let point = |name: &str, at| NamedPoint { name: name.into(), at, colour: 0 };
        let mut points = ["<b>", "twin", "third"].map(|name| point(name, [1.0, 2.0])).to_vec();
        points.push(point("none", [f64::NAN, 1.0]));
        let svg = Scatter { points, x_scale: AxisScale::Log, ..Scatter::default() }.to_svg();
        assert!(!svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("none"));
        assert_eq!(svg.matches("<circle").count(), 3);
        let heights: Vec<&str> = svg.split(r#"class="fg-soft""#).skip(1).collect();
        assert!(heights.len() >= 3, "all names are there");
        // One to the right, one to the left, and one that had to move.
        let lines = svg.matches("<line class=\"fg-c").count();
        assert_eq!(lines, 1, "the name that was moved is tied to its point");
        assert!(Scatter::default().to_svg().contains("</svg>"));
    }
}
