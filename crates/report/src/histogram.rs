//! Overlaid histograms, as in the paper's figure 5c (distance of unlabelled data to the boundary).

use crate::axis::{Scale, extent};
use crate::plot::{Area, Plot, label_room, legend};
use crate::svg::{Drawing, Px, put};
use crate::theme::class_tone;

/// Histograms of several samples over the same bins, each as a share of its own sample.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Above the chart.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Name of the x axis.
    pub x_label: String,
    /// How many bins; 0 means 30.
    pub n_bins: usize,
    /// Name and values of each sample; values that are not finite are not counted.
    pub samples: Vec<(String, Vec<f64>)>,
    /// Class whose colour the first sample has; the others have those of the next.
    pub first_colour: usize,
}

const WIDTH: f64 = 460.0;

impl Plot for Histogram {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let mut body = String::new();
        let items: Vec<(String, &str)> = (self.first_colour..)
            .zip(&self.samples)
            .map(|(k, (name, _))| (sample(k), name.as_str()))
            .collect();
        let top = legend(&mut body, 24.0, 0.0, WIDTH - 36.0, &items) + 10.0;

        let n_bins = if self.n_bins == 0 { 30 } else { self.n_bins };
        let [lo, hi] = extent(self.samples.iter().flat_map(|s| s.1.iter().copied())).unwrap_or([0.0, 1.0]);
        let hi = if hi > lo { hi } else { lo + 1.0 };
        let shares: Vec<Vec<f64>> = self.samples.iter().map(|s| bin_shares(&s.1, lo, hi, n_bins)).collect();
        let tallest = shares.iter().flatten().copied().fold(0.0, f64::max);

        let mut area = Area { left: 0.0, top, width: 0.0, height: 200.0 };
        let y = Scale::linear([0.0, 1.05 * tallest], [area.bottom(), area.top]);
        let y_ticks = y.ticks(4);
        area.left = 32.0 + label_room(&y_ticks);
        area.width = WIDTH - 16.0 - area.left;
        let x = Scale::linear([lo, hi], [area.left, area.right()]);
        area.axes(&mut body, &x.ticks(6), &y_ticks);
        area.axis_names(&mut body, &self.x_label, "share");
        for (k, heights) in (self.first_colour..).zip(&shares) {
            outline(&mut body, &class_tone(k), heights, &area, &y);
        }
        Drawing::new(WIDTH, area.bottom() + 42.0, &self.title, body)
    }
}

/// One filled staircase for all bins of a sample.
fn outline(out: &mut String, tone: &str, heights: &[f64], area: &Area, y: &Scale) {
    let step = area.width / heights.len() as f64;
    let mut d = format!("M{} {}", Px(area.left), Px(area.bottom()));
    for (i, &height) in heights.iter().enumerate() {
        let level = y.px(height).unwrap_or(area.bottom());
        put!(d, "V{}H{}", Px(level), Px(area.left + step * (i + 1) as f64));
    }
    put!(d, "V{}", Px(area.bottom()));
    put!(
        out,
        r#"<path class="{tone}" fill="currentColor" fill-opacity=".2" stroke="currentColor" stroke-width="1.4" d="{d}"/>"#
    );
}

fn sample(k: usize) -> String {
    let tone = class_tone(k);
    format!(
        r#"<rect class="{tone}" y="-5" width="14" height="10" rx="1.5" fill="currentColor" fill-opacity=".2" stroke="currentColor" stroke-width="1.4"/>"#
    )
}

fn bin_shares(values: &[f64], lo: f64, hi: f64, n_bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n_bins];
    let mut n = 0.0;
    for v in values.iter().filter(|v| v.is_finite()) {
        counts[(((v - lo) / (hi - lo) * n_bins as f64) as usize).min(n_bins - 1)] += 1.0;
        n += 1.0;
    }
    counts.iter().map(|c| if n > 0.0 { c / n } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_one_and_the_largest_value_is_counted() {
        let shares = bin_shares(&[0.0, 0.1, 0.9, 1.0, f64::NAN], 0.0, 1.0, 2);
        assert_eq!(shares, [0.5, 0.5]);
    }

    #[test]
    fn empty_and_constant_samples_draw() {
        let samples = vec![("none".into(), vec![]), ("same".into(), vec![2.0; 9])];
        assert!(!Histogram { samples, ..Histogram::default() }.to_svg().contains("NaN"));
        assert!(!Histogram::default().to_svg().contains("NaN"));
    }

    #[test]
    fn samples_have_the_colours_of_their_classes() {
        let samples = vec![("World".to_string(), vec![1.0, 2.0])];
        let svg = Histogram { samples, first_colour: 3, ..Histogram::default() }.to_svg();
        let has = |k: usize| svg.contains(&format!(r#"<path class="{}""#, class_tone(k)));
        assert!(has(3) && !has(0), "{svg}");
    }
}
