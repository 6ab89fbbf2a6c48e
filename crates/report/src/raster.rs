//! Rasters behind a panel's points: a class map as tinted regions, a density as one tint.
//!
//! Both become a palette PNG of one byte a cell that the viewer scales up smoothly. Tints are translucent,
//! so the same image serves light and dark paper.

use crate::contour::{self, Vertex};
use crate::png::{self, Pixels};
use crate::theme::{N_COLOURS, class_colour};

/// Values on a grid of cells, row-major from the top left.
#[derive(Clone, Debug)]
pub struct Raster<T> {
    width: usize,
    height: usize,
    cells: Vec<T>,
}

/// Shades of one class; ten classes of 24 shades fit a palette of 256.
const SHADES: usize = 24;

impl<T> Raster<T> {
    /// # Panics
    /// If `cells` is not `width * height` long.
    pub fn new(width: usize, height: usize, cells: Vec<T>) -> Self {
        let n = cells.len();
        assert_eq!(n, width * height, "a {width} x {height} raster needs {} cells, got {n}", width * height);
        Raster { width, height, cells }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }
}

impl Raster<(usize, f64)> {
    pub(crate) fn class_boundaries(&self) -> Vec<Vec<Vertex>> {
        contour::boundaries(self.width, self.height, |column, row| self.cells[row * self.width + column].0)
    }
}

/// Stronger tint where the classifier is surer, from chance (1 / classes) to certainty.
pub(crate) fn region_image(map: &Raster<(usize, f64)>) -> Option<String> {
    let n_classes = map.cells.iter().map(|(k, _)| k + 1).max()?.max(2);
    let chance = 1.0 / n_classes as f64;
    let shade = |confidence: f64| level((confidence - chance) / (1.0 - chance));
    let palette: Vec<[u8; 4]> = (0..n_classes.min(N_COLOURS))
        .flat_map(|k| (0..SHADES).map(move |s| tint(class_colour(k).light, 0.05 + 0.20 * share(s))))
        .collect();
    let bytes: Vec<u8> = map
        .cells
        .iter()
        .map(|&(k, confidence)| ((k % N_COLOURS) * SHADES + shade(confidence)) as u8)
        .collect();
    Some(png::data_uri(&png::encode(map.width, map.height, &bytes, &Pixels::Palette(&palette))))
}

/// From clear at zero to the tint's full strength at the largest value.
pub(crate) fn density_image(map: &Raster<f64>) -> Option<String> {
    let [_, largest] = crate::axis::extent(map.cells.iter().copied())?;
    let palette: Vec<[u8; 4]> = (0..SHADES).map(|s| tint([0x3f, 0x6f, 0xb0], 0.62 * share(s))).collect();
    // The square root keeps the tails of a Gaussian visible.
    let bytes: Vec<u8> = map.cells.iter().map(|v| level((v / largest).max(0.0).sqrt()) as u8).collect();
    Some(png::data_uri(&png::encode(map.width, map.height, &bytes, &Pixels::Palette(&palette))))
}

/// The nearest of the shades to a share of 0..1; NaN is the palest.
fn level(share: f64) -> usize {
    (share.clamp(0.0, 1.0) * (SHADES - 1) as f64).round() as usize
}

fn share(shade: usize) -> f64 {
    shade as f64 / (SHADES - 1) as f64
}

fn tint([r, g, b]: [u8; 3], alpha: f64) -> [u8; 4] {
    [r, g, b, (255.0 * alpha).round() as u8]
}
