//! Nets: the paper's supervised baseline [`Mlp`], the [`PiModel`], and the [`ConvPiModel`] of images.
//!
//! | module | holds |
//! |---|---|
//! | `net` | the layers, forward and a hand-derived backward pass |
//! | `loss` | cross-entropy and consistency with their gradients |
//! | `gradient` | gradients of a batch, summed over chunks in a fixed order |
//! | `adam` | the optimiser |
//! | `train` | the training loop of both learners |
//! | `mlp`, `pi` | the learners of tables |
//! | `conv`, `views`, `conv_pi` | the convolutional net, views of images, their learner |

mod adam;
mod conv;
mod conv_pi;
mod gradient;
mod loss;
mod mlp;
mod net;
mod pi;
mod train;
mod views;

pub(crate) use adam::Adam;
pub use conv_pi::{ConvPiModel, ConvPiNet};
pub(crate) use gradient::{CHUNK, Gradient, over_chunks};
pub(crate) use loss::{cross_entropy, softmax};
pub use mlp::{Mlp, NetModel};
pub(crate) use net::{Net, number, softplus};
pub use pi::PiModel;
pub(crate) use train::Deck;
pub use views::PiViews;
