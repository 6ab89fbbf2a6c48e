//! Other learners on the same rows, to compare with.

use std::sync::Arc;

use flowgmm::{Classifier, Rows, Training};
use flowgmm_bench::{Error, fit_learner_watched, registry};
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;

use crate::{
    fit::FitOptions,
    rows::{PyLabels, PyRows},
    run::{Threads, run},
};

/// A fitted learner of the arena.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Rival {
    model: Arc<dyn Classifier + Send + Sync>,
    rows: Rows,
    warnings: Vec<String>,
}

#[pymethods]
impl Rival {
    /// Fits the learner of this name.
    #[staticmethod]
    #[pyo3(signature = (name, rows, labels, options, steps=None, seed=0, progress=None))]
    #[allow(clippy::too_many_arguments)] // the Python layer names them
    fn fit(
        py: Python<'_>,
        name: &str,
        rows: PyRows<'_>,
        labels: Option<PyLabels<'_>>,
        options: FitOptions,
        steps: Option<usize>,
        seed: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let request = options.request(&rows, labels)?;
        run(py, Threads::Own(options.threads()), progress, |observer| {
            let training = Training::read(&request, observer)?;
            let model = fit_learner_watched(name, &training, steps, seed, observer).map_err(plain)?.model;
            Ok(Self { model: model.into(), rows: training.rows, warnings: training.warnings })
        })
    }

    /// The names of the learners.
    #[staticmethod]
    fn names() -> Vec<String> {
        registry().names().map(String::from).collect()
    }

    /// The names of the classes.
    fn classes(&self) -> Vec<String> {
        self.model.classes().to_vec()
    }

    /// What the user should know about the rows.
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// log p(k | x) of rows, `[n, K]`.
    #[pyo3(signature = (rows, threads=None))]
    fn log_probs<'py>(
        &self,
        py: Python<'py>,
        rows: PyRows<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let source = rows.source(None);
        let found = run(py, Threads::Kept(threads), None, |observer| {
            let x = flowgmm::read_rows(&self.rows, &source, observer)?;
            Ok(self.model.log_probs(x.view()))
        })?;
        Ok(found.into_pyarray(py))
    }
}

/// An error of the arena as one of the library.
fn plain(error: Error) -> flowgmm::Error {
    match error {
        Error::Rows(error) => error,
        other => flowgmm::Error::Request(other.to_string()),
    }
}
