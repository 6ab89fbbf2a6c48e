//! All routes, each with what the OpenAPI document says of it: a route cannot be served without being documented.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, delete, get, post},
};

use crate::{
    App, assets, explorer, guard, jobs, oip,
    openapi::{Document, Operation},
    playground,
};

/// The router of a server.
pub fn router(app: Arc<App>) -> Router {
    let (router, document) = routes();
    let document = document.to_json();
    let router = router.route("/openapi.json", get(move || async move { json_text(document) }));
    router
        .fallback(assets::serve)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// Routes and their document, made together.
struct Routes {
    router: Router<Arc<App>>,
    document: Document,
}

impl Routes {
    fn add(mut self, method: &str, path: &str, about: &str, handler: MethodRouter<Arc<App>>) -> Self {
        self.document.add(Operation { method: method.into(), path: path.into(), summary: about.into() });
        self.router = self.router.route(path, handler);
        self
    }

    fn get(self, path: &str, about: &str, handler: MethodRouter<Arc<App>>) -> Self {
        self.add("get", path, about, handler)
    }

    fn post(self, path: &str, about: &str, handler: MethodRouter<Arc<App>>) -> Self {
        self.add("post", path, about, handler)
    }
}

/// Every route but that of the document itself.
pub fn routes() -> (Router<Arc<App>>, Document) {
    let routes = Routes { router: Router::new(), document: Document::default() };
    let routes = routes.get("/health", "Whether the server answers", get(|| async { "ok\n" })).get(
        "/metrics",
        "Counters for Prometheus",
        get(metrics),
    );
    let routes = protocol(routes);
    let routes = models(routes);
    let Routes { router, mut document } = fits(routes);
    let about = "This document";
    document.add(Operation { method: "get".into(), path: "/openapi.json".into(), summary: about.into() });
    (router, document)
}

fn protocol(routes: Routes) -> Routes {
    routes
        .get("/v2", "Name and version of the server (Open Inference Protocol)", get(oip::server))
        .get("/v2/health/live", "Whether the server is alive", get(oip::live))
        .get("/v2/health/ready", "Whether all models can be asked", get(oip::ready))
        .get("/v2/models", "Names, versions and states of the models", get(oip::models))
        .get("/v2/models/{model}", "Inputs and outputs of a model", get(oip::model))
        .get("/v2/models/{model}/ready", "Whether a model can be asked", get(oip::model_ready))
        .post("/v2/models/{model}/infer", "Scores rows: tensors in JSON, or an Arrow table", post(oip::infer))
        .get(
            "/v2/models/{model}/versions/{version}",
            "Inputs and outputs of a version",
            get(oip::model_version),
        )
        .get(
            "/v2/models/{model}/versions/{version}/ready",
            "Whether a version is served",
            get(oip::version_ready),
        )
        .post(
            "/v2/models/{model}/versions/{version}/infer",
            "Scores rows by a version",
            post(oip::infer_version),
        )
}

fn models(routes: Routes) -> Routes {
    use explorer::{features, labels, latent, map, model, rows};
    routes
        .get("/api/v1/models", "The models, their classes, columns and data", get(model::list))
        .get("/api/v1/models/{model}/card", "What a model is, and why", get(model::card))
        .get("/api/v1/models/{model}/page", "The page of explain", get(model::page))
        .get("/api/v1/models/{model}/file", "The model file", get(model::file))
        .post(
            "/api/v1/models/{model}/explain",
            "What the model does with the data, in JSON",
            post(model::explain),
        )
        .get("/api/v1/models/{model}/map", "What there is of every row", get(map::describe))
        .get(
            "/api/v1/models/{model}/map/{field}",
            "A field of every row: f32, little-endian",
            get(map::field),
        )
        .get("/api/v1/models/{model}/map/column/{column}", "A column of every row: f32", get(map::column))
        .get("/api/v1/models/{model}/rows/{row}", "The trust card of a row", get(rows::card))
        .post("/api/v1/models/{model}/path", "Rows between two latent points", post(latent::path))
        .post("/api/v1/models/{model}/sample", "New rows", post(latent::sample))
        .post(
            "/api/v1/models/{model}/counterfactual",
            "The nearest row of another class",
            post(rows::counterfactual),
        )
        .post("/api/v1/models/{model}/label-next", "Rows most worth a label", post(labels::label_next))
        .get("/api/v1/models/{model}/features", "Layers and channels of the flow", get(features::layers))
        .post("/api/v1/models/{model}/features", "Rows with a channel moved", post(features::moved))
        .post("/api/v1/models/{model}/features/wall", "A row with each channel moved", post(features::wall))
        .get(
            "/api/v1/models/{model}/features/{layer}/{channel}/histogram",
            "The activations of a channel",
            get(features::histogram),
        )
        .get("/api/v1/models/{model}/labels", "Labels that were given", get(labels::labels))
        .post("/api/v1/models/{model}/labels", "Gives labels to rows", post(labels::mark))
        .get(
            "/api/v1/models/{model}/table.csv",
            "The data with all labels and predictions",
            get(labels::table),
        )
}

fn fits(routes: Routes) -> Routes {
    routes
        .post(
            "/api/v1/models/{model}/refit",
            "Fits the model again, with the labels given",
            post(jobs::refit),
        )
        .get("/api/v1/jobs/{job}", "The progress of a fit, line by line", get(jobs::follow))
        .add("delete", "/api/v1/jobs/{job}", "Stops a fit", delete(jobs::stop))
        .post("/api/v1/playground", "Fits points in the plane, watched", post(playground::begin))
        .get("/api/v1/playground/defaults", "Settings of the playground", get(playground::defaults))
        .get("/api/v1/playground/toys/{toy}", "Points of one of the paper's toys", get(playground::toy))
        .get("/api/v1/playground/{job}/frames", "The frames of a fit, line by line", get(playground::frames))
        .post("/api/v1/playground/{job}/{action}", "pause, resume, step or stop", post(playground::steer))
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut response = app.metrics.text().into_response();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// JSON that is text already.
pub fn json_text(text: String) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
