//! Questions about single rows: trust cards and counterfactuals.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use flowgmm::{
    Source,
    data::{Cells, Column, Frame, TextCells},
    study::{self, CounterfactualCard, RowCard},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    answer,
    shown::{CellValue, Shown},
};
use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
    served::Served,
};

#[derive(Serialize)]
struct Card {
    name: String,
    #[serde(flatten)]
    row: Shown,
    label: Option<String>,
    class: String,
    class_by_flow: String,
    probabilities: Vec<f64>,
    set: Option<Vec<String>>,
    log_p: f64,
    typicality: f64,
    boundary: f64,
    nearest: Vec<Nearest>,
    counterfactual: Option<Counterfactual>,
}

#[derive(Serialize)]
struct Nearest {
    row: usize,
    class: String,
    distance: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<super::shown::Picture>,
}

#[derive(Serialize)]
struct Counterfactual {
    class: String,
    distance: f64,
    #[serde(flatten)]
    row: Shown,
    changes: Vec<Value>,
}

impl Counterfactual {
    fn of(served: &Served, found: CounterfactualCard) -> Self {
        let change = |change: &study::Change| {
            serde_json::json!({
                "column": change.column,
                "from": CellValue(&change.from),
                "to": CellValue(&change.to),
            })
        };
        Self {
            class: served.class_name(found.class).into(),
            distance: found.distance,
            changes: found.changes.iter().map(change).collect(),
            row: found.row.into(),
        }
    }
}

/// The trust card of a row.
pub async fn card(
    State(app): State<Arc<App>>,
    Path((model, row)): Path<(String, String)>,
) -> Result<Response> {
    let row: usize = row.parse().map_err(|_| Failure::request("a row is a number from 0"))?;
    answer(&app, model, move |_, served| {
        let study = served.study()?;
        let found: RowCard = study.card(&served.model, served.row(row)?)?;
        let name = |k: usize| served.class_name(k).to_string();
        let near = |near: &study::Nearest| -> Result<Nearest> {
            let image = match study.shown(&served.model, near.row)? {
                study::Decoded::Image(image) => Some(image.into()),
                study::Decoded::Row(_) => None,
            };
            Ok(Nearest { row: near.row, class: name(near.class), distance: near.distance, image })
        };
        Ok(Card {
            label: found.label.map(name),
            class: name(found.class),
            class_by_flow: name(found.class_by_flow),
            set: found.set.map(|set| set.into_iter().map(name).collect()),
            nearest: found.nearest.iter().map(near).collect::<Result<_>>()?,
            counterfactual: found.counterfactual.map(|found| Counterfactual::of(served, found)),
            name: found.name,
            row: found.row.into(),
            probabilities: found.probabilities,
            log_p: found.log_p,
            typicality: found.typicality,
            boundary: found.boundary,
        })
    })
    .await
}

#[derive(Deserialize)]
struct CounterfactualAsked {
    row: Option<usize>,
    values: Option<Map<String, Value>>,
    class: Option<String>,
}

#[derive(Serialize)]
struct CounterfactualAnswer {
    counterfactual: Option<Counterfactual>,
}

/// The nearest row of another class.
pub async fn counterfactual(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let asked: CounterfactualAsked = body.read()?;
        let study = served.study()?;
        let target = asked.class.as_deref().map(|name| served.class(name)).transpose()?;
        let x = match (asked.row, asked.values) {
            (Some(row), None) => study.x().select(ndarray::Axis(0), &[served.row(row)?]),
            (None, Some(values)) => {
                let source = Source::frame(frame_of(&values)?);
                flowgmm::read_rows(served.model.rows(), &source, &mut ())?
            }
            _ => {
                return Err(Failure::request(
                    "give either row, a number, or values, a value for each column",
                ));
            }
        };
        let found = study.counterfactual(&served.model, x.view(), target)?;
        Ok(CounterfactualAnswer { counterfactual: found.map(|found| Counterfactual::of(served, found)) })
    })
    .await
}

/// One row of a table.
fn frame_of(values: &Map<String, Value>) -> Result<Frame> {
    let column = |(name, value): (&String, &Value)| {
        let cells = match value {
            Value::Null => Cells::Numbers(vec![f64::NAN]),
            Value::Number(number) => Cells::Numbers(vec![number.as_f64().unwrap_or(f64::NAN)]),
            Value::Bool(truth) => Cells::from_texts(TextCells::from_iter([Some(truth.to_string().as_str())])),
            Value::String(text) => Cells::from_texts(TextCells::from_iter([Some(text.as_str())])),
            Value::Array(_) | Value::Object(_) => {
                return Err(Failure::request(format!("column '{name}': a number, a text or null is needed")));
            }
        };
        Ok(Column { name: name.clone(), cells })
    };
    let columns = values.iter().map(column).collect::<Result<Vec<_>>>()?;
    Frame::new("the request", columns, vec![1]).map_err(|error| Failure::from(flowgmm::Error::from(error)))
}
