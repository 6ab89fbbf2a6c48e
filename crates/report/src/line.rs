//! Curves over epochs or steps: several named series, a legend, a linear or logarithmic y axis.

use crate::axis::{AxisScale, Scale, extent, padded};
use crate::plot::{Area, Plot, label_room, legend};
use crate::svg::{Drawing, Px, put};
use crate::theme::class_tone;

/// A line chart. Values that are not finite leave a gap in their line.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// Above the chart.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Name of the x axis.
    pub x_label: String,
    /// Name of the y axis.
    pub y_label: String,
    /// How x values become places: `Linear` or `Log`.
    pub x_scale: AxisScale,
    /// How y values become heights.
    pub y_scale: AxisScale,
    /// The curves, in legend order.
    pub series: Vec<Series>,
}

/// One named curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// `[x, y]` in the order of x.
    pub points: Vec<[f64; 2]>,
    /// Solid or dashed.
    pub stroke: Stroke,
    /// Index into the class colours; by default the series' place in the chart.
    pub colour: Option<usize>,
    /// Whether each point has a dot: for few measured values rather than a curve.
    pub dots: bool,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// A full line.
    #[default]
    Solid,
    /// Dashes, for the second of a pair: validation beside training.
    Dashed,
}

impl Series {
    /// Values at 1, 2, 3, ..: one per epoch.
    pub fn per_epoch(name: impl Into<String>, values: &[f64]) -> Self {
        let points = values.iter().enumerate().map(|(i, &v)| [(i + 1) as f64, v]).collect();
        Series { name: name.into(), points, ..Series::default() }
    }

    /// Draws the curve dashed.
    pub fn dashed(self) -> Self {
        Series { stroke: Stroke::Dashed, ..self }
    }

    /// Draws a dot at each point.
    pub fn dotted(self) -> Self {
        Series { dots: true, ..self }
    }

    /// Draws the curve in the colour of class `k`.
    pub fn coloured(self, k: usize) -> Self {
        Series { colour: Some(k), ..self }
    }
}

const WIDTH: f64 = 460.0;
const PLOT_HEIGHT: f64 = 200.0;
/// Half of a point.
const EDGE: f64 = 5.0;
/// More points than this on a line are below a pixel's width.
const MAX_POINTS: usize = 600;

impl Plot for LineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let mut body = String::new();
        let items: Vec<(String, &str)> =
            self.series.iter().enumerate().map(|(i, s)| (s.sample(i), s.name.as_str())).collect();
        let top = legend(&mut body, 24.0, 0.0, WIDTH - 36.0, &items) + 10.0;

        let mut area = Area { left: 0.0, top, width: 0.0, height: PLOT_HEIGHT };
        let y = self.y_scale_to([area.bottom(), area.top]);
        let y_ticks = y.ticks(5);
        area.left = 32.0 + label_room(&y_ticks);
        area.width = WIDTH - 16.0 - area.left;
        let x_range = extent(self.series.iter().flat_map(|s| &s.points).map(|p| p[0])).unwrap_or([0.0, 1.0]);
        let x = match self.x_scale {
            AxisScale::Log => Scale::log(x_range, [area.left, area.right()]),
            _ => Scale::linear(x_range, [area.left, area.right()]),
        };
        area.axes(&mut body, &x.ticks(6), &y_ticks);
        area.axis_names(&mut body, &self.x_label, &self.y_label);

        // Points on the edges are drawn whole.
        Area { left: area.left - EDGE, width: area.width + 2.0 * EDGE, ..area }.open_clip(&mut body);
        for (i, series) in self.series.iter().enumerate() {
            series.line(&mut body, i, &x, &y);
        }
        body.push_str("</svg>");
        Drawing::new(WIDTH, area.bottom() + 42.0, &self.title, body)
    }
}

impl LineChart {
    fn y_scale_to(&self, pixels: [f64; 2]) -> Scale {
        let finite = self.series.iter().flat_map(|s| &s.points).map(|p| p[1]).filter(|v| v.is_finite());
        let mut values: Vec<f64> = finite.filter(|&v| self.y_scale != AxisScale::Log || v > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let spikes = if self.y_scale == AxisScale::Focused { values.len() / 50 } else { 0 };
        let range = extent(values[..values.len() - spikes].iter().copied()).unwrap_or([0.1, 1.0]);
        match self.y_scale {
            AxisScale::Log => {
                let [lo, hi] = padded(range.map(f64::log10), 0.04);
                Scale::log([10f64.powf(lo), 10f64.powf(hi)], pixels)
            }
            AxisScale::Percent => Scale::linear([0.0, 104.0], pixels),
            AxisScale::Linear | AxisScale::Focused => Scale::linear(padded(range, 0.05), pixels),
        }
    }
}

impl Series {
    fn tone(&self, place: usize) -> String {
        class_tone(self.colour.unwrap_or(place))
    }

