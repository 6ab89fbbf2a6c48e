//! Model files of older formats still load and predict the same: format 3 had three optional fields for what rows are, format 5 a
//! forest as the only expert beside the flow.

use std::path::{Path, PathBuf};

use flowgmm::{Classifier, Model, Rows, Source, tensor::Place};

/// Instruction sets differ in the last bits of single precision; logs of densities are sums of many such.
const TOLERANCE: f64 = 2e-3;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_formats").join(name)
}

/// The predictions of a model for rows, beside those stored: columns by name.
fn check(model: &str, rows: &str, stored: &str) -> Model {
    let model = Model::load(&file(model), &Place::cpu()).unwrap();
    let mut chunks = flowgmm::predict(&model, &Source::path(file(rows))).unwrap();
    let chunk = chunks.next().unwrap().unwrap();
    let found = chunk.predictions.to_frame(&model, &chunk.names).unwrap();
    assert!(chunks.next().is_none());
    let (expected, _) = flowgmm::predict(&model, &Source::path(file(rows))).unwrap().all().unwrap();
    assert_eq!(expected.n(), found.n());
    let text = std::fs::read_to_string(file(stored)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    assert_eq!(found.column_names(), head);
    // Typicality is twice a rank among 200 quantiles of the training rows: a hair's breadth may move it by one of each, and
    // ties count for the row now.
    let trained = model.provenance().n_labelled + model.provenance().n_unlabelled;
    let rank = 2.0 * (2.0 / 200.0 + 1.0 / trained as f64) + 1e-6;
    for (row, cells) in lines.enumerate() {
        for (name, cell) in head.iter().zip(cells) {
            let got = found.column(name).unwrap();
            match (got.number(row), cell.parse::<f64>()) {
                (Ok(Some(got)), Ok(want)) => {
                    let near = (got - want).abs() <= TOLERANCE * want.abs().max(1.0);
                    assert!(
                        near || *name == "typicality" && (got - want).abs() <= rank,
                        "{row} {name}: {got} {want}"
                    );
                }
                _ => assert_eq!(got.text(row).as_deref(), Some(cell), "{row} {name}"),
            }
        }
    }
    model
}

#[test]
fn a_model_of_a_table_loads_and_predicts_the_same() {
    let model = check("format3/table.flow", "format3/table.csv", "format3/table-predictions.csv");
    assert!(matches!(model.rows(), Rows::Table { label: None, texts, .. } if texts.is_empty()));
    assert_eq!(model.classes(), ["setosa", "versicolor", "virginica"]);
    // What is written now is read again, and says what it says.
    let again = Model::from_bytes(&model.to_bytes(), &Place::cpu()).unwrap();
    assert_eq!(again.columns(), model.columns());
    assert_eq!(again.to_bytes(), model.to_bytes());
}

#[test]
fn a_model_of_a_flow_and_a_forest_loads_and_predicts_the_same() {
    let model = check("format5/table.flow", "format3/table.csv", "format5/table-predictions.csv");
    let blend = model.blend().expect("a forest");
    assert_eq!(blend.forest().n_trees(), 5);
    let names: Vec<&str> = blend.percentages().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["flow", "trees"]);
    let again = Model::from_bytes(&model.to_bytes(), &Place::cpu()).unwrap();
    assert_eq!(again.to_bytes(), model.to_bytes());
}

#[test]
fn a_model_of_images_loads_and_predicts_the_same() {
    let model = check("format3/images.flow", "format3/images.npz", "format3/images-predictions.csv");
    assert!(matches!(model.rows(), Rows::Images { layout } if layout.pixels() == 64));
}
