//! Squeeze (RealNVP): channel 4 c + 2 dy + dx of an image of half the size is pixel (2 y + dy, 2 x + dx) of channel c.
//! A permutation of the columns, so log_det = 0.

use burn_tensor::Tensor;
use flowgmm_kernels::image::{self as kernels, ImageStep};

use super::{ImageShape, ShapeExt as _, rows};
use crate::bijection::{Bijection, Kernel, Mapped};

#[derive(Clone, Debug)]
pub(in crate::bijection) struct Squeeze {
    shape: ImageShape,
    kernel: ImageStep,
}

impl Squeeze {
    pub(in crate::bijection) fn new(shape: ImageShape) -> Self {
        Self { shape, kernel: ImageStep::Squeeze(kernels::Squeeze::new(shape.plane())) }
    }
}

impl Bijection for Squeeze {
    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let ImageShape { channels: c, height: h, width: w } = self.shape;
        let n = x.dims()[0];
        let log_det = x.zeros_like().sum_dim(1);
        let blocks = x.reshape([n, c, h / 2, 2, w / 2, 2]).permute([0, 1, 3, 5, 2, 4]);
        Mapped { value: blocks.reshape([n, c * h * w]), log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let ImageShape { channels: c, height: h, width: w } = self.shape;
        let n = z.dims()[0];
        let pixels = z.reshape([n, c, 2, 2, h / 2, w / 2]).permute([0, 1, 4, 2, 5, 3]);
        rows(pixels.reshape([n, c, h, w]))
    }

    fn kernel(&self) -> Option<Kernel<'_>> {
        Some(Kernel::Image(&self.kernel))
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
