//! Chains of couplings: each pass alone, and a training step.

use super::{Work, draw};
use flowgmm_kernels::{AdamState, AdamStep, Chain, Coupling, Form, Memory, Tape, adam};
use std::hint::black_box;
use std::rc::Rc;

const DEPTH: usize = 7;

/// W1.
pub fn tabular() -> Vec<Work> {
    passes("2000x21 hidden 256 depth 7", 2000, 21, 256)
}

/// W2-200.
pub fn few_embeddings() -> Vec<Work> {
    passes("200x768 hidden 512 depth 7", 200, 768, 512)
}

/// W2-2000; and the affine half of a coupling alone, on as many columns.
pub fn embeddings() -> Vec<Work> {
    let mut works = passes("2000x768 hidden 512 depth 7", 2000, 768, 512);
    works.extend(pointwise());
    works
}

struct Model {
    chain: Chain,
    thetas: Vec<Vec<f32>>,
    rows: usize,
    x: Vec<f32>,        // [rows, dim]
    grad_out: Vec<f32>, // [rows, dim + 1]
}

impl Model {
    fn new(rows: usize, couplings: Vec<Coupling>) -> Self {
        let chain = Chain::new(couplings);
        let thetas =
            (0..).zip(chain.couplings()).map(|(i, c)| draw(c.n_params(), 0.05, i)).collect::<Vec<_>>();
        let (x, grad_out) =
            (draw(rows * chain.dim(), 1.0, 10), draw(rows * (chain.dim() + 1), 1.0 / rows as f32, 11));
        Self { chain, thetas, rows, x, grad_out }
    }

    fn thetas(&self) -> Vec<&[f32]> {
        self.thetas.iter().map(Vec::as_slice).collect()
    }

    fn forward(&self, memory: Memory) -> (Vec<f32>, Tape) {
        self.chain.forward_keeping(memory, &self.thetas(), &self.x, self.rows)
    }

    /// Into vectors that exist, as in training.
    fn backward(&self, tape: &Tape, into: &mut [Vec<f32>]) {
        let mut into: Vec<&mut [f32]> = into.iter_mut().map(Vec::as_mut_slice).collect();
        self.chain.backward_thetas_into(&self.thetas(), tape, &self.grad_out, &mut into);
        black_box(into);
    }

    fn zeros(&self) -> Vec<Vec<f32>> {
        self.thetas.iter().map(|theta| vec![0.0; theta.len()]).collect()
    }
}

fn passes(shape: &'static str, rows: usize, dim: usize, hidden: usize) -> Vec<Work> {
    let halves: [Vec<usize>; 2] = [(0..dim).step_by(2).collect(), (1..dim).step_by(2).collect()];
    let sides = |i: usize| (halves[i % 2].clone(), halves[1 - i % 2].clone());
    let coupling = |(keep, change)| Coupling::new(dim, keep, change, vec![hidden], Form::ScaleThenShift);
    let model = Rc::new(Model::new(rows, (0..DEPTH).map(sides).map(coupling).collect()));

    // Products alone, the rest is a few percent: keep -> hidden -> 2 change for every row.
    let weights = |(keep, change): (Vec<usize>, Vec<usize>)| hidden * (keep.len() + 2 * change.len());
    let network = 2.0 * (rows * (0..DEPTH).map(sides).map(weights).sum::<usize>()) as f64;
    // The first coupling needs no gradient of its input.
    let backward = 2.0 * network - 2.0 * (rows * halves[0].len() * hidden) as f64;

    let with = |run: fn(&Model)| {
        let model = Rc::clone(&model);
        move || run(&model)
    };
    let tape = model.forward(Memory::Stored).1;
    let light = model.forward(Memory::Recomputed).1;
    let [stored, recomputed] = [tape, light].map(|tape| {
        let (model, mut gradients) = (Rc::clone(&model), model.zeros());
        move || model.backward(&tape, &mut gradients)
    });
    vec![
        Work::new("chain forward", shape, network, with(|m| drop(black_box(m.forward(Memory::Stored))))),
        Work::new(
            "chain forward_only",
            shape,
            network,
            with(|m| drop(black_box(m.chain.forward_only(&m.thetas(), &m.x, m.rows)))),
        ),
        Work::new(
            "chain inverse",
            shape,
            network,
            with(|m| drop(black_box(m.chain.inverse(&m.thetas(), &m.x, m.rows)))),
        ),
        Work::new("chain backward", shape, backward, stored),
        // Two more evaluations of each network: one to invert it, one to fill its tape.
        Work::new("chain backward recomputed", shape, backward + 2.0 * network, recomputed),
        Work::new("chain step", shape, network + backward, step(Rc::clone(&model))),
    ]
}

/// Forward, backward and Adam, with parameters of its own.
fn step(model: Rc<Model>) -> impl FnMut() {
    let [mut m, mut v, mut grads] = [(); 3].map(|()| model.zeros());
    let mut thetas = model.thetas.clone();
    move || {
        {
            let thetas: Vec<&[f32]> = thetas.iter().map(Vec::as_slice).collect();
            let (out, tape) = model.chain.forward(&thetas, &model.x, model.rows);
            black_box(out);
            let mut into: Vec<&mut [f32]> = grads.iter_mut().map(Vec::as_mut_slice).collect();
            model.chain.backward_thetas_into(&thetas, &tape, &model.grad_out, &mut into);
        }
        let vectors = thetas.iter_mut().zip(&mut m).zip(&mut v).zip(&grads);
        let states =
            vectors.map(|(((theta, m), v), gradient)| AdamState { theta, m, v, ema: &mut [], gradient });
        adam(states.collect(), &STEP);
    }
}

/// A learning rate so small that the parameters stay what they are.
pub(super) const STEP: AdamStep = AdamStep {
    shrink: 1.0,
    l2: 0.0,
    beta1: 0.9,
    beta2: 0.999,
    correct2: 1.0,
    rate: 1e-9,
    epsilon: 1e-8,
    keep: 1.0,
    average: 0.99,
};

/// Couplings whose network is one column wide and has no hidden layer: what remains is tanh, exp and the affine map,
/// and the transposes into and out of panels.
fn pointwise() -> Vec<Work> {
    const ROWS: usize = 2000;
    const DIM: usize = 768;
    let coupling = |i: usize| {
        let change = (0..DIM).filter(|&c| c != i).collect();
        Coupling::new(DIM, vec![i], change, Vec::new(), Form::ScaleThenShift)
    };
    let model = Rc::new(Model::new(ROWS, (0..DEPTH).map(coupling).collect()));
    let tape = model.forward(Memory::Stored).1;
    let changed = (ROWS * DEPTH * (DIM - 1)) as f64;
    let (forward, backward, mut gradients) = (Rc::clone(&model), Rc::clone(&model), model.zeros());
    // Per changed number: raw and t 2 x 2, tanh 9 multiply-adds and 3, exp 9 and 4, s 1, affine 2, sum 1; back gs 2,
    // gg 2, graw 4, gx 1, gW 2 x 2, gb 2 x 1.
    vec![
        Work::new("affine forward", "2000x767 depth 7", 51.0 * changed, move || {
            drop(black_box(forward.chain.forward_only(&forward.thetas(), &forward.x, ROWS)));
        }),
        Work::new("affine backward", "2000x767 depth 7", 15.0 * changed, move || {
            backward.backward(&tape, &mut gradients);
        }),
    ]
}
