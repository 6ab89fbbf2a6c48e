//! Running third-party decoders on files that may be damaged.
//!
//! `arrow-ipc` and `parquet` check most of what they read, and assert some of the rest. To a user a file that
//! trips an assertion is a damaged file, so it becomes that error. What they would allocate is checked before
//! they see it (`parquet/check.rs`, `ipc.rs`): running out of memory cannot be caught.

use std::{
    cell::Cell,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{Error, Result};

/// Runs a decoder on content that may be damaged; after an error, what it worked on must not be used again.
pub(crate) fn decode<T, E: Display>(
    name: &str,
    format: &'static str,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match survive(work) {
        Some(result) => result.map_err(|error| Error::damaged(name, format, error)),
        None => Err(Error::damaged(name, format, "its parts contradict each other")),
    }
}

/// What a decoder returns, or `None` if it panicked; what it worked on must not be used then.
pub fn survive<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    DECODING.set(before);
    result.ok()
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, is caught by [`survive`]; a panic hook should stay silent then.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Whether `packed` bytes can plausibly decompress to `unpacked` bytes with any codec.
pub(crate) fn plausible(packed: u64, unpacked: u64) -> bool {
    const FREE: u64 = 1 << 24;
    const RATIO: u64 = 1 << 16;
    unpacked <= packed.saturating_mul(RATIO).saturating_add(FREE)
}
