//! All rows at once: one number for each, as bytes.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use flowgmm::study::Field;
use serde::Serialize;

use super::answer;
use crate::{App, failure::Result};

#[derive(Serialize)]
struct Described {
    rows: usize,
    fields: Vec<&'static str>,
    columns: Vec<String>,
    version: u64,
    map: Explained,
}

#[derive(Serialize)]
struct Explained {
    explained: [f64; 2],
}

/// What there is of every row.
pub async fn describe(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    answer(&app, model, |_, served| {
        let study = served.study()?;
        Ok(Described {
            rows: study.n(),
            fields: Field::ALL.map(Field::name).to_vec(),
            columns: study.columns(),
            version: served.version,
            map: Explained { explained: study.explained() },
        })
    })
    .await
}

/// A field of every row.
pub async fn field(
    State(app): State<Arc<App>>,
    Path((model, field)): Path<(String, String)>,
) -> Result<Response> {
    let values = app.compute(move |app| {
        let served = app.models.get(&model)?;
        let field: Field = field.parse()?;
        Ok(bytes(&served.study()?.field(&served.model, field)))
    });
    Ok(binary(values.await?))
}

/// A column of every row.
pub async fn column(
    State(app): State<Arc<App>>,
    Path((model, column)): Path<(String, String)>,
) -> Result<Response> {
    let values = app.compute(move |app| Ok(bytes(&app.models.get(&model)?.study()?.column(&column)?)));
    Ok(binary(values.await?))
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An answer of bytes.
pub fn binary(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
