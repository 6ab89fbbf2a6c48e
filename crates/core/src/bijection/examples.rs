//! One architecture of every kind: what the laws of `tests/laws.rs` run over.

use rand::seq::SliceRandom as _;
use semisup::Rng;

use super::{BijectionSpec as Spec, ConvNet, Form, ImageMask, ImageShape, Mask, Transform};

impl Spec {
    /// One architecture of every kind for `dim` columns: what the laws are tested on.
    pub fn examples(dim: usize, rng: &mut Rng) -> Vec<Self> {
        let coupling = |mask, hidden, transform| Self::Coupling { mask, hidden, transform };
        let mut order: Vec<usize> = (0..dim).collect();
        order.shuffle(rng);
        let mut specs = vec![
            Self::Permutation { order: order.clone() },
            Self::ActNorm,
            Self::Linear { order },
            Self::Logit { alpha: 0.05 },
            coupling(Mask::KeepEven, vec![], Transform::Affine { form: Form::ScaleThenShift }),
        ];
        for mask in [Mask::KeepEven, Mask::KeepOdd, Mask::KeepFirst, Mask::KeepSecond] {
            specs.extend([
                coupling(mask, vec![7], Transform::Affine { form: Form::ShiftThenScale }),
                coupling(mask, vec![6, 5], Transform::Affine { form: Form::ScaleThenShift }),
                coupling(mask, vec![5], Transform::Additive),
                coupling(mask, vec![6], Transform::Spline { bins: 5, bound: 3.0 }),
            ]);
        }
        specs.extend(image_examples(dim));
        specs
    }
}

/// One image architecture of every kind that rows of `dim` columns allow: what the laws are tested on.
fn image_examples(dim: usize) -> Vec<Spec> {
    let mut specs = Vec::new();
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    let nets = [
        ConvNet::Plain { hidden: 3 },
        ConvNet::Light { hidden: 3 },
        ConvNet::Residual { hidden: 2, blocks: 1 },
    ];
    let forms = [Form::ShiftThenScale, Form::ScaleThenShift];
    for channels in divisors(dim) {
        for height in divisors(dim / channels) {
            let shape = ImageShape { channels, height, width: dim / channels / height };
            if shape.height.is_multiple_of(2) && shape.width.is_multiple_of(2) {
                specs.push(Spec::Squeeze { shape });
            }
            specs.push(Spec::ChannelMix { shape, order: (0..channels).rev().collect() });
            let masks = [ImageMask::Checkerboard, ImageMask::CheckerboardReversed];
            for (i, mask) in masks.into_iter().enumerate() {
                specs.push(Spec::ConvAffine { shape, mask, net: nets[(i + channels) % 3], form: forms[i] });
            }
            if channels.is_multiple_of(2) {
                for (i, mask) in [ImageMask::Channels, ImageMask::ChannelsReversed].into_iter().enumerate() {
                    specs.push(Spec::ConvAffine {
                        shape,
                        mask,
                        net: nets[(i + height) % 3],
                        form: forms[1 - i],
                    });
                }
                let inner = shape.with_channels(channels / 2);
                let layers = vec![
                    Spec::ChannelMix { shape: inner, order: (0..channels / 2).collect() },
                    Spec::ConvAffine {
                        shape: inner,
                        mask: ImageMask::Checkerboard,
                        net: nets[1],
                        form: forms[0],
                    },
                ];
                specs.push(Spec::FactorOut { shape, keep: channels / 2, layers });
            }
        }
    }
    specs
}
