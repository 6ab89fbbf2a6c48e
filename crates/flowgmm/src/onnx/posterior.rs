//! Mixture, experts and posterior as operators, in double precision.

use flowgmm_core::{Mixture, MixtureValues};
use flowgmm_learners::{Forest, Logistic, Scorecard};
use ndarray::{Array1, Array2, Axis};

use super::graph::{Attribute, Graph, Value};
use super::proto::Element;
use crate::model::blend::Part;

/// log p(z, k) `[n, K]` of latent points.
pub(super) fn log_joint(graph: &mut Graph, z: &Value, mixture: &Mixture) -> Value {
    let (spec, values) = (mixture.spec(), mixture.values());
    let (n, dim) = values.means.dim();
    let distance = match values.below.is_empty() {
        true => by_column(graph, z, &values),
        false => correlated(graph, z, &values),
    };
    let half = graph.row(&[-0.5]);
    let exponent = graph.apply("Mul", &[&distance, &half]);
    let class_of = spec.class_of();
    let within = |k: usize| {
        let own =
            values.log_weight.iter().zip(&class_of).filter(|(_, class)| **class == k).map(|(w, _)| w.exp());
        own.sum::<f64>().ln()
    };
    let total = values.log_prior.iter().map(|log| log.exp()).sum::<f64>().ln();
    let constants: Vec<f64> = (0..n)
        .map(|c| {
            let k = class_of[c];
            let volume: f64 = (0..dim).map(|j| values.sigma(c, j).ln()).sum();
            let normal = -volume - 0.5 * dim as f64 * std::f64::consts::TAU.ln();
            normal + values.log_weight[c] - within(k) + values.log_prior[k] - total
        })
        .collect();
    let constants = graph.row(&constants);
    let by_component = graph.apply("Add", &[&exponent, &constants]);
    if spec.per_class.iter().all(|&components| components == 1) {
        return by_component;
    }
    let classes: Vec<Value> = (0..spec.n_classes())
        .map(|k| {
            let own: Vec<usize> = (0..n).filter(|&c| class_of[c] == k).collect();
            let own = graph.columns(&by_component, &own);
            graph.log_sum_exp(&own)
        })
        .collect();
    graph.beside(&classes.iter().collect::<Vec<_>>())
}

/// sum_j ((z_j - mu_cj) / sigma_cj)^2, `[n, C]`, of spherical or diagonal covariances.
fn by_column(graph: &mut Graph, z: &Value, values: &MixtureValues) -> Value {
    let (n, dim) = values.means.dim();
    let axis = graph.whole([1]);
    let z = graph.apply("Unsqueeze", &[z, &axis]); // [n, 1, dim]
    let means = graph.doubles(&[1, n, dim], values.means.iter().copied());
    let inverse = (0..n * dim).map(|at| values.sigma(at / dim, at % dim).recip());
    let inverse = graph.doubles(&[1, n, dim], inverse);
    let off = graph.apply("Sub", &[&z, &means]);
    let off = graph.apply("Mul", &[&off, &inverse]);
    let squares = graph.apply("Mul", &[&off, &off]);
    let axes = graph.whole([2]);
    graph.apply_with("ReduceSum", &[&squares, &axes], &[Attribute::Int("keepdims", 0)])
}

/// |A_c (z - mu_c)|^2, `[n, C]`, of full or tied covariances: Sigma_c^-1 = A_c^T A_c.
fn correlated(graph: &mut Graph, z: &Value, values: &MixtureValues) -> Value {
    let (n, dim) = values.means.dim();
    let each: Vec<Value> = (0..n)
        .map(|c| {
            let mean = values.means.row(c);
            let offset = values.whitened(c, Array1::zeros(dim).view()); // -A mu
            let mut transposed = Array2::eye(dim); // row j becomes A e_j
            for mut row in transposed.rows_mut() {
                row += &mean;
                let whitened = values.whitened(c, row.view());
                row.assign(&whitened);
            }
            let (a, offset) = (graph.matrix(transposed.view()), graph.row(&offset.to_vec()));
            let product = graph.apply("MatMul", &[z, &a]);
            let whitened = graph.apply("Add", &[&product, &offset]);
            let squares = graph.apply("Mul", &[&whitened, &whitened]);
            graph.sum(&squares, 1)
        })
        .collect();
    graph.beside(&each.iter().collect::<Vec<_>>())
}

/// log softmax(logits / T) over the columns.
pub(super) fn tempered(graph: &mut Graph, logits: &Value, temperature: f64) -> Value {
    let factor = graph.row(&[1.0 / temperature]);
    let scaled = graph.apply("Mul", &[logits, &factor]);
    let sum = graph.log_sum_exp(&scaled);
    graph.apply("Sub", &[&scaled, &sum])
}

/// log sum_j w_j p_j `[n, K]` of parts by their log p_j `[n, K]`, each at its temperature.
pub(super) fn blended(graph: &mut Graph, parts: &[(Part, Value)]) -> Value {
    let weighted: Vec<Value> = parts
        .iter()
        .map(|(part, log_p)| {
            let log_p = tempered(graph, log_p, part.temperature);
            let (p, weight) = (graph.apply("Exp", &[&log_p]), graph.row(&[part.weight]));
            graph.apply("Mul", &[&p, &weight])
        })
        .collect();
    let (first, others) = weighted.split_first().expect("a part");
    let m = others.iter().fold(first.clone(), |sum, part| graph.apply("Add", &[&sum, part]));
    let least = graph.row(&[f64::MIN_POSITIVE]);
    let m = graph.apply("Max", &[&m, &least]);
    graph.apply("Log", &[&m])
}

