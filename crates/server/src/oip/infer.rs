//! Inference: a request becomes rows, and what the model says about them the tensors that were asked for.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use flowgmm::{
    Classifier as _, ImageArray, ImageShape, Predictions, Rows, Source,
    data::{Column, Frame, ImageLayout},
};
use hyper::body::Bytes;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{
    arrow,
    metadata::versioned,
    tensor::{Elements, Parameters, Tensor},
};
use crate::{
    App,
    compute::json,
    failure::{Failure, Result},
    queue::{Answer, Question},
    served::Served,
};

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The predicted class.
    Class,
    /// p(k | x).
    Probabilities,
    /// log p(x).
    LogP,
    /// How typical the row is.
    Typicality,
    /// Latent distance to the decision boundary.
    Boundary,
    /// The latent point.
    Z,
}

impl Output {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Class, Self::Probabilities, Self::LogP, Self::Typicality, Self::Boundary, Self::Z];

    /// What requests that name nothing get.
    const USUAL: [Self; 4] = [Self::Class, Self::Probabilities, Self::LogP, Self::Typicality];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Probabilities => "probabilities",
            Self::LogP => "log_p",
            Self::Typicality => "typicality",
            Self::Boundary => "boundary",
            Self::Z => "z",
        }
    }

    fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|output| output.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Failure::request(format!("there is no output of that name; there are {known}"))
        })
    }

    fn several<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Self>> {
        let names: Vec<Self> = names.map(Self::named).collect::<Result<_>>()?;
        Ok(if names.is_empty() { Self::USUAL.to_vec() } else { names })
    }
}

/// The header that says how many bytes of a body are JSON, if tensors of bytes follow it: an extension of the protocol.
const JSON_LENGTH: &str = "inference-header-content-length";

/// Scores rows.
pub async fn infer(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    scored(&app, &model, None, &query, &headers, body).await
}

/// Scores rows by a version of a model.
pub async fn infer_version(
    State(app): State<Arc<App>>,
    Path((model, version)): Path<(String, String)>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    scored(&app, &model, Some(&version), &query, &headers, body).await
}

async fn scored(
    app: &Arc<App>,
    model: &str,
    version: Option<&str>,
    query: &BTreeMap<String, String>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response> {
    let served = versioned(app, model, version)?;
    let form = Form::of(headers)?;
    let asked = query
        .get("outputs")
        .map(|names| Output::several(names.split(',').filter(|n| !n.is_empty())))
        .transpose()?;
    let body = app.body(body).await?;
    let question = Infer { form, body, asked, binary: Vec::new(), most: app.limits.rows, id: None };
    let reply = app.queue.put(served, Box::new(question))?;
    let Answer { kind, bytes, json } = match tokio::time::timeout(app.limits.answer_time, reply).await {
        Ok(Ok(answer)) => answer?,
        Ok(Err(_)) => return Err(Failure::busy("the server is leaving")),
        Err(_) => return Err(Failure::busy("the answer took too long; send fewer rows, or come back later")),
    };
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(length) = json {
        response.headers_mut().insert(HeaderName::from_static(JSON_LENGTH), HeaderValue::from(length));
    }
    Ok(response)
}

/// How a request is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// So many bytes of JSON, and then those of tensors.
    JsonAndBytes(usize),
    Arrow,
}

impl Form {
    fn of(headers: &HeaderMap) -> Result<Self> {
        if let Some(length) = headers.get(JSON_LENGTH) {
            let length = length.to_str().ok().and_then(|text| text.parse().ok());
            let wrong =
                || Failure::request(format!("{JSON_LENGTH} must be the number of bytes of JSON in the body"));
            return length.map(Self::JsonAndBytes).ok_or_else(wrong);
        }
        match headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes()) {
            None => Ok(Self::Json),
            Some(kind) if kind.starts_with(b"application/json") => Ok(Self::Json),
            Some(kind) if kind.starts_with(b"application/vnd.apache.arrow") => Ok(Self::Arrow),
            Some(_) => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                "send JSON as application/json, or Arrow IPC as application/vnd.apache.arrow.stream",
            )),
        }
    }
}

