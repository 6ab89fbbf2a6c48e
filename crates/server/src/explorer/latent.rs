//! Rows that the model makes: paths between latent points, and samples.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use flowgmm::{
    SampleRequest,
    study::{self, LatentEnd},
};
use serde::{Deserialize, Serialize};

use super::{
    answer,
    shown::{Inner, Several, Shown},
};
use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
    served::Served,
};

/// Samples of a request, at most.
const MOST_SAMPLES: usize = 1000;

#[derive(Deserialize)]
struct PathRequest {
    from: End,
    to: End,
    #[serde(default = "steps")]
    steps: usize,
}

fn steps() -> usize {
    33
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Row(usize),
    Class(String),
    BoundaryOf(usize),
}

impl End {
    fn of(&self, served: &Served) -> Result<LatentEnd> {
        Ok(match self {
            Self::Row(row) => LatentEnd::Row(served.row(*row)?),
            Self::Class(name) => LatentEnd::Class(served.class(name)?),
            Self::BoundaryOf(row) => LatentEnd::BoundaryOf(served.row(*row)?),
        })
    }
}

#[derive(Serialize)]
struct PathAnswer {
    points: Vec<PathPoint>,
}

#[derive(Serialize)]
struct PathPoint {
    t: f64,
    #[serde(flatten)]
    row: Shown,
    log_p: f64,
    probabilities: Vec<f64>,
}

/// Rows between two latent points.
pub async fn path(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let asked: PathRequest = body.read()?;
        let (from, to) = (asked.from.of(served)?, asked.to.of(served)?);
        let found = served.study()?.path(&served.model, from, to, asked.steps)?;
        let point = |point: study::PathPoint| PathPoint {
            t: point.t,
            row: point.row.into(),
            log_p: point.log_p,
            probabilities: point.probabilities,
        };
        Ok(PathAnswer { points: found.into_iter().map(point).collect() })
    })
    .await
}

#[derive(Deserialize)]
#[serde(default)]
struct SampleAsked {
    class: Option<String>,
    n: usize,
    temperature: f64,
    seed: u64,
}

impl Default for SampleAsked {
    fn default() -> Self {
        Self { class: None, n: 16, temperature: 1.0, seed: 0 }
    }
}

#[derive(Serialize)]
struct SampleAnswer {
    #[serde(flatten)]
    rows: Several<Inner>,
    log_p: Vec<f64>,
    classes: Vec<String>,
}

/// New rows.
pub async fn sample(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let SampleAsked { class, n, temperature, seed } = body.read()?;
        if !(1..=MOST_SAMPLES).contains(&n) {
            return Err(Failure::request(format!("n must be from 1 to {MOST_SAMPLES}, got {n}")));
        }
        let request = SampleRequest { n, class, temperature, seed };
        let drawn = flowgmm::sample(&served.model, &request)?.next().expect("one chunk");
        drawn.to_frame(&served.model)?; // says so where numbers overflowed
        let name = |k: &usize| served.class_name(*k).to_string();
        Ok(SampleAnswer {
            rows: Several::of(study::decoded(&served.model, drawn.x.view())?),
            log_p: served.model.score(drawn.x.view()).log_marginal,
            classes: drawn.class.iter().map(name).collect(),
        })
    })
    .await
}
