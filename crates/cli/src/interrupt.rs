//! Ctrl-C: finish the step and leave things in order; a second one leaves at once.

use std::{
    fs,
    path::Path,
    process,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::exit::{Failure, INTERRUPTED, Result};

static WANTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C only sets [`wanted`].
pub fn listen() -> Result<()> {
    install(|| {
        if WANTED.swap(true, Ordering::SeqCst) {
            process::exit(INTERRUPTED.into());
        }
    })
}

/// Whether someone pressed Ctrl-C.
pub fn wanted() -> bool {
    WANTED.load(Ordering::SeqCst)
}

/// From now on Ctrl-C removes the unfinished file and ends the program.
pub fn exit_removing(temporary: &Path) -> Result<()> {
    let temporary = temporary.to_path_buf();
    install(move || {
        let _ = fs::remove_file(&temporary);
        process::exit(INTERRUPTED.into());
    })
}

fn install(handler: impl FnMut() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(handler).map_err(|error| Failure::Internal(format!("cannot catch Ctrl-C: {error}")))
}
