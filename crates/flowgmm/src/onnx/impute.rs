//! Imputation of missing numbers as operators, in double precision: the sweeps of regressions that the encoding does.

use flowgmm_data::Imputation;
use ndarray::{Array2, Axis};

use super::{
    graph::{Graph, Value},
    proto::Element,
};

/// Rows `[n, dim]` with NaN in dimensions `gaps` replaced by what regressions on the rest of the row predict.
pub(super) fn imputed(graph: &mut Graph, x: &Value, imputation: &Imputation<'_>, gaps: &[usize]) -> Value {
    let dim = imputation.centre.len();
    let standard = |j: usize, value: f64| (value - imputation.centre[j]) / imputation.scale[j];
    let absent = graph.apply("IsNaN", &[x]);
    let fillable = (0..dim).map(|j| f64::from(u8::from(gaps.contains(&j)))).collect::<Vec<_>>();
    let missing = within(graph, &absent, &fillable);
    let values: Vec<_> = imputation.values.iter().filter(|value| gaps.contains(&value.dim)).collect();
    let mut medians = vec![0.0; dim];
    values.iter().for_each(|value| medians[value.dim] = value.median);
    let medians = graph.row(&medians);
    let (centre, scale) = (graph.row(imputation.centre), graph.row(imputation.scale));
    let start = graph.apply("Where", &[&missing, &medians, x]);
    let centred = graph.apply("Sub", &[&start, &centre]);
    let mut z = graph.apply("Div", &[&centred, &scale]);
    for _ in 0..imputation.sweeps {
        for value in &values {
            let Some((intercept, coefficients)) = value.regression else { continue };
            let column: Array2<f64> = coefficients
                .iter()
                .map(|&c| f64::from(c))
                .collect::<ndarray::Array1<_>>()
                .insert_axis(Axis(1));
            let (column, intercept) = (graph.matrix(column.view()), graph.row(&[intercept]));
            let sum = graph.apply("MatMul", &[&z, &column]); // [n, 1]
            let predicted = graph.apply("Add", &[&sum, &intercept]);
            let (low, high) = (standard(value.dim, value.low), standard(value.dim, value.high));
            let (low, high) = (graph.row(&[low]), graph.row(&[high]));
            let predicted = graph.apply("Max", &[&predicted, &low]);
            let predicted = graph.apply("Min", &[&predicted, &high]);
            let here = (0..dim).map(|j| f64::from(u8::from(j == value.dim))).collect::<Vec<_>>();
            let gap = within(graph, &missing, &here);
            z = graph.apply("Where", &[&gap, &predicted, &z]);
        }
    }
    let back = graph.apply("Mul", &[&z, &scale]);
    let back = graph.apply("Add", &[&back, &centre]);
    let (mut low, mut high) = (vec![f64::NEG_INFINITY; dim], vec![f64::INFINITY; dim]);
    values.iter().for_each(|value| (low[value.dim], high[value.dim]) = (value.low, value.high));
    let (low, high) = (graph.row(&low), graph.row(&high));
    let back = graph.apply("Max", &[&back, &low]);
    let back = graph.apply("Min", &[&back, &high]);
    graph.apply("Where", &[&missing, &back, x])
}

/// Which of `those` are in dimensions of which `dims` is 1.
fn within(graph: &mut Graph, those: &Value, dims: &[f64]) -> Value {
    let dims = graph.row(dims);
    let dims = graph.cast(&dims, Element::Bool);
    graph.apply("And", &[those, &dims])
}
