//! Training: batches of labelled and unlabelled rows, AdamW, a moving average of the weights, and no NaN.
//!
//! A step is: batch -> terms -> gradient -> clipped Adam -> moving average. A loss or gradient that is not finite
//! restores the last snapshot and halves the learning rate; when that keeps failing, training ends with an
//! error that names the step and the quantity. All randomness is a function of (seed, step), so a trainer rebuilt
//! from a [`TrainState`] continues bit for bit.
//!
//! | file | what it holds |
//! |---|---|
//! | `config` | the settings and their rules |
//! | `trainer`, `state` | the loop, and everything that changes in it |
//! | `batches`, `perturbation`, `views` | which rows a step sees, and with which noise |
//! | `matrix`, `row_cache` | the rows in memory, and those on disk where memory does not hold all |
//! | `optim`, `schedule`, `parameters` | Adam, learning rates, the trained parameters |
//! | `refine`, `finish` | pseudo-labels in the last part of training, and the model that is kept |
//! | `shards`, `sharded`, `reduce` | rows in shards, gradients that are exact sums over them, and who sums |
//! | `history`, `observer` | what happened, and who watches |

mod batches;
mod config;
mod finish;
mod history;
mod matrix;
mod observer;
mod optim;
mod parameters;
mod perturbation;
mod reduce;
mod refine;
mod row_cache;
mod schedule;
mod sharded;
mod shards;
mod state;
mod trainer;
mod views;

pub use batches::{Batches, Noise, Purpose, TaughtRows, TrainingRows, stream};
pub use config::TrainConfig;
pub use history::{EpochRecord, History};
pub use matrix::TrainingMatrix;
pub use observer::{Control, Observer};
pub use optim::{Adam, AdamConfig, Average, Decay};
pub use parameters::{gradients, put_trained, set_trained, take_trained, trained_values};
pub use perturbation::{GaussianNoise, Perturbation};
pub use reduce::{Local, Reduce, Reduced};
pub use refine::Refine;
pub use row_cache::{RowCache, RowCacheWriter};
pub use schedule::{DecayShape, Schedule};
pub use shards::{Shard, Shards};
pub(crate) use state::Snapshot;
pub use state::TrainState;
pub(crate) use trainer::PATIENCE;
pub use trainer::Trainer;
pub use views::ImageViews;
