//! From the user's columns to the flow's, as operators: encoding and preprocessing, in double precision.

use flowgmm_data::{Encoding, Role, read_number};
use ndarray::Array2;
use semisup::{Monotone, Preprocess};

use super::{
    Refused,
    graph::{Graph, Value},
    proto::Element,
};
use crate::rows::TextColumn;

/// The numbers of a row `[n, dim]` of the user's numeric columns `[n, columns]`.
pub(super) fn encoded(
    graph: &mut Graph,
    x: &Value,
    encoding: &Encoding,
    texts: &[TextColumn],
) -> Result<Value, Refused> {
    if let Some(text) = texts.first() {
        return Err(Refused(format!(
            "column '{}' is text, and a sentence encoder is no part of an export",
            text.column
        )));
    }
    let names: Vec<&str> = encoding.column_names().collect();
    let (mut columns, mut codes, mut is_code) = (Vec::new(), Vec::new(), Vec::new());
    for feature in encoding.features() {
        let at = names.iter().position(|name| *name == feature.column).expect("a feature is of a column");
        columns.push(at);
        let code = match &feature.role {
            Role::Number { .. } => None,
            Role::Level { level } => Some(code(encoding, &feature.column, level)?),
            Role::Missing => {
                return Err(Refused(format!(
                    "column '{}' had missing cells in training, and imputation is no part of an export: fill them in before \
                     the fit",
                    feature.column
                )));
            }
            Role::Date { .. } | Role::Cycle { .. } => {
                return Err(Refused(format!("column '{}' is a date; make it a number", feature.column)));
            }
        };
        is_code.push(f64::from(u8::from(code.is_some())));
        codes.push(code.unwrap_or(0.0));
    }
    let numbers = graph.columns(x, &columns);
    if is_code.iter().all(|&code| code == 0.0) {
        return Ok(numbers);
    }
    let (codes, is_code) = (graph.row(&codes), graph.row(&is_code));
    let equal = graph.apply("Equal", &[&numbers, &codes]);
    let equal = graph.cast(&equal, Element::Double);
    let one = graph.row(&[1.0]);
    let is_number = graph.apply("Sub", &[&one, &is_code]);
    let (kept, coded) =
        (graph.apply("Mul", &[&numbers, &is_number]), graph.apply("Mul", &[&equal, &is_code]));
    Ok(graph.apply("Add", &[&kept, &coded]))
}

/// The number that a level of a numeric column stands for.
fn code(encoding: &Encoding, column: &str, level: &str) -> Result<f64, Refused> {
    let is_numeric = encoding
        .features()
        .iter()
        .any(|feature| feature.column == column && matches!(feature.role, Role::Number { .. }));
    read_number(level).filter(|_| is_numeric).ok_or_else(|| {
        Refused(format!(
            "column '{column}' holds categories; make numbers of them, such as one column for each level"
        ))
    })
}

/// The flow's columns x' `[n, dim_out]`, and what log p(x) gains `[n, 1]`; no gain if x has no density.
pub(super) fn prepared(graph: &mut Graph, x: &Value, preprocess: &Preprocess) -> (Value, Option<Value>) {
    let parts = preprocess.parts();
    let (x, gain) = mapped(graph, x, parts.column_maps, preprocess.dim_in());
    let (shift, scale) = (graph.row(parts.shift), graph.row(parts.scale));
    let centred = graph.apply("Sub", &[&x, &shift]);
    let scaled = graph.apply("Mul", &[&centred, &scale]);
    let mut constant = parts.log_gain;
    let (out, residual) = match parts.projection {
        None => (scaled, None),
        Some(projection) => {
            let directions = graph.matrix(projection.directions);
            let kept = graph.apply("MatMul", &[&scaled, &directions]);
            let factors = graph.row(projection.gain);
            let out = graph.apply("Mul", &[&kept, &factors]);
            constant += projection.log_gain;
            let residual = (projection.residual > 0.0).then(|| {
                let all = squared(graph, &scaled);
                let kept = squared(graph, &kept);
                let off = graph.apply("Sub", &[&all, &kept]);
                let off = graph.apply("Relu", &[&off]);
                let factor = graph.row(&[-0.5 / projection.residual]);
                graph.apply("Mul", &[&off, &factor])
            });
            (out, residual)
        }
    };
    if !parts.has_density {
        return (out, None);
    }
    let mut total = graph.row(&[constant]);
    for part in [gain, residual].into_iter().flatten() {
        total = graph.apply("Add", &[&total, &part]);
    }
    (out, Some(total))
}

fn squared(graph: &mut Graph, of: &Value) -> Value {
    let squares = graph.apply("Mul", &[of, of]);
    graph.sum(&squares, 1)
}

/// Columns by their monotone maps, and the sum of log du/dx `[n, 1]`.
fn mapped(graph: &mut Graph, x: &Value, maps: &[Option<Monotone>], dim: usize) -> (Value, Option<Value>) {
    if maps.iter().all(Option::is_none) {
        return (x.clone(), None);
    }
    let (mut columns, mut gain): (Vec<Value>, Option<Value>) = (Vec::with_capacity(dim), None);
    for (j, map) in maps.iter().enumerate() {
        let column = graph.columns(x, &[j]);
        let Some(map) = map else {
            columns.push(column);
            continue;
        };
        let (u, log_slope) = piecewise(graph, &column, map);
        columns.push(u);
        gain = Some(match gain {
            None => log_slope,
            Some(gain) => graph.apply("Add", &[&gain, &log_slope]),
        });
    }
    (graph.beside(&columns.iter().collect::<Vec<_>>()), gain)
}

/// A piecewise linear map as a sum of hinges: u = u_0 + s_0 (x - x_0) + sum_i (s_i - s_{i-1}) relu(x - x_i), and log s at x.
fn piecewise(graph: &mut Graph, x: &Value, map: &Monotone) -> (Value, Value) {
    let (knots, u) = map.knots();
    let slopes: Vec<f64> = (1..knots.len()).map(|i| (u[i] - u[i - 1]) / (knots[i] - knots[i - 1])).collect();
    let (first, slope) = (graph.row(&[knots[0]]), graph.row(&[slopes[0]]));
    let from = graph.apply("Sub", &[x, &first]);
    let line = graph.apply("Mul", &[&from, &slope]);
    let start = graph.row(&[u[0]]);
    let mut value = graph.apply("Add", &[&line, &start]);
    let mut log_slope = graph.row(&[slopes[0].ln()]);
    if slopes.len() > 1 {
        let inner = graph.row(&knots[1..knots.len() - 1]);
        let beyond = graph.apply("Sub", &[x, &inner]);
        let hinges = graph.apply("Relu", &[&beyond]);
        let column =
            |values: Vec<f64>| Array2::from_shape_vec((values.len(), 1), values).expect("one column");
        let bends = graph.matrix(column(slopes.windows(2).map(|s| s[1] - s[0]).collect()).view());
        let bent = graph.apply("MatMul", &[&hinges, &bends]);
        value = graph.apply("Add", &[&value, &bent]);
        let reached = graph.apply("GreaterOrEqual", &[x, &inner]);
        let reached = graph.cast(&reached, Element::Double);
        let jumps = graph.matrix(column(slopes.windows(2).map(|s| s[1].ln() - s[0].ln()).collect()).view());
        let jumped = graph.apply("MatMul", &[&reached, &jumps]);
        log_slope = graph.apply("Add", &[&log_slope, &jumped]);
    }
    (value, log_slope)
}
