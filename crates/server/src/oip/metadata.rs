//! What is served, and what it takes and gives.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use flowgmm::{Classifier as _, Rows, data::Role};
use serde_json::{Value, json};

use crate::{
    App,
    failure::{Failure, Result},
    routes::json_text,
    served::Served,
};

/// Name and version of the server.
pub async fn server() -> Response {
    let extensions = ["binary_tensor_data", "arrow"];
    json_text(
        json!({ "name": "flowgmm", "version": env!("CARGO_PKG_VERSION"), "extensions": extensions })
            .to_string(),
    )
}

/// Whether the server is alive.
pub async fn live() -> Response {
    json_text(json!({ "live": true }).to_string())
}

/// Whether all models can be asked.
pub async fn ready(State(app): State<Arc<App>>) -> Result<Response> {
    if app.leaving() {
        return Err(Failure::busy("the server is leaving"));
    }
    Ok(json_text(json!({ "ready": true }).to_string()))
}

/// Names, versions and states of the models.
pub async fn models(State(app): State<Arc<App>>) -> Response {
    let one = |served: &Arc<Served>| json!({ "name": served.name, "version": served.version.to_string(), "state": "READY" });
    let all: Vec<Value> = app.models.all().iter().map(one).collect();
    json_text(json!({ "models": all }).to_string())
}

/// A version of a model that is served.
pub fn versioned(app: &App, model: &str, version: Option<&str>) -> Result<Arc<Served>> {
    let served = app.models.get(model)?;
    match version {
        Some(version) if version != served.version.to_string() => Err(Failure::not_found(format!(
            "version {} of that model is served, and no other",
            served.version
        ))),
        _ => Ok(served),
    }
}

/// Inputs and outputs of a model.
pub async fn model(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    Ok(json_text(metadata(&*versioned(&app, &model, None)?).to_string()))
}

/// Inputs and outputs of a version of a model.
pub async fn model_version(
    State(app): State<Arc<App>>,
    Path((model, version)): Path<(String, String)>,
) -> Result<Response> {
    Ok(json_text(metadata(&*versioned(&app, &model, Some(&version))?).to_string()))
}

fn metadata(served: &Served) -> Value {
    let tensor = |name: &str, datatype: &str, shape: Vec<i64>| json!({ "name": name, "datatype": datatype, "shape": shape });
    let inputs: Vec<Value> = match served.model.rows() {
        Rows::Images { layout } => {
            let shape = vec![-1, layout.height as i64, layout.width as i64, layout.channels as i64];
            vec![tensor("image", "UINT8", shape)]
        }
        Rows::Matrix { columns } => columns.iter().map(|name| tensor(name, "FP64", vec![-1])).collect(),
        Rows::Table { encoding, .. } => {
            let first = |name: &str| encoding.features().iter().find(|feature| feature.column == name);
            let kind = |name: &str| match first(name).map(|feature| &feature.role) {
                Some(Role::Level { .. } | Role::Date { .. }) => "BYTES",
                _ => "FP64",
            };
            served.inputs.iter().map(|name| tensor(name, kind(name), vec![-1])).collect()
        }
    };
    let (k, dim) = (served.model.classes().len() as i64, served.model.gmm().dim() as i64);
    let outputs = [
        tensor("class", "BYTES", vec![-1]),
        tensor("probabilities", "FP64", vec![-1, k]),
        tensor("log_p", "FP64", vec![-1]),
        tensor("typicality", "FP64", vec![-1]),
        tensor("boundary", "FP64", vec![-1]),
        tensor("z", "FP64", vec![-1, dim]),
    ];
    json!({
        "name": served.name,
        "versions": [served.version.to_string()],
        "platform": "flowgmm",
        "inputs": inputs,
        "outputs": outputs,
        "parameters": { "classes": served.model.classes() },
    })
}

fn readiness(served: &Served) -> Response {
    json_text(json!({ "name": served.name, "ready": true }).to_string())
}

/// Whether a model can be asked.
pub async fn model_ready(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    Ok(readiness(&*versioned(&app, &model, None)?))
}

/// Whether a version is served.
pub async fn version_ready(
    State(app): State<Arc<App>>,
    Path((model, version)): Path<(String, String)>,
) -> Result<Response> {
    Ok(readiness(&*versioned(&app, &model, Some(&version))?))
}
