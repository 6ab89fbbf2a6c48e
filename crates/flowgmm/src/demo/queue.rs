//! A queue of jobs for a few workers, each with one thread of its own: results in the order of the jobs.

use std::{
    io,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{Error, Result};

/// Does all jobs, `workers` at a time.
pub(super) fn in_order<J: Sync, R: Send>(
    workers: usize,
    jobs: &[J],
    work: impl Fn(&J) -> R + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || -> Result<()> {
        // Inside its pool whatever a job would spread over cores stays on this one.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| Error::Io {
            path: PathBuf::from("worker thread"),
            source: io::Error::other(error),
        })?;
        pool.install(|| {
            loop {
                let i = next.fetch_add(1, Ordering::SeqCst);
                let Some(job) = jobs.get(i) else { break };
                let result = work(job);
                *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        });
        Ok(())
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers.clamp(1, jobs.len().max(1))).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let take = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(results.into_iter().map(|slot| take(slot).expect("every job was done")).collect())
}
