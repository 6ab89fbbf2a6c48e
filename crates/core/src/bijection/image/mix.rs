//! A linear map of the channels at every pixel p (Glow's ActNorm and invertible 1x1 convolution in one):
//!
//!   z_p = P L U (x_p + b),   L unit lower triangular, U upper triangular with diagonal e^s, P a permutation;
//!   log_det = pixels sum s, the same for every row.
//!
//! On a first batch b and s are set so that every channel has mean 0 and variance 1.

use burn_tensor::Tensor;
use flowgmm_kernels::image::{self as kernels, ImageStep};
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

use super::{ImageShape, ShapeExt as _};
use crate::{
    bijection::{Bijection, Init, Kernel, Mapped},
    tensor::{Place, to_vec},
    theta::Theta,
};

#[derive(Clone, Debug)]
pub(in crate::bijection) struct ChannelMix {
    shape: ImageShape,
    order: Vec<usize>,
    theta: Theta,
    kernel: ImageStep,
}

const SHIFT: usize = 0;
const LOWER: usize = 1;
const UPPER: usize = 2;
const LOG_DIAGONAL: usize = 3;

impl ChannelMix {
    pub(in crate::bijection) fn new(
        shape: ImageShape,
        order: &[usize],
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Self {
        let c = shape.channels;
        let sigma = match init {
            Init::Identity => 0.0,
            Init::Random | Init::Masked => 0.3 / (c as f64).sqrt(),
        };
        let mut draw = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|_| sigma * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng))
                .collect()
        };
        let pieces = vec![
            ("b".into(), [1, c], draw(c)),
            ("L".into(), [c, c], draw(c * c)),
            ("U".into(), [c, c], draw(c * c)),
            ("s".into(), [1, c], draw(c)),
        ];
        let kernel = ImageStep::Mix(kernels::Mix::new(shape.plane(), order.to_vec()));
        Self { shape, order: order.to_vec(), theta: Theta::new(pieces, place), kernel }
    }

    fn pixels(&self) -> usize {
        self.shape.height * self.shape.width
    }

    /// Rows as `[n, C, pixels]`.
    fn split(&self, x: Tensor<2>) -> Tensor<3> {
        let n = x.dims()[0];
        x.reshape([n, self.shape.channels, self.pixels()])
    }

    /// m x_p at every pixel.
    fn apply(&self, m: Tensor<2>, x: Tensor<3>) -> Tensor<3> {
        let c = self.shape.channels;
        m.reshape([1, c, c]).matmul(x)
    }

    fn shift(&self) -> Tensor<3> {
        self.theta.part(SHIFT).reshape([1, self.shape.channels, 1])
    }

    /// M^-1 in double precision, by substitution.
    fn inverse_matrix(&self) -> Vec<f64> {
        let c = self.shape.channels;
        let parts: Vec<Vec<f64>> = (0..4).map(|i| to_vec(&self.theta.part(i))).collect();
        let mut inverse = vec![0.0; c * c];
        for (column, &from) in self.order.iter().enumerate() {
            let mut v = vec![0.0; c];
            v[from] = 1.0;
            for i in 0..c {
                let known: f64 = (0..i).map(|j| parts[LOWER][i * c + j] * v[j]).sum();
                v[i] -= known;
            }
            for i in (0..c).rev() {
                let known: f64 = (i + 1..c).map(|j| parts[UPPER][i * c + j] * v[j]).sum();
                v[i] = (v[i] - known) * (-parts[LOG_DIAGONAL][i]).exp();
            }
            (0..c).for_each(|i| inverse[i * c + column] = v[i]);
        }
        inverse
    }
}

impl Bijection for ChannelMix {
    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let (n, c) = (x.dims()[0], self.shape.channels);
        let place = Place::of(&x);
        let s = self.theta.part(LOG_DIAGONAL);
        let centred = self.split(x) + self.shift();
        // The strict triangles as products, the diagonal as a scale.
        let scaled = centred.clone() * s.clone().exp().reshape([1, c, 1]);
        let u = self.apply(self.theta.part(UPPER).triu(1), centred) + scaled;
        let v = self.apply(self.theta.part(LOWER).tril(-1), u.clone()) + u;
        let value = v.select(1, place.indices(&self.order)).reshape([n, self.shape.dim()]);
        let log_det = s.sum_dim(1).repeat_dim(0, n) * self.pixels() as f64;
        Mapped { value, log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let (n, c, place) = (z.dims()[0], self.shape.channels, Place::of(&z));
        let inverse = place.matrix(self.inverse_matrix(), [c, c]);
        (self.apply(inverse, self.split(z)) - self.shift()).reshape([n, self.shape.dim()])
    }

    fn adapts(&self) -> bool {
        true
    }

    fn adapt(&mut self, x: &Tensor<2>) {
        let (c, pixels) = (self.shape.channels, self.pixels());
        let values = to_vec(x);
        let count = (values.len() / c) as f64;
        let (mut shift, mut log_scale) = (Vec::with_capacity(c), Vec::with_capacity(c));
        for channel in 0..c {
            let own = || values.chunks_exact(pixels).skip(channel).step_by(c).flatten();
            let mean = own().sum::<f64>() / count;
            let variance = own().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
            shift.push(-mean);
            log_scale.push(if variance > 1e-12 { -0.5 * variance.ln() } else { 0.0 });
        }
        let off_diagonal = vec![0.0; 2 * c * c];
        let theta = self.theta.place().vector([shift, off_diagonal, log_scale].concat());
        self.theta.set(theta);
    }

    fn thetas(&self) -> Vec<&Theta> {
        vec![&self.theta]
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        vec![&mut self.theta]
    }

    fn kernel(&self) -> Option<Kernel<'_>> {
        Some(Kernel::Image(&self.kernel))
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
