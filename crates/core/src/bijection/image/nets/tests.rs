//! The residual net against `golden_resnet.npz`: output, running statistics, prediction by them, and every gradient.

use super::{super::norm, *};
use crate::{
    bijection::NormStatistics,
    tensor::{Place, to_vec},
};

/// Both sides compute in double precision, in another order.
const DOUBLE: f64 = 1e-10;
/// Convolutions by Winograd in single precision, through batch norms of few numbers.
const SINGLE: f64 = 2e-3;

#[path = "../../../../tests/golden/arrays.rs"]
mod arrays;

struct Golden(arrays::Arrays);

impl Golden {
    fn open() -> Self {
        Self(arrays::Arrays::open("golden_resnet.npz"))
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.0.get(name).iter().copied().collect()
    }

    fn images(&self, name: &str, place: &Place) -> Tensor<4> {
        let array = self.0.get(name);
        let s = array.shape();
        let dims = [s[0], s[1], s[2], s[3]];
        place.vector(array.iter().copied().collect()).reshape(dims)
    }
}

#[track_caller]
fn assert_close(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    // A scale before a batch norm has no gradient but what rounding leaves: nothing to be relative to.
    let scale = want.iter().fold(1e-2_f64, |a, b| a.max(b.abs()));
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance * scale, "{what}: {g} is not {w}");
    }
}

fn net(input_scale: f64) -> Net {
    Net { kind: ConvNet::Residual { hidden: 4, blocks: 2 }, inputs: 2, changed: 2, input_scale }
}

/// The golden parameters; the gain is not part of the file and stays 1.
fn theta(golden: &Golden, place: &Place) -> Theta {
    let mut pieces = net(2.0).draw(Init::Random, &mut semisup::rng(0));
    for (name, _, values) in &mut pieces {
        if name != "g" && name != "v" {
            *values = golden.values(&format!("w_{name}"));
        }
    }
    Theta::new(pieces, place)
}

fn output(net: &Net, theta: &Theta, norms: &mut Norms, engine: Engine, x: Tensor<4>) -> Tensor<4> {
    net.output(&mut Pass { theta, next: 0, norms, engine }, x)
}

#[test]
fn the_residual_net_is_that_of_the_golden_file() {
    let golden = Golden::open();
    for (place, engine, tolerance) in
        [(Place::cpu_f64(), Engine::Composed, DOUBLE), (Place::cpu(), Engine::Fused, SINGLE)]
    {
        let (net, theta) = (net(2.0), theta(&golden, &place));
        let x = golden.images("in_x", &place);
        let plain = Net { input_scale: 1.0, ..net.clone() };
        let mut batch = Norms::new(NormStatistics::Batch, None);
        let y = output(&plain, &theta, &mut batch, engine, x.clone());
        assert_close("without doubling", &to_vec(&y), &golden.values("train_out_no_double"), tolerance);

        // One training pass from fresh statistics, then a prediction by the moved ones.
        let channels = net.kind.norms(2);
        let mut running = norm::statistics(&channels, Init::Identity, &mut semisup::rng(0), &place).unwrap();
        let mut observing = Norms::observing();
        let y = output(&net, &theta, &mut observing, engine, x.clone());
        assert_close("training", &to_vec(&y), &golden.values("train_out"), tolerance);
        norm::update(&mut running, &observing.observed(), 0.1);
        let names =
            ["in_norm", "block0.in_norm", "block0.out_norm", "block1.in_norm", "block1.out_norm", "out_norm"];
        let expected: Vec<f64> = names
            .iter()
            .flat_map(|name| ["mean", "var"].map(|what| golden.values(&format!("buf_{name}.{what}"))))
            .flatten()
            .collect();
        assert_close("running statistics", &to_vec(running.value()), &expected, tolerance);
        let mut norms = Norms::new(NormStatistics::Running, Some(&running));
        let y = output(&net, &theta, &mut norms, engine, x.clone());
        assert_close("prediction", &to_vec(&y), &golden.values("eval_out_after_one_update"), tolerance);

        // Gradients of sum(y c).
        let mut leaf = theta.clone();
        leaf.set(theta.value().clone().autodiff().require_grad());
        let x = x.autodiff().require_grad();
        let mut batch = Norms::new(NormStatistics::Batch, None);
        let y = output(&net, &leaf, &mut batch, engine, x.clone());
        let graph = (y * golden.images("in_cotangent", &place).autodiff()).sum().backward();
        let of_x = to_vec(&x.grad(&graph).expect("x is tracked"));
        assert_close("gradient of x", &of_x, &golden.values("grad_x"), tolerance);
        let of_theta = to_vec(&leaf.value().grad(&graph).expect("theta is tracked"));
        for part in leaf.parts().iter().filter(|part| part.name != "g" && part.name != "v") {
            let got = &of_theta[part.offset..part.offset + part.len()];
            assert_close(&part.name, got, &golden.values(&format!("grad_{}", part.name)), tolerance);
        }
    }
}
