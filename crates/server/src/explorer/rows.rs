//! Questions about single rows: trust cards, paths, samples, counterfactuals, labels.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use flowgmm::{
    SampleRequest, Source,
    data::{Cells as FrameCells, Column, Frame, TextCells},
    study::{self, CounterfactualCard, LatentEnd, RowCard},
    tables::{ColumnType, OutputFormat, Writer},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    answer,
    shown::{CellValue, Shown, several},
};
use crate::{
    App,
    compute::{check_json, json},
    failure::{Failure, Result},
    served::Served,
};

/// Samples of a request, at most.
const MOST_SAMPLES: usize = 1000;
/// Suggestions of a request, at most.
const MOST_SUGGESTIONS: usize = 200;

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
        if row >= study.n() {
            return Err(Failure::not_found(format!(
                "there is no row {row}: rows are 0 to {}",
                study.n() - 1
            )));
        }
        let found: RowCard = study.card(&served.model, row)?;
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
            Self::Row(row) => LatentEnd::Row(*row),
            Self::Class(name) => LatentEnd::Class(served.class(name)?),
            Self::BoundaryOf(row) => LatentEnd::BoundaryOf(*row),
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
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    check_json(&headers)?;
    let body = app.body(body).await?;
    answer(&app, model, move |_, served| {
        let asked: PathRequest = json(&body)?;
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
    rows: std::collections::BTreeMap<&'static str, Vec<super::shown::Inner>>,
    log_p: Vec<f64>,
    classes: Vec<String>,
}

/// New rows.
pub async fn sample(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    check_json(&headers)?;
    let body = app.body(body).await?;
    answer(&app, model, move |_, served| {
        let SampleAsked { class, n, temperature, seed } = json(&body)?;
        if !(1..=MOST_SAMPLES).contains(&n) {
            return Err(Failure::request(format!("n must be from 1 to {MOST_SAMPLES}, got {n}")));
        }
        let request = SampleRequest { n, class, temperature, seed };
        let drawn = flowgmm::sample(&served.model, &request)?.next().expect("one chunk");
        drawn.to_frame(&served.model)?; // says so where numbers overflowed
        let name = |k: &usize| served.class_name(*k).to_string();
        Ok(SampleAnswer {
            rows: several(study::decoded(&served.model, drawn.x.view())?),
            log_p: served.model.score(drawn.x.view()).log_marginal,
            classes: drawn.class.iter().map(name).collect(),
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
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    check_json(&headers)?;
    let body = app.body(body).await?;
    answer(&app, model, move |_, served| {
        let asked: CounterfactualAsked = json(&body)?;
        let study = served.study()?;
        let target = asked.class.as_deref().map(|name| served.class(name)).transpose()?;
        let x = match (asked.row, asked.values) {
            (Some(row), None) if row < study.n() => study.x().slice(ndarray::s![row..row + 1, ..]).to_owned(),
            (Some(row), None) => return Err(Failure::not_found(format!("there is no row {row}"))),
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
            Value::Null => FrameCells::Numbers(vec![f64::NAN]),
            Value::Number(number) => FrameCells::Numbers(vec![number.as_f64().unwrap_or(f64::NAN)]),
            Value::Bool(truth) => {
                FrameCells::from_texts(TextCells::from_iter([Some(truth.to_string().as_str())]))
            }
            Value::String(text) => FrameCells::from_texts(TextCells::from_iter([Some(text.as_str())])),
            Value::Array(_) | Value::Object(_) => {
                return Err(Failure::request(format!("column '{name}': a number, a text or null is needed")));
            }
        };
        Ok(Column { name: name.clone(), cells })
    };
    let columns = values.iter().map(column).collect::<Result<Vec<_>>>()?;
    Frame::new("the request", columns, vec![1]).map_err(|error| Failure::from(flowgmm::Error::from(error)))
}

#[derive(Deserialize)]
#[serde(default)]
struct NextAsked {
    n: usize,
}

impl Default for NextAsked {
    fn default() -> Self {
        Self { n: 12 }
    }
}

#[derive(Serialize)]
struct Suggested {
    row: usize,
    score: f64,
    why: String,
    class: String,
    probabilities: Vec<f64>,
}

/// Rows most worth a label.
pub async fn label_next(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    check_json(&headers)?;
    let body = app.body(body).await?;
    answer(&app, model, move |_, served| {
        let NextAsked { n } = json(&body)?;
        if !(1..=MOST_SUGGESTIONS).contains(&n) {
            return Err(Failure::request(format!("n must be from 1 to {MOST_SUGGESTIONS}, got {n}")));
        }
        let study = served.study()?;
        let marked: Vec<usize> =
            served.marks().into_iter().filter(|mark| mark.1.is_some()).map(|mark| mark.0).collect();
        let found = study.label_next(&served.model, &marked, n);
        let suggested = |next: flowgmm::insight::Suggestion| {
            let log_probs = study.predictions().log_probs.row(next.row);
            let best =
                (0..log_probs.len()).max_by(|&a, &b| log_probs[a].total_cmp(&log_probs[b])).unwrap_or(0);
            Suggested {
                row: next.row,
                score: next.gain,
                why: why(&next),
                class: served.class_name(best).into(),
                probabilities: log_probs.iter().map(|l| l.exp()).collect(),
            }
        };
        Ok(found.into_iter().map(suggested).collect::<Vec<_>>())
    })
    .await
}

/// Why a row is worth a label, in words.
fn why(next: &flowgmm::insight::Suggestion) -> String {
    let sure = match next.entropy {
        e if e > 0.5 => "the model is unsure",
        e if e > 0.1 => "the model is not quite sure",
        _ => "far from any label",
    };
    format!("{sure}; {:.0}% of rows are in less dense regions", 100.0 * next.density)
}

#[derive(Serialize, Deserialize)]
struct Labels {
    labels: Vec<Mark>,
}

#[derive(Serialize, Deserialize)]
pub struct Mark {
    row: usize,
    class: Option<String>,
}

/// Labels by number: rows and classes that there are.
pub fn numbered(served: &Served, marks: &[Mark]) -> Result<Vec<(usize, Option<usize>)>> {
    let n = served.study()?.n();
    let one = |mark: &Mark| {
        if mark.row >= n {
            return Err(Failure::request(format!("there is no row {}: rows are 0 to {}", mark.row, n - 1)));
        }
        Ok((mark.row, mark.class.as_deref().map(|name| served.class(name)).transpose()?))
    };
    marks.iter().map(one).collect()
}

fn marked(served: &Served) -> Labels {
    let mark = |(row, class): (usize, Option<usize>)| Mark {
        row,
        class: class.map(|k| served.class_name(k).into()),
    };
    Labels { labels: served.marks().into_iter().map(mark).collect() }
}

/// Labels that were given.
pub async fn labels(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    answer(&app, model, |_, served| Ok(marked(served))).await
}

/// Gives labels to rows.
pub async fn mark(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    check_json(&headers)?;
    let body = app.body(body).await?;
    answer(&app, model, move |_, served| {
        let asked: Labels = json(&body)?;
        served.mark(numbered(served, &asked.labels)?);
        Ok(marked(served))
    })
    .await
}

/// The data with all labels and predictions.
pub async fn table(State(app): State<Arc<App>>, Path(model): Path<String>) -> Result<Response> {
    let name = model.clone();
    let text = app.compute(move |app| {
        let served = app.models.get(&model)?;
        let frame = served.study()?.table(&served.model, &served.marks())?;
        let kind = |column: &Column| match column.cells {
            FrameCells::Numbers(_) => ColumnType::Number,
            FrameCells::Texts(_) => ColumnType::Text,
        };
        let columns: Vec<_> =
            frame.columns().iter().map(|column| (column.name.clone(), kind(column))).collect();
        let written =
            Writer::new(Vec::new(), "table.csv", OutputFormat::Csv, &columns).and_then(|mut writer| {
                writer.write(&frame)?;
                writer.finish()
            });
        written.map_err(|error| Failure::from(flowgmm::Error::from(error)))
    });
    let mut response = Response::new(Body::from(text.await?));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, attachment(&name, "csv"));
    Ok(response)
}

/// The header that makes a browser save an answer; names keep to letters that need no quoting.
pub fn attachment(name: &str, ending: &str) -> HeaderValue {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    HeaderValue::from_str(&format!("attachment; filename=\"{plain}.{ending}\""))
        .unwrap_or(HeaderValue::from_static("attachment"))
}
