//! Views of images for consistency regularisation: small random moves that do not change the class, and dequantisation.
//!
//! Rows are pixels in the flow's units, v = (x + 1/2) / 256 for x in 0..=255. A view moves the image, rounds it to
//! whole pixel values and dequantises them, v = (x + u) / 256 with u uniform in [0, 1) (paper, section 5.3,
//! after RealNVP); pixels that come from outside the image are 0.

use rand::Rng as _;
use semisup::Rng;
use serde::{Deserialize, Serialize};

use super::Perturbation;
use crate::bijection::ImageShape;

/// How views of images are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageViews {
    /// The images.
    pub shape: ImageShape,
    /// Pixels by which a view may be moved, up or down and left or right.
    pub shift: usize,
    /// Whether half of the views are mirrored.
    pub flip: bool,
    /// Largest rotation of half of the views that are trained on, in degrees.
    pub rotate: f64,
    /// Largest relative change of their height and of their width.
    pub scale: f64,
    /// Largest shear.
    pub shear: f64,
    /// Side of the square that is erased from unlabelled views; 0 erases nothing.
    pub erase: usize,
}

/// Values of a pixel.
const LEVELS: f32 = 256.0;

impl ImageViews {
    /// Moves of up to `shift` pixels and nothing else.
    pub fn shifts(shape: ImageShape, shift: usize) -> Self {
        Self { shape, shift, flip: false, rotate: 0.0, scale: 0.0, shear: 0.0, erase: 0 }
    }

    /// Views that are not moved; half of them are mirrored if half of these are.
    pub(crate) fn unmoved(self) -> Self {
        Self { flip: self.flip, ..Self::shifts(self.shape, 0) }
    }

    /// Whether the settings are in range.
    pub(crate) fn is_valid(&self) -> bool {
        let below = |v: f64, most: f64| (0.0..=most).contains(&v);
        let side = self.shape.height.min(self.shape.width);
        let whole = self.shift < side && self.erase < side;
        whole && below(self.rotate, 180.0) && below(self.scale, 0.9) && below(self.shear, 1.0)
    }

    fn warps(&self) -> bool {
        self.rotate > 0.0 || self.scale > 0.0 || self.shear > 0.0
    }

    fn each(&self, values: &mut [f32], rng: &mut Rng, mut change: impl FnMut(&mut [f32], &mut Rng)) {
        for image in values.chunks_exact_mut(self.shape.dim()) {
            image.iter_mut().for_each(|v| *v = *v * LEVELS - 0.5);
            change(image, rng);
            image.iter_mut().for_each(|v| *v = (v.round() + rng.random::<f32>()) / LEVELS);
        }
    }

    /// A whole move and a mirror image.
    fn shift(&self, image: &mut [f32], rng: &mut Rng) {
        let ImageShape { height, width, .. } = self.shape;
        let most = self.shift as i64;
        let mut draw = || rng.random_range(-most..=most) as isize;
        let (dy, dx) = (draw(), draw());
        let mirrored = self.flip && rng.random::<bool>();
        for plane in image.chunks_exact_mut(height * width) {
            let from = plane.to_vec();
            for y in 0..height {
                for x in 0..width {
                    let (at_y, at_x) = (y as isize - dy, x as isize - dx);
                    let inside = (0..height as isize).contains(&at_y) && (0..width as isize).contains(&at_x);
                    let at_x = if mirrored { width as isize - 1 - at_x } else { at_x };
                    plane[y * width + x] =
                        if inside { from[at_y as usize * width + at_x as usize] } else { 0.0 };
                }
            }
        }
    }

    /// A rotation, scaling and shear about the middle, by bilinear interpolation.
    fn warp(&self, image: &mut [f32], rng: &mut Rng) {
        let ImageShape { height, width, .. } = self.shape;
        let mut draw = |most: f64| most * rng.random_range(-1.0..=1.0);
        let (angle, shear) = (draw(self.rotate.to_radians()), draw(self.shear));
        let (tall, wide) = (1.0 + draw(self.scale), 1.0 + draw(self.scale));
        let (sin, cos) = angle.sin_cos();
        // From a pixel of the view to the place it shows.
        let m =
            [[cos / tall, -sin / tall], [sin / wide + shear * cos / tall, cos / wide - shear * sin / tall]]
                .map(|row| row.map(|v| v as f32));
        let (mid_y, mid_x) = ((height - 1) as f32 / 2.0, (width - 1) as f32 / 2.0);
        for plane in image.chunks_exact_mut(height * width) {
            let from = plane.to_vec();
            let pixel = |y: isize, x: isize| {
                let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
                if inside { from[y as usize * width + x as usize] } else { 0.0 }
            };
            for y in 0..height {
                for x in 0..width {
                    let (dy, dx) = (y as f32 - mid_y, x as f32 - mid_x);
                    let at_y = m[0][0] * dy + m[0][1] * dx + mid_y;
                    let at_x = m[1][0] * dy + m[1][1] * dx + mid_x;
                    let (top, left) = (at_y.floor(), at_x.floor());
                    let (fy, fx) = (at_y - top, at_x - left);
                    let (top, left) = (top as isize, left as isize);
                    let upper = pixel(top, left) * (1.0 - fx) + pixel(top, left + 1) * fx;
                    let lower = pixel(top + 1, left) * (1.0 - fx) + pixel(top + 1, left + 1) * fx;
                    plane[y * width + x] = upper * (1.0 - fy) + lower * fy;
                }
            }
        }
    }

