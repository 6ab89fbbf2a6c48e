//! What the server counts, in the text format of Prometheus.

use std::time::Duration;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

/// A request by its route.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

/// A model by its name.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabels {
    model: String,
}

/// Counters, gauges and histograms.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Histogram,
    /// Requests under way.
    pub under_way: Gauge,
    /// Open connections.
    pub connections: Gauge,
    rows: Family<ModelLabels, Counter>,
    /// Requests of a batch.
    pub batch: Histogram,
    reloads: Family<ModelLabels, Counter>,
    failed_reloads: Family<ModelLabels, Counter>,
    /// Panics that were caught.
    pub panics: Counter,
}

impl Metrics {
    /// Everything at 0.
    pub fn new() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("flowgmm"),
            requests: Family::default(),
            seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 20)),
            under_way: Gauge::default(),
            connections: Gauge::default(),
            rows: Family::default(),
            batch: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            reloads: Family::default(),
            failed_reloads: Family::default(),
            panics: Counter::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("requests", "Requests by method, route and status", self.requests.clone());
        registry.register("request_seconds", "Time to answer a request", self.seconds.clone());
        registry.register("requests_under_way", "Requests that are being answered", self.under_way.clone());
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register("rows", "Rows scored for clients, by model", self.rows.clone());
        registry.register("batch_requests", "Requests that were scored together", self.batch.clone());
        registry.register("reloads", "Model files that were replaced and loaded", self.reloads.clone());
        let failed = self.failed_reloads.clone();
        registry.register("failed_reloads", "Replaced model files that could not be used", failed);
        registry.register("panics", "Bugs that a request ran into", self.panics.clone());
        self
    }

    /// A request was answered.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let labels = RequestLabels { method: method.into(), route: route.into(), status };
        self.requests.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Rows were scored.
    pub fn scored(&self, model: &str, rows: usize) {
        self.rows.get_or_create(&ModelLabels { model: model.into() }).inc_by(rows as u64);
    }

    /// A model file was replaced.
    pub fn reloaded(&self, model: &str, usable: bool) {
        let family = if usable { &self.reloads } else { &self.failed_reloads };
        family.get_or_create(&ModelLabels { model: model.into() }).inc();
    }

    /// The text that `/metrics` answers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes all text");
        text
    }
}
