//! Errors as answers: one table from what went wrong to a status.
//!
//! | status | when |
//! |---|---|
//! | 400 | the request makes no sense (JSON, shapes, settings), or its rows cannot be used |
//! | 401 | the token is missing or wrong |
//! | 403 | called by a name that is not this server's, or by a page of another origin |
//! | 404, 405 | there is no such model, version, row, job or route; no such method of it |
//! | 408 | the body did not arrive in time |
//! | 409 | the job is not in a state for that |
//! | 413 | too many bytes or rows |
//! | 415 | a body of an unknown type |
//! | 422 | a fit diverged |
//! | 429 | too many requests under way; Retry-After says when to come back |
//! | 500 | a bug of ours |
//! | 503 | the queue is full, the answer took too long, or the server is leaving; Retry-After |

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flowgmm::ErrorKind;

/// What a handler returns.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a request was not answered as it was meant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The status.
    pub status: StatusCode,
    /// In a word, for programs.
    pub kind: &'static str,
    /// In a sentence, for people.
    pub message: String,
}

impl Failure {
    /// A failure of this status.
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// The request makes no sense.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Too many bytes or rows.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// Too much work for now.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    /// A bug of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// Seconds after which the client may come back.
    fn retry_after(&self) -> Option<u32> {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some(1),
            _ => None,
        }
    }

    /// The answer: `{"error": {"kind", "message"}}`, in the Open Inference Protocol `{"error": message}`.
    pub fn render(&self, protocol: bool) -> Response {
        let body = match protocol {
            true => serde_json::json!({ "error": self.message }),
            false => serde_json::json!({ "error": { "kind": self.kind, "message": self.message } }),
        };
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
            // What is left of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The outermost layer renders it, which knows how errors look on the route.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

impl From<flowgmm::Error> for Failure {
    fn from(error: flowgmm::Error) -> Self {
        let (status, kind) = status_of(error.kind());
        Self::new(status, kind, error.to_string())
    }
}

/// The status and the word for a kind of error.
pub fn status_of(kind: ErrorKind) -> (StatusCode, &'static str) {
    match kind {
        ErrorKind::Request => (StatusCode::BAD_REQUEST, "request"),
        ErrorKind::Data => (StatusCode::BAD_REQUEST, "data"),
        ErrorKind::ModelFile => (StatusCode::INTERNAL_SERVER_ERROR, "model_file"),
        ErrorKind::Io => (StatusCode::INTERNAL_SERVER_ERROR, "io"),
        ErrorKind::Diverged => (StatusCode::UNPROCESSABLE_ENTITY, "diverged"),
        ErrorKind::Cancelled => (StatusCode::CONFLICT, "cancelled"),
    }
}
