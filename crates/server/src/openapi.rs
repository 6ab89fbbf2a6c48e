//! The OpenAPI document, made of the routes that are served.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A route and what it does.
pub struct Operation {
    /// The method, in lower case.
    pub method: String,
    /// The path with its parameters in braces.
    pub path: String,
    /// What it does.
    pub summary: String,
}

/// All routes.
#[derive(Default)]
pub struct Document {
    paths: BTreeMap<String, Map<String, Value>>,
}

impl Document {
    /// Adds a route.
    pub fn add(&mut self, operation: Operation) {
        let Operation { method, path, summary } = operation;
        let parameters: Vec<Value> = parameters(&path).chain(queries(&path)).collect();
        let failure = json!({ "$ref": if path.starts_with("/v2") { "#/components/responses/OipError" } else { "#/components/responses/Error" } });
        let mut operation = json!({
            "summary": summary,
            "parameters": parameters,
            "responses": { "200": { "description": "The answer", "content": { media_type(&path): {} } }, "default": failure },
        });
        if method == "post" {
            operation["requestBody"] = json!({ "content": body(&path) });
        }
        self.paths.entry(path).or_default().insert(method, operation);
    }

    /// The document.
    pub fn to_json(&self) -> String {
        let text = |of: &str| json!({ "type": "string", "description": of });
        let error = json!({
            "type": "object",
            "properties": { "error": { "type": "object", "properties": {
                "kind": text("for programs"), "message": text("for people: what, where, what to do") } } },
        });
        let answer = |description: &str, schema: Value| json!({ "description": description, "content": { "application/json": { "schema": schema } } });
        json!({
            "openapi": "3.1.0",
            "info": { "title": "flowgmm serve", "version": env!("CARGO_PKG_VERSION"), "description":
                "Models of flowgmm: scoring by the Open Inference Protocol v2, and what the explorer's page asks for." },
            "paths": self.paths,
            "components": {
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
                "schemas": { "InferRequest": infer_request(), "InferResponse": infer_response() },
                "responses": {
                    "Error": answer("400 401 403 404 405 408 409 413 415 422 429 500 503", error),
                    "OipError": answer("400 401 403 404 405 408 413 415 429 500 503", json!({
                        "type": "object", "properties": { "error": text("what, where, what to do") } })),
                },
            },
            "security": [{}, { "token": [] }],
        })
        .to_string()
    }
}

fn parameters(path: &str) -> impl Iterator<Item = Value> {
    path.split(['{', '}'])
        .skip(1)
        .step_by(2)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
}

fn queries(path: &str) -> impl Iterator<Item = Value> {
    let names: &[&str] = match path {
        "/api/v1/playground/{job}/frames" => &["from"],
        "/api/v1/playground/toys/{toy}" => &["labels", "rows", "seed"],
        path if path.ends_with("/infer") => &["outputs"],
        _ => &[],
    };
    names.iter().map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } }))
}

fn media_type(path: &str) -> &'static str {
    match path {
        "/health" | "/metrics" => "text/plain",
        path if path.ends_with("/page") => "text/html",
        path if path.ends_with(".csv") => "text/csv",
        path if path.ends_with("/file") || path.contains("/map/") => "application/octet-stream",
        path if path.ends_with("/frames") || path.ends_with("/jobs/{job}") => "application/x-ndjson",
        _ => "application/json",
    }
}

fn body(path: &str) -> Value {
    match path.ends_with("/infer") {
        true => json!({
            "application/json": { "schema": { "$ref": "#/components/schemas/InferRequest" } },
            "application/vnd.apache.arrow.stream": {},
        }),
        false => json!({ "application/json": { "schema": { "type": "object" } } }),
    }
}

fn infer_request() -> Value {
    json!({ "type": "object", "required": ["inputs"], "properties": {
        "id": { "type": "string" },
        "inputs": { "type": "array", "items": { "type": "object", "required": ["name", "shape", "datatype", "data"],
            "properties": { "name": { "type": "string" }, "shape": { "type": "array", "items": { "type": "integer" } },
                "datatype": { "type": "string" }, "data": { "type": "array" } } } },
        "outputs": { "type": "array", "items": { "type": "object", "required": ["name"], "properties": {
            "name": { "enum": ["class", "probabilities", "log_p", "typicality", "boundary", "z"] } } } },
    } })
}

fn infer_response() -> Value {
    json!({ "type": "object", "properties": {
        "model_name": { "type": "string" }, "model_version": { "type": "string" }, "id": { "type": "string" },
        "outputs": { "type": "array", "items": { "type": "object", "properties": {
            "name": { "type": "string" }, "datatype": { "type": "string" },
            "shape": { "type": "array", "items": { "type": "integer" } }, "data": { "type": "array" } } } },
    } })
}
