//! Tasks on all threads of the pool, each on the same thread from call to call.
//!
//! The passes of a training step go over the same rows and the same parameters one after the other: forward, backward,
//! optimiser, and again. Where cores do not share a cache, a line that another core has written costs a hundred
//! nanoseconds, and a work-stealing pool deals tasks out anew in every pass: with two such cores a step of 2,000 rows of 21
//! columns took as long as with one. So tasks are cut into one run for each thread, by their order. A thread takes its
//! own run from the front; who is done takes from the end of others', so that nobody waits for a thread that is late.

use std::slice::IterMut;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Runs all tasks. They share nothing, so no result depends on who runs which.
pub(crate) fn for_each<T: Send>(tasks: &mut [T], run: impl Fn(&mut T) + Sync) {
    let threads = rayon::current_num_threads().min(tasks.len());
    if threads < 2 {
        return tasks.iter_mut().for_each(run);
    }
    let runs = cut(tasks, threads);
    let work = |_| {
        let own = rayon::current_thread_index().unwrap_or(0) % threads;
        while let Some(task) = take(&runs[own], IterMut::next) {
            run(task);
        }
        for other in (1..threads).map(|i| &runs[(own + i) % threads]) {
            while let Some(task) = take(other, IterMut::next_back) {
                run(task);
            }
        }
    };
    (0..threads).into_par_iter().with_max_len(1).for_each(work);
}

/// [`for_each`], with results in the order of the tasks.
pub(crate) fn map<T: Send, R: Send>(tasks: Vec<T>, run: impl Fn(T) -> R + Sync) -> Vec<R> {
    let mut all: Vec<(Option<T>, Option<R>)> = tasks.into_iter().map(|task| (Some(task), None)).collect();
    for_each(&mut all, |(task, result)| *result = task.take().map(&run));
    all.into_iter().filter_map(|(_, result)| result).collect()
}

/// As many runs as threads, of lengths that differ by at most one.
fn cut<T>(mut tasks: &mut [T], threads: usize) -> Vec<Mutex<IterMut<'_, T>>> {
    let n = tasks.len();
    (0..threads)
        .map(|i| {
            let length = (i + 1) * n / threads - i * n / threads;
            let (head, rest) = std::mem::take(&mut tasks).split_at_mut(length);
            tasks = rest;
            Mutex::new(head.iter_mut())
        })
        .collect()
}

/// The next task of a run. Nothing can panic while the lock is held.
fn take<'a, T>(
    run: &Mutex<IterMut<'a, T>>,
    end: impl FnOnce(&mut IterMut<'a, T>) -> Option<&'a mut T>,
) -> Option<&'a mut T> {
    end(&mut run.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
    }

    #[test]
    fn every_task_runs_once_and_results_keep_their_order() {
        for threads in [1, 2, 3, 8] {
            for n in [0, 1, 2, 7, 100] {
                let mut counts = vec![0; n];
                pool(threads).install(|| for_each(&mut counts, |count| *count += 1));
                assert!(counts.iter().all(|&count| count == 1), "{threads} threads, {n} tasks");
                let squares = pool(threads).install(|| map((0..n).collect(), |i| i * i));
                assert_eq!(squares, (0..n).map(|i| i * i).collect::<Vec<_>>());
            }
        }
    }

    /// A thread that sleeps in its first task leaves the others to those that are awake.
    #[test]
    fn a_late_thread_holds_nobody_up() {
        let began = std::time::Instant::now();
        let mut tasks: Vec<u64> = (0..20).map(|i| if i == 0 { 200 } else { 1 }).collect();
        pool(2).install(|| {
            for_each(&mut tasks, |ms| std::thread::sleep(std::time::Duration::from_millis(*ms)));
        });
        assert!(began.elapsed().as_millis() < 1_000);
    }

    /// A task that waits for tasks of its own does not lock the pool.
    #[test]
    fn tasks_may_have_tasks() {
        let mut sums = vec![0; 6];
        pool(2).install(|| {
            for_each(&mut sums, |sum| *sum = map((0..50).collect(), |i: usize| i).into_iter().sum());
        });
        assert_eq!(sums, [1225; 6]);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            pool(2).install(|| for_each(&mut [1, 2, 3, 4], |task| assert!(*task != 3, "three")));
        });
        assert!(caught.is_err());
    }
}
