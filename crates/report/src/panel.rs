//! A square panel of the plane, as in the paper's figures 1 and 2: decision regions, data, mixture.
//!
//! Layers paint in a fixed order, whatever order they are listed in: rasters, ellipses and dots, the
//! dashed boundary between regions, and labelled points on top, because they are few and matter most.

use crate::axis::Scale;
use crate::plot::{Area, Plot, label_room};
use crate::raster::{self, Raster};
use crate::svg::{Drawing, Px, put};
use crate::theme::class_tone;
use crate::viewport::Viewport;

/// One square panel. Points that are not finite, or lie outside the viewport, are not drawn.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Above the panel.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// The part of the plane shown.
    pub viewport: Viewport,
    /// What is drawn.
    pub layers: Vec<Layer>,
}

/// One kind of thing drawn in a [`Panel`].
#[derive(Clone, Debug)]
pub enum Layer {
    /// Class and confidence in 0..1 of every cell: tinted regions with a dashed line between classes.
    /// The cells are those of [`Viewport::cells`].
    Regions(Raster<(usize, f64)>),
    /// Any non-negative quantity, for example a density: darker where larger.
    Density(Raster<f64>),
    /// Small soft-blue dots: data without labels.
    Unlabelled(Vec<[f64; 2]>),
    /// Small dots in the colour of their class: latent images, samples.
    ByClass(Vec<([f64; 2], usize)>),
    /// Outlined triangles in the colour of their class: labelled data.
    Labelled(Vec<([f64; 2], usize)>),
    /// Mixture components at one and two standard deviations.
    Ellipses(Vec<Ellipse>),
}

/// An axis-parallel Gaussian component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    /// The mean.
    pub centre: [f64; 2],
    /// One standard deviation along x and y.
    pub radii: [f64; 2],
    /// Whose component it is.
    pub class: usize,
}

/// `page.css` knows these proportions: in a thumbnail it crops the margins of the hidden tick labels.
const SIDE: f64 = 268.0;
const AREA: Area = Area { left: 30.0, top: 4.0, width: SIDE, height: SIDE };

impl Plot for Panel {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn draw(&self) -> Drawing {
        let plane = Plane {
            x: Scale::linear(self.viewport.x, [AREA.left, AREA.right()]),
            y: Scale::linear(self.viewport.y, [AREA.bottom(), AREA.top]),
        };
        let mut body = String::new();
        AREA.open_clip(&mut body);
        self.layers.iter().for_each(|layer| paint_raster(&mut body, layer));
        self.layers.iter().for_each(|layer| plane.paint_points(&mut body, layer));
        self.layers.iter().for_each(|layer| paint_boundary(&mut body, layer));
        self.layers.iter().for_each(|layer| plane.paint_labelled(&mut body, layer));
        body.push_str("</svg>");
        put!(
            body,
            r#"<rect x="{}" y="{}" width="{2}" height="{2}" rx="2" class="fg-rule" fill="none" stroke="currentColor"/>"#,
            Px(AREA.left),
            Px(AREA.top),
            Px(SIDE)
        );
        let y_ticks = plane.y.ticks(5);
        AREA.tick_labels(&mut body, &plane.x.ticks(5), &y_ticks);
        // Numbers of a column may be longer than the margin.
        let overhang = (label_room(&y_ticks) + 8.0 - AREA.left).max(0.0);
        let drawing = Drawing::new(AREA.right() + 8.0, AREA.bottom() + 22.0, &self.title, body);
        Drawing { class: "fg fg-panel", max_growth: 1.6, overhang, ..drawing }
    }
}

fn paint_raster(out: &mut String, layer: &Layer) {
    let image = match layer {
        Layer::Regions(map) => raster::region_image(map),
        Layer::Density(map) => raster::density_image(map),
        _ => return,
    };
    let Some(uri) = image else { return };
    put!(
        out,
        r#"<image class="fg-tint" x="{}" y="{}" width="{2}" height="{2}" preserveAspectRatio="none" href="{uri}"/>"#,
        Px(AREA.left),
        Px(AREA.top),
        Px(SIDE)
    );
}

/// Dashes over a paler line, so that the boundary reads over dots as well as over tint.
fn paint_boundary(out: &mut String, layer: &Layer) {
    let Layer::Regions(map) = layer else { return };
    let mut d = String::new();
    for line in map.class_boundaries() {
        for (i, [column, row]) in line.into_iter().enumerate() {
            let x = AREA.left + SIDE * column / map.width() as f64;
            let y = AREA.top + SIDE * row / map.height() as f64;
            put!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, Px(x), Px(y));
        }
    }
    if !d.is_empty() {
        put!(
            out,
            r#"<g fill="none" stroke-linejoin="round"><path class="fg-paper" stroke="currentColor" stroke-width="3.4" stroke-opacity=".65" d="{d}"/><path class="fg-ink" stroke="currentColor" stroke-width="1.4" stroke-dasharray="5 3.4" d="{d}"/></g>"#
        );
    }
}

/// The panel's two scales.
struct Plane {
    x: Scale,
    y: Scale,
}

