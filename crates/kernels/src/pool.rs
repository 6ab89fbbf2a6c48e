//! Buffers kept between calls: a training step otherwise spends its time on page faults.

use crate::simd::{Lane, ZERO};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// What idle buffers may hold in all: 2^22 lanes are 256 MiB, enough for a training step of 2000 rows x 768 columns
/// (hidden 512, seven couplings), which has 200 MiB on loan at once.
const IDLE_LANES: usize = 1 << 22;

/// A shared stock of buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Vec<Lane>>>>);

impl Pool {
    /// A buffer of `len` lanes with arbitrary contents; it comes back to the pool when dropped.
    pub(crate) fn take(&self, len: usize) -> Buffer {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Best fit, so that a small request does not use up a large buffer.
        let fit = (0..idle.len()).filter(|&i| idle[i].len() >= len).min_by_key(|&i| idle[i].len());
        let lanes = fit.map(|i| idle.swap_remove(i));
        drop(idle);
        Buffer { lanes: lanes.unwrap_or_else(|| vec![ZERO; len]), len, pool: self.clone() }
    }
}

/// A buffer on loan from a [`Pool`].
#[derive(Debug)]
pub(crate) struct Buffer {
    lanes: Vec<Lane>,
    len: usize,
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
        let held: usize = idle.iter().map(Vec::len).sum();
        if held + self.lanes.len() <= IDLE_LANES {
            idle.push(std::mem::take(&mut self.lanes));
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
