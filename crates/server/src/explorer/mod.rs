//! What the explorer's page asks for: handlers that turn JSON into calls of the library and its findings into JSON.

pub mod features;
pub mod labels;
pub mod latent;
pub mod map;
pub mod model;
pub mod rows;
pub mod shown;

use std::sync::Arc;

use axum::response::Response;
use serde::Serialize;

use crate::{App, failure::Result, routes::json_text, served::Served};

/// An answer of JSON that is computed off the threads that serve connections.
async fn answer<T: Serialize>(
    app: &Arc<App>,
    model: String,
    work: impl FnOnce(&App, &Served) -> Result<T> + Send + 'static,
) -> Result<Response> {
    let text = app
        .compute(move |app| {
            let served = app.models.get(&model)?;
            Ok(serde_json::to_string(&work(app, &served)?).expect("plain data"))
        })
        .await?;
    Ok(json_text(text))
}
