//! The backward pass of a chain: from `d loss / d [z, log_det]` to the gradients of every theta and of x.
//!
//! Per panel, couplings in reverse give the *signals*: the gradients of each linear layer's output. A
//! layer's `gW = signals^T inputs` then sums over all rows, and can be ordered in two ways:
//!
//! * [`Order::PerChunk`], many rows and few parameters: each chunk sums over its own rows right away, the
//!   signals still in cache, and the chunks' gradients are added up at the end.
//! * [`Order::AfterAll`], few rows and many parameters: signals of all rows are kept, then blocks of the
//!   parameters are computed in parallel, each written once.
//!
//! The choice compares what each would move through memory, from shapes alone.

use crate::chain::{Chain, Memory, Rows, Tape, split};
use crate::coupling::{Coupling, InputGradient, Layer};
use crate::panel::chunks;
use crate::pool::{Buffer, Pool};
use crate::simd::{Lane, flat, flat_mut};
use crate::weights::{Operands, weight_gradient, weight_scratch_len};

/// Parameters in one block of parallel work, about.
const BLOCK: usize = 1 << 17;

/// The gradient of a scalar by the parameters and the input of a chain.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// One per coupling, laid out as its theta.
    pub thetas: Vec<Vec<f32>>,
    /// `[n, dim]`
    pub x: Vec<f32>,
}

