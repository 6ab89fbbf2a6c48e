//! A chain of couplings over many rows: `z = f_m(.. f_1(x))`, `log_det = sum_m log_det_m`.

use crate::coupling::Coupling;
use crate::panel::{Panel, chunks, panels};
use crate::pool::{Buffer, Pool};
use crate::simd::{Lane, ZERO};
use crate::threads;

/// Multiply-adds below which waking other threads costs more than they save.
const PARALLEL_WORK: usize = 2_000_000;

/// Couplings applied one after the other. Clones share their stock of buffers.
#[derive(Clone, Debug)]
pub struct Chain {
    pub(crate) couplings: Vec<Coupling>,
    pub(crate) dim: usize,
    pub(crate) pool: Pool,
}

/// What [`Chain::backward`] needs of a forward pass.
#[derive(Debug)]
pub struct Tape {
    pub(crate) n: usize,
    pub(crate) panels: Vec<Panel>,
    /// Per panel, the tapes of all couplings one after the other, or z alone.
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) memory: Memory,
}

/// What a forward pass keeps for its backward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Every coupling's hidden values: O(rows x width x depth).
    #[default]
    Stored,
    /// z alone: the backward pass recomputes each coupling from its output, because it inverts. O(rows x dim),
    /// whatever the depth, for two more evaluations of each network.
    Recomputed,
}

impl Chain {
    /// # Panics
    /// Unless there is a coupling and all have the same dim.
    pub fn new(couplings: Vec<Coupling>) -> Self {
        let dim = couplings.first().expect("a chain needs a coupling").dim;
        assert!(couplings.iter().all(|c| c.dim == dim), "couplings of one chain must have the same dim");
        Self { couplings, dim, pool: Pool::default() }
    }

    /// The couplings, first applied first.
    pub fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// The number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// `x` `[n, dim]` -> `[n, dim + 1]`: z, and in the last column the log-det summed over the chain.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn forward(&self, thetas: &[&[f32]], x: &[f32], n: usize) -> (Vec<f32>, Tape) {
        self.forward_keeping(Memory::Stored, thetas, x, n)
    }

    /// [`Chain::forward`] with a choice of what is kept.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn forward_keeping(
        &self,
        memory: Memory,
        thetas: &[&[f32]],
        x: &[f32],
        n: usize,
    ) -> (Vec<f32>, Tape) {
        if memory == Memory::Recomputed {
            return self.forward_keeping_z(thetas, x, n);
        }
        self.check(thetas, x.len(), n, self.dim);
        let panels = panels(n);
        let buffers: Vec<Buffer> = panels.iter().map(|p| self.pool.take(self.tape_len(p.lanes))).collect();
        let mut tape = Tape { n, panels, buffers, memory };
        let mut out = vec![0.0; n * (self.dim + 1)];
        let mut tasks = split(&tape.panels, x, self.dim, &mut out, self.dim + 1);
        let mut tapes = tape.buffers.as_mut_slice();
        let mut tasks: Vec<_> = tasks
            .iter_mut()
            .map(|task| {
                let (head, rest) = std::mem::take(&mut tapes).split_at_mut(task.len());
                tapes = rest;
                (task, head)
            })
            .collect();
        self.for_each(n, &mut tasks, |(task, tapes)| {
            let mut work = self.workspace();
            for ((panel, x, out), tape) in task.iter_mut().zip(tapes.iter_mut()) {
                self.forward_panel(thetas, *panel, x, out, tape, &mut work, Keep::EveryCoupling);
            }
        });
        drop(tasks);
        (out, tape)
    }

    fn forward_keeping_z(&self, thetas: &[&[f32]], x: &[f32], n: usize) -> (Vec<f32>, Tape) {
        let out = self.forward_only(thetas, x, n);
        let panels = panels(n);
        let buffers = panels.iter().map(|panel| {
            let mut state = self.pool.take((self.dim + 1) * panel.lanes); // [dim + 1, lanes]
            let rows = &out[panel.first * (self.dim + 1)..][..panel.rows * (self.dim + 1)];
            panel.load_repeating(rows, self.dim + 1, &mut state);
            state
        });
        let buffers = buffers.collect();
        (out, Tape { n, panels, buffers, memory: Memory::Recomputed })
    }

    /// [`Chain::forward`] without a tape: same bits, memory for one panel per thread.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn forward_only(&self, thetas: &[&[f32]], x: &[f32], n: usize) -> Vec<f32> {
        self.check(thetas, x.len(), n, self.dim);
        let mut out = vec![0.0; n * (self.dim + 1)];
        let mut tasks = split(&panels(n), x, self.dim, &mut out, self.dim + 1);
        self.for_each(n, &mut tasks, |task| {
            let mut work = self.workspace();
            let mut tape = self.pool.take(self.widest(|c| c.tape_len(4)));
            for (panel, x, out) in task {
                self.forward_panel(thetas, *panel, x, out, &mut tape, &mut work, Keep::Nothing);
            }
        });
        out
    }

    /// `z` `[n, dim]` -> `x` `[n, dim]`.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn inverse(&self, thetas: &[&[f32]], z: &[f32], n: usize) -> Vec<f32> {
        self.check(thetas, z.len(), n, self.dim);
        let mut x = vec![0.0; n * self.dim];
        let mut tasks = split(&panels(n), z, self.dim, &mut x, self.dim);
        self.for_each(n, &mut tasks, |task| {
            let mut work = self.workspace();
            let mut tape = self.pool.take(self.widest(|c| c.tape_len(4)));
            for (panel, z, x) in task {
                let (state, scratch) = work.split_at_mut((self.dim + 1) * 4);
                panel.load_repeating(z, self.dim, state);
                for (coupling, theta) in self.couplings.iter().zip(thetas).rev() {
                    coupling.inverse(theta, panel.lanes, state, &mut tape, scratch);
                }
                panel.store(state, self.dim, x);
            }
        });
        x
    }

    #[expect(clippy::too_many_arguments, reason = "the buffers of one panel, each a different one")]
    fn forward_panel(
        &self,
        thetas: &[&[f32]],
        panel: Panel,
        x: &[f32],
        out: &mut [f32],
        mut tape: &mut [Lane],
        work: &mut [Lane],
        keep: Keep,
    ) {
        let lanes = panel.lanes;
        let (state, scratch) = work.split_at_mut((self.dim + 1) * 4);
        let (values, log_det) = state.split_at_mut(self.dim * lanes);
        panel.load_repeating(x, self.dim, values);
        log_det[..lanes].fill(ZERO);
        for (coupling, theta) in self.couplings.iter().zip(thetas) {
            let len = coupling.tape_len(lanes);
            coupling.forward(theta, lanes, values, &mut log_det[..lanes], &mut tape[..len], scratch);
            if keep == Keep::EveryCoupling {
                tape = &mut tape[len..];
            }
        }
        panel.store(state, self.dim + 1, out);
    }

    /// Room for one panel: its state with the log-det as last feature, then a coupling's scratch.
    pub(crate) fn workspace(&self) -> Buffer {
        self.pool.take((self.dim + 1) * 4 + self.widest(|c| c.scratch_len(4)))
    }

    pub(crate) fn widest(&self, len: impl Fn(&Coupling) -> usize) -> usize {
        self.couplings.iter().map(len).max().unwrap_or(0)
    }

    fn tape_len(&self, lanes: usize) -> usize {
        self.couplings.iter().map(|c| c.tape_len(lanes)).sum()
    }

    /// Runs the tasks of a pass over `n` rows, on all threads if that pays. Tasks share nothing.
    pub(crate) fn for_each<T: Send>(&self, n: usize, tasks: &mut [T], run: impl Fn(&mut T) + Sync + Send) {
        let work = n * self.couplings.iter().map(Coupling::n_params).sum::<usize>();
        if work < PARALLEL_WORK {
            tasks.iter_mut().for_each(run);
        } else {
            threads::for_each(tasks, run);
        }
    }

    pub(crate) fn check(&self, thetas: &[&[f32]], len: usize, n: usize, width: usize) {
        let expected: Vec<usize> = self.couplings.iter().map(Coupling::n_params).collect();
        let got: Vec<usize> = thetas.iter().map(|t| t.len()).collect();
        assert_eq!(got, expected, "lengths of the thetas");
        assert_eq!(len, n * width, "length of a [{n}, {width}] array");
    }
}