/// Logits W x + b `[n, K]` of logistic regression.
pub(super) fn regression(graph: &mut Graph, x: &Value, regression: &Logistic) -> Value {
    let (weights, intercepts) = (graph.matrix(regression.weights().t()), regression.intercepts().to_vec());
    let product = graph.apply("MatMul", &[x, &weights]);
    let intercepts = graph.row(&intercepts);
    graph.apply("Add", &[&product, &intercepts])
}

/// Scores `[n, K]` of naive Bayes: the base, and the points of all cuts that a row of single-precision x reaches.
pub(super) fn naive_bayes(graph: &mut Graph, x: &Value, card: &Scorecard) -> Value {
    let [base, column, cut, points] = card.to_arrays();
    let double = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let base = graph.row(&double(&base));
    if column.is_empty() {
        // One row of scores for each row of x.
        let first = graph.columns(x, &[0]);
        let zero = graph.row(&[0.0]);
        let first = graph.cast(&first, Element::Double);
        let zeros = graph.apply("Mul", &[&first, &zero]);
        return graph.apply("Add", &[&zeros, &base]);
    }
    let columns: Vec<usize> = column.iter().map(|&column| column as usize).collect();
    let values = graph.columns(x, &columns); // [n, n_cuts]
    let values = graph.cast(&values, Element::Double);
    let cuts = graph.row(&double(&cut));
    let reached = graph.apply("GreaterOrEqual", &[&values, &cuts]);
    let reached = graph.cast(&reached, Element::Double);
    let shape = (cut.len(), points.len() / cut.len());
    let points = Array2::from_shape_vec(shape, double(&points)).expect("points of every cut");
    let points = graph.matrix(points.view());
    let sum = graph.apply("MatMul", &[&reached, &points]);
    graph.apply("Add", &[&sum, &base])
}

/// Smoothed class probabilities of a forest `[n, K]`, by the operator for ensembles of trees.
pub(super) fn forest(graph: &mut Graph, x: &Value, forest: &Forest, n_classes: usize) -> Value {
    let [sizes, feature, threshold, next, mixed] = forest.to_arrays();
    let (mut trees, mut nodes, mut modes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut features, mut yes, mut no) = (Vec::new(), Vec::new(), Vec::new());
    let mut targets: [Vec<i64>; 3] = Default::default(); // tree, node, class
    let mut weights = Vec::new();
    let mut start = 0;
    for (tree, &size) in sizes.iter().enumerate() {
        for node in 0..size as usize {
            let at = start + node;
            let is_leaf = feature[at] < 0.0;
            trees.push(tree as i64);
            nodes.push(node as i64);
            modes.push(if is_leaf { "LEAF" } else { "BRANCH_LEQ" });
            features.push(if is_leaf { 0 } else { feature[at] as i64 });
            yes.push(if is_leaf { 0 } else { node as i64 + 1 });
            no.push(if is_leaf { 0 } else { next[at] as i64 });
            if is_leaf {
                let number = next[at] as usize;
                for k in 0..n_classes {
                    let share = match number.checked_sub(n_classes) {
                        None => f32::from(u8::from(k == number)),
                        Some(leaf) => mixed[leaf * n_classes + k],
                    };
                    if share > 0.0 {
                        [tree as i64, node as i64, k as i64]
                            .into_iter()
                            .zip(&mut targets)
                            .for_each(|(v, to)| to.push(v));
                        weights.push(share);
                    }
                }
            }
        }
        start += size as usize;
    }
    let thresholds = threshold.iter().zip(&feature).map(|(&t, &f)| if f < 0.0 { 0.0 } else { t }).collect();
    let [target_trees, target_nodes, target_ids] = targets;
    let votes = graph.apply_ml(
        "TreeEnsembleRegressor",
        x,
        &[
            Attribute::Int("n_targets", n_classes as i64),
            Attribute::Text("aggregate_function", "SUM"),
            Attribute::Text("post_transform", "NONE"),
            Attribute::Ints("nodes_treeids", trees),
            Attribute::Ints("nodes_nodeids", nodes),
            Attribute::Ints("nodes_featureids", features),
            Attribute::Floats("nodes_values", thresholds),
            Attribute::Texts("nodes_modes", modes),
            Attribute::Ints("nodes_truenodeids", yes),
            Attribute::Ints("nodes_falsenodeids", no),
            Attribute::Ints("target_treeids", target_trees),
            Attribute::Ints("target_nodeids", target_nodes),
            Attribute::Ints("target_ids", target_ids),
            Attribute::Floats("target_weights", weights),
        ],
    );
    let votes = graph.cast(&votes, Element::Double);
    let all = graph.sum(&votes, 1);
    let p = graph.apply("Div", &[&votes, &all]);
    let (n, k) = (sizes.len() as f64, n_classes as f64);
    let (slope, rest) = (graph.row(&[n / (n + 0.5)]), graph.row(&[0.5 / k / (n + 0.5)]));
    let p = graph.apply("Mul", &[&p, &slope]);
    graph.apply("Add", &[&p, &rest])
}

/// The numbers of the most probable classes `[n]`.
pub(super) fn most_probable(graph: &mut Graph, log_probs: &Value) -> Value {
    graph.apply_with(
        "ArgMax",
        &[log_probs],
        &[Attribute::Int("axis", Axis(1).index() as i64), Attribute::Int("keepdims", 0)],
    )
}