    /// A square of zeros somewhere.
    fn erase(&self, image: &mut [f32], rng: &mut Rng) {
        let ImageShape { height, width, .. } = self.shape;
        let top = rng.random_range(0..=height - self.erase);
        let left = rng.random_range(0..=width - self.erase);
        for plane in image.chunks_exact_mut(height * width) {
            for row in plane.chunks_exact_mut(width).skip(top).take(self.erase) {
                row[left..left + self.erase].fill(0.0);
            }
        }
    }

    fn strong(&self, image: &mut [f32], rng: &mut Rng) {
        // Half of the views keep sharp edges: interpolation blurs them, and images to be predicted are not blurred.
        if self.warps() && rng.random::<bool>() {
            self.warp(image, rng);
        }
        self.shift(image, rng);
    }
}

impl Perturbation for ImageViews {
    fn perturb(&self, values: &mut [f32], _dim: usize, rng: &mut Rng) {
        self.each(values, rng, |image, rng| {
            self.strong(image, rng);
            if self.erase > 0 {
                self.erase(image, rng);
            }
        });
    }

    /// Only moves: the view that a target is taken from should be easy to classify.
    fn perturb_target(&self, values: &mut [f32], _dim: usize, rng: &mut Rng) {
        self.each(values, rng, |image, rng| self.shift(image, rng));
    }

    fn perturb_labelled(&self, values: &mut [f32], _dim: usize, rng: &mut Rng) {
        self.each(values, rng, |image, rng| self.strong(image, rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ImageShape = ImageShape { channels: 2, height: 6, width: 5 };

    fn pixels(values: &[f32]) -> Vec<f32> {
        values.iter().map(|v| (v * LEVELS).floor()).collect()
    }

    fn image() -> Vec<f32> {
        (0..SHAPE.dim()).map(|i| (i as f32 * 4.0 + 0.5) / LEVELS).collect()
    }

    #[test]
    fn a_view_without_moves_only_dequantises() {
        let mut values = image();
        ImageViews::shifts(SHAPE, 0).perturb(&mut values, SHAPE.dim(), &mut semisup::rng(1));
        assert_eq!(pixels(&values), pixels(&image()));
        assert!(values.iter().all(|v| (0.0..1.0).contains(v)));
        assert!(values.iter().zip(image()).any(|(a, b)| (a - b).abs() > 1e-4), "no noise");
    }

    #[test]
    fn a_moved_view_shows_the_image_elsewhere_with_zeros_beside_it() {
        let views = ImageViews::shifts(SHAPE, 2);
        let (original, plane) = (pixels(&image()), 30);
        for seed in 0..20 {
            let mut values = image();
            views.perturb_target(&mut values, SHAPE.dim(), &mut semisup::rng(seed));
            let view = pixels(&values);
            let shows = |dy: isize, dx: isize| {
                (0..60isize).all(|at| {
                    let (c, y, x) = (at / plane, at % plane / 5 - dy, at % 5 - dx);
                    let inside = (0..6).contains(&y) && (0..5).contains(&x);
                    let want = if inside { original[(c * plane + y * 5 + x) as usize] } else { 0.0 };
                    view[at as usize] == want
                })
            };
            assert!((-2..=2).any(|dy| (-2..=2).any(|dx| shows(dy, dx))), "seed {seed} is no move");
        }
    }

    #[test]
    fn a_warp_of_nothing_is_the_image_and_erasing_erases_a_square() {
        let mut still = image();
        let mut views = ImageViews::shifts(SHAPE, 0);
        views.each(&mut still, &mut semisup::rng(0), |image, rng| views.warp(image, rng));
        assert_eq!(pixels(&still), pixels(&image()));
        views.erase = 3;
        let mut values: Vec<f32> = vec![200.5 / LEVELS; SHAPE.dim()];
        views.perturb(&mut values, SHAPE.dim(), &mut semisup::rng(3));
        assert_eq!(pixels(&values).iter().filter(|v| **v == 0.0).count(), 2 * 9);
    }
}
