//! Errors of the library as Python exceptions.

use flowgmm::{Error, ErrorKind, Need};
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError},
};

create_exception!(
    flowgmm,
    DivergedError,
    PyRuntimeError,
    "Training produced numbers that are not finite, again and again."
);
create_exception!(flowgmm, InternalError, PyRuntimeError, "A bug in flowgmm. Please report it.");

/// The number of "no such file or directory", of errors that the library found itself.
const ENOENT: i32 = 2;

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    let text = match &error {
        Error::Needed { what: Need::TextEncoder, message } => format!("{message}. Use encoder=DIRECTORY"),
        error => error.to_string(),
    };
    match system_error(&error) {
        // The subclass, such as FileNotFoundError, follows from the number.
        Some(number) if error.kind() == ErrorKind::Io => PyOSError::new_err((number, text)),
        _ => of_kind(error.kind(), text),
    }
}

/// The number of the system's error that is the cause.
fn system_error(error: &Error) -> Option<i32> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let absent = (io.kind() == std::io::ErrorKind::NotFound).then_some(ENOENT);
            return io.raw_os_error().or(absent);
        }
        cause = error.source();
    }
    None
}

fn of_kind(kind: ErrorKind, text: String) -> PyErr {
    match kind {
        ErrorKind::Request | ErrorKind::Data | ErrorKind::ModelFile => PyValueError::new_err(text),
        ErrorKind::Io => PyOSError::new_err(text),
        ErrorKind::Diverged => DivergedError::new_err(text),
        ErrorKind::Cancelled => PyKeyboardInterrupt::new_err(text),
    }
}

/// The exception of a panic, which is our bug.
pub fn bug(what: &str) -> PyErr {
    InternalError::new_err(format!("internal error: {what}. This is a bug in flowgmm"))
}
