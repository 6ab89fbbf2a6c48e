//! Findings as JSON and as a page.

use std::path::PathBuf;

use flowgmm::{ExplainRequest, ReportRequest, Source};
use pyo3::prelude::*;

use crate::{
    fit::Fit,
    model::Model,
    rows::{PyLabels, PyRows, labelled},
    run::{Threads, run},
};

/// Findings as JSON, the page that shows them, and what the user should know.
type Findings = (String, String, Vec<String>);

/// What a model does with rows, and how far its predictions can be trusted.
#[pyfunction]
#[pyo3(signature = (model, rows, labels, out_of_distribution, unlabelled, most_rows, alpha, seed, encoder, threads, progress=None))]
#[allow(clippy::too_many_arguments)] // the Python layer names them
pub fn explain(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    rows: PyRows<'_>,
    labels: Option<PyLabels<'_>>,
    out_of_distribution: Option<PyRows<'_>>,
    unlabelled: Option<PyRows<'_>>,
    most_rows: Option<usize>,
    alpha: f64,
    seed: u64,
    encoder: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Findings> {
    let source = |rows: PyRows<'_>| rows.source(encoder.clone());
    let request = ExplainRequest {
        out_of_distribution: out_of_distribution.map(source),
        unlabelled: unlabelled.map(source),
        rows: most_rows,
        alpha,
        seed,
        ..ExplainRequest::new(labelled(source(rows), labels))
    };
    let model = model.shared();
    run(py, Threads::Own(threads), progress, |observer| {
        let found = flowgmm::explain(&model, &request, observer)?;
        let json = serde_json::to_string(&found).expect("plain data");
        Ok((json, found.to_page().to_html(), found.warnings))
    })
}

/// How far a fit can be trusted, and whether its unlabelled rows helped.
#[pyfunction]
#[pyo3(signature = (fit, test, name, threads, progress=None))]
pub fn report(
    py: Python<'_>,
    fit: PyRef<'_, Fit>,
    test: Option<(PyRows<'_>, PyLabels<'_>)>,
    name: String,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Findings> {
    let fit = fit.0.clone();
    let test: Option<Source> = test.map(|(rows, labels)| labelled(rows.source(None), Some(labels)));
    run(py, Threads::Own(threads), progress, |observer| {
        let request = ReportRequest { test: test.as_ref(), ..ReportRequest::new(name) };
        let found = flowgmm::report(&fit, &request, observer)?;
        let json = serde_json::to_string(&found).expect("plain data");
        Ok((json, found.to_page().to_html(), found.warnings))
    })
}
