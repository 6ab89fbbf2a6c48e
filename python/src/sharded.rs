//! Fits whose rows are in shards on workers: the driver's side, and a worker's.

use std::sync::{Arc, Mutex, PoisonError};

use flowgmm::{
    Error,
    sharded::{self, Every, RowKeys, Sampling, Workers, shard_of},
    train::{Reduce, Reduced},
};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    errors::exception,
    fit::{Fit, FitOptions},
    rows::{PyLabels, PyRows, Table},
    run::{Calls, Threads, run_calling},
};

/// Workers that a Python function reaches.
#[derive(Debug)]
struct Called {
    calls: Calls,
    train: Py<PyAny>,
}

impl Workers for Called {
    fn train(&mut self, job: Vec<u8>) -> flowgmm::Result<Vec<u8>> {
        let train = Python::attach(|py| self.train.clone_ref(py));
        self.calls.ask(move |py| train.call1(py, (PyBytes::new(py, &job),))?.extract::<Vec<u8>>(py))
    }
}

/// Fits a model to rows that workers hold: these are the labelled rows and the sample, of `total` rows without a label. `train` lets
/// workers train the job that it is given, and returns the trained state.
#[pyfunction]
#[pyo3(signature = (rows, labels, options, total, train, progress=None))]
pub fn fit_on(
    py: Python<'_>,
    rows: PyRows<'_>,
    labels: Option<PyLabels<'_>>,
    options: FitOptions,
    total: usize,
    train: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fit> {
    let request = options.request(&rows, labels)?;
    let found = run_calling(py, Threads::Own(options.threads()), progress, |observer, calls| {
        flowgmm::fit_on(&request, total, &mut Called { calls, train }, observer)
    })?;
    Ok(Fit(Arc::new(found)))
}

/// The shard of each row of a table without labels, and whether it is sampled, as far as it has no label.
#[pyfunction]
pub fn row_keys<'py>(
    py: Python<'py>,
    table: &Table,
    seed: u64,
    shards: usize,
    sample: usize,
    total: usize,
) -> (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<bool>>) {
    let (shard, sampled): (Vec<i32>, Vec<bool>) = py.detach(|| {
        let sampling = Sampling::new(sample, total);
        let keys = table.frames.iter().flat_map(|frame| RowKeys::new(seed).of(frame, None));
        keys.map(|key| (shard_of(key, shards) as i32, sampling.holds(key))).unzip()
    });
    (shard.into_pyarray(py), sampled.into_pyarray(py))
}

/// A worker of a job.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Worker(Mutex<Option<sharded::Worker>>);

/// Sums by a Python function of an array and the name of an operation.
#[derive(Debug)]
struct CalledReduce {
    calls: Arc<Calls>,
    reduce: Py<PyAny>,
}

impl CalledReduce {
    fn call<T: numpy::Element + Copy + 'static>(&self, values: &mut [T], operation: &'static str) -> Reduced {
        let (own, n) = (values.to_vec(), values.len());
        let reduce = Python::attach(|py| self.reduce.clone_ref(py));
        let found = self.calls.ask(move |py| {
            let found = reduce.call1(py, (own.into_pyarray(py), operation))?;
            let found = found.bind(py).cast::<PyArray1<T>>().map_err(|error| {
                PyValueError::new_err(format!("a reduction returned another array: {error}"))
            })?;
            if found.len()? != n {
                return Err(PyValueError::new_err("a reduction returned an array of another length"));
            }
            Ok(found.to_vec()?)
        });
        values.copy_from_slice(&found.map_err(|error| error.to_string())?);
        Ok(())
    }
}

impl Reduce for CalledReduce {
    fn max(&mut self, values: &mut [f64]) -> Reduced {
        self.call(values, "max")
    }

    fn sum(&mut self, values: &mut [i64]) -> Reduced {
        self.call(values, "sum")
    }
}

#[pymethods]
impl Worker {
    /// A worker for the job of these bytes.
    #[new]
    fn new(py: Python<'_>, job: &[u8]) -> PyResult<Self> {
        let worker = py.detach(|| sharded::Worker::new(job)).map_err(exception)?;
        Ok(Self(Mutex::new(Some(worker))))
    }

    /// Number of rows that it took.
    fn __len__(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, sharded::Worker::n)
    }

    /// Takes rows of its shards.
    fn add(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        py.detach(|| {
            let mut worker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let worker = worker.as_mut().ok_or_else(trained)?;
            table.frames.iter().try_for_each(|frame| worker.add(frame))
        })
        .map_err(exception)
    }

    /// Trains its shards together with the other workers, and returns the trained state. `reduce` is called with an array and "max" or
    /// "sum" by the thread that calls this; `keep`, if there is one, with a checkpoint every so many steps.
    #[pyo3(signature = (shards, resume, reduce, every, keep, threads=None))]
    #[allow(clippy::too_many_arguments)] // named in Python
    fn train<'py>(
        &self,
        py: Python<'py>,
        shards: Vec<usize>,
        resume: Option<Vec<u8>>,
        reduce: Py<PyAny>,
        every: usize,
        keep: Option<Py<PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let worker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.ok_or_else(|| exception(trained()))?;
        let state = run_calling(py, Threads::Own(threads), None, |observer, calls| {
            let calls = Arc::new(calls);
            let mut reduce = CalledReduce { calls: Arc::clone(&calls), reduce };
            let mut keep = keep.map(|keep| {
                move |bytes: Vec<u8>| {
                    let keep = Python::attach(|py| keep.clone_ref(py));
                    calls.ask(move |py| keep.call1(py, (PyBytes::new(py, &bytes),)).map(drop))
                }
            });
            let every = keep.as_mut().map(|keep| Every { steps: every, keep });
            worker.train(&shards, resume.as_deref(), &mut reduce, every, observer)
        })?;
        Ok(PyBytes::new(py, &state))
    }
}

fn trained() -> Error {
    Error::Request("this worker has trained already".into())
}
