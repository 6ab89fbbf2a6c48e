//! Schema and encoding on real tables, found through FLOWGMM_DATA (or `../shared/data` next to the workspace); without
//! them each test says so and passes.

use std::{path::PathBuf, process::Command, time::Instant};

use flowgmm_data::{Cells, Column, ColumnKind, Encoding, Frame, Likelihood, Role, Schema, TextCells, labels};

/// The frame of a gzipped CSV; columns without a header are called c0, c1, ..
fn read(file: &str, header: bool) -> Option<Frame> {
    let default = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let path = std::env::var_os("FLOWGMM_DATA").map_or(default, PathBuf::from).join("tabular").join(file);
    if !path.exists() {
        eprintln!(
            "skipped: {} is not there; set FLOWGMM_DATA to a folder with the UCI tables",
            path.display()
        );
        return None;
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip runs");
    let mut reader = csv::ReaderBuilder::new().has_headers(header).from_reader(unpacked.stdout.as_slice());
    let names: Vec<String> = match header {
        true => reader.headers().unwrap().iter().map(String::from).collect(),
        false => (0..reader.headers().unwrap().len()).map(|j| format!("c{j}")).collect(),
    };
    let mut columns = vec![TextCells::default(); names.len()];
    for record in reader.records() {
        let record = record.unwrap();
        let cells = record.iter().map(|cell| Some(cell.trim()).filter(|cell| !cell.is_empty()));
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    let n = columns[0].len() as u64;
    let cells = columns.into_iter().map(Cells::from_texts);
    let columns = names.into_iter().zip(cells).map(|(name, cells)| Column { name, cells });
    Some(Frame::new(file, columns.collect(), (1..=n).collect()).unwrap())
}

fn encode(frame: &Frame) -> (Schema, Encoding) {
    let label = frame.column_names().pop().unwrap();
    let clock = Instant::now();
    let schema = Schema::infer(frame, Some(&label), &[]).unwrap();
    let inferred = clock.elapsed();
    let encoding = Encoding::learn(&schema, frame).unwrap();
    let learnt = clock.elapsed();
    encoding.validate().unwrap();
    let encoded = encoding.apply(frame).unwrap();
    eprintln!(
        "{}: {} x {}, {} classes, {} warnings; infer {inferred:.0?}, learn {:.0?}, encode {:.0?}",
        frame.name(),
        frame.n(),
        encoding.dim(),
        labels(frame, &label, &[]).unwrap().classes.len(),
        schema.warnings().count(),
        learnt - inferred,
        clock.elapsed() - learnt,
    );
    assert!(encoded.unseen.is_empty() && encoded.imputed == 0);
    let decoded = encoding.invert(encoded.x.view());
    for column in decoded.columns() {
        let cells = frame.column(&column.name).unwrap();
        let same = (0..frame.n()).all(|row| column.cells.text(row) == cells.text(row));
        assert!(same, "column '{}' of {}", column.name, frame.name());
    }
    (schema, encoding)
}

#[test]
fn whole_numbers() {
    for file in ["letter.csv.gz", "optdigits.csv.gz", "pendigits.csv.gz", "satimage.csv.gz"] {
        let Some(frame) = read(file, false) else { continue };
        let (schema, encoding) = encode(&frame);
        assert_eq!(schema.warnings().count(), 0, "{:?}", schema.warnings().collect::<Vec<_>>());
        for column in schema.columns() {
            let whole = matches!(&column.kind, ColumnKind::Numeric { facts, .. } if facts.integer);
            assert!(whole || matches!(column.kind, ColumnKind::Constant { .. }), "{column:?}");
        }
        let numbers =
            encoding.features().iter().filter(|feature| matches!(feature.role, Role::Number { .. }));
        assert!(numbers.into_iter().all(|feature| feature.step().is_some()));
        // Pixels are not codes, but for one at the edge that has few values.
        assert!(encoding.dim() <= encoding.n_columns() + 9, "{}", encoding.dim());
    }
}

#[test]
fn measurements() {
    if let Some(frame) = read("magic04.data.gz", false) {
        let (schema, _) = encode(&frame);
        for name in ["c2", "c3", "c4"] {
            let kind = &schema.column(name).unwrap().kind;
            assert!(
                matches!(kind, ColumnKind::Numeric { facts, .. } if facts.grid == Some(1e-4)),
                "{name}: {kind:?}"
            );
        }
    }
    if let Some(frame) = read("spambase.csv.gz", false) {
        let (schema, encoding) = encode(&frame);
        let zeros = schema.columns().iter().filter(|column| match &column.kind {
            ColumnKind::Numeric { facts, .. } => facts.common == 0. && facts.common_share > 0.4,
            _ => false,
        });
        assert!(zeros.count() > 40);
        assert!(matches!(encoding.likelihood(), Likelihood::Bound { .. }));
    }
    if let Some(frame) = read("higgs_11k.csv.gz", true) {
        let (schema, _) = encode(&frame);
        let mass = &schema.column("m_jj").unwrap().kind;
        assert!(
            matches!(mass, ColumnKind::Numeric { facts, .. } if facts.step.is_none() && facts.skewness > 2.),
            "{mass:?}"
        );
        let tag = &schema.column("jet_1_btag").unwrap().kind;
        assert!(
            matches!(tag, ColumnKind::Numeric { facts, .. } if facts.discrete && facts.step.is_some()),
            "{tag:?}"
        );
    }
}