/// Whether each coupling gets its own part of the tape, or all overwrite the same.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    EveryCoupling,
    Nothing,
}

/// A panel with its rows of an input and of an output.
pub(crate) type Rows<'a> = (Panel, &'a [f32], &'a mut [f32]);

/// Chunks of panels, each with its rows of `from` `[n, width_from]` and `to` `[n, width_to]`.
pub(crate) fn split<'a>(
    panels: &[Panel],
    from: &'a [f32],
    width_from: usize,
    mut to: &'a mut [f32],
    width_to: usize,
) -> Vec<Vec<Rows<'a>>> {
    let mut rows = |panel: &Panel| {
        let (head, rest) = std::mem::take(&mut to).split_at_mut(panel.rows * width_to);
        to = rest;
        (*panel, &from[panel.first * width_from..][..panel.rows * width_from], head)
    };
    chunks(panels.len()).into_iter().map(|c| panels[c].iter().map(&mut rows).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;
    use crate::simd::{FORCED, levels};

    /// All levels against the widest: they differ by rounding, 6e-8 per operation over sums of 33 terms.
    #[test]
    fn every_level_computes_the_same() {
        for form in [Form::ShiftThenScale, Form::ScaleThenShift] {
            let coupling = |keep, change| Coupling::new(5, keep, change, vec![33], form);
            let chain =
                Chain::new(vec![coupling(vec![0, 3], vec![1, 2, 4]), coupling(vec![1, 2, 4], vec![0, 3])]);
            let number = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 1000.0 - 0.5;
            let thetas: Vec<Vec<f32>> =
                chain.couplings.iter().map(|c| (0..c.n_params()).map(number).collect()).collect();
            let thetas: Vec<&[f32]> = thetas.iter().map(Vec::as_slice).collect();
            let n = 150; // three panels of unlike lanes
            let x: Vec<f32> = (0..n * 5).map(|i| number(i + 5)).collect();
            let grad_out: Vec<f32> = (0..n * 6).map(|i| number(i + 9)).collect();
            let mut widest: Option<[Vec<f32>; 4]> = None;
            for level in levels() {
                FORCED.set(Some(level));
                let (out, tape) = chain.forward(&thetas, &x, n);
                let grads = chain.backward(&thetas, &tape, &grad_out);
                let got = [out, grads.thetas.concat(), grads.x, chain.inverse(&thetas, &x, n)];
                for (want, got) in widest.iter().flatten().zip(&got) {
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
                    assert!(want.len() == got.len() && want.iter().zip(got).all(close), "{level:?}");
                }
                widest.get_or_insert(got);
            }
            FORCED.set(None);
        }
    }
}
