//! The flow as operators, in single precision: z = f(x') and log|det|.

use flowgmm_core::{
    Bijection as _, Flow, Theta, Transform,
    bijection::{BijectionSpec, Form, Mask},
    tensor::to_vec,
};
use ndarray::{Array2, Axis};

use super::{
    Refused,
    graph::{Graph, Value},
    image,
    spline::spline,
};

/// z `[n, dim]` and log|det dz/dx'| `[n, 1]`, or a constant `[1, 1]`.
pub(super) fn encoded(graph: &mut Graph, x: &Value, flow: &Flow) -> Result<(Value, Value), Refused> {
    let mut thetas = flow.thetas().into_iter();
    let (z, log_det) = through(graph, x, &flow.spec().layers, flow.spec().dim, &mut thetas)?;
    assert!(thetas.next().is_none(), "every parameter is part of the export");
    Ok((z, log_det))
}

/// The layers of a flow one after the other; each takes its parameters from those that are left.
fn through<'a>(
    graph: &mut Graph,
    x: &Value,
    layers: &[BijectionSpec],
    dim: usize,
    thetas: &mut impl Iterator<Item = &'a Theta>,
) -> Result<(Value, Value), Refused> {
    let mut h = x.clone();
    let mut log_det = graph.singles(&[1, 1], [0.0]);
    for spec in layers {
        let (value, gained) = layer(graph, &h, spec, dim, thetas)?;
        h = value;
        if let Some(gained) = gained {
            log_det = graph.apply("Add", &[&log_det, &gained]);
        }
    }
    Ok((h, log_det))
}

/// One layer, and its log|det| unless that is 0.
fn layer<'a>(
    graph: &mut Graph,
    x: &Value,
    spec: &BijectionSpec,
    dim: usize,
    thetas: &mut impl Iterator<Item = &'a Theta>,
) -> Result<(Value, Option<Value>), Refused> {
    let mut theta = || thetas.next().expect("the parameters of every layer");
    Ok(match spec {
        BijectionSpec::Coupling { mask, hidden, transform } => {
            coupling(graph, x, theta(), Split::new(*mask, dim), hidden.len() + 1, transform)?
        }
        BijectionSpec::Permutation { order } => (graph.columns(x, order), None),
        BijectionSpec::ActNorm => {
            let theta = theta();
            let (shift, s) = (to_vec(&theta.part(0)), to_vec(&theta.part(1)));
            let log_det = graph.singles(&[1, 1], [s.iter().sum()]);
            let shift = graph.singles(&[1, dim], shift);
            let scale = graph.singles(&[1, dim], s.into_iter().map(f64::exp));
            let shifted = graph.apply("Add", &[x, &shift]);
            (graph.apply("Mul", &[&shifted, &scale]), Some(log_det))
        }
        BijectionSpec::Linear { order } => {
            let factors = Factors::new(theta(), 0, order);
            let transposed = graph.singles(&[dim, dim], factors.product.t().iter().copied());
            let log_det = graph.singles(&[1, 1], [factors.log_det]);
            (graph.apply("MatMul", &[x, &transposed]), Some(log_det))
        }
        BijectionSpec::Logit { alpha } => logit(graph, x, *alpha),
        BijectionSpec::Squeeze { shape } => (image::squeezed(graph, x, *shape), None),
        BijectionSpec::ChannelMix { shape, order } => {
            let (value, log_det) = image::mixed(graph, x, theta(), *shape, order);
            (value, Some(log_det))
        }
        BijectionSpec::ConvAffine { shape, mask, net, form } => {
            let own = theta();
            let statistics = (spec.n_running_statistics() > Some(0)).then(theta);
            let (value, log_det) = image::coupling(graph, x, (own, statistics), *shape, *mask, *net, *form);
            (value, Some(log_det))
        }
        BijectionSpec::FactorOut { shape, keep, layers } => {
            let kept = shape.with_channels(*keep).dim();
            let (going_on, done) = (graph.span(x, 0..kept), graph.span(x, kept..dim));
            let (value, log_det) = through(graph, &going_on, layers, kept, thetas)?;
            (graph.beside(&[&done, &value]), Some(log_det))
        }
    })
}

/// logit(alpha + (1 - 2 alpha) x), and the sum of log(1 - 2 alpha) - log p - log(1 - p).
fn logit(graph: &mut Graph, x: &Value, alpha: f64) -> (Value, Option<Value>) {
    let width = 1.0 - 2.0 * alpha;
    let [factor, least, one, constant] =
        [width, alpha, 1.0, width.ln()].map(|value| graph.singles(&[1, 1], [value]));
    let p = graph.apply("Mul", &[x, &factor]);
    let p = graph.apply("Add", &[&p, &least]);
    let rest = graph.apply("Sub", &[&one, &p]);
    let (log_p, log_rest) = (graph.apply("Log", &[&p]), graph.apply("Log", &[&rest]));
    let both = graph.apply("Add", &[&log_p, &log_rest]);
    let log_slope = graph.apply("Sub", &[&constant, &both]);
    (graph.apply("Sub", &[&log_p, &log_rest]), Some(graph.sum(&log_slope, 1)))
}

