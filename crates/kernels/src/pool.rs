//! Buffers kept between calls: a training step otherwise spends its time on page faults.
//!
//! What a thread took, it gets again, and buffers of one size come back in the order in which they were dropped: a step
//! like the one before finds every buffer in the cache of the core that will write to it (see [`crate::threads`]).

use crate::simd::{Lane, ZERO};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// What idle buffers may hold in all: 2^22 lanes are 256 MiB, enough for a training step of 2000 rows x 768 columns
/// (hidden 512, seven couplings), which has 200 MiB on loan at once.
const IDLE_LANES: usize = 1 << 22;

/// A shared stock of buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Idle>>>);

/// A buffer that nobody uses.
#[derive(Debug)]
struct Idle {
    lanes: Vec<Lane>,
    /// The thread of the pool that took it, or none for others.
    by: Option<usize>,
}

impl Pool {
    /// A buffer of `len` lanes with arbitrary contents; it comes back to the pool when dropped.
    pub(crate) fn take(&self, len: usize) -> Buffer {
        let by = rayon::current_thread_index();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Best fit, so that a small request does not use up a large buffer.
        let fit = (0..idle.len())
            .filter(|&i| idle[i].lanes.len() >= len)
            .min_by_key(|&i| (idle[i].lanes.len(), idle[i].by != by));
        let lanes = fit.map(|i| idle.remove(i).lanes);
        drop(idle);
        Buffer { lanes: lanes.unwrap_or_else(|| vec![ZERO; len]), len, by, pool: self.clone() }
    }
}

/// A buffer on loan from a [`Pool`].
#[derive(Debug)]
pub(crate) struct Buffer {
    lanes: Vec<Lane>,
    len: usize,
    by: Option<usize>,
    pool: Pool,
}

impl Deref for Buffer {
    type Target = [Lane];
    fn deref(&self) -> &[Lane] {
        &self.lanes[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [Lane] {
        &mut self.lanes[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut idle = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = idle.iter().map(|idle| idle.lanes.len()).sum();
        if held + self.lanes.len() <= IDLE_LANES {
            idle.push(Idle { lanes: std::mem::take(&mut self.lanes), by: self.by });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_used_again() {
        let pool = Pool::default();
        let mut a = pool.take(10);
        a[9].0[0] = 7.0;
        let address = a.as_ptr();
        drop(a);
        let b = pool.take(8);
        assert_eq!((b.as_ptr(), b.len()), (address, 8));
    }
}
