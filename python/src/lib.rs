//! The extension module `flowgmm._native`: conversions between Python and the library `flowgmm`, and calls of its verbs.
//!
//! ```text
//! numpy, Arrow ─Table, Images→ flowgmm::Source ─run: own threads, no GIL, Ctrl-C→ one verb ─→ numpy, dict, str
//! ```
//!
//! The package's Python files are what users see; nothing here is public. Everything long releases the GIL.

mod arrow;
mod errors;
mod fit;
mod model;
mod pages;
mod rivals;
mod rows;
mod run;
mod sharded;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _native {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        errors::{DivergedError, InternalError},
        fit::{Fit, density, fit},
        model::{Model, conformal_sets},
        pages::{explain, report},
        rivals::Rival,
        rows::{Images, Table},
        sharded::{Worker, fit_on, row_keys},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the command with these arguments, the program's name first, and returns its exit code. It takes the process for
    /// its own.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| flowgmm_cli::main(arguments))
    }
}
