//! Bodies within bounds, and work off the threads that serve connections.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{FromRequest, Request},
    http::{StatusCode, header},
};
use hyper::body::{Body as _, Bytes};

use crate::{
    App,
    failure::{Failure, Result},
};

impl App {
    /// The whole body, if it is not too large and arrives in time.
    pub async fn body(&self, body: Body) -> Result<Bytes> {
        let most = self.limits.body;
        let large = || Failure::too_large(format!("a body has at most {most} bytes"));
        if body.size_hint().lower() > most as u64 {
            return Err(large());
        }
        match tokio::time::timeout(self.limits.body_time, to_bytes(body, most)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => {
                use std::error::Error as _;
                let too_long =
                    error.source().is_some_and(|source| source.to_string().contains("length limit"));
                Err(if too_long { large() } else { Failure::request("the body broke off") })
            }
            Err(_) => Err(Failure::new(
                StatusCode::REQUEST_TIMEOUT,
                "slow",
                format!("the body did not arrive within {} seconds", self.limits.body_time.as_secs()),
            )),
        }
    }

    /// Runs work on a thread that may take its time; at most as many at once as there are workers.
    pub async fn compute<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&App) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let app = self.clone();
        let slow = || Failure::busy("the answer took too long; ask for less, or come back later");
        let whole = async {
            let permit = app.computing.clone().acquire_owned().await.expect("never closed");
            tokio::task::spawn_blocking(move || {
                let _permit = permit;
                work(&app)
            })
            .await
        };
        match tokio::time::timeout(self.limits.answer_time, whole).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                self.metrics.panics.inc();
                Err(Failure::internal("this is a bug in flowgmm; the server goes on"))
            }
            Err(_) => Err(slow()),
        }
    }
}

/// The whole body of a request that is said to be JSON, or of which nothing is said; taken within the bounds of [`App::body`].
pub struct JsonBody(Bytes);

impl JsonBody {
    /// The body in this shape.
    pub fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T> {
        json(&self.0)
    }
}

impl FromRequest<Arc<App>> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        match request.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes()) {
            Some(kind) if !kind.starts_with(b"application/json") => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                "send JSON, as application/json",
            )),
            _ => Ok(Self(app.body(request.into_body()).await?)),
        }
    }
}

/// A body as JSON of this shape; an empty one as `{}`.
pub fn json<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body)
        .map_err(|error| Failure::request(format!("the body cannot be used: {error}")))
}
