//! Convolutions of W3: 64 channels, batch 32, 28 x 28.
//!
//! A 3x3 convolution counts the operations of its definition. Winograd's F(4x4, 3x3) needs a quarter of the
//! multiplications, so its share of a peak can exceed 100%.

use super::{Work, draw};
use flowgmm_kernels::conv::{Activations, KernelSize, PreActConv, PreActParams, Shape, Workspace};
use std::hint::black_box;
use std::rc::Rc;

const CHANNELS: usize = 64;
const IMAGES: Shape = Shape { n: 32, channels: CHANNELS, height: 28, width: 28 };
const SHAPE: &str = "32x64x28x28";

pub fn three() -> Vec<Work> {
    let names = [
        "conv 3x3 forward",
        "conv 3x3 input_gradient",
        "conv 3x3 weight_gradient",
        "conv 3x3 backward",
        "conv 3x3 preact forward",
        "conv 3x3 preact backward",
    ];
    passes(KernelSize::Three, names)
}

/// And the transposes between the layout of the kernels and that of the world.
pub fn one() -> Vec<Work> {
    let names = [
        "conv 1x1 forward",
        "conv 1x1 input_gradient",
        "conv 1x1 weight_gradient",
        "conv 1x1 backward",
        "conv 1x1 preact forward",
        "conv 1x1 preact backward",
    ];
    let mut works = passes(KernelSize::One, names);
    works.extend(layout());
    works
}

struct Layer {
    layer: PreActConv,
    gamma: Vec<f32>,
    beta: Vec<f32>,
    w: Vec<f32>,
    x: Activations,
    gy: Activations,
}

impl Layer {
    fn params(&self) -> PreActParams<'_> {
        PreActParams { gamma: &self.gamma, beta: &self.beta, weights: &self.w }
    }
}

/// How many products a pass has, and the pass.
type Pass = (f64, fn(&Layer));

fn passes(kernel: KernelSize, names: [&'static str; 6]) -> Vec<Work> {
    let workspace = Workspace::default();
    let layer = PreActConv::new(CHANNELS, CHANNELS, kernel, &workspace);
    let images = |seed| Activations::from_nchw(&workspace, IMAGES, &draw(IMAGES.len(), 1.7, seed));
    let layer = Rc::new(Layer {
        gamma: vec![1.0; CHANNELS],
        beta: vec![0.0; CHANNELS],
        w: draw(layer.conv().n_weights(), 1.0 / 24.0, 1),
        x: images(2),
        gy: images(3),
        layer,
    });
    let product = 2.0 * (IMAGES.len() * CHANNELS * kernel.taps()) as f64;
    let runs: [Pass; 6] = [
        (1.0, |l| drop(black_box(l.layer.conv().forward(&l.w, None, &l.x)))),
        (1.0, |l| drop(black_box(l.layer.conv().input_gradient(&l.w, &l.gy)))),
        (1.0, |l| drop(black_box(l.layer.conv().weight_gradient(&l.x, &l.gy)))),
        (2.0, |l| drop(black_box(l.layer.conv().backward(&l.w, &l.x, &l.gy)))),
        (1.0, |l| drop(black_box(l.layer.forward(l.params(), &l.x, Some(&l.gy))))),
        (2.0, |l| drop(black_box(l.layer.backward(l.params(), &l.x, &l.gy, Some(&l.gy))))),
    ];
    let work = |(name, (products, run)): (&'static str, Pass)| {
        let layer = Rc::clone(&layer);
        Work::new(name, SHAPE, products * product, move || run(&layer))
    };
    names.into_iter().zip(runs).map(work).collect()
}

/// No operations at all: bytes alone.
fn layout() -> Vec<Work> {
    let workspace = Workspace::default();
    let values = draw(IMAGES.len(), 1.0, 4);
    let x = Activations::from_nchw(&workspace, IMAGES, &values);
    let mut to = vec![0.0; IMAGES.len()];
    let bytes = 8.0 * IMAGES.len() as f64;
    vec![
        Work::new("transpose from_nchw", SHAPE, 0.0, move || {
            drop(black_box(Activations::from_nchw(&workspace, IMAGES, &values)));
        })
        .moving(bytes),
        Work::new("transpose write_nchw", SHAPE, 0.0, move || x.write_nchw(black_box(&mut to))).moving(bytes),
    ]
}
