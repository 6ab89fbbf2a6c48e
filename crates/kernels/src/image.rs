//! A run of invertible steps on images as one pass: forward, inverse and a hand-derived backward.
//!
//! Rows are images `[channels, height, width]`. The steps of a run:
//!
//! | step | map of an image |
//! |---|---|
//! | [`Squeeze`] | every 2x2 block of pixels becomes four channels |
//! | [`Mix`] | z_p = P L U (x_p + b) at every pixel p |
//! | [`LightCoupling`] | half of the channels scaled and shifted by a small convolutional net of the other half |
//!
//! A run keeps images as plain rows between its steps and touches the outside world twice: what a layer by layer
//! evaluation would spend on copies and bookkeeping is as much as its smaller convolutions cost.
//!
//! ```
//! use flowgmm_kernels::image::{ImageChain, ImageStep, Plane, Squeeze, NormStatistics};
//! let chain = ImageChain::new(vec![ImageStep::Squeeze(Squeeze::new(Plane { channels: 1, height: 2, width: 2 }))]);
//! let out = chain.forward_only(&[], NormStatistics::Batch, &[1.0, 2.0, 3.0, 4.0], 1);
//! assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 0.0]); // four channels of one pixel, and the log-det
//! ```

mod affine;
mod coupling;
mod mix;
mod squeeze;

pub use coupling::{Half, LightCoupling};
pub use mix::Mix;
pub use squeeze::Squeeze;

use crate::Gradients;
use crate::conv::Workspace;
use coupling::CouplingTape;

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Channels.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

impl Plane {
    /// Numbers of an image.
    pub fn dim(&self) -> usize {
        self.channels * self.pixels()
    }

    /// Pixels of a channel.
    pub(crate) fn pixels(&self) -> usize {
        self.height * self.width
    }
}

/// One step of a run.
#[derive(Clone, Debug)]
pub enum ImageStep {
    /// 2x2 blocks to channels.
    Squeeze(Squeeze),
    /// A linear map of the channels.
    Mix(Mix),
    /// A coupling.
    Coupling(LightCoupling),
}

impl ImageStep {
    /// Numbers of an image.
    pub fn dim(&self) -> usize {
        match self {
            Self::Squeeze(step) => step.shape().dim(),
            Self::Mix(step) => step.shape().dim(),
            Self::Coupling(step) => step.shape().dim(),
        }
    }

    /// Trained values; 0 if the step takes no theta.
    pub fn n_params(&self) -> usize {
        match self {
            Self::Squeeze(_) => 0,
            Self::Mix(step) => step.n_params(),
            Self::Coupling(step) => step.n_params(),
        }
    }
}

/// Which mean and variance batch normalisation uses.
#[derive(Clone, Copy, Debug)]
pub enum NormStatistics<'a> {
    /// Those of the batch: training.
    Batch,
    /// Running statistics, [`LightCoupling::n_statistics`] values for each coupling: every row is mapped by itself.
    Running(&'a [&'a [f32]]),
}

/// What a backward pass needs of the forward pass.
#[derive(Debug)]
pub struct ImageTape {
    n: usize,
    steps: Vec<StepTape>,
}

#[derive(Debug)]
enum StepTape {
    Squeeze,
    /// The step's input.
    Mix(Vec<f32>),
    Coupling(Box<CouplingTape>),
}

/// Steps on images of one size, first applied first.
#[derive(Clone, Debug)]
pub struct ImageChain {
    steps: Vec<ImageStep>,
    dim: usize,
}

impl ImageChain {
    /// # Panics
    /// Unless there is a step and all have the same number of columns.
    pub fn new(steps: Vec<ImageStep>) -> Self {
        let dim = steps.first().expect("a run needs a step").dim();
        assert!(steps.iter().all(|step| step.dim() == dim), "steps of one run have the same dim");
        // One stock of buffers for all couplings: a buffer is warm from the one before.
        let workspace = Workspace::default();
        let share = |step| match step {
            ImageStep::Coupling(coupling) => ImageStep::Coupling(coupling.sharing(&workspace)),
            other => other,
        };
        Self { steps: steps.into_iter().map(share).collect(), dim }
    }

    /// Numbers of an image.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The steps.
    pub fn steps(&self) -> &[ImageStep] {
        &self.steps
    }

