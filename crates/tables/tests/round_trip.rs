//! What is written reads back as it was, in every format.

mod common;

use std::path::Path;

use common::{assert_says, column, read};
use flowgmm_data::{Cells, Column, Frame, TextCells};
use flowgmm_tables::{ColumnType, InputFormat, Options, OutputFormat, Writer};
use proptest::prelude::*;

const READ_BACK: [OutputFormat; 5] = [
    OutputFormat::Csv,
    OutputFormat::Tsv,
    OutputFormat::Parquet,
    OutputFormat::Arrow,
    OutputFormat::JsonLines,
];

fn frame(numbers: Vec<f64>, texts: &[Option<&str>]) -> Frame {
    let lines = (1..=numbers.len() as u64).collect();
    let texts: TextCells = texts.iter().copied().collect();
    let columns = vec![
        Column { name: "p, \"q\"".into(), cells: Cells::Numbers(numbers) },
        Column { name: "class".into(), cells: Cells::from_texts(texts) },
    ];
    Frame::new("memory", columns, lines).unwrap()
}

fn kinds() -> Vec<(String, ColumnType)> {
    vec![("class".into(), ColumnType::Text), ("p, \"q\"".into(), ColumnType::Number)]
}

fn write(format: OutputFormat, batches: &[Frame]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "out", format, &kinds()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap()
}

fn written(format: OutputFormat, batches: &[Frame]) -> String {
    String::from_utf8(write(format, batches)).unwrap()
}

#[track_caller]
fn assert_reads_back(batch: &Frame) {
    for format in READ_BACK {
        let mut twice = batch.clone();
        twice.append(batch.clone(), &[]).unwrap();
        let back = read(write(format, &[batch.clone(), batch.clone()]), &Options::default()).unwrap();
        assert_eq!(back.column_names(), ["class", "p, \"q\""], "{format:?}");
        for name in back.column_names() {
            assert_eq!(column(&back, &name), column(&twice, &name), "{format:?}, {name}");
        }
    }
}

#[test]
fn surprising_cells_read_back() {
    let numbers = vec![0.1 + 0.2, f64::NAN, -0.0, 5e-324, 1e300, 12345678901234567.0];
    let texts = [Some("a,b"), None, Some("tab\there"), Some("say \"hi\""), Some("line\nbreak"), Some("é 漢")];
    assert_reads_back(&frame(numbers, &texts));
}

proptest! {
    #[test]
    fn any_cell_reads_back(
        cells in proptest::collection::vec((any::<f64>(), proptest::option::of("[ -~é\n\t]{0,8}")), 1..20)
    ) {
        let numbers = cells.iter().map(|(value, _)| if value.is_finite() { *value } else { f64::NAN }).collect();
        // As a reader would have it: trimmed, and missing if it says so.
        let text = |text: &Option<String>| text.as_deref().map(str::trim).filter(|t| !is_missing(t)).map(String::from);
        let texts: Vec<Option<String>> = cells.iter().map(|(_, cell)| text(cell)).collect();
        assert_reads_back(&frame(numbers, &texts.iter().map(Option::as_deref).collect::<Vec<_>>()));
    }
}

fn is_missing(text: &str) -> bool {
    text.is_empty() || flowgmm_tables::MISSING_TOKENS.iter().any(|token| token.eq_ignore_ascii_case(text))
}

#[test]
fn text_formats_look_as_other_programs_expect() {
    let batch = frame(vec![1.0, f64::NAN, 1e-7], &[Some("x"), Some("q\"\n"), None]);
    assert_eq!(
        written(OutputFormat::Csv, std::slice::from_ref(&batch)),
        "class,\"p, \"\"q\"\"\"\nx,1\n\"q\"\"\n\",\n,1e-7\n"
    );
    let lines = written(OutputFormat::JsonLines, &[batch.clone(), batch.clone()]);
    assert_eq!(lines.lines().count(), 6);
    assert_eq!(lines.lines().nth(1).unwrap(), r#"{"class":"q\"\n","p, \"q\"":null}"#);
    let array = written(OutputFormat::Json, &[batch.clone(), batch.clone()]);
    let array: serde_json::Value = serde_json::from_str(&array).unwrap();
    assert_eq!((array.as_array().unwrap().len(), &array[5]["p, \"q\""]), (6, &serde_json::json!(1e-7)));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&written(OutputFormat::Json, &[])).unwrap(),
        serde_json::json!([])
    );
    assert_eq!(written(OutputFormat::JsonLines, &[]), "");
    assert_eq!(written(OutputFormat::Tsv, &[]), "class\t\"p, \"\"q\"\"\"\n");
}

