//! A model as an ONNX file, for programs that have a run-time of ONNX and not this library.
//!
//! ```text
//! x [n, columns] double, or images [n, channels, height, width] of bytes
//!   ─encoding, preprocessing→ x' ─flow→ z, log_det ─mixture→ log p(x, k)
//!   label [n] text, probabilities [n, K] double, log_p [n] double
//! ```
//!
//! Opset 13 with ai.onnx.ml 3. The flow is computed in single precision, as here; everything else in double. Predictions of a
//! blend have the experts in them, trees as an ensemble of trees. The file's metadata name columns and classes.

mod flow;
mod graph;
mod image;
mod impute;
mod nets;
mod posterior;
mod proto;
mod spline;
mod table;

use std::path::Path;

use flowgmm_core::atomic_write;
use serde_json::json;

use crate::{Error, Model, Result, Rows, model::Tempering};
use graph::{Graph, Value};
use proto::{Element, Message, entry, value_info};

/// Why a model cannot be exported.
struct Refused(String);

/// The version of the format, of its operators, and of those for trees.
const IR: i64 = 8;
const OPSET: i64 = 13;
const OPSET_ML: i64 = 3;

/// The bytes of an ONNX file of a model of numeric columns or of images. Its input `x` has the columns that the model reads, in
/// their order, or pixel values 0 to 255 in the size that the model keeps; its outputs are `label`, `probabilities` and `log_p`.
///
/// A missing cell is NaN, in columns that had missing cells in training. Models of categories, dates or texts are refused, with
/// the reason.
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let train = semisup::Toy::Moons.problem(1).train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 20);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let bytes = flowgmm::to_onnx(&model)?;
/// # assert!(bytes.len() > 1000);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn to_onnx(model: &Model) -> Result<Vec<u8>> {
    exported(model)
        .map_err(|Refused(why)| Error::Request(format!("this model cannot be exported to ONNX: {why}")))
}

/// Writes [`to_onnx`] to a file.
pub fn export_onnx(model: &Model, path: &Path) -> Result<()> {
    atomic_write(path, &to_onnx(model)?).map_err(Error::io(path))
}

fn exported(model: &Model) -> std::result::Result<Vec<u8>, Refused> {
    if model.tempering == Tempering::Likelihood && model.temperature != 1.0 {
        return Err(Refused("its file is of an old format; fit it again".into()));
    }
    let mut graph = Graph::default();
    let input = Value("x".into());
    let (x, input) = match model.rows() {
        Rows::Matrix { columns } => (input, value_info("x", Element::Double, &[columns.len()])),
        Rows::Table { encoding, texts, .. } => {
            let x = table::encoded(&mut graph, &input, encoding, texts)?;
            (x, value_info("x", Element::Double, &[encoding.n_columns()]))
        }
        Rows::Images { layout } => {
            let shape = [layout.channels, layout.height, layout.width];
            (image::rows(&mut graph, &input, layout), value_info("x", Element::Uint8, &shape))
        }
    };
    let (prepared, gain) = table::prepared(&mut graph, &x, model.preprocess());
    let single = graph.cast(&prepared, Element::Float);
    let (z, log_det) = flow::encoded(&mut graph, &single, model.gmm().flow())?;
    let (z, log_det) = (graph.cast(&z, Element::Double), graph.cast(&log_det, Element::Double));
    let log_joint = posterior::log_joint(&mut graph, &z, model.gmm().mixture());
    let log_joint = graph.apply("Add", &[&log_joint, &log_det]);
    let mut log_probs = posterior::tempered(&mut graph, &log_joint, model.temperature);
    if let Some(blend) = model.blend() {
        let single = graph.cast(&x, Element::Float);
        let forest = posterior::forest(&mut graph, &single, blend.forest(), model.classes.len());
        let trees = graph.apply("Log", &[&forest]);
        let regression = blend.experts.regression.as_ref();
        let regression = regression.map(|part| posterior::regression(&mut graph, &prepared, part));
        let naive_bayes = blend.experts.naive_bayes.as_ref();
        let naive_bayes = naive_bayes.map(|part| posterior::naive_bayes(&mut graph, &single, part));
        let parts = [Some(log_probs), Some(trees), regression, naive_bayes];
        let parts = blend.weights.parts().into_iter().zip(parts);
        let parts: Vec<_> = parts.filter_map(|(part, log_p)| Some((part, log_p?))).collect();
        let logits = posterior::blended(&mut graph, &parts);
        log_probs = posterior::tempered(&mut graph, &logits, model.temperature());
    }
    let mut log_p = graph.log_sum_exp(&log_joint);
    if let Some(gain) = gain {
        log_p = graph.apply("Add", &[&log_p, &gain]);
    }
    let log_p = graph.reshape(&log_p, &[]);
    let names = graph.texts(&model.classes);
    let class = posterior::most_probable(&mut graph, &log_probs);
    let label = graph.apply("Gather", &[&names, &class]);
    let probabilities = graph.apply("Exp", &[&log_probs]);
    graph.output(&label, "label");
    graph.output(&probabilities, "probabilities");
    graph.output(&log_p, "log_p");
    let outputs = vec![
        value_info("label", Element::String, &[]),
        value_info("probabilities", Element::Double, &[model.classes.len()]),
        value_info("log_p", Element::Double, &[]),
    ];
    let graph = graph.finish(vec![input], outputs);
    let operators = |domain: &str, version: i64| Message::default().bytes(1, domain).int(2, version);
    let file = Message::default().int(1, IR).bytes(2, "flowgmm").bytes(3, env!("CARGO_PKG_VERSION"));
    let file = file.message(7, graph).message(8, operators("", OPSET));
    let file = file.message(8, operators("ai.onnx.ml", OPSET_ML));
    let names = [("columns", model.input_columns()), ("classes", model.classes.clone())];
    let named = names.iter().filter(|(_, names)| !names.is_empty());
    Ok(file
        .each(named, |file, (key, names)| file.message(14, entry(key, &json!(names).to_string())))
        .into_bytes())
}
