//! CPU kernels for a chain of dense coupling layers: forward, inverse and a hand-derived backward.
//!
//! One coupling keeps some columns of `x` and moves the others by a small network of the kept ones:
//!
//! ```text
//! raw, t = mlp(x_keep)                       [n, c] each, ReLU between the linear layers
//! s      = g * tanh(raw)                     [n, c]
//! y_c    = (x_c + t) e^s   or  x_c e^s + t   [n, c], see Form
//! log_det += sum_c s                         [n]
//! ```
//!
//! Rows are handled in *panels* of at most 64, stored feature-major: `[features, 16 * lanes]`. Every
//! matrix product then has rows as its vector direction and weights as broadcast scalars, so nothing
//! needs packing, and bias, ReLU and its mask are applied while the result is still in registers.
//! A panel goes through the whole chain before the next one starts: it stays in cache.
//!
//! How rows are split depends on their number alone, and sums run in a fixed order, so results have the
//! same bits whatever the number of threads.
//!
//! | module      | holds                                                       |
//! |-------------|-------------------------------------------------------------|
//! | `coupling`  | one coupling: shapes, parameter layout, its pass on a panel |
//! | `chain`     | the public passes over many couplings and many panels       |
//! | `gradients` | the backward pass of the chain                              |
//! | `panel`     | how rows are split, and moved in and out of panels          |
//! | `pool`      | the reused buffers                                          |
//! | `threads`   | tasks on all threads, each on the same one from call to call    |
//! | `dense`     | matrix products on panels                                   |
//! | `weights`   | the gradient of a linear layer's weights                    |
//! | `dots`      | the same for narrow layers                                  |
//! | `pointwise` | tanh, exp and the affine part of a coupling                 |
//! | `transpose` | the one data movement everything else is laid out to avoid     |
//! | `mixture`   | log-densities of Gaussians and their gradients              |
//! | `trees`     | decision trees on many rows                                 |
//! | `adam`      | one pass of the optimiser over a parameter vector           |
//! | `conv`      | convolutions of images, with batch norm and ReLU fused in       |
//! | `image`     | runs of invertible steps on images: squeeze, channel mixing, convolutional couplings |
//! | `batch_norm`| the batch normalisation of a `conv::PreActConv`             |
//! | `simd`      | sixteen f32 lanes on AVX-512, AVX2 or anything else         |
//! | `peak`      | multiply-adds on registers alone, for the benches           |
//! | `reference` | the mathematics as plain f64 loops, for tests               |
//!
//! ```
//! use flowgmm_kernels::{Chain, Coupling, Form};
//! let chain = Chain::new(vec![Coupling::new(2, vec![0], vec![1], vec![8], Form::ShiftThenScale)]);
//! let theta = vec![0.1; chain.couplings()[0].n_params()];
//! let x = [0.5, -1.0, 2.0, 0.25]; // [n = 2, dim = 2]
//! let out = chain.forward_only(&[&theta], &x, 2); // [2, 3]: z, log_det
//! let z = [out[0], out[1], out[3], out[4]];
//! let back = chain.inverse(&[&theta], &z, 2);
//! assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-6));
//! ```
#![allow(unsafe_code)] // `simd`: intrinsics, and the jump into code built for a wider CPU; `trees`: loads whose places are checked before

mod adam;
mod batch_norm;
mod chain;
pub mod conv;
mod coupling;
mod dense;
mod dots;
mod gradients;
pub mod image;
mod mixture;
mod panel;
mod peak;
mod pointwise;
mod pool;
pub mod reference;
mod simd;
mod threads;
mod transpose;
mod trees;
mod weights;

pub use adam::{AdamState, AdamStep, adam, sums_of_squares};
pub use chain::{Chain, Memory, Tape};
pub use coupling::{Coupling, Form};
pub use gradients::Gradients;
pub use mixture::{GaussianGradients, Gaussians, Tail};
#[doc(hidden)]
pub use peak::fma_peak;
pub use simd::{ENVIRONMENT, check_environment, instruction_set, instruction_sets};
pub use trees::Trees;
