//! What channels of the flow do: statistics, histograms, and rows with a channel moved (paper, section 6.3).

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use flowgmm::{insight::Feature, study::decoded};
use serde::{Deserialize, Serialize};

use super::{
    answer, model,
    shown::{Inner, Several},
};
use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
};

/// Rows times alphas of a request, and channels of a wall, at most.
const MOST: usize = 512;
/// Rows that a histogram counts.
const COUNTED: usize = 512;
/// Bars of a histogram.
const BARS: usize = 40;

#[derive(Serialize)]
struct Layers {
    layers: Vec<Layer>,
}

#[derive(Serialize)]
struct Layer {
    #[serde(flatten)]
    layer: model::Layer,
    mean: Vec<f64>,
    sigma: Vec<f64>,
}

/// Layers and channels of the flow.
pub async fn layers(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    answer(&app, model, |_, served| {
        let statistics = served.channels()?;
        let layers = model::layers(served).into_iter().zip(&statistics.layers);
        let layer = |(layer, found): (model::Layer, &flowgmm::insight::LayerStatistics)| Layer {
            layer,
            mean: found.mean.clone(),
            sigma: found.spread.clone(),
        };
        Ok(Layers { layers: layers.map(layer).collect() })
    })
    .await
}

/// The activations of a channel.
pub async fn histogram(
    State(app): State<Arc<App>>,
    Path((model, layer, channel)): Path<(String, String, String)>,
) -> Result<Response> {
    let number = |text: String| text.parse().map_err(|_| Failure::request("layers and channels are numbers"));
    let (layer, channel) = (number(layer)?, number(channel)?);
    answer(&app, model, move |_, served| {
        let rows = served.study()?.spaced(COUNTED);
        Ok(served.channels()?.histogram(
            &served.model,
            rows.view(),
            Feature { layer, channel, place: None },
            BARS,
        )?)
    })
    .await
}

#[derive(Deserialize)]
struct MovedAsked {
    layer: usize,
    channel: usize,
    #[serde(default)]
    place: Option<[usize; 2]>,
    alphas: Vec<f64>,
    rows: Vec<usize>,
}

#[derive(Serialize)]
struct MovedAnswer {
    #[serde(flatten)]
    rows: Several<Vec<Inner>>,
}

fn check_alphas(alphas: &[f64]) -> Result<()> {
    match alphas.iter().all(|alpha| alpha.is_finite() && alpha.abs() <= 1000.0) {
        true => Ok(()),
        false => Err(Failure::request("alphas must be numbers from -1000 to 1000")),
    }
}

/// Rows with a channel moved: for each row one of each alpha.
pub async fn moved(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let MovedAsked { layer, channel, place, alphas, rows } = body.read()?;
        if alphas.is_empty() || rows.is_empty() || alphas.len().saturating_mul(rows.len()) > MOST {
            return Err(Failure::request(format!("rows times alphas must be from 1 to {MOST}")));
        }
        check_alphas(&alphas)?;
        let feature = Feature { layer, channel, place: place.map(|[y, x]| (y, x)) };
        let (study, statistics) = (served.study()?, served.channels()?);
        statistics.check(feature)?;
        let mut lists = Vec::with_capacity(rows.len());
        for row in rows {
            let x = statistics.visualise(&served.model, feature, &alphas, study.x().row(served.row(row)?));
            lists.push(decoded(&served.model, x.view())?);
        }
        Ok(MovedAnswer { rows: Several::lists(lists) })
    })
    .await
}

#[derive(Deserialize)]
struct WallAsked {
    layer: usize,
    row: usize,
    alpha: f64,
}

#[derive(Serialize)]
struct WallAnswer {
    #[serde(flatten)]
    rows: Several<Inner>,
    base: Inner,
    channels: usize,
}

/// A row with each channel of a layer moved, one after the other.
pub async fn wall(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let WallAsked { layer, row, alpha } = body.read()?;
        check_alphas(&[alpha])?;
        let row = served.row(row)?;
        let (study, statistics) = (served.study()?, served.channels()?);
        statistics.check(Feature { layer, channel: 0, place: None })?;
        let channels = statistics.layers[layer - 1].shape.channels;
        let x = statistics.wall(&served.model, layer, alpha, study.x().row(row), channels.min(MOST));
        let base = decoded(&served.model, study.x().slice(ndarray::s![row..row + 1, ..]))?;
        Ok(WallAnswer {
            rows: Several::of(decoded(&served.model, x.view())?),
            base: base.into_iter().next().expect("one row").into(),
            channels,
        })
    })
    .await
}
