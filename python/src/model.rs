//! A fitted model in Python.

use std::{path::PathBuf, sync::Arc};

use flowgmm::{Classifier as _, Conformal, Observer, SampleRequest, Source, insight, tensor::Place};
use numpy::{
    IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2,
    ndarray::{Array2, Axis, CowArray},
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict},
};

use crate::{
    errors::exception,
    rows::{PyLabels, PyRows, labelled, to_columns},
    run::{Threads, run},
};

/// A fitted model. It never changes; threads may share it.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Model(Arc<flowgmm::Model>);

/// Rows as columns: name, and numbers or texts.
type Columns<'py> = Vec<(String, Bound<'py, PyAny>)>;

impl Model {
    /// Of the library's model.
    pub fn new(model: flowgmm::Model) -> Self {
        Self(Arc::new(model))
    }

    /// The library's model.
    pub fn shared(&self) -> Arc<flowgmm::Model> {
        Arc::clone(&self.0)
    }
}

/// What is asked about rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Probs,
    LogProbs,
    LogConditional,
    LogDensity,
    Latent,
    Boundary,
    Typicality,
}

impl Field {
    const ALL: [(&'static str, Self); 7] = [
        ("probs", Self::Probs),
        ("log_probs", Self::LogProbs),
        ("log_conditional", Self::LogConditional),
        ("log_density", Self::LogDensity),
        ("latent", Self::Latent),
        ("boundary", Self::Boundary),
        ("typicality", Self::Typicality),
    ];

    fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, field)| *field);
        found.ok_or_else(|| PyValueError::new_err(format!("unknown field '{name}'")))
    }
}

