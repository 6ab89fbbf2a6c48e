//! Long work beside Python: on threads of its own, without the GIL, watched by the thread that waits for it.
//!
//! ```text
//! pool ─work─Observer→ Shared { stop, phase, done, total, loss } ←every 50 ms─ calling thread: signals, progress callback
//! ```

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use flowgmm::{Control, Observer, Phase};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{bug, exception};

/// How often signals are looked at, and progress is shown.
const POLL: Duration = Duration::from_millis(50);

/// What the thread that works tells the thread that waits.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Clone, Default, PartialEq)]
struct State {
    phase: &'static str,
    done: usize,
    total: Option<usize>,
    loss: Option<f64>,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watching<'a>(&'a Shared);

impl Observer for Watching<'_> {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        let mut state = self.0.state();
        *state = State { phase: phase.doing(), done: 0, total, loss: state.loss };
    }

    fn progress(&mut self, done: usize) -> Control {
        self.0.state().done = done;
        if self.0.stop.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    }

    fn loss(&mut self, loss: f64) {
        self.0.state().loss = Some(loss);
    }
}

/// Which threads do the work.
#[derive(Clone, Copy)]
pub enum Threads {
    /// A pool that ends with the work: for fits.
    Own(Option<usize>),
    /// A pool that this process keeps: for what takes milliseconds.
    Kept(Option<usize>),
}

impl Threads {
    /// The pool.
    pub fn pool(self) -> PyResult<Arc<ThreadPool>> {
        match self {
            Self::Own(wanted) => build(number(wanted)),
            Self::Kept(wanted) => {
                // A child of fork has none of its parent's threads.
                let key = (process::id(), number(wanted));
                let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
                let pools = kept.get_or_insert_default();
                if let Some(pool) = pools.get(&key) {
                    return Ok(Arc::clone(pool));
                }
                let pool = build(key.1)?;
                pools.insert(key, Arc::clone(&pool));
                Ok(pool)
            }
        }
    }
}

/// Pools by process (a fork has none of its parent's threads) and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

static KEPT: Mutex<Option<Pools>> = Mutex::new(None);

fn number(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
}

fn build(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Arc::new).map_err(|error| bug(&format!("cannot start {threads} threads: {error}")))
}

/// Does the work, and looks at signals meanwhile. `progress` is called with what is being done, how much of it is done, how much
/// there is, and the loss; its exception stops the work, as Ctrl-C does.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Threads,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> flowgmm::Result<T> + Send,
) -> PyResult<T> {
    let (pool, shared) = (threads.pool()?, Shared::default());
    let (outcome, stopped) = py.detach(|| {
        let (send, receive) = channel();
        let mut stopped: Option<PyErr> = None;
        let mut shown = State::default();
        let shared = &shared;
        let outcome = pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // Nobody receives it only if the calling thread panicked.
                let _ = send.send(catch_unwind(AssertUnwindSafe(|| work(&mut Watching(shared)))));
            });
            loop {
                match receive.recv_timeout(POLL) {
                    Ok(outcome) => return Some(outcome),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if stopped.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = look(shared, &mut shown, progress.as_ref()) {
                            stopped = Some(error);
                            shared.stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            }
        });
        (outcome, stopped)
    });
    match (outcome, stopped) {
        (Some(Err(panic)), _) => Err(bug(words(&*panic))),
        (_, Some(stopped)) => Err(stopped),
        (Some(Ok(result)), None) => result.map_err(exception),
        (None, None) => Err(bug("the work ended without a result")),
    }
}

/// Runs handlers of signals, and shows progress if there is any.
fn look(shared: &Shared, shown: &mut State, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let state = shared.state().clone();
    Python::attach(|py| {
        py.check_signals()?;
        if let Some(progress) = progress.filter(|_| state != *shown) {
            progress.call1(py, (state.phase, state.done, state.total, state.loss))?;
        }
        *shown = state;
        Ok(())
    })
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic")
}
