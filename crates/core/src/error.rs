//! What can go wrong in this crate, in words a user can act on.

use std::path::PathBuf;

/// Everything this crate reports instead of panicking.
#[derive(thiserror::Error, Debug)]
pub enum Error {
    /// The rows cannot be learnt from.
    #[error(transparent)]
    Data(#[from] semisup::Error),

    /// A configuration that describes no model.
    #[error("invalid configuration: {0}")]
    Config(String),

    /// Training kept producing values that are not finite.
    #[error(
        "training diverged at step {step}: {cause}; {rollbacks} roll-backs with ever smaller steps did not help. \
         Lower the learning rate, or look for extreme values in the data"
    )]
    Diverged {
        /// Optimiser step at which it happened last.
        step: usize,
        /// Which quantity was not finite.
        cause: String,
        /// How often the trainer went back to a good state before it gave up.
        rollbacks: usize,
    },

    /// The observer asked to stop; the checkpoint, if any, holds the work.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// Optimiser steps done.
        step: usize,
    },

    /// Workers that train together and could not, or no longer agree.
    #[error("the workers of this fit cannot go on: {0}")]
    Workers(String),

    /// A model or checkpoint file that is damaged, foreign or from another version.
    #[error("{}: not a usable model file: {reason}", path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A checkpoint of another run: other data, configuration or seed.
    #[error("{}: this checkpoint belongs to another run ({reason}); choose another checkpoint directory, or remove it", path.display())]
    ForeignCheckpoint {
        /// The checkpoint.
        path: PathBuf,
        /// Which part differs.
        reason: String,
    },

    /// A checkpoint that a fit from the beginning would replace.
    #[error("{}: {whose} is there, which would be replaced; resume it, remove it, or choose another directory", path.display())]
    CheckpointExists {
        /// The checkpoint.
        path: PathBuf,
        /// What it is, in words.
        whose: &'static str,
    },

    /// A checkpoint directory that another fit is using.
    #[error("{}: another fit is using this checkpoint directory; wait for it to end, or choose another directory", directory.display())]
    CheckpointInUse {
        /// The directory.
        directory: PathBuf,
    },

    /// Rows that memory does not hold, and the disk does not take.
    #[error(
        "{}: the cache of rows that do not fit in memory cannot be written after {bytes} bytes ({source}). Nothing is left of it. Free \
         some space, keep checkpoints or the model on another disk, or allow more memory (--memory)", directory.display()
    )]
    RowCache {
        /// The directory whose disk it is on.
        directory: PathBuf,
        /// Bytes that were to be there by then.
        bytes: u64,
        /// The system's error.
        source: std::io::Error,
    },

    /// A file or directory that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, Error>;
