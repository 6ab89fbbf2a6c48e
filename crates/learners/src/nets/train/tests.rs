//! The hand-derived gradients against finite differences, and the parts of the training loop.

use super::*;

/// A small net and rows in f64, all from one seed.
fn problem() -> (Net<f64>, Rows<f64>) {
    let mut rng = rng(3);
    let mut normal = |n: usize| Array2::from_shape_simple_fn((n, 3), || rng.sample(StandardNormal));
    let rows = Rows { labelled: normal(7), y: vec![0, 1, 2, 3, 0, 1, 3], unlabelled: normal(9) };
    let mut net = Net::new(&[3, 6, 5, 4], &mut rng);
    // Biases off zero, so that their derivative is checked where it matters.
    net.layers.iter_mut().for_each(|layer| layer.b.mapv_inplace(|_| rng.random_range(-0.3..0.3)));
    (net, rows)
}

/// The law: each weight's derivative is that of finite differences. In f64 with steps of 1e-6 the error of the
/// difference is about 1e-9; a kink of ReLU within a step would be seen as a difference of another size.
fn check(chunks: &[Chunk], dropout: Dropout) {
    let (mut net, rows) = problem();
    let loss = |net: &Net<f64>| objective(net, &rows, chunks, dropout, 5, 2);
    let (value, gradient) = loss(&net);
    assert!(value > 1e-3, "a loss that is not zero by chance: {value}");
    let mut largest: f64 = 0.;
    for i in 0..net.layers.len() {
        let (w, b) = (gradient.layers[i].w.clone(), gradient.layers[i].b.clone());
        for ((row, column), &g) in w.indexed_iter() {
            largest = largest.max(g.abs());
            compare(&mut net, g, &loss, |net| &mut net.layers[i].w[[row, column]]);
        }
        for (column, &g) in b.indexed_iter() {
            compare(&mut net, g, &loss, |net| &mut net.layers[i].b[column]);
        }
    }
    assert!(largest > 1e-2, "gradients that are not all about zero: {largest}");
}

fn compare(
    net: &mut Net<f64>,
    derivative: f64,
    loss: &impl Fn(&Net<f64>) -> (f64, Net<f64>),
    weight: impl Fn(&mut Net<f64>) -> &mut f64,
) {
    const H: f64 = 1e-6;
    let at = *weight(net);
    let mut moved = |to: f64| {
        *weight(net) = to;
        loss(net).0
    };
    let numeric = (moved(at + H) - moved(at - H)) / (2. * H);
    *weight(net) = at;
    assert!((derivative - numeric).abs() < 1e-7, "{derivative} by hand, {numeric} by differences");
}

#[test]
fn the_gradient_of_labelled_rows_agrees_with_differences() {
    let chunks = [
        Chunk::Labelled { rows: &[0, 1, 2, 3], weight: 0.3 },
        Chunk::Labelled { rows: &[6, 5, 4], weight: 0.7 },
    ];
    check(&chunks, Dropout::NONE);
    check(&chunks, Dropout::new(0.4));
}

#[test]
fn the_gradient_of_the_pi_model_agrees_with_differences() {
    let chunks = [
        Chunk::Labelled { rows: &[0, 1, 2, 3], weight: 0.1 },
        Chunk::Unlabelled { rows: &[0, 3, 4, 8], weight: 1.5, noise: 0.2 },
        Chunk::Unlabelled { rows: &[1, 2], weight: 1.5, noise: 0. },
    ];
    check(&chunks[1..2], Dropout::NONE);
    check(&chunks[1..], Dropout::new(0.5));
    check(&chunks, Dropout::new(0.3));
}

#[test]
fn two_equal_passes_cost_nothing() {
    let (net, rows) = problem();
    let chunk = Chunk::Unlabelled { rows: &[0, 1, 2], weight: 1., noise: 0. };
    let (loss, gradient) = objective(&net, &rows, &[chunk], Dropout::NONE, 1, 0);
    assert_eq!((loss, gradient), (0., net.zeros_like()));
}

#[test]
fn dropout_keeps_the_mean_and_drops_the_share_it_should() {
    let net = Net { layers: vec![layer(2000, 1.), layer(2000, 1.)] };
    let x = Array2::ones((1, 2000));
    let trace = net.forward(x, Dropout::new(0.25), &mut rng(8));
    // A hidden unit is 2000 / 0.75 with probability 0.75; a logit sums 2000 of them, of relative deviation 0.013.
    assert!((trace.logits[[0, 0]] / 4e6_f64 - 1.).abs() < 0.05, "{}", trace.logits[[0, 0]]);
    assert!(trace.logits[[0, 0]] != 4e6, "something was dropped");
}

fn layer(n: usize, w: f64) -> crate::nets::net::Layer<f64> {
    crate::nets::net::Layer { w: Array2::from_elem((n, n), w), b: ndarray::Array1::zeros(n) }
}

#[test]
fn a_deck_draws_each_row_once_before_any_comes_again() {
    let (mut deck, mut rng) = (Deck::new(10), rng(1));
    for _ in 0..4 {
        let mut drawn: Vec<usize> = (0..3).flat_map(|_| deck.draw(3, &mut rng).to_vec()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 9);
    }
    assert_eq!(deck.draw(10, &mut rng).len(), 10, "all there are");
    assert!(Deck::new(0).draw(3, &mut rng).is_empty());
}

#[test]
fn the_weight_of_consistency_rises_as_laine_and_aila_say() {
    let extra = Consistency { weight: 30., ramp_up: 0.5, noise: 0., batch: 1 };
    assert_eq!(extra.weight_at(0, 100), 30. * (-5f64).exp());
    assert!((extra.weight_at(25, 100) - 30. * (-1.25f64).exp()).abs() < 1e-12);
    assert_eq!([50, 99].map(|step| extra.weight_at(step, 100)), [30.; 2]);
    assert_eq!(Consistency { ramp_up: 0., ..extra }.weight_at(0, 100), 30.);
}