/// A matrix by its LU factors: W = P L U, L unit lower and U upper triangular with the diagonal e^s.
pub(super) struct Factors {
    pub(super) product: Array2<f64>,
    /// The sum of s.
    pub(super) log_det: f64,
}

impl Factors {
    /// The factors in three parts of theta from `first` on: L, U and s.
    pub(super) fn new(theta: &Theta, first: usize, order: &[usize]) -> Self {
        let n = order.len();
        let part = |at: usize| to_vec(&theta.part(first + at));
        let (lower, upper, s) = (part(0), part(1), part(2));
        let of = |at: (usize, usize), values: &[f64], below: bool, diagonal: f64| match at.0.cmp(&at.1) {
            std::cmp::Ordering::Equal => diagonal,
            side if side.is_gt() == below => values[at.0 * n + at.1],
            _ => 0.0,
        };
        let lower = Array2::from_shape_fn((n, n), |at| of(at, &lower, true, 1.0));
        let upper = Array2::from_shape_fn((n, n), |at| of(at, &upper, false, s[at.0].exp()));
        Self { product: lower.dot(&upper).select(Axis(0), order), log_det: s.iter().sum() }
    }
}

/// (x + t) e^s or x e^s + t.
pub(super) fn affine(graph: &mut Graph, x: &Value, s: &Value, t: &Value, form: Form) -> Value {
    let scale = graph.apply("Exp", &[s]);
    match form {
        Form::ShiftThenScale => {
            let shifted = graph.apply("Add", &[x, t]);
            graph.apply("Mul", &[&shifted, &scale])
        }
        Form::ScaleThenShift => {
            let scaled = graph.apply("Mul", &[x, &scale]);
            graph.apply("Add", &[&scaled, t])
        }
    }
}

/// Which columns a coupling keeps, which it changes, and where they go.
struct Split {
    keep: Vec<usize>,
    change: Vec<usize>,
    position: Vec<usize>,
}

impl Split {
    fn new(mask: Mask, dim: usize) -> Self {
        let (keep, change) = mask.split(dim);
        let mut position = vec![0; dim];
        keep.iter().chain(&change).enumerate().for_each(|(at, &column)| position[column] = at);
        Self { keep, change, position }
    }
}

fn coupling(
    graph: &mut Graph,
    x: &Value,
    theta: &Theta,
    split: Split,
    layers: usize,
    transform: &Transform,
) -> Result<(Value, Option<Value>), Refused> {
    let changed = graph.columns(x, &split.change);
    let kept = (!split.keep.is_empty()).then(|| graph.columns(x, &split.keep));
    let output = network(graph, kept.as_ref(), theta, layers);
    let n = split.change.len();
    let (value, log_det) = match transform {
        Transform::Additive => (graph.apply("Add", &[&changed, &output]), None),
        Transform::Affine { form } => {
            let (raw, t) = (graph.span(&output, 0..n), graph.span(&output, n..2 * n));
            let gain = graph.singles(&[1, n], to_vec(&theta.part(2 * layers)));
            let bounded = graph.apply("Tanh", &[&raw]);
            let s = graph.apply("Mul", &[&bounded, &gain]);
            let value = affine(graph, &changed, &s, &t, *form);
            (value, Some(graph.sum(&s, 1)))
        }
        Transform::Spline { bins, bound } => {
            let (value, log_det) = spline(graph, &changed, &output, n, *bins, *bound);
            (value, Some(log_det))
        }
    };
    let value = match kept {
        None => value,
        Some(kept) => {
            let both = graph.beside(&[&kept, &value]);
            graph.columns(&both, &split.position)
        }
    };
    Ok((value, log_det))
}

/// The conditioner of kept columns; without any, its biases alone.
fn network(graph: &mut Graph, kept: Option<&Value>, theta: &Theta, layers: usize) -> Value {
    let mut h = kept.cloned();
    for i in 0..layers {
        let [n_out, n_in] = theta.parts()[2 * i].shape;
        let bias = graph.singles(&[1, n_out], to_vec(&theta.part(2 * i + 1)));
        let out = match &h {
            None => bias,
            Some(h) => {
                let w = to_vec(&theta.part(2 * i));
                let transposed =
                    (0..n_in).flat_map(|j| (0..n_out).map(move |o| (o, j))).map(|(o, j)| w[o * n_in + j]);
                let w = graph.singles(&[n_in, n_out], transposed.collect::<Vec<_>>());
                let product = graph.apply("MatMul", &[h, &w]);
                graph.apply("Add", &[&product, &bias])
            }
        };
        h = Some(if i + 1 < layers { graph.apply("Relu", &[&out]) } else { out });
    }
    h.expect("a network has a layer")
}
