//! The flow as operators, in single precision: z = f(x') and log|det|.

use flowgmm_core::{
    Bijection as _, Flow, Theta, Transform,
    bijection::{BijectionSpec, Form, Mask},
    tensor::to_vec,
};

use super::{
    Refused,
    graph::{Graph, Value},
};

/// z `[n, dim]` and log|det dz/dx'| `[n, 1]`, or a constant `[1, 1]`.
pub(super) fn encoded(graph: &mut Graph, x: &Value, flow: &Flow) -> Result<(Value, Value), Refused> {
    let mut h = x.clone();
    let mut log_det = graph.singles(&[1, 1], [0.0]);
    for (at, spec) in flow.spec().layers.iter().enumerate() {
        let layer = flow.slice(at..at + 1);
        let thetas = layer.thetas();
        let dim = flow.spec().dim;
        let (value, gained) = match spec {
            BijectionSpec::Coupling { mask, hidden, transform } => {
                let layers = hidden.len() + 1;
                coupling(graph, &h, thetas[0], Split::new(*mask, dim), layers, transform)?
            }
            other => {
                return Err(Refused(format!(
                    "its flow has a layer of the kind {}, which is not exported",
                    other.kind()
                )));
            }
        };
        h = value;
        if let Some(gained) = gained {
            log_det = graph.apply("Add", &[&log_det, &gained]);
        }
    }
    Ok((h, log_det))
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
            let (raw, t) = (
                graph.columns(&output, &(0..n).collect::<Vec<_>>()),
                graph.columns(&output, &(n..2 * n).collect::<Vec<_>>()),
            );
            let gain = graph.singles(&[1, n], to_vec(&theta.part(2 * layers)));
            let bounded = graph.apply("Tanh", &[&raw]);
            let s = graph.apply("Mul", &[&bounded, &gain]);
            let scale = graph.apply("Exp", &[&s]);
            let value = match form {
                Form::ShiftThenScale => {
                    let shifted = graph.apply("Add", &[&changed, &t]);
                    graph.apply("Mul", &[&shifted, &scale])
                }
                Form::ScaleThenShift => {
                    let scaled = graph.apply("Mul", &[&changed, &scale]);
                    graph.apply("Add", &[&scaled, &t])
                }
            };
            (value, Some(graph.sum(&s, 1)))
        }
        Transform::Spline { .. } => {
            return Err(Refused(
                "its couplings are splines, which are not exported: fit with affine ones".into(),
            ));
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
