//! Ctrl-C: finish the step and leave things in order; a second one leaves at once.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::exit::{Failure, INTERRUPTED, Result};

static WANTED: AtomicBool = AtomicBool::new(false);
/// An unfinished file: while there is one, Ctrl-C removes it and ends the program.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// The system takes one handler; what it does is decided above.
static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// From now on Ctrl-C only sets [`wanted`]; a second one leaves at once.
pub fn listen() -> Result<()> {
    install(None)
}

/// Whether someone pressed Ctrl-C.
pub fn wanted() -> bool {
    WANTED.load(Ordering::SeqCst)
}

/// Ends a command between two chunks of its work if someone pressed Ctrl-C.
pub fn stop_if_wanted() -> Result<()> {
    if wanted() { Err(Failure::Interrupted("interrupted".into())) } else { Ok(()) }
}

/// From now on Ctrl-C removes the unfinished file and ends the program.
pub fn exit_removing(temporary: &Path) -> Result<()> {
    install(Some(temporary.to_path_buf()))
}

fn install(unfinished: Option<PathBuf>) -> Result<()> {
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = unfinished;
    let installed = INSTALLED.get_or_init(|| ctrlc::set_handler(handle).map_err(|error| error.to_string()));
    installed.clone().map_err(|error| Failure::Internal(format!("cannot catch Ctrl-C: {error}")))
}

fn handle() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let again = WANTED.swap(true, Ordering::SeqCst);
    if let Some(file) = &unfinished {
        let _ = fs::remove_file(file);
    }
    if again || unfinished.is_some() {
        process::exit(INTERRUPTED.into());
    }
}
