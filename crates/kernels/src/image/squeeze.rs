//! Squeeze: channel 4 c + 2 dy + dx of the image of half the size is pixel (2 y + dy, 2 x + dx) of channel c.

use super::Plane;
use rayon::prelude::*;

/// The squeeze of images of one shape.
#[derive(Clone, Debug)]
pub struct Squeeze {
    shape: Plane,
    /// Where each number of the result comes from.
    order: Vec<u32>,
}

impl Squeeze {
    /// # Panics
    /// Unless height and width are even.
    pub fn new(shape: Plane) -> Self {
        let Plane { channels, height, width } = shape;
        assert!(
            height.is_multiple_of(2) && width.is_multiple_of(2),
            "a squeeze halves height and width: {shape:?}"
        );
        let mut order = Vec::with_capacity(shape.dim());
        for c in 0..channels {
            for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for y in 0..height / 2 {
                    let row = (c * height + 2 * y + dy) * width + dx;
                    order.extend((0..width / 2).map(|x| (row + 2 * x) as u32));
                }
            }
        }
        Self { shape, order }
    }

    /// The shape before.
    pub fn shape(&self) -> Plane {
        self.shape
    }

    pub(super) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut z = vec![0.0; x.len()];
        let dim = self.order.len();
        z.par_chunks_mut(dim).zip(x.par_chunks(dim)).for_each(|(z, x)| {
            z.iter_mut().zip(&self.order).for_each(|(z, &from)| *z = x[from as usize]);
        });
        z
    }

    /// The way back, which is also the backward pass.
    pub(super) fn inverse(&self, z: &[f32]) -> Vec<f32> {
        let mut x = vec![0.0; z.len()];
        let dim = self.order.len();
        x.par_chunks_mut(dim).zip(z.par_chunks(dim)).for_each(|(x, z)| {
            z.iter().zip(&self.order).for_each(|(&z, &from)| x[from as usize] = z);
        });
        x
    }
}
