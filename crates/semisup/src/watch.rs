//! Watching long work from inside its loops, and stopping it.
//!
//! Whoever starts long work hands down a [`Watch`]. The loops tell it several times a second which fraction of the work is
//! done, from whatever thread they run on, and give up when it answers [`Stopped`]. Results never depend on it.

use std::ops::Range;

/// Watches long work, and may stop it.
pub trait Watch: Sync {
    /// This fraction of the work is done, from 0 to 1; an error if the rest is no longer wanted.
    fn at(&self, fraction: f64) -> Result<(), Stopped>;
}

/// Watches nothing, and never stops the work.
impl Watch for () {
    fn at(&self, _fraction: f64) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Work ended early because its [`Watch`] asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped on request")]
pub struct Stopped;

/// A part of the work, which its own loops count from 0 to 1.
///
/// ```
/// use semisup::{Part, Stopped, Watch};
///
/// /// Stops at three quarters.
/// struct Most;
///
/// impl Watch for Most {
///     fn at(&self, fraction: f64) -> Result<(), Stopped> {
///         if fraction < 0.75 { Ok(()) } else { Err(Stopped) }
///     }
/// }
///
/// let second_half = Part::of(&Most, 1, 2);
/// assert_eq!(second_half.at(0.4), Ok(())); // 0.7 of the whole
/// assert_eq!(second_half.at(0.6), Err(Stopped)); // 0.8
/// ```
#[derive(Clone, Copy)]
pub struct Part<'a> {
    whole: &'a dyn Watch,
    from: f64,
    to: f64,
}

impl<'a> Part<'a> {
    /// The part that takes the whole from one fraction to another.
    pub fn new(whole: &'a dyn Watch, range: Range<f64>) -> Self {
        Self { whole, from: range.start, to: range.end }
    }

    /// Part `i`, from 0, of `n` that take equally long.
    pub fn of(whole: &'a dyn Watch, i: usize, n: usize) -> Self {
        let n = n.max(1) as f64;
        Self::new(whole, i as f64 / n..(i + 1) as f64 / n)
    }
}

impl Watch for Part<'_> {
    fn at(&self, fraction: f64) -> Result<(), Stopped> {
        self.whole.at(self.from + (self.to - self.from) * fraction)
    }
}
