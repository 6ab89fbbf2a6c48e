//! Layers of images as operators. A row is an image's pixels in the order [channel, row, column], as in the flow itself.

use flowgmm_core::{
    Theta,
    bijection::{ConvNet, Form, ImageMask, ImageShape},
};
use flowgmm_data::ImageLayout;

use super::{
    flow::{Factors, affine},
    graph::{Attribute, Graph, Value},
    nets,
    proto::Element,
};

/// Rows of pixel values `[n, dim]`, padded, of images of bytes `[n, channels, height, width]`.
pub(super) fn rows(graph: &mut Graph, x: &Value, layout: &ImageLayout) -> Value {
    let mut pixels = graph.cast(x, Element::Double);
    let (height, width) = layout.padded();
    if (height, width) != (layout.height, layout.width) {
        let more = [0, 0, 0, 0, 0, 0, height - layout.height, width - layout.width];
        let more = graph.whole(more.map(|pixels| pixels as i64));
        pixels = graph.apply("Pad", &[&pixels, &more]);
    }
    graph.reshape(&pixels, &[layout.dim()])
}

/// 2x2 blocks of pixels as channels.
pub(super) fn squeezed(graph: &mut Graph, x: &Value, shape: ImageShape) -> Value {
    let ImageShape { channels, height, width } = shape;
    let blocks = graph.reshape(x, &[channels, height / 2, 2, width / 2, 2]);
    let order = Attribute::Ints("perm", vec![0, 1, 3, 5, 2, 4]);
    let blocks = graph.apply_with("Transpose", &[&blocks], &[order]);
    graph.reshape(&blocks, &[shape.dim()])
}

/// P L U (x_p + b) at every pixel p, as a convolution of one pixel, and pixels * sum s.
pub(super) fn mixed(
    graph: &mut Graph,
    x: &Value,
    theta: &Theta,
    shape: ImageShape,
    order: &[usize],
) -> (Value, Value) {
    let c = shape.channels;
    let factors = Factors::new(theta, 1, order);
    let shift = ndarray::Array1::from(flowgmm_core::tensor::to_vec(&theta.part(0)));
    let weight = graph.singles(&[c, c, 1, 1], factors.product.iter().copied());
    let bias = graph.singles(&[c], factors.product.dot(&shift));
    let images = images(graph, x, shape);
    let mixed = graph.apply("Conv", &[&images, &weight, &bias]);
    let log_det = (shape.height * shape.width) as f64 * factors.log_det;
    (graph.reshape(&mixed, &[shape.dim()]), graph.singles(&[1, 1], [log_det]))
}

/// An affine coupling of pixels or channels; `statistics` are those of batch normalisation.
pub(super) fn coupling(
    graph: &mut Graph,
    x: &Value,
    parameters: (&Theta, Option<&Theta>),
    shape: ImageShape,
    mask: ImageMask,
    net: ConvNet,
    form: Form,
) -> (Value, Value) {
    let images = images(graph, x, shape);
    let (value, s) = match mask {
        ImageMask::Checkerboard | ImageMask::CheckerboardReversed => {
            let kept = |at: usize| {
                (at / shape.width + at % shape.width) % 2 == usize::from(mask == ImageMask::Checkerboard)
            };
            let pixels = 0..shape.height * shape.width;
            let board = |graph: &mut Graph, wanted: bool| {
                let values = pixels.clone().map(|at| f64::from(u8::from(kept(at) == wanted)));
                graph.singles(&[1, 1, shape.height, shape.width], values)
            };
            let (keep, change) = (board(graph, true), board(graph, false));
            let seen = graph.apply("Mul", &[&images, &keep]);
            // Half of what the net sees is zero.
            let (s, t) = nets::scale_shift(graph, &seen, parameters, net, shape.channels, 2.0);
            let (s, t) = (graph.apply("Mul", &[&s, &change]), graph.apply("Mul", &[&t, &change]));
            let changed = affine(graph, &images, &s, &t, form);
            let changed = graph.apply("Mul", &[&changed, &change]);
            (graph.apply("Add", &[&seen, &changed]), s)
        }
        ImageMask::Channels | ImageMask::ChannelsReversed => {
            let half = shape.channels / 2;
            let (first, second) = (graph.span(&images, 0..half), graph.span(&images, half..2 * half));
            let reversed = mask == ImageMask::ChannelsReversed;
            let (changed, seen) = if reversed { (second, first) } else { (first, second) };
            let (s, t) = nets::scale_shift(graph, &seen, parameters, net, half, 1.0);
            let changed = affine(graph, &changed, &s, &t, form);
            let both = if reversed { [&seen, &changed] } else { [&changed, &seen] };
            (graph.beside(&both), s)
        }
    };
    let n_scales = if mask.is_checkerboard() { shape.dim() } else { shape.dim() / 2 };
    let scales = graph.reshape(&s, &[n_scales]);
    (graph.reshape(&value, &[shape.dim()]), graph.sum(&scales, 1))
}

fn images(graph: &mut Graph, x: &Value, shape: ImageShape) -> Value {
    graph.reshape(x, &[shape.channels, shape.height, shape.width])
}
