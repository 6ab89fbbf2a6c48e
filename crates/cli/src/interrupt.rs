//! Ctrl-C and SIGTERM: the work is asked to end and leave things in order; a second one leaves at once.
//!
//! The work hears of it where it asks for [`wanted`], several times a second. Where it does not (a step of minutes, a slow
//! disk) the program ends all the same, within a second.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::exit::{Failure, INTERRUPTED, Result};

/// How long the work may take to hear of it.
const TO_HEAR: Duration = Duration::from_millis(800);
/// How long work that has heard of it may take to leave things in order, such as to write a checkpoint.
const TO_LEAVE: Duration = Duration::from_secs(20);

static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether somebody was told by [`wanted`].
static HEARD: AtomicBool = AtomicBool::new(false);
/// An unfinished file: while there is one, Ctrl-C removes it and ends the program.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// The system takes one handler; what it does is decided above.
static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// From now on Ctrl-C sets [`wanted`], and ends the program if nobody asks for it.
pub fn listen() -> Result<()> {
    let installed = INSTALLED.get_or_init(|| ctrlc::set_handler(handle).map_err(|error| error.to_string()));
    installed.clone().map_err(|error| Failure::Internal(format!("cannot catch Ctrl-C: {error}")))
}

/// Whether someone pressed Ctrl-C.
pub fn wanted() -> bool {
    let wanted = WANTED.load(Ordering::SeqCst);
    if wanted {
        HEARD.store(true, Ordering::SeqCst);
    }
    wanted
}

/// Ends a command between two chunks of its work if someone pressed Ctrl-C.
pub fn stop_if_wanted() -> Result<()> {
    if wanted() { Err(Failure::Interrupted("interrupted".into())) } else { Ok(()) }
}

/// From now on Ctrl-C removes the unfinished file and ends the program.
pub fn exit_removing(temporary: &Path) -> Result<()> {
    *unfinished() = Some(temporary.to_path_buf());
    listen()
}

fn unfinished() -> std::sync::MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle() {
    let again = WANTED.swap(true, Ordering::SeqCst);
    let writing = unfinished().is_some();
    if again || writing {
        leave("interrupted");
    }
    // On a thread of its own: this one waits for the second Ctrl-C.
    thread::spawn(|| {
        thread::sleep(TO_HEAR);
        if HEARD.load(Ordering::SeqCst) {
            thread::sleep(TO_LEAVE);
        }
        leave("interrupted; nothing was kept that is not in a file already");
    });
}

/// Ends the program.
fn leave(why: &str) -> ! {
    if let Some(file) = unfinished().take() {
        let _ = fs::remove_file(file);
    }
    let _ = writeln!(io::stderr(), "error: {why}");
    process::exit(INTERRUPTED.into());
}