#[pymethods]
impl Model {
    /// The model in a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| flowgmm::Model::load(&path, &Place::cpu()));
        model.map(Self::new).map_err(exception)
    }

    /// The model in the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let model = py.detach(|| flowgmm::Model::from_bytes(bytes, &Place::cpu()));
        model.map(Self::new).map_err(exception)
    }

    /// Writes the file that the command reads.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(exception)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_bytes()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// Writes an ONNX file.
    fn export_onnx(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| flowgmm::export_onnx(&self.0, &path)).map_err(exception)
    }

    /// The names of the classes.
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    /// The names of the user's columns that it reads; of images, none.
    fn input_columns(&self) -> Vec<String> {
        self.0.input_columns()
    }

    /// The columns of text that are embedded.
    fn text_columns(&self) -> Vec<String> {
        self.0.rows().texts().iter().map(|text| text.column.clone()).collect()
    }

    /// The column that labels were in.
    fn label(&self) -> Option<String> {
        self.0.rows().label().map(String::from)
    }

    /// Channels, height and width of images.
    fn image_shape(&self) -> Option<(usize, usize, usize)> {
        self.0.rows().layout().map(|layout| (layout.channels, layout.height, layout.width))
    }

    /// The names of the numbers that a row becomes.
    fn features(&self) -> Vec<String> {
        self.0.columns()
    }

    /// Dimensions of the latent space.
    fn latent_dim(&self) -> usize {
        self.0.gmm().dim()
    }

    /// Layers of the flow.
    fn n_layers(&self) -> usize {
        self.0.n_layers()
    }

    /// The layers of the flow, in words.
    fn layers(&self) -> Vec<String> {
        self.0.gmm().flow().spec().layers.iter().map(|layer| layer.kind().to_string()).collect()
    }

    /// What log-probabilities are divided by.
    fn temperature(&self) -> f64 {
        self.0.temperature()
    }

    /// Means of the mixture's components in the latent space, and the class of each.
    fn means<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray2<f64>>, Vec<usize>) {
        let mixture = self.0.gmm().mixture();
        (mixture.values().means.into_pyarray(py), mixture.spec().class_of())
    }

    /// The model without the forest: predictions by the flow's own Bayes rule.
    fn pure_flow(&self) -> Self {
        Self::new((*self.0).clone().pure_flow())
    }

    /// What was decided about the fit: what, choice, why.
    fn decisions(&self) -> Vec<(String, String, String)> {
        let of = |d: &flowgmm::Decision| (d.what.clone(), d.choice.clone(), d.why.clone());
        self.0.decisions().iter().map(of).collect()
    }

    /// The epochs of training, as JSON.
    fn history(&self) -> String {
        serde_json::to_string(&self.0.history().epochs).expect("plain data")
    }

    /// The model card, as JSON.
    #[pyo3(signature = (threads=None))]
    fn card(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<String> {
        let model = self.shared();
        let card = run(py, Threads::Kept(threads), None, |observer| flowgmm::card(&model, None, observer))?;
        Ok(serde_json::to_string(&card).expect("plain data"))
    }

    /// What the model says about rows: an array for each field, and what the user should know about the rows.
    #[pyo3(signature = (rows, fields, encoder=None, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: PyRows<'_>,
        fields: Vec<String>,
        encoder: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
        let asked = fields.iter().map(|name| Field::named(name)).collect::<PyResult<Vec<_>>>()?;
        let (model, source) = (self.shared(), rows.source(encoder));
        let (arrays, warnings) =
            run(py, Threads::Kept(threads), None, |observer| score(&model, &source, &asked, observer))?;
        let found = PyDict::new(py);
        for (name, array) in fields.iter().zip(arrays) {
            let array = match Field::named(name)? {
                Field::LogDensity | Field::Boundary | Field::Typicality => {
                    array.into_raw_vec_and_offset().0.into_pyarray(py).into_any()
                }
                _ => array.into_pyarray(py).into_any(),
            };
            found.set_item(name, array)?;
        }
        Ok((found, warnings))
    }

    /// Activations after a layer of the flow; latent points after the last.
    #[pyo3(signature = (rows, layer=None, encoder=None, threads=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        rows: PyRows<'_>,
        layer: Option<usize>,
        encoder: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, source) = (self.shared(), rows.source(encoder));
        let z = run(py, Threads::Kept(threads), None, |observer| {
            let chunks = flowgmm::encode(&model, &source, layer)?.observed_by(observer);
            let mut z = Array2::zeros((0, model.gmm().dim()));
            for chunk in chunks {
                z.append(Axis(0), chunk?.z.view()).expect("as many columns");
            }
            Ok(z)
        })?;
        Ok(z.into_pyarray(py))
    }

    /// Rows of latent points, in the user's columns.
    #[pyo3(signature = (z, layer=None, threads=None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
        layer: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Columns<'py>> {
        let (model, z) = (self.shared(), z.as_array());
        let frame = run(py, Threads::Kept(threads), None, |_| {
            model.rows().decode(flowgmm::decode(&model, z, layer)?.view())
        })?;
        to_columns(py, frame)
    }

    /// New rows in the user's columns; the last column is the class.
    #[pyo3(signature = (n, class_, temperature, seed, threads=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        class_: Option<String>,
        temperature: f64,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Columns<'py>> {
        let (model, request) = (self.shared(), SampleRequest { n, class: class_, temperature, seed });
        let frame = run(py, Threads::Kept(threads), None, |_| {
            let mut frames = flowgmm::sample(&model, &request)?.map(|samples| samples.to_frame(&model));
            let mut all = frames.next().expect("at least one chunk")?;
            for frame in frames {
                all.append(frame?, &[])?;
            }
            Ok(all)
        })?;
        to_columns(py, frame)
    }

    /// The model at the temperature that suits labelled rows, its scores before and after as JSON, and warnings.
    #[pyo3(signature = (rows, labels, encoder=None, threads=None))]
    fn calibrate(
        &self,
        py: Python<'_>,
        rows: PyRows<'_>,
        labels: PyLabels<'_>,
        encoder: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<(Self, String, Vec<String>)> {
        let (model, source) = (self.shared(), labelled(rows.source(encoder), Some(labels)));
        let found =
            run(py, Threads::Kept(threads), None, |observer| flowgmm::calibrate(&model, &source, observer))?;
        let scores = serde_json::json!({ "before": found.before, "after": found.after }).to_string();
        Ok((Self::new(found.model), scores, found.warnings))
    }

    /// Scores on labelled rows, as JSON, and warnings.
    #[pyo3(signature = (rows, labels, encoder=None, threads=None))]
    fn evaluate(
        &self,
        py: Python<'_>,
        rows: PyRows<'_>,
        labels: PyLabels<'_>,
        encoder: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<(String, Vec<String>)> {
        let (model, source) = (self.shared(), labelled(rows.source(encoder), Some(labels)));
        let found =
            run(py, Threads::Kept(threads), None, |observer| flowgmm::evaluate(&model, &source, observer))?;
        Ok((serde_json::to_string(&found).expect("plain data"), found.warnings))
    }

    /// Rows most worth labelling, best first: row, gain, entropy, density, distance.
    #[pyo3(signature = (rows, labelled_rows, n, encoder=None, threads=None))]
    fn label_next(
        &self,
        py: Python<'_>,
        rows: PyRows<'_>,
        labelled_rows: Option<PyRows<'_>>,
        n: usize,
        encoder: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Suggested>> {
        let model = self.shared();
        let (source, known) = (rows.source(encoder.clone()), labelled_rows.map(|rows| rows.source(encoder)));
        let found = run(py, Threads::Kept(threads), None, |observer| {
            let x = flowgmm::read_rows(model.rows(), &source, observer)?;
            let known =
                known.map(|source| flowgmm::read_rows(model.rows(), &source, observer)).transpose()?;
            Ok(insight::label_next(&model, x.view(), known.as_ref().map(|x| x.view()), n))
        })?;
        Ok(found.into_iter().map(|s| (s.row, s.gain, s.entropy, s.density, s.distance)).collect())
    }
}

/// A row to label, its gain, entropy, density and distance.
type Suggested = (usize, f64, f64, f64, f64);

/// The fields of all rows, each `[n, columns]`, chunk by chunk.
fn score(
    model: &flowgmm::Model,
    source: &Source,
    fields: &[Field],
    observer: &mut dyn Observer,
) -> flowgmm::Result<(Vec<Array2<f64>>, Vec<String>)> {
    let k = model.classes().len();
    let width = |field: &Field| match field {
        Field::Probs | Field::LogProbs | Field::LogConditional => k,
        Field::Latent => model.gmm().dim(),
        Field::LogDensity | Field::Boundary | Field::Typicality => 1,
    };
    let mut arrays: Vec<Array2<f64>> = fields.iter().map(|field| Array2::zeros((0, width(field)))).collect();
    let mut chunks = flowgmm::predict(model, source)?.observed_by(observer);
    for chunk in chunks.by_ref() {
        let found = chunk?.predictions;
        let column =
            |values: Vec<f64>| Array2::from_shape_vec((values.len(), 1), values).expect("one column");
        for (array, field) in arrays.iter_mut().zip(fields) {
            let rows = match field {
                // As the command writes them, to the last bit.
                Field::Probs => CowArray::from(found.log_probs.mapv(f64::exp)),
                Field::LogProbs => found.log_probs.view().into(),
                Field::LogConditional => found.log_conditional.view().into(),
                Field::Latent => found.z.view().into(),
                Field::LogDensity => column(found.log_marginal.clone()).into(),
                Field::Boundary => column(model.boundary(found.z.view())).into(),
                Field::Typicality => column(model.typicality(&found.log_marginal)).into(),
            };
            array.append(Axis(0), rows.view()).expect("as many columns");
        }
    }
    let warnings = chunks.into_warnings();
    Ok((arrays, warnings))
}

/// Which classes the prediction set of each row holds, by split-conformal prediction: log-probabilities of rows and of
/// calibration rows, and the classes of the latter.
#[pyfunction]
pub fn conformal_sets<'py>(
    py: Python<'py>,
    log_probs: PyReadonlyArray2<'py, f64>,
    calibration: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, i64>,
    alpha: f64,
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(PyValueError::new_err(format!("alpha must be between 0 and 1, got {alpha}")));
    }
    let k = calibration.as_array().ncols();
    let y: Option<Vec<usize>> =
        y.as_array().iter().map(|&y| usize::try_from(y).ok().filter(|y| *y < k)).collect();
    let fits =
        |y: &Vec<usize>| y.len() == calibration.as_array().nrows() && log_probs.as_array().ncols() == k;
    let Some(y) = y.filter(fits) else {
        return Err(PyValueError::new_err("one class for each calibration row"));
    };
    Ok(Conformal::fit(calibration.as_array(), &y, alpha).sets(log_probs.as_array()).into_pyarray(py))
}