impl Chain {
    /// `grad_out` `[n, dim + 1]` of [`Chain::forward`]'s output -> gradients of the thetas and of x.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn backward(&self, thetas: &[&[f32]], tape: &Tape, grad_out: &[f32]) -> Gradients {
        let mut x = vec![0.0; tape.n * self.dim];
        let mut found = self.zeros(tape.n);
        let into = &mut views(&mut found);
        self.gradients(thetas, tape, grad_out, into, &mut x, InputGradient::Wanted);
        Gradients { thetas: found, x }
    }

    /// [`Chain::backward`] without the gradient of x: the same bits for the thetas, a little less work.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn backward_thetas(&self, thetas: &[&[f32]], tape: &Tape, grad_out: &[f32]) -> Vec<Vec<f32>> {
        let mut found = self.zeros(tape.n);
        self.backward_thetas_into(thetas, tape, grad_out, &mut views(&mut found));
        found
    }

    /// [`Chain::backward_thetas`] into vectors that exist, whatever they hold: new ones cost page faults.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn backward_thetas_into(
        &self,
        thetas: &[&[f32]],
        tape: &Tape,
        grad_out: &[f32],
        into: &mut [&mut [f32]],
    ) {
        self.gradients(thetas, tape, grad_out, into, &mut [], InputGradient::Skipped);
    }

    /// A vector for each coupling's gradient.
    fn zeros(&self, n: usize) -> Vec<Vec<f32>> {
        let mut zeros = vec![Vec::new(); self.couplings.len()];
        let mut work: Vec<_> = self.couplings.iter().zip(&mut zeros).collect();
        // As many bytes as a step of Adam reads: not for one thread.
        self.for_each(n, &mut work, |(coupling, zeros)| **zeros = vec![0.0; coupling.n_params()]);
        zeros
    }

    fn gradients(
        &self,
        thetas: &[&[f32]],
        tape: &Tape,
        grad_out: &[f32],
        sums: &mut [&mut [f32]],
        grad_x: &mut [f32],
        wanted: InputGradient,
    ) {
        assert!(
            sums.iter().map(|s| s.len()).eq(self.couplings.iter().map(Coupling::n_params)),
            "a gradient has the length of its theta"
        );
        self.check(thetas, grad_out.len(), tape.n, self.dim + 1);
        let order = self.order(tape);
        let width_x = if wanted == InputGradient::Wanted { self.dim } else { 0 };
        let mut tapes = tape.buffers.as_slice();
        let mut tasks: Vec<Chunk> = split(&tape.panels, grad_out, self.dim + 1, grad_x, width_x)
            .into_iter()
            .map(|rows| {
                let (own, rest) = tapes.split_at(rows.len());
                tapes = rest;
                let tapes = match tape.memory {
                    Memory::Stored => Tapes::Stored(own),
                    Memory::Recomputed => Tapes::Recomputed { z: own, tapes: Vec::new() },
                };
                Chunk { rows, tapes, signals: Vec::new(), thetas: Vec::new() }
            })
            .collect();
        self.for_each(tape.n, &mut tasks, |chunk| self.chunk(thetas, chunk, wanted, order));

        match order {
            Order::PerChunk => {
                self.for_each(tape.n, &mut sums.iter_mut().enumerate().collect::<Vec<_>>(), |(i, sum)| {
                    let Some((first, rest)) = tasks.split_first() else { return sum.fill(0.0) };
                    let n_params = sum.len();
                    sum.copy_from_slice(&flat(&first.thetas[*i])[..n_params]);
                    for chunk in rest {
                        sum.iter_mut().zip(flat(&chunk.thetas[*i])).for_each(|(a, b)| *a += b);
                    }
                });
            }
            Order::AfterAll => {
                let of_couplings: Vec<Vec<View>> = (0..sums.len())
                    .map(|i| tasks.iter().flat_map(|chunk| self.views(chunk, i, order)).collect())
                    .collect();
                let mut work: Vec<(&[View], Part)> = (self.couplings.iter().zip(sums).zip(&of_couplings))
                    .flat_map(|((coupling, sum), views)| {
                        parts(coupling, sum).into_iter().map(|part| (views.as_slice(), part))
                    })
                    .collect();
                self.for_each(tape.n, &mut work, |(views, part)| part.compute(views, &self.pool));
            }
        }
    }

    fn order(&self, tape: &Tape) -> Order {
        if tape.memory == Memory::Recomputed {
            return Order::PerChunk; // only one coupling's tape exists at a time
        }
        let n_params: usize = self.couplings.iter().map(Coupling::n_params).sum();
        let n_signals: usize = self.couplings.iter().map(Coupling::n_outputs).sum();
        match (n_params * chunks(tape.panels.len()).len()).cmp(&(tape.n * n_signals)) {
            std::cmp::Ordering::Greater => Order::AfterAll,
            _ => Order::PerChunk,
        }
    }

    /// The backward pass of one chunk.
    fn chunk(&self, thetas: &[&[f32]], chunk: &mut Chunk, wanted: InputGradient, order: Order) {
        let mut grads: Vec<Buffer> = chunk
            .rows
            .iter()
            .map(|(panel, grad_out, _)| {
                let mut grad = self.pool.take((self.dim + 1) * panel.lanes); // [dim + 1, lanes]
                panel.load_zeroed(grad_out, self.dim + 1, &mut grad);
                grad
            })
            .collect();
        chunk.signals = (chunk.rows.iter())
            .map(|(panel, ..)| {
                let lens = self.couplings.iter().map(|c| c.signals_len(panel.lanes));
                self.pool.take(if order == Order::AfterAll { lens.sum() } else { lens.max().unwrap_or(0) })
            })
            .collect();
        let mut scratch = self.pool.take(self.widest(|c| c.scratch_len(4)));
        let mut states = self.begin_recomputing(chunk);
        for (i, coupling) in self.couplings.iter().enumerate().rev() {
            self.recompute(coupling, thetas[i], chunk, &mut states, &mut scratch);
            let wanted = if i > 0 { InputGradient::Wanted } else { wanted };
            for (p, (panel, ..)) in chunk.rows.iter().enumerate() {
                let lanes = panel.lanes;
                let (grad, grad_log_det) = grads[p].split_at_mut(self.dim * lanes);
                let tape = &chunk.tapes.of(self, p, i, lanes)[..coupling.tape_len(lanes)];
                let at = self.signals_at(order, i, lanes);
                let signals = &mut chunk.signals[p][at..][..coupling.signals_len(lanes)];
                coupling.backward(thetas[i], lanes, tape, grad, grad_log_det, signals, &mut scratch, wanted);
            }
            if order == Order::PerChunk {
                let mut sum = self.pool.take(coupling.n_params().div_ceil(16));
                let views: Vec<View> = self.views(chunk, i, order).collect();
                let parts = parts(coupling, &mut flat_mut(&mut sum)[..coupling.n_params()]);
                parts.into_iter().for_each(|mut part| part.compute(&views, &self.pool));
                chunk.thetas.push(sum);
            }
        }
        chunk.thetas.reverse(); // they came last coupling first
        if wanted == InputGradient::Wanted {
            for ((panel, _, x), grad) in chunk.rows.iter_mut().zip(&grads) {
                panel.store(grad, self.dim, x);
            }
        }
    }

    /// The panels of a chunk as coupling `i` sees them.
    fn views<'a>(&self, chunk: &'a Chunk, i: usize, order: Order) -> impl Iterator<Item = View<'a>> {
        let panels = chunk.rows.iter().zip(&chunk.signals).enumerate();
        panels.map(move |(p, ((panel, ..), signals))| {
            let lanes = panel.lanes;
            let signals =
                &signals[self.signals_at(order, i, lanes)..][..self.couplings[i].signals_len(lanes)];
            View { lanes, tape: chunk.tapes.of(self, p, i, lanes), signals }
        })
    }

    /// Room for one coupling's tape per panel, and the panels' z to walk back from; nothing if tapes are stored.
    fn begin_recomputing(&self, chunk: &mut Chunk) -> Vec<Buffer> {
        let Tapes::Recomputed { z, tapes } = &mut chunk.tapes else { return Vec::new() };
        *tapes = (chunk.rows.iter())
            .map(|(panel, ..)| self.pool.take(self.widest(|c| c.tape_len(panel.lanes))))
            .collect();
        let copies = z.iter().zip(&chunk.rows).map(|(z, (panel, ..))| {
            let mut state = self.pool.take((self.dim + 1) * panel.lanes);
            let len = (self.dim + 1) * panel.lanes;
            state[..len].copy_from_slice(&z[..len]);
            state
        });
        copies.collect()
    }

    /// Takes the panels' states back through `coupling` and fills its tapes on the way; nothing if they are stored.
    fn recompute(
        &self,
        coupling: &Coupling,
        theta: &[f32],
        chunk: &mut Chunk,
        states: &mut [Buffer],
        scratch: &mut [Lane],
    ) {
        let Tapes::Recomputed { tapes, .. } = &mut chunk.tapes else { return };
        for (((panel, ..), state), tape) in chunk.rows.iter().zip(states).zip(tapes) {
            let lanes = panel.lanes;
            let (values, spare) = state.split_at_mut(self.dim * lanes);
            coupling.inverse(theta, lanes, values, tape, scratch);
            let mut image = self.pool.take(self.dim * lanes);
            image[..self.dim * lanes].copy_from_slice(values);
            coupling.forward(theta, lanes, &mut image, &mut spare[..lanes], tape, scratch);
        }
    }

    fn tape_at(&self, i: usize, lanes: usize) -> usize {
        self.couplings[..i].iter().map(|c| c.tape_len(lanes)).sum()
    }

    fn signals_at(&self, order: Order, i: usize, lanes: usize) -> usize {
        match order {
            Order::PerChunk => 0, // each coupling overwrites the one after it
            Order::AfterAll => self.couplings[..i].iter().map(|c| c.signals_len(lanes)).sum(),
        }
    }
}