    fn dashes(&self) -> &'static str {
        match self.stroke {
            Stroke::Solid => "",
            Stroke::Dashed => r#" stroke-dasharray="5 3.5""#,
        }
    }

    fn sample(&self, place: usize) -> String {
        let (tone, dashes) = (self.tone(place), self.dashes());
        format!(r#"<path class="{tone}" stroke="currentColor" stroke-width="2"{dashes} d="M0 0h16"/>"#)
    }

    fn line(&self, out: &mut String, place: usize, x: &Scale, y: &Scale) {
        let mut d = String::new();
        let mut pen_down = false;
        for [px, py] in self.thinned() {
            match (x.px(px), y.px(py)) {
                (Some(px), Some(py)) => {
                    // Far outside the frame is as good as just outside it.
                    put!(d, "{}{} {}", if pen_down { 'L' } else { 'M' }, Px(px), Px(py.clamp(-1e4, 1e4)));
                    pen_down = true;
                }
                _ => pen_down = false,
            }
        }
        let (tone, dashes) = (self.tone(place), self.dashes());
        put!(
            out,
            r#"<path class="{tone}" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"{dashes} d="{d}"/>"#
        );
        for [px, py] in self.points.iter().filter(|_| self.dots) {
            if let (Some(px), Some(py)) = (x.px(*px), y.px(*py)) {
                put!(
                    out,
                    r#"<circle class="{tone}" cx="{}" cy="{}" r="3" fill="currentColor"/>"#,
                    Px(px),
                    Px(py)
                );
            }
        }
    }

    /// Long series keep the lowest and the highest point of each chunk: spikes survive thinning.
    fn thinned(&self) -> Vec<[f64; 2]> {
        if self.points.len() <= MAX_POINTS {
            return self.points.clone();
        }
        let chunk = self.points.len().div_ceil(MAX_POINTS / 2);
        let mut kept = Vec::with_capacity(MAX_POINTS);
        for points in self.points.chunks(chunk) {
            let finite = || points.iter().enumerate().filter(|(_, p)| p[1].is_finite());
            let by_height = |a: &(usize, &[f64; 2]), b: &(usize, &[f64; 2])| a.1[1].total_cmp(&b.1[1]);
            match (finite().min_by(by_height), finite().max_by(by_height)) {
                (Some((i, low)), Some((j, high))) if i < j => kept.extend([*low, *high]),
                (Some((i, low)), Some((j, high))) if i > j => kept.extend([*high, *low]),
                (Some((_, only)), _) => kept.push(*only),
                _ => kept.push([points[0][0], f64::NAN]),
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_breaks_the_line_and_nothing_else() {
        let series = Series::per_epoch("loss", &[3.0, f64::NAN, 2.0, 1.0, f64::INFINITY]);
        for y_scale in [AxisScale::Linear, AxisScale::Focused, AxisScale::Log] {
            let svg = LineChart { y_scale, series: vec![series.clone()], ..LineChart::default() }.to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }

    #[test]
    fn dots_of_a_logarithmic_axis_are_evenly_spaced() {
        let points = vec![[1.0, 0.0], [10.0, 1.0], [100.0, 2.0]];
        let series = vec![Series { points, ..Series::default() }.dotted()];
        let svg = LineChart { x_scale: AxisScale::Log, series, ..LineChart::default() }.to_svg();
        let at: Vec<f64> =
            svg.split("cx=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        assert_eq!(at.len(), 3);
        assert!((at[1] - at[0] - (at[2] - at[1])).abs() < 0.5, "{at:?}");
    }

    #[test]
    fn a_chart_of_nothing_is_still_a_chart() {
        assert!(LineChart::default().to_svg().contains("</svg>"));
        let all_nan = Series::per_epoch("", &[f64::NAN; 3]);
        assert!(!LineChart { series: vec![all_nan], ..LineChart::default() }.to_svg().contains("NaN"));
    }

    #[test]
    fn thinning_keeps_the_spike() {
        let mut values = vec![1.0; 50_000];
        values[31_234] = 9.0;
        let thinned = Series::per_epoch("", &values).thinned();
        assert!(thinned.len() <= MAX_POINTS);
        assert!(thinned.contains(&[31_235.0, 9.0]));
    }
}
