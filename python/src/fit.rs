//! A fit, and what came of it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use flowgmm::{Checkpoint, Override, Request, Resume, SettingOrigin, data::DeclaredKind};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    errors::exception,
    model::Model,
    rows::{PyLabels, PyRows, labelled},
    run::{Threads, run},
};

/// A finished fit: the model, and the rows and settings it came from, which a report needs.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Fit(pub Arc<flowgmm::Fit>);

#[pymethods]
impl Fit {
    /// The model.
    fn model(&self) -> Model {
        Model::new(self.0.model.clone())
    }

    /// What the user should know.
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// All settings, as JSON.
    fn settings(&self) -> String {
        self.0.settings.tree().to_string()
    }

    /// Seconds that the fit took, from reading on.
    fn seconds(&self) -> f64 {
        self.0.seconds.as_secs_f64()
    }
}

/// How to fit, as Python says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FitOptions {
    preset: String,
    /// Settings by their path, as JSON.
    settings: Vec<(String, String)>,
    /// Columns by their kind.
    declared: Vec<(String, String)>,
    texts: Vec<String>,
    encoder: Option<PathBuf>,
    image_size: Option<(usize, usize)>,
    memory: Option<u64>,
    /// Directory, seconds between two, whether to go on from one.
    checkpoint: Option<(PathBuf, f64, bool)>,
    /// The column of a file that holds the labels.
    label: Option<String>,
    threads: Option<usize>,
}

impl FitOptions {
    /// Threads to fit with.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// The request for these rows.
    pub fn request(&self, rows: &PyRows<'_>, labels: Option<PyLabels<'_>>) -> PyResult<Request> {
        let mut source = labelled(rows.source(self.encoder.clone()), labels);
        if let Some(label) = &self.label {
            source = source.label_column(label);
        }
        let mut request = Request::new(source);
        request.preset = self.preset.parse().map_err(exception)?;
        for (path, json) in &self.settings {
            let value: serde_json::Value = serde_json::from_str(json)
                .map_err(|error| PyValueError::new_err(format!("setting {path}: {error}")))?;
            request.overrides.push(Override::from(path, value, SettingOrigin::Argument));
        }
        for (column, kind) in &self.declared {
            request.declared.push((column.clone(), declared(kind)?));
        }
        request.texts = self.texts.clone();
        request.image_size = self.image_size;
        request.memory = self.memory;
        request.checkpoint = match &self.checkpoint {
            None => None,
            Some((directory, seconds, resume)) => Some(Checkpoint {
                directory: directory.clone(),
                every: Duration::try_from_secs_f64(*seconds)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?,
                resume: if *resume { Resume::IfPresent } else { Resume::No },
            }),
        };
        Ok(request)
    }
}

fn declared(kind: &str) -> PyResult<DeclaredKind> {
    match kind {
        "numeric" => Ok(DeclaredKind::Numeric),
        "categorical" => Ok(DeclaredKind::Categorical),
        "date" => Ok(DeclaredKind::Date),
        "ignore" => Ok(DeclaredKind::Ignore),
        other => Err(PyValueError::new_err(format!(
            "unknown kind of column '{other}'; use numeric, categorical, date or ignore"
        ))),
    }
}

/// Fits a model.
#[pyfunction]
#[pyo3(signature = (rows, labels, options, progress=None))]
pub fn fit(
    py: Python<'_>,
    rows: PyRows<'_>,
    labels: Option<PyLabels<'_>>,
    options: FitOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fit> {
    let request = options.request(&rows, labels)?;
    let found =
        run(py, Threads::Own(options.threads), progress, |observer| flowgmm::fit(&request, observer))?;
    Ok(Fit(Arc::new(found)))
}

/// Fits the density of rows without labels, by a flow onto so many Gaussians.
#[pyfunction]
#[pyo3(signature = (rows, components, options, progress=None))]
pub fn density(
    py: Python<'_>,
    rows: PyRows<'_>,
    components: usize,
    options: FitOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fit> {
    let request = options.request(&rows, None)?;
    let found = run(py, Threads::Own(options.threads), progress, |observer| {
        flowgmm::density(&request, components, observer)
    })?;
    Ok(Fit(Arc::new(found)))
}