/// Vectors to write to.
fn views(vectors: &mut [Vec<f32>]) -> Vec<&mut [f32]> {
    vectors.iter_mut().map(Vec::as_mut_slice).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    PerChunk,
    AfterAll,
}

/// A chunk's work and what comes of it.
struct Chunk<'a> {
    rows: Vec<Rows<'a>>, // per panel: grad_out [rows, dim + 1], grad_x [rows, dim] or empty
    tapes: Tapes<'a>,
    signals: Vec<Buffer>, // per panel
    thetas: Vec<Buffer>, // PerChunk: this chunk's gradients, per coupling, and up to 15 numbers of no interest
}

/// The tapes of a chunk's panels.
enum Tapes<'a> {
    /// All couplings' tapes, from the forward pass.
    Stored(&'a [Buffer]),
    /// The tapes of the current coupling, recomputed from its output.
    Recomputed { z: &'a [Buffer], tapes: Vec<Buffer> },
}

impl Tapes<'_> {
    /// From the beginning of coupling `i`'s tape of panel `p`.
    fn of(&self, chain: &Chain, p: usize, i: usize, lanes: usize) -> &[Lane] {
        match self {
            Self::Stored(tapes) => &tapes[p][chain.tape_at(i, lanes)..],
            Self::Recomputed { tapes, .. } => &tapes[p],
        }
    }
}

/// One panel as one coupling sees it.
#[derive(Clone, Copy)]
struct View<'a> {
    lanes: usize,
    tape: &'a [Lane],
    signals: &'a [Lane],
}

/// A part of a coupling's gradient.
enum Part<'a> {
    /// Outputs `first ..` of a linear layer.
    Dense { layer: Layer, first: usize, gw: &'a mut [f32], gb: &'a mut [f32] },
    /// `g`, whose partial sums are the last `gg.len()` lanes of the signals.
    Scale { gg: &'a mut [f32] },
}

/// Splits a coupling's gradient into parts of about [`BLOCK`] parameters.
fn parts<'a>(coupling: &Coupling, mut grad: &'a mut [f32]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for &layer in &coupling.layers {
        let (w, rest) = grad.split_at_mut(layer.n_in * layer.n_out);
        let (b, rest) = rest.split_at_mut(layer.n_out);
        grad = rest;
        // A multiple of 64 outputs, which is what a product takes at a time.
        let outs = (BLOCK / layer.n_in.max(1)).next_multiple_of(64).min(layer.n_out);
        let (mut w, mut first) = (w, 0);
        for gb in b.chunks_mut(outs) {
            let (gw, rest) = w.split_at_mut(gb.len() * layer.n_in);
            w = rest;
            let n_out = gb.len();
            parts.push(Part::Dense { layer, first, gw, gb });
            first += n_out;
        }
    }
    parts.push(Part::Scale { gg: grad });
    parts
}

impl Part<'_> {
    fn compute(&mut self, views: &[View], pool: &Pool) {
        match self {
            Part::Dense { layer, first, gw, gb } => {
                let panels: Vec<Operands> = views
                    .iter()
                    .map(|v| Operands {
                        gy: &v.signals[(layer.signal_at + *first) * v.lanes..][..gb.len() * v.lanes],
                        x: &v.tape[layer.input_at * v.lanes..][..layer.n_in * v.lanes],
                        lanes: v.lanes,
                    })
                    .collect();
                weight_gradient(&panels, gw, gb, &mut pool.take(weight_scratch_len(layer.n_in, gb.len())));
            }
            Part::Scale { gg } => {
                let c = gg.len();
                for (j, g) in gg.iter_mut().enumerate() {
                    *g = views.iter().map(|v| v.signals[v.signals.len() - c + j].sum()).sum();
                }
            }
        }
    }
}
