//! Labels: which rows to label next, those that were given, and the table with them.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use flowgmm::{
    data::{Cells, Column},
    tables::{ColumnType, OutputFormat, Writer},
};
use serde::{Deserialize, Serialize};

use super::answer;
use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
    served::Served,
};

/// Suggestions of a request, at most.
const MOST_SUGGESTIONS: usize = 200;

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
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let NextAsked { n } = body.read()?;
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
    let one = |mark: &Mark| {
        Ok((served.row(mark.row)?, mark.class.as_deref().map(|name| served.class(name)).transpose()?))
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
    body: JsonBody,
) -> Result<Response> {
    answer(&app, model, move |_, served| {
        let asked: Labels = body.read()?;
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
            Cells::Numbers(_) => ColumnType::Number,
            Cells::Texts(_) => ColumnType::Text,
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