/// A request to score.
struct Infer {
    form: Form,
    body: Bytes,
    /// Outputs that the address names; those of the body, if absent.
    asked: Option<Vec<Output>>,
    /// Outputs whose elements shall follow the JSON.
    binary: Vec<Output>,
    most: usize,
    id: Option<String>,
}

#[derive(Deserialize)]
struct Request {
    id: Option<String>,
    inputs: Vec<Tensor>,
    #[serde(default)]
    outputs: Vec<Wanted>,
    #[serde(default)]
    parameters: RequestParameters,
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RequestParameters {
    /// Whether all elements of the answer shall follow its JSON, unless an output says otherwise.
    binary_data_output: bool,
}

impl Question for Infer {
    fn size(&self) -> usize {
        self.body.len()
    }

    fn rows(&mut self, served: &Served) -> Result<Array2<f64>> {
        let source = match self.form {
            Form::Arrow => arrow::source(&self.body, self.most)?,
            Form::Json | Form::JsonAndBytes(_) => source(served, self.inputs()?, self.most)?,
        };
        self.body = Bytes::new();
        let x = flowgmm::read_rows(served.model.rows(), &source, &mut ())?;
        Ok(x)
    }

    fn answer(&self, served: &Served, found: &Predictions) -> Result<Answer> {
        let outputs = self.asked.as_deref().unwrap_or(&Output::USUAL);
        if self.form == Form::Arrow {
            return arrow::answer(served, found, outputs);
        }
        let mut bytes = Vec::new();
        let tensor = |output: &Output| {
            let tensor = tensor(*output, served, found);
            if self.binary.contains(output) { tensor.after_json(&mut bytes) } else { tensor }
        };
        let tensors: Vec<OutputTensor> = outputs.iter().map(tensor).collect();
        let binary = tensors.iter().any(|tensor| tensor.data.is_none());
        let version = served.version.to_string();
        let answer = Inferred {
            model_name: &served.name,
            model_version: &version,
            id: self.id.as_deref(),
            outputs: tensors,
        };
        let mut json = serde_json::to_vec(&answer).expect("plain data");
        Ok(match binary {
            false => Answer { kind: "application/json", bytes: json, json: None },
            true => {
                let length = json.len();
                json.extend(bytes);
                Answer { kind: "application/octet-stream", bytes: json, json: Some(length) }
            }
        })
    }
}

impl Infer {
    /// The tensors of the request, whose other parts are remembered.
    fn inputs(&mut self) -> Result<Vec<Tensor>> {
        let (text, mut rest) = match self.form {
            Form::JsonAndBytes(length) => self
                .body
                .split_at_checked(length)
                .ok_or_else(|| Failure::request(format!("{JSON_LENGTH} is more than the body has")))?,
            Form::Json | Form::Arrow => (&self.body[..], &[][..]),
        };
        let Request { id, mut inputs, outputs, parameters } = json(text)?;
        for tensor in &mut inputs {
            let Some(size) = tensor.parameters.binary_data_size else { continue };
            let short = || Failure::request("the body has fewer bytes than its tensors");
            let (bytes, after) = rest.split_at_checked(size).ok_or_else(short)?;
            rest = after;
            tensor.data = Elements::from_bytes(&tensor.datatype, bytes).ok_or_else(|| {
                Failure::request("the bytes of a tensor are not finite elements of its datatype")
            })?;
        }
        if !rest.is_empty() {
            return Err(Failure::request("the body has more bytes than its tensors"));
        }
        if self.asked.is_none() {
            self.asked = Some(Output::several(outputs.iter().map(|output| output.name.as_str()))?);
        }
        let all = parameters.binary_data_output;
        for output in self.asked.iter().flatten() {
            let named = outputs.iter().find(|wanted| wanted.name == output.name());
            if named.and_then(|wanted| wanted.parameters.binary_data).unwrap_or(all) {
                self.binary.push(*output);
            }
        }
        self.id = id;
        Ok(inputs)
    }
}

#[derive(Serialize)]
struct Inferred<'a> {
    model_name: &'a str,
    model_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    outputs: Vec<OutputTensor<'a>>,
}