#[test]
fn a_table_without_rows_is_still_a_table() {
    for format in READ_BACK.into_iter().filter(|format| *format != OutputFormat::JsonLines) {
        assert_says(read(write(format, &[]), &Options::default()).unwrap_err(), &["no rows"]);
    }
    let lines = Options { format: Some(InputFormat::JsonLines), ..Options::default() };
    let nothing = read(write(OutputFormat::JsonLines, &[]), &lines).unwrap_err();
    assert_says(nothing, &["is empty"]); // without rows there are no keys either
}

#[test]
fn a_missing_cell_alone_in_its_row_is_a_row() {
    let column = vec![Column { name: "a".into(), cells: Cells::Numbers(vec![1.0, f64::NAN, 3.0]) }];
    let frame = Frame::new("memory", column, vec![1, 2, 3]).unwrap();
    for format in READ_BACK {
        let mut writer = Writer::new(Vec::new(), "out", format, &[("a".into(), ColumnType::Number)]).unwrap();
        writer.write(&frame).unwrap();
        let back = read(writer.finish().unwrap(), &Options::default()).unwrap();
        assert_eq!(common::column(&back, "a"), ["1", "", "3"], "{format:?}");
    }
}

#[test]
fn a_number_column_refuses_texts_and_a_text_column_takes_numbers() {
    let batch = frame(vec![1.0, 2.0], &[Some("3"), Some("x")]);
    let numbers = [("class".to_string(), ColumnType::Number)];
    let mut writer = Writer::new(Vec::new(), "out", OutputFormat::Csv, &numbers).unwrap();
    assert_says(writer.write(&batch).unwrap_err(), &["line 2, column 'class'", "'x'", "as text"]);
    let absent = [("z".to_string(), ColumnType::Number)];
    let mut writer = Writer::new(Vec::new(), "out", OutputFormat::Csv, &absent).unwrap();
    assert_says(writer.write(&batch).unwrap_err(), &["lacks 1 column", "'z'"]);
    let texts = [("p, \"q\"".to_string(), ColumnType::Text)];
    let mut writer = Writer::new(Vec::new(), "out", OutputFormat::JsonLines, &texts).unwrap();
    writer.write(&batch).unwrap();
    assert_eq!(writer.finish().unwrap(), b"{\"p, \\\"q\\\"\":\"1\"}\n{\"p, \\\"q\\\"\":\"2\"}\n");
}

#[test]
fn the_name_of_the_output_says_its_format() {
    let of = |path: &str| OutputFormat::of(Path::new(path));
    assert_eq!(of("-").unwrap(), OutputFormat::Csv);
    assert_eq!(of("a/b.Parquet").unwrap(), OutputFormat::Parquet);
    assert_eq!(of("b.jsonl").unwrap(), OutputFormat::JsonLines);
    assert_says(of("b.xlsx").unwrap_err(), &["b.xlsx", "'.xlsx'", ".parquet"]);
    assert_says(of("b.csv.gz").unwrap_err(), &["'.gz'"]);
}

/// A sink that is full after some bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0 >= bytes.len() {
            true => self.0 -= bytes.len(),
            false => return Err(std::io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_io_error_in_every_format() {
    let batch = frame((0..3000).map(f64::from).collect(), &vec![Some("some text"); 3000]);
    for format in [&READ_BACK[..], &[OutputFormat::Json]].concat() {
        for room in [0, 4, 1000] {
            let attempt = Writer::new(Full(room), "disk", format, &kinds())
                .and_then(|mut writer| writer.write(&batch).and_then(|()| writer.finish()));
            let error = attempt.err().unwrap_or_else(|| panic!("{format:?} with room for {room}"));
            assert!(error.is_io(), "{format:?}: {error}");
            let full = matches!(&error, flowgmm_tables::Error::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
            assert!(full, "{format:?}: {error}");
        }
    }
}
