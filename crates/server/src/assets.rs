//! The explorer's page, inside the program.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::failure::Failure;

/// Name and bytes of every file.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page of a server without one, which says how to make it.
const NO_PAGE: &str = "<!doctype html><title>flowgmm</title><p>This program was built without explorer/dist: run \
                       <code>npm ci &amp;&amp; npm run build</code> in explorer/ and build again. The routes are in \
                       <a href=\"/openapi.json\">/openapi.json</a>.";

/// Whether a path is one of the page's files, which hold nothing of the user's.
pub fn is_asset(path: &str) -> bool {
    name(path).is_some()
}

fn name(path: &str) -> Option<&str> {
    match path.strip_prefix('/')? {
        "" => Some("index.html"),
        name => FILES.iter().find(|file| file.0 == name).map(|file| file.0),
    }
}

/// Answers what no route does: files of the page, or that there is no such thing.
pub async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    let Some(name) = name(path) else {
        return Failure::not_found("there is no such route; /openapi.json lists them").into_response();
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let message = "files of the page can be read only";
        return Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method", message).into_response();
    }
    let found = FILES.iter().find(|file| file.0 == name).map(|file| file.1);
    let mut response = Response::new(Body::from(found.unwrap_or(NO_PAGE.as_bytes())));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
