//! Affine coupling of images (RealNVP; paper, appendix D): forms A and B of the affine transform, with a
//! convolutional net.
//!
//!   checkerboard   pixels change in the pattern of a checkerboard; the net sees the whole image with them set to 0
//!   channels       one half of the channels changes, the net sees the other
//!
//! log_det = sum of s over the changed part.

use burn_tensor::Tensor;
use flowgmm_kernels::{
    conv::Workspace,
    image::{Half, ImageStep, LightCoupling},
};
use semisup::Rng;
use serde::{Deserialize, Serialize};

use super::{
    ImageShape, ShapeExt as _, images,
    nets::{ConvNet, Net},
    norm::{self, Norms},
    rows,
};
use crate::{
    bijection::{Bijection, Form, Init, Kernel, Mapped, Mode, transform::kernel_form},
    tensor::Place,
    theta::Theta,
};

/// Which part of an image a coupling changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageMask {
    /// Every other pixel, the top left one among them.
    Checkerboard,
    /// The other pixels.
    CheckerboardReversed,
    /// The first half of the channels.
    Channels,
    /// The second half of the channels.
    ChannelsReversed,
}

impl ImageMask {
    /// Whether the mask splits pixels, not channels.
    pub fn is_checkerboard(self) -> bool {
        matches!(self, Self::Checkerboard | Self::CheckerboardReversed)
    }

    /// Channels the net sees, and channels it scales and shifts.
    pub(in crate::bijection) fn net_channels(self, channels: usize) -> (usize, usize) {
        if self.is_checkerboard() { (channels, channels) } else { (channels / 2, channels / 2) }
    }

    /// 1 where a pixel is kept, 0 where it is changed, `[1, 1, height, width]`.
    fn kept_pixels(self, shape: ImageShape, place: &Place) -> Tensor<4> {
        let odd_is_kept = self == Self::Checkerboard;
        let kept = |at: usize| ((at / shape.width + at % shape.width) % 2 == 1) == odd_is_kept;
        let pixels = shape.height * shape.width;
        let values = (0..pixels).map(|at| f64::from(u8::from(kept(at)))).collect();
        place.matrix(values, [1, pixels]).reshape([1, 1, shape.height, shape.width])
    }
}

/// The two parts of an image that a coupling splits it into.
struct Parts {
    /// What the net sees.
    seen: Tensor<4>,
    /// What is changed (among other pixels, for a checkerboard).
    changed: Tensor<4>,
    /// 1 on kept pixels, for a checkerboard.
    keep: Option<Tensor<4>>,
}

#[derive(Clone, Debug)]
pub(in crate::bijection) struct ConvAffine {
    shape: ImageShape,
    mask: ImageMask,
    net: Net,
    form: Form,
    theta: Theta,
    statistics: Option<Theta>,
    mode: Mode,
    kernel: Option<ImageStep>,
}

impl ConvAffine {
    pub(in crate::bijection) fn new(
        shape: ImageShape,
        mask: ImageMask,
        kind: ConvNet,
        form: Form,
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Self {
        let (inputs, changed) = mask.net_channels(shape.channels);
        let input_scale = if mask.is_checkerboard() { 2.0 } else { 1.0 };
        let net = Net { kind, inputs, changed, input_scale };
        let theta = Theta::new(net.draw(init, rng), place);
        let statistics = norm::statistics(&kind.norms(inputs), init, rng, place);
        let keep = match mask {
            ImageMask::Channels => Some(Half::Second),
            ImageMask::ChannelsReversed => Some(Half::First),
            _ => None,
        };
        let kernel = match (kind, keep) {
            (ConvNet::Light { hidden }, Some(keep)) => {
                let workspace = Workspace::default();
                let coupling = LightCoupling::new(shape.plane(), keep, hidden, kernel_form(form), &workspace);
                Some(ImageStep::Coupling(coupling))
            }
            _ => None,
        };
        Self { shape, mask, net, form, theta, statistics, mode: Mode::default(), kernel }
    }

    fn parts(&self, x: Tensor<2>) -> Parts {
        let place = Place::of(&x);
        let x = images(x, self.shape);
        let half = self.shape.channels / 2;
        let halves = |x: Tensor<4>| (x.clone().narrow(1, 0, half), x.narrow(1, half, half));
        match self.mask {
            ImageMask::Checkerboard | ImageMask::CheckerboardReversed => {
                let keep = self.mask.kept_pixels(self.shape, &place);
                Parts { seen: x.clone() * keep.clone(), changed: x, keep: Some(keep) }
            }
            ImageMask::Channels => {
                let (changed, seen) = halves(x);
                Parts { seen, changed, keep: None }
            }
            ImageMask::ChannelsReversed => {
                let (seen, changed) = halves(x);
                Parts { seen, changed, keep: None }
            }
        }
    }

    /// The whole image from what was seen and what became of the rest.
    fn merge(&self, seen: Tensor<4>, changed: Tensor<4>) -> Tensor<2> {
        rows(match self.mask {
            ImageMask::Checkerboard | ImageMask::CheckerboardReversed => seen + changed,
            ImageMask::Channels => Tensor::cat(vec![changed, seen], 1),
            ImageMask::ChannelsReversed => Tensor::cat(vec![seen, changed], 1),
        })
    }

    /// s and t of the changed part, 0 elsewhere.
    fn scale_shift(&self, parts: &Parts, norms: &mut Norms) -> (Tensor<4>, Tensor<4>) {
        let (s, t) = self.net.run(&self.theta, parts.seen.clone(), norms, self.mode.engine);
        match &parts.keep {
            None => (s, t),
            Some(keep) => {
                let change = keep.clone().neg().add_scalar(1.0);
                (s * change.clone(), t * change)
            }
        }
    }

    fn forward_with(&self, x: Tensor<2>, norms: &mut Norms) -> Mapped {
        let parts = self.parts(x);
        let (s, t) = self.scale_shift(&parts, norms);
        let Parts { seen, changed, keep } = parts;
        let mut changed = self.form.forward(changed, s.clone(), t);
        if let Some(keep) = keep {
            changed = changed * keep.neg().add_scalar(1.0);
        }
        Mapped { value: self.merge(seen, changed), log_det: rows(s).sum_dim(1) }
    }

    fn norms(&self) -> Norms<'_> {
        Norms::new(self.mode.statistics, self.statistics.as_ref())
    }
}

impl Bijection for ConvAffine {
    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        self.forward_with(x, &mut self.norms())
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let parts = self.parts(z);
        let (s, t) = self.scale_shift(&parts, &mut self.norms());
        let Parts { seen, changed, keep } = parts;
        let mut changed = self.form.inverse(changed, s, t);
        if let Some(keep) = keep {
            changed = changed * keep.neg().add_scalar(1.0);
        }
        self.merge(seen, changed)
    }

    fn update_running_statistics(&mut self, x: Tensor<2>, momentum: f64) -> Tensor<2> {
        let mut norms = Norms::observing();
        let value = self.forward_with(x, &mut norms).value;
        if let Some(running) = &mut self.statistics {
            norm::update(running, &norms.observed(), momentum);
        }
        value
    }

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    fn thetas(&self) -> Vec<&Theta> {
        std::iter::once(&self.theta).chain(&self.statistics).collect()
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        std::iter::once(&mut self.theta).chain(&mut self.statistics).collect()
    }

    fn trained(&self) -> Vec<bool> {
        std::iter::once(true).chain(self.statistics.iter().map(|_| false)).collect()
    }

    fn kernel(&self) -> Option<Kernel<'_>> {
        self.kernel.as_ref().map(Kernel::Image)
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
