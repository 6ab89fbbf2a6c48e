//! Random views of images for consistency: translations with zeros from outside, mirror images, Gaussian noise (Laine and
//! Aila 2017 on CIFAR-10 and SVHN).

use rand::Rng as _;
use rand_distr::StandardNormal;
use semisup::{ImageShape, Rng};

/// How views are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiViews {
    /// Pixels by which a view may be moved, up or down and left or right.
    pub shift: usize,
    /// Whether half of the views of colour images are mirrored; digits and letters are grey.
    pub flip: bool,
    /// Standard deviation of the noise on pixels of [0, 1].
    pub noise: f64,
}

/// A view of each image, `[n, dim]`.
pub(crate) fn views(x: &[f32], shape: ImageShape, how: PiViews, rng: &mut Rng) -> Vec<f32> {
    let mut out = vec![0f32; x.len()];
    for (from, to) in x.chunks(shape.dim()).zip(out.chunks_mut(shape.dim())) {
        let reach = how.shift as i64;
        let [down, right] = [(); 2].map(|()| rng.random_range(-reach..=reach) as isize);
        let mirrored = how.flip && shape.channels == 3 && rng.random_bool(0.5);
        one(from, to, shape, [down, right], mirrored);
    }
    if how.noise > 0. {
        out.iter_mut().for_each(|v| *v += (how.noise * rng.sample::<f64, _>(StandardNormal)) as f32);
    }
    out
}

fn one(from: &[f32], to: &mut [f32], shape: ImageShape, [down, right]: [isize; 2], mirrored: bool) {
    let ImageShape { channels, height, width } = shape;
    for c in 0..channels {
        for row in 0..height {
            let source = row as isize - down;
            if !(0..height as isize).contains(&source) {
                continue;
            }
            for column in 0..width {
                let at = if mirrored { width - 1 - column } else { column } as isize - right;
                if (0..width as isize).contains(&at) {
                    to[(c * height + row) * width + column] =
                        from[(c * height + source as usize) * width + at as usize];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_moved_and_mirrored() {
        let shape = ImageShape { channels: 1, height: 2, width: 3 };
        let from = [1., 2., 3., 4., 5., 6.];
        let moved = |by: [isize; 2], mirrored: bool| {
            let mut to = vec![0.; 6];
            one(&from, &mut to, shape, by, mirrored);
            to
        };
        assert_eq!(moved([0, 0], false), from);
        assert_eq!(moved([1, -1], false), [0., 0., 0., 2., 3., 0.]);
        assert_eq!(moved([0, 0], true), [3., 2., 1., 6., 5., 4.]);
        let how = PiViews { shift: 1, flip: true, noise: 0. };
        let many = views(&from.repeat(400), shape, how, &mut semisup::rng(0));
        let kinds: std::collections::BTreeSet<Vec<u32>> =
            many.chunks(6).map(|view| view.iter().map(|v| *v as u32).collect()).collect();
        assert_eq!(kinds.len(), 9, "all moves of grey images, none of them mirrored");
    }
}
