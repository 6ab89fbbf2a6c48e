//! Why a learner could not be fitted.

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data do not allow it.
    #[error(transparent)]
    Data(#[from] semisup::Error),

    /// The watch of the fit stopped it.
    #[error(transparent)]
    Stopped(#[from] semisup::Stopped),

    /// A hyper-parameter is out of its range.
    #[error("{name}: found {found}, expected {expected}")]
    Setting {
        /// The hyper-parameter.
        name: &'static str,
        /// Its value.
        found: f64,
        /// Its range.
        expected: &'static str,
    },

    /// The rows are not images.
    #[error("{method} is for images, and these rows have no shape: read them with `kind = \"images\"`")]
    NotImages {
        /// The method.
        method: &'static str,
    },

    /// There are more rows than the method's memory and time allow.
    #[error("{method} takes at most {limit} rows, found {found}: {hint}")]
    TooManyRows {
        /// The method.
        method: &'static str,
        /// The number of rows.
        found: usize,
        /// The largest number of rows it takes.
        limit: usize,
        /// What to do.
        hint: &'static str,
    },

    /// A fitted model that was read from a file contradicts itself.
    #[error("the stored {what} are damaged: {why}. Train the model again or take another copy of its file")]
    Damaged {
        /// The part of the model, in the plural.
        what: &'static str,
        /// The contradiction.
        why: String,
    },

    /// The loss of a net is no longer a finite number.
    #[error("the loss is {loss} at step {step} of {steps}: lower the learning rate, now {learning_rate}")]
    Diverged {
        /// The step, from 1.
        step: usize,
        /// The number of steps.
        steps: usize,
        /// The loss.
        loss: f64,
        /// The learning rate in use.
        learning_rate: f64,
    },
}

/// Checks that a hyper-parameter that counts something is at least 1.
pub(crate) fn positive(name: &'static str, found: usize) -> crate::Result<()> {
    within(name, found as f64, found > 0, "at least 1")
}

/// Checks that a hyper-parameter is in its range, as `holds` says.
pub(crate) fn within(
    name: &'static str,
    found: f64,
    holds: bool,
    expected: &'static str,
) -> crate::Result<()> {
    if holds { Ok(()) } else { Err(Error::Setting { name, found, expected }) }
}