    /// Rows `x` `[n, dim]` -> `[n, dim + 1]`: z, and the log-det in the last column. `thetas` has one slice for each
    /// step with parameters.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn forward_only(
        &self,
        thetas: &[&[f32]],
        statistics: NormStatistics,
        x: &[f32],
        n: usize,
    ) -> Vec<f32> {
        self.run(thetas, statistics, x, n, None)
    }

    /// Rows `x` `[n, dim]` -> `[n, dim + 1]` with statistics of the batch, and what [`ImageChain::backward`] needs.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn forward(&self, thetas: &[&[f32]], x: &[f32], n: usize) -> (Vec<f32>, ImageTape) {
        let mut tape = ImageTape { n, steps: Vec::with_capacity(self.steps.len()) };
        let out = self.run(thetas, NormStatistics::Batch, x, n, Some(&mut tape.steps));
        (out, tape)
    }

    fn run(
        &self,
        thetas: &[&[f32]],
        statistics: NormStatistics,
        x: &[f32],
        n: usize,
        mut tape: Option<&mut Vec<StepTape>>,
    ) -> Vec<f32> {
        let thetas = self.check(thetas, x.len(), n, self.dim);
        let mut log_det = vec![0.0f32; n];
        let mut running = RunningStatistics::new(statistics);
        let mut state = x.to_vec();
        for (step, theta) in self.steps.iter().zip(thetas) {
            let (next, kept) = match step {
                ImageStep::Squeeze(step) => (step.forward(&state), StepTape::Squeeze),
                ImageStep::Mix(step) => {
                    let next = step.forward(theta, &state, &mut log_det);
                    (next, StepTape::Mix(state))
                }
                ImageStep::Coupling(step) => {
                    let (next, kept) = step.forward(theta, running.next(), state, &mut log_det);
                    (next, StepTape::Coupling(Box::new(kept)))
                }
            };
            state = next;
            if let Some(tape) = &mut tape {
                tape.push(kept);
            }
        }
        let mut out = Vec::with_capacity(n * (self.dim + 1));
        for (row, log_det) in state.chunks_exact(self.dim).zip(&log_det) {
            out.extend_from_slice(row);
            out.push(*log_det);
        }
        out
    }

    /// x `[n, dim]` of z `[n, dim]`.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn inverse(&self, thetas: &[&[f32]], statistics: NormStatistics, z: &[f32], n: usize) -> Vec<f32> {
        let thetas = self.check(thetas, z.len(), n, self.dim);
        let mut running = RunningStatistics::new(statistics);
        let of_steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| if matches!(step, ImageStep::Coupling(_)) { running.next() } else { None })
            .collect();
        let mut state = z.to_vec();
        for ((step, theta), running) in self.steps.iter().zip(thetas).zip(of_steps).rev() {
            state = match step {
                ImageStep::Squeeze(step) => step.inverse(&state),
                ImageStep::Mix(step) => step.inverse(theta, &state),
                ImageStep::Coupling(step) => step.inverse(theta, running, state),
            };
        }
        state
    }

    /// From the gradient `[n, dim + 1]` of [`ImageChain::forward`]'s output to those of its parameters and of x.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn backward(&self, thetas: &[&[f32]], tape: &ImageTape, grad_out: &[f32]) -> Gradients {
        let thetas = self.check(thetas, grad_out.len(), tape.n, self.dim + 1);
        let mut grad = Vec::with_capacity(tape.n * self.dim);
        let mut grad_log_det = Vec::with_capacity(tape.n);
        for row in grad_out.chunks_exact(self.dim + 1) {
            grad.extend_from_slice(&row[..self.dim]);
            grad_log_det.push(row[self.dim]);
        }
        let mut found = Vec::new();
        for ((step, theta), kept) in self.steps.iter().zip(thetas).zip(&tape.steps).rev() {
            grad = match (step, kept) {
                (ImageStep::Squeeze(step), _) => step.inverse(&grad),
                (ImageStep::Mix(step), StepTape::Mix(x)) => {
                    let (gx, own) = step.backward(theta, x, &grad, &grad_log_det);
                    found.push(own);
                    gx
                }
                (ImageStep::Coupling(step), StepTape::Coupling(kept)) => {
                    let (gx, own) = step.backward(theta, kept, grad, &grad_log_det);
                    found.push(own);
                    gx
                }
                _ => unreachable!("a tape is of its own chain"),
            };
        }
        found.reverse();
        Gradients { thetas: found, x: grad }
    }

    /// One theta for each step, empty where it takes none.
    fn check<'a>(&self, thetas: &[&'a [f32]], len: usize, n: usize, width: usize) -> Vec<&'a [f32]> {
        assert_eq!(len, n * width, "length of a [{n}, {width}] array");
        let mut given = thetas.iter();
        let all: Vec<&[f32]> = self
            .steps
            .iter()
            .map(|step| match step.n_params() {
                0 => &[] as &[f32],
                expected => {
                    let theta = given.next().expect("a theta for each step with parameters");
                    assert_eq!(theta.len(), expected, "length of a theta");
                    theta
                }
            })
            .collect();
        assert!(given.next().is_none(), "no more thetas than steps with parameters");
        all
    }
}

/// The running statistics of one coupling after the other.
struct RunningStatistics<'a>(Option<std::slice::Iter<'a, &'a [f32]>>);

impl<'a> RunningStatistics<'a> {
    fn new(statistics: NormStatistics<'a>) -> Self {
        Self(match statistics {
            NormStatistics::Batch => None,
            NormStatistics::Running(all) => Some(all.iter()),
        })
    }

    fn next(&mut self) -> Option<&'a [f32]> {
        self.0.as_mut().map(|all| *all.next().expect("statistics for each coupling"))
    }
}