#[derive(Serialize)]
struct OutputTensor<'a> {
    name: &'static str,
    datatype: &'static str,
    shape: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<OutputParameters>,
}

#[derive(Serialize)]
struct OutputParameters {
    binary_data_size: usize,
}

impl OutputTensor<'_> {
    /// The tensor without its elements, which are added to `bytes`.
    fn after_json(self, bytes: &mut Vec<u8>) -> Self {
        let start = bytes.len();
        match &self.data {
            Some(Data::Numbers(values)) => values.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            Some(Data::Texts(texts)) => {
                for text in texts {
                    bytes.extend((text.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
            None => {}
        }
        let parameters = Some(OutputParameters { binary_data_size: bytes.len() - start });
        Self { data: None, parameters, ..self }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Texts(Vec<&'a str>),
    Numbers(Vec<f64>),
}

/// An output for some rows, as a tensor; numbers that are not finite are null.
fn tensor<'a>(output: Output, served: &'a Served, found: &Predictions) -> OutputTensor<'a> {
    let n = found.n();
    let wide =
        |values: ArrayView2<f64>| (vec![n, values.ncols()], Data::Numbers(values.iter().copied().collect()));
    let (shape, data) = match output {
        Output::Class => {
            let names = served.model.classes();
            (vec![n], Data::Texts(found.classes().into_iter().map(|k| names[k].as_str()).collect()))
        }
        Output::Probabilities => wide(found.log_probs.mapv(f64::exp).view()),
        Output::LogP => (vec![n], Data::Numbers(found.log_marginal.clone())),
        Output::Typicality => (vec![n], Data::Numbers(served.model.typicality(&found.log_marginal))),
        Output::Boundary => (vec![n], Data::Numbers(served.model.boundary(found.z.view()))),
        Output::Z => wide(found.z.view()),
    };
    let datatype = if matches!(data, Data::Texts(_)) { "BYTES" } else { "FP64" };
    OutputTensor { name: output.name(), datatype, shape, data: Some(data), parameters: None }
}

/// The rows of tensors.
fn source(served: &Served, mut inputs: Vec<Tensor>, most: usize) -> Result<Source> {
    for tensor in &inputs {
        check(tensor, most)?;
    }
    match (served.model.rows(), inputs.as_mut_slice()) {
        (_, []) => Err(Failure::request("there are no inputs; send a tensor for each column")),
        (Rows::Images { layout }, [image]) => images(layout, image),
        (Rows::Images { .. }, _) => Err(Failure::request("a model of images takes one tensor, named image")),
        (Rows::Matrix { columns }, [matrix]) if matrix.shape.len() == 2 && matrix.shape[1] != 1 => {
            let [n, d] = [matrix.shape[0], matrix.shape[1]];
            if d != columns.len() || !matrix.data.are_numbers() {
                return Err(Failure::request(format!(
                    "a tensor of all columns has shape [n, {}] and numbers",
                    columns.len()
                )));
            }
            let values = std::mem::take(&mut matrix.data.numbers);
            let x = Array2::from_shape_vec((n, d), values).expect("as many elements as the shape says");
            Ok(Source::frame(frame(
                columns
                    .iter()
                    .zip(x.columns())
                    .map(|(name, values)| (name.clone(), flowgmm::data::Cells::Numbers(values.to_vec()))),
                n,
            )?))
        }
        (Rows::Matrix { .. } | Rows::Table { .. }, _) => {
            let n = inputs[0].shape[0];
            for tensor in &inputs {
                if !(tensor.shape.len() == 1 || tensor.shape.len() == 2 && tensor.shape[1] == 1) {
                    return Err(Failure::request(format!(
                        "input '{}': a column has shape [n] or [n, 1]",
                        tensor.name
                    )));
                }
                if tensor.shape[0] != n {
                    let message =
                        format!("input '{}' has {} rows, the first input {n}", tensor.name, tensor.shape[0]);
                    return Err(Failure::request(message));
                }
            }
            let columns = inputs.into_iter().map(|tensor| (tensor.name, tensor.data.into_cells()));
            Ok(Source::frame(frame(columns, n)?))
        }
    }
}

fn frame(columns: impl Iterator<Item = (String, flowgmm::data::Cells)>, n: usize) -> Result<Frame> {
    let columns = columns.map(|(name, cells)| Column { name, cells }).collect();
    Frame::new("the request", columns, (1..=n as u64).collect())
        .map_err(|error| Failure::from(flowgmm::Error::from(error)))
}

/// Shape, type and number of elements of a tensor.
fn check(tensor: &Tensor, most: usize) -> Result<()> {
    let Tensor { name, shape, datatype, data, .. } = tensor;
    let name: String = name.chars().take(100).collect();
    let wrong = |what: String| Err(Failure::request(format!("input '{name}': {what}")));
    let texts = matches!(datatype.as_str(), "BYTES" | "BOOL");
    let numbers = [
        "FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
        "BF16",
    ];
    if !texts && !numbers.contains(&datatype.as_str()) {
        return wrong("its datatype is none of the protocol's".into());
    }
    if !texts && !data.are_numbers() {
        return wrong(format!("it has texts, and its datatype is {datatype}"));
    }
    let Some(&rows) = shape.first() else { return wrong("its shape is empty; use [n] or [n, 1]".into()) };
    if rows == 0 {
        return wrong("it has no rows".into());
    }
    if rows > most {
        return Err(Failure::too_large(format!("{rows} rows; a request has at most {most}")));
    }
    match shape.iter().try_fold(1_usize, |all, side| all.checked_mul(*side)) {
        Some(all) if all == data.len() => Ok(()),
        _ => wrong(format!("it has {} elements, and its shape {shape:?}", data.len())),
    }
}

/// Images `[n, height, width]` or `[n, height, width, channels]`; those of other sizes are resized, as in files.
fn images(layout: &ImageLayout, image: &mut Tensor) -> Result<Source> {
    let (n, shape) = match *image.shape.as_slice() {
        [n, height, width] => (n, ImageShape { channels: 1, height, width }),
        [n, height, width, channels] => (n, ImageShape { channels, height, width }),
        _ => {
            let ImageLayout { height, width, channels } = layout;
            return Err(Failure::request(format!("images have shape [n, {height}, {width}, {channels}]")));
        }
    };
    let ImageShape { channels, height, width } = shape;
    if !matches!(channels, 1 | 3) || !(1..=1024).contains(&height) || !(1..=1024).contains(&width) {
        return Err(Failure::request("images have 1 or 3 channels, and sides of 1 to 1024 pixels"));
    }
    let Elements { numbers, .. } = &image.data;
    if let Some(wrong) = numbers.iter().find(|v| !(0.0..=255.0).contains(*v) || v.fract() != 0.0) {
        return Err(Failure::request(format!("pixel values are whole numbers from 0 to 255, got {wrong}")));
    }
    let area = height * width;
    let mut pixels = Vec::with_capacity(numbers.len());
    for at in 0..n {
        let one = &numbers[at * area * channels..(at + 1) * area * channels];
        for c in 0..channels {
            pixels.extend((0..area).map(|place| one[place * channels + c] as u8));
        }
    }
    Ok(Source::images(ImageArray::new(shape, pixels)?))
}
