//! The fused residual tower equals the composed one: values and gradients of the images and of every parameter.

use burn::tensor::{Tensor, TensorData};
use flowgmm_core::{Engine, ResidualTower, Theta, tensor::Place, tensor::to_vec};
use rand::Rng as _;

/// Winograd convolutions round at about 1e-6 of the largest value per layer; batch norm over a few pixels and its
/// gradient amplify that. Relative to the largest entry.
const TOLERANCE: f64 = 2e-3;

fn images(shape: [usize; 4], seed: u64) -> Tensor<4> {
    let mut rng = semisup::rng(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-2.0..2.0)).collect();
    Tensor::from_data(TensorData::new(values, shape), &Place::cpu().device)
}

/// Output, gradient of x and gradients of the parameters of sum(y c).
fn everything(tower: &ResidualTower, x: &Tensor<4>, c: &Tensor<4>) -> Vec<Vec<f64>> {
    let tracked = tower.tracked();
    let x = x.clone().autodiff().require_grad();
    let y = tracked.forward(x.clone());
    let mut found = vec![to_vec(&y)];
    let gradients = (y * c.clone().autodiff()).sum().backward();
    found.push(to_vec(&x.grad(&gradients).expect("x is tracked")));
    let of = |theta: &&Theta| to_vec(&theta.value().grad(&gradients).expect("parameters are tracked"));
    found.extend(tracked.thetas().iter().map(of));
    found
}

#[test]
fn fused_towers_equal_composed_ones() {
    for (seed, channels, blocks, [n, h, w]) in
        [(0, 1, 1, [2, 3, 3]), (1, 3, 2, [3, 5, 4]), (2, 16, 1, [2, 6, 6]), (3, 17, 2, [4, 7, 7])]
    {
        let tower = ResidualTower::new(channels, blocks, &mut semisup::rng(seed), &Place::cpu()).unwrap();
        let tower = tower.with_engine(Engine::Fused);
        let (x, c) = (images([n, channels, h, w], seed + 10), images([n, channels, h, w], seed + 20));
        let fused = everything(&tower, &x, &c);
        let composed = everything(&tower.clone().with_engine(Engine::Composed), &x, &c);
        assert_eq!(fused.len(), 2 + 2 * blocks);
        assert_ne!(fused[0], composed[0], "every bit equal: the kernel did not run");
        for (i, (one, other)) in fused.iter().zip(&composed).enumerate() {
            let scale = other.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
            for (a, b) in one.iter().zip(other) {
                assert!((a - b).abs() <= TOLERANCE * scale, "{channels} channels, array {i}: {a} is not {b}");
            }
        }
        // without gradients: the same output
        assert_eq!(to_vec(&tower.forward(x)), fused[0]);
    }
}

#[test]
fn a_tower_of_nothing_is_refused() {
    for (channels, blocks) in [(0, 1), (4, 0), (4, 17)] {
        assert!(ResidualTower::new(channels, blocks, &mut semisup::rng(0), &Place::cpu()).is_err());
    }
}
