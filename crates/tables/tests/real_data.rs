//! Public files as people download them, from `FLOWGMM_DATA` or `../shared/data` beside the workspace.

mod common;

use std::path::PathBuf;

use common::{assert_says, column, names};
use flowgmm_data::Cells;
use flowgmm_tables::{Header, Options, Warning, open};

/// The file, unless it is absent, which is said.
fn data(file: &str) -> Option<PathBuf> {
    let root = std::env::var_os("FLOWGMM_DATA").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = root.unwrap_or_else(beside).join(file);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("skipped: {file}");
    None
}

#[test]
fn tables_of_uci_have_their_published_shapes() {
    for (file, rows, columns, classes) in [
        ("optdigits.csv.gz", 5620, 65, 10),
        ("pendigits.csv.gz", 10992, 17, 10),
        ("satimage.csv.gz", 6435, 37, 6),
        ("letter.csv.gz", 20000, 17, 26),
        ("magic04.data.gz", 19020, 11, 2),
        ("spambase.csv.gz", 4597, 58, 2),
    ] {
        let Some(path) = data(&format!("tabular/{file}")) else { continue };
        let options = Options { header: Header::Absent, ..Options::default() };
        let frame = open(path.as_path(), &options).unwrap().read_all().unwrap();
        assert_eq!((frame.n(), frame.columns().len()), (rows, columns), "{file}");
        assert!(
            frame.columns()[..columns - 1].iter().all(|c| matches!(c.cells, Cells::Numbers(_))),
            "{file}"
        );
        let mut labels = column(&frame, &format!("c{columns}"));
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), classes, "{file}");
        assert_eq!(frame.line(rows - 1), rows as u64, "{file}");

        // Without being told, the reader warns or refuses, but does not lose the first row in silence.
        match open(path.as_path(), &Options::default()) {
            Ok(reader) => assert!(matches!(reader.warnings(), [Warning::ProbablyNoHeader { .. }]), "{file}"),
            Err(error) => assert_says(error, &[file, "no header"]),
        }
    }
}

#[test]
fn higgs_has_a_header() {
    let Some(path) = data("tabular/higgs_11k.csv.gz") else { return };
    let mut reader = open(path.as_path(), &Options::default()).unwrap();
    assert!(reader.warnings().is_empty());
    let frame = reader.read_all().unwrap();
    assert_eq!(
        (frame.n(), frame.columns().len(), frame.columns()[0].name.as_str()),
        (10984, 29, "lepton_pT")
    );
}

#[test]
fn embeddings_in_half_precision() {
    let Some(path) = data("embeddings/agnews_minilm384_f16.npz") else { return };
    for (suffix, rows) in [("_train", 20464), ("_test", 7600)] {
        let options = Options { suffix: Some(suffix.into()), ..Options::default() };
        let mut reader = open(path.as_path(), &options).unwrap();
        let frame = reader.read_all().unwrap();
        assert_eq!((frame.n(), frame.columns().len()), (rows, 385));
        assert_eq!(frame.columns()[384].name, "y");
        assert!(
            frame
                .columns()
                .iter()
                .all(|c| matches!(&c.cells, Cells::Numbers(v) if v.iter().all(|x| !x.is_nan())))
        );
    }
    let error = open(path.as_path(), &Options::default()).err().unwrap();
    assert_says(error, &["x_train [20464, 384]", "y_test [7600]", "'_test' or '_train'"]);
    let two = Options { columns: Some(names(&["y_test", "x_test383"])), ..Options::default() };
    assert_eq!(open(path.as_path(), &two).unwrap().read_all().unwrap().n(), 7600);
}