impl Plane {
    fn paint_points(&self, out: &mut String, layer: &Layer) {
        match layer {
            Layer::Unlabelled(points) => self.dots(out, "fg-dots", points.iter()),
            Layer::ByClass(points) => {
                for (k, points) in by_class(points) {
                    self.dots(out, &class_tone(k), points.into_iter());
                }
            }
            Layer::Ellipses(ellipses) => ellipses.iter().for_each(|e| self.ellipse(out, e)),
            Layer::Regions(_) | Layer::Density(_) | Layer::Labelled(_) => {}
        }
    }

    /// All dots of a colour are one path: a line of no length with round ends is a dot of 12 bytes.
    fn dots<'a>(&self, out: &mut String, tone: &str, points: impl Iterator<Item = &'a [f64; 2]>) {
        let mut d = String::new();
        points.filter_map(|p| self.inside(p)).for_each(|(x, y)| put!(d, "M{} {}h0", Px(x), Px(y)));
        if !d.is_empty() {
            put!(
                out,
                r#"<path class="{tone}" stroke="currentColor" stroke-width="3.2" stroke-linecap="round" stroke-opacity=".72" d="{d}"/>"#
            );
        }
    }

    fn paint_labelled(&self, out: &mut String, layer: &Layer) {
        let Layer::Labelled(points) = layer else { return };
        for (k, points) in by_class(points) {
            let mut d = String::new();
            for (x, y) in points.into_iter().filter_map(|p| self.inside(p)) {
                put!(d, "M{} {}l5.2 9h-10.4z", Px(x), Px(y - 6.0));
            }
            if !d.is_empty() {
                let tone = class_tone(k);
                put!(
                    out,
                    r#"<g stroke-linejoin="round" stroke="currentColor"><path class="fg-paper" stroke-width="4" d="{d}"/><path class="fg-ink" stroke-width="2.2" d="{d}"/><path class="{tone}" stroke="none" fill="currentColor" d="{d}"/></g>"#
                );
            }
        }
    }

    fn ellipse(&self, out: &mut String, e: &Ellipse) {
        let (Some(cx), Some(cy)) = (self.x.px(e.centre[0]), self.y.px(e.centre[1])) else { return };
        let edge = (self.x.px(e.centre[0] + e.radii[0]), self.y.px(e.centre[1] + e.radii[1]));
        let (Some(edge_x), Some(edge_y)) = edge else { return };
        let (rx, ry) = ((edge_x - cx).abs(), (edge_y - cy).abs());
        let tone = class_tone(e.class);
        for (sigmas, opacity) in [(2.0, 0.09), (1.0, 0.14)] {
            put!(
                out,
                r#"<ellipse cx="{}" cy="{}" rx="{}" ry="{}" class="{tone}" fill="currentColor" fill-opacity="{opacity}" stroke="currentColor" stroke-width="1.3" stroke-opacity=".8"/>"#,
                Px(cx),
                Px(cy),
                Px(sigmas * rx),
                Px(sigmas * ry)
            );
        }
    }

    /// The point's pixels, if any part of its mark would show.
    fn inside(&self, p: &[f64; 2]) -> Option<(f64, f64)> {
        const MARK: f64 = 6.0;
        let (x, y) = (self.x.px(p[0])?, self.y.px(p[1])?);
        let seen = (AREA.left - MARK..=AREA.right() + MARK).contains(&x)
            && (AREA.top - MARK..=AREA.bottom() + MARK).contains(&y);
        seen.then_some((x, y))
    }
}

fn by_class(points: &[([f64; 2], usize)]) -> Vec<(usize, Vec<&[f64; 2]>)> {
    let mut groups = std::collections::BTreeMap::<usize, Vec<&[f64; 2]>>::new();
    points.iter().for_each(|(p, k)| groups.entry(*k).or_default().push(p));
    groups.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_beside_a_panel_are_not_cut_off() {
        let viewport = |top: f64| Viewport { x: [0.0, 1.0], y: [0.0, top] };
        let overhang = |top: f64| Panel { viewport: viewport(top), ..Panel::default() }.draw().overhang;
        assert_eq!(overhang(10.0), 0.0);
        assert!(overhang(90_000.0) > 8.0);
        assert!(Panel { viewport: viewport(90_000.0), ..Panel::default() }.to_svg().contains("viewBox=\"-"));
    }

    #[test]
    fn points_without_a_place_are_dropped() {
        let points = vec![[0.0, 0.0], [f64::NAN, 0.0], [0.0, f64::INFINITY], [99.0, 0.0]];
        let panel = Panel { layers: vec![Layer::Unlabelled(points)], ..Panel::default() };
        let svg = panel.to_svg();
        assert_eq!(svg.matches("h0").count(), 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn empty_layers_draw_nothing_and_break_nothing() {
        let layers = vec![
            Layer::Regions(Raster::new(0, 0, vec![])),
            Layer::Density(Raster::new(2, 1, vec![f64::NAN, f64::NAN])),
            Layer::Unlabelled(vec![]),
            Layer::ByClass(vec![]),
            Layer::Labelled(vec![([f64::NAN; 2], 0)]),
            Layer::Ellipses(vec![Ellipse { centre: [f64::NAN; 2], radii: [1.0, 1.0], class: 0 }]),
        ];
        let viewport = Viewport { x: [f64::NAN, 1.0], y: [2.0, 2.0] };
        let svg = Panel { viewport, layers, ..Panel::default() }.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("<ellipse"));
    }
}
