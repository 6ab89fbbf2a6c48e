//! What a model is: list, card, page, file, explanation.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use flowgmm::{Classifier as _, ExplainRequest, Rows, Source, bijection::BijectionSpec, study::ColumnFacts};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{answer, labels::attachment};
use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
    routes::json_text,
    served::Served,
};

/// What explain pages may do: show themselves.
const PAGE_CSP: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; \
                        frame-ancestors 'self'; base-uri 'none'; form-action 'none'";
/// Images that the page of explain is made with; more would keep its reader waiting.
const PAGE_IMAGES: usize = 500;

#[derive(Serialize)]
struct Info {
    name: String,
    version: u64,
    kind: &'static str,
    classes: Vec<String>,
    columns: Vec<ColumnFacts>,
    dim: usize,
    image: Option<Value>,
    layers: Vec<Layer>,
    data: Option<Data>,
    /// Why there are no rows to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_error: Option<String>,
    warnings: Vec<String>,
    has_forest: bool,
}

#[derive(Serialize)]
struct Data {
    rows: usize,
    labelled: usize,
    name: String,
    /// Whether the model drew them itself, for want of data.
    samples: bool,
}

/// A layer of the flow.
#[derive(Serialize)]
pub struct Layer {
    /// From 1.
    pub index: usize,
    /// What it is.
    pub name: &'static str,
    /// Its channels.
    pub channels: usize,
    /// Height and width of the places of a channel.
    pub height: usize,
    /// See `height`.
    pub width: usize,
}

/// The layers of a model's flow.
pub fn layers(served: &Served) -> Vec<Layer> {
    let specs: &[BijectionSpec] = &served.model.gmm().flow().spec().layers;
    let shapes = flowgmm::insight::layer_shapes(&served.model);
    let layer = |(at, (spec, shape)): (usize, (&BijectionSpec, flowgmm::bijection::ImageShape))| Layer {
        index: at + 1,
        name: spec.kind(),
        channels: shape.channels,
        height: shape.height,
        width: shape.width,
    };
    specs.iter().zip(shapes).enumerate().map(layer).collect()
}

/// The models.
pub async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let text = app
        .compute(|app| {
            let all: Vec<Info> = app.models.all().iter().map(|served| info(served)).collect();
            Ok(serde_json::to_string(&all).expect("plain data"))
        })
        .await?;
    Ok(json_text(text))
}

fn info(served: &Served) -> Info {
    let model = &served.model;
    let (kind, image) = match model.rows() {
        Rows::Matrix { .. } => ("matrix", None),
        Rows::Table { .. } => ("table", None),
        Rows::Images { layout } => {
            let shape =
                json!({ "height": layout.height, "width": layout.width, "channels": layout.channels });
            ("images", Some(shape))
        }
    };
    let study = served.study();
    let data = study.as_ref().ok().map(|study| Data {
        rows: study.n(),
        labelled: study.labels().iter().flatten().count(),
        name: study.name().into(),
        samples: !served.has_data(),
    });
    Info {
        name: served.name.clone(),
        version: served.version,
        kind,
        classes: model.classes().to_vec(),
        columns: study.as_ref().map(|study| study.column_facts().to_vec()).unwrap_or_default(),
        dim: model.gmm().dim(),
        image,
        layers: layers(served),
        warnings: study.as_ref().map(|study| study.warnings().to_vec()).unwrap_or_default(),
        data_error: study.err().map(|failure| failure.message),
        data,
        has_forest: model.blend().is_some(),
    }
}

/// What a model is, and why.
pub async fn card(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    answer(&app, model, |_, served| {
        served.card(|| {
            let card = flowgmm::card(&served.model, served.source(), &mut ())?;
            let mut card = serde_json::to_value(&card).expect("plain data");
            card["history"] = serde_json::to_value(&served.model.history().epochs).expect("plain data");
            card["served_version"] = json!(served.version);
            card["flow_weight"] = json!(served.model.blend().map(|blend| blend.flow_weight()));
            Ok(card)
        })
    })
    .await
}

/// The source to explain a model with.
fn explained(served: &Served) -> Result<Source> {
    match served.source() {
        Some(source) => Ok(source.clone()),
        None => {
            // Samples of the model itself, without labels.
            Ok(served.study()?.relabelled(&served.model, &[])?)
        }
    }
}

/// The page of explain.
pub async fn page(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    let html = app.compute(move |app| {
        let served = app.models.get(&model)?;
        let rows = served.model.rows().layout().map(|_| PAGE_IMAGES);
        let request = ExplainRequest { rows, ..ExplainRequest::new(explained(&served)?) };
        let found = flowgmm::explain(&served.model, &request, &mut ())?;
        Ok(found.to_page().to_html())
    });
    let mut response = Response::new(Body::from(html.await?));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_CSP));
    Ok(response)
}

#[derive(Deserialize)]
#[serde(default)]
struct ExplainAsked {
    rows: Option<usize>,
    alpha: f64,
    seed: u64,
}

impl Default for ExplainAsked {
    fn default() -> Self {
        Self { rows: Some(1000), alpha: 0.1, seed: 0 }
    }
}

/// What the model does with the data, in JSON.
pub async fn explain(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |app, served| {
        let ExplainAsked { rows, alpha, seed } = body.read()?;
        if rows.is_some_and(|rows| rows > app.limits.rows) {
            return Err(Failure::too_large(format!("at most {} rows can be explained", app.limits.rows)));
        }
        let request = ExplainRequest { rows, alpha, seed, ..ExplainRequest::new(explained(served)?) };
        Ok(flowgmm::explain(&served.model, &request, &mut ())?)
    })
    .await
}

/// The model file.
pub async fn file(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    let name = model.clone();
    let bytes = app.compute(move |app| Ok(app.models.get(&model)?.model.to_bytes()));
    let mut response = super::map::binary(bytes.await?);
    response.headers_mut().insert(header::CONTENT_DISPOSITION, attachment(&name, "flow"));
    Ok(response)
}
