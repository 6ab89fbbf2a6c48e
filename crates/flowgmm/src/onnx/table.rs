//! From the user's columns to the flow's, as operators: encoding and preprocessing, in double precision.

use flowgmm_data::{Encoding, Role, read_number};
use ndarray::Array2;
use semisup::{Monotone, Preprocess};

use super::{
    Refused,
    graph::{Graph, Value},
    impute,
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
    let (mut columns, mut codes) = (Vec::new(), Vec::new());
    let (mut kinds, mut gaps): ([Vec<f64>; 3], Vec<usize>) = Default::default(); // numbers, codes, missing
    for (at, feature) in encoding.features().iter().enumerate() {
        columns
            .push(names.iter().position(|name| *name == feature.column).expect("a feature is of a column"));
        let (kind, code) = match &feature.role {
            Role::Number { .. } => (0, 0.0),
            Role::Level { level } => (1, code(encoding, &feature.column, level)?),
            Role::Missing => {
                gaps.push(at - 1);
                (2, 0.0)
            }
            Role::Date { .. } | Role::Cycle { .. } => {
                return Err(Refused(format!("column '{}' is a date; make it a number", feature.column)));
            }
        };
        codes.push(code);
        kinds.iter_mut().enumerate().for_each(|(k, is)| is.push(f64::from(u8::from(k == kind))));
    }
    let cells = graph.columns(x, &columns);
    let [is_number, is_code, is_missing] = &kinds;
    if !is_code.contains(&1.0) && !is_missing.contains(&1.0) {
        return Ok(cells);
    }
    let codes = graph.row(&codes);
    let (equal, absent) = (graph.apply("Equal", &[&cells, &codes]), graph.apply("IsNaN", &[&cells]));
    let (coded, flags) = (graph.cast(&equal, Element::Double), graph.cast(&absent, Element::Double));
    let [numbers, coded, flags] = [(&cells, is_number), (&coded, is_code), (&flags, is_missing)]
        .map(|(values, kind)| only(graph, values, kind));
    let mut raw = graph.apply("Add", &[&numbers, &flags]); // NaN where a number is missing
    if !gaps.is_empty() {
        raw = impute::imputed(graph, &raw, &encoding.imputation(), &gaps);
    }
    Ok(graph.apply("Add", &[&raw, &coded]))
}

/// Values in dimensions of a kind, and 0 in the others even where the value is NaN.
fn only(graph: &mut Graph, values: &Value, kind: &[f64]) -> Value {
    let (kind, zero) = (graph.row(kind), graph.row(&[0.0]));
    let kind = graph.cast(&kind, Element::Bool);
    graph.apply("Where", &[&kind, values, &zero])
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
