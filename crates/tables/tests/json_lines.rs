//! JSON lines: one object per line, as our writer and others write them.

mod common;

use std::io::Write;

use common::{assert_says, column, names, read, stream};
use flowgmm_tables::{InputFormat, Options, open};
use proptest::prelude::*;

const FLOWERS: &str = r#"{"width": 1.5, "colour": "red", "alive": true}
{"width": null, "colour": "blue"}

{"colour": "r\u00e9d", "height": 3, "width": "2.50"}
"#;

fn small_batches() -> Options {
    Options { batch_rows: 2, ..Options::default() }
}

#[test]
fn keys_are_columns_and_lacking_ones_are_gaps() {
    let frame = read(FLOWERS, &Options::default()).unwrap();
    assert_eq!(frame.column_names(), ["width", "colour", "alive", "height"]);
    assert_eq!(column(&frame, "width"), ["1.5", "", "2.5"]);
    assert_eq!(column(&frame, "colour"), ["red", "blue", "réd"]);
    assert_eq!(column(&frame, "alive"), ["true", "", ""]);
    assert_eq!(column(&frame, "height"), ["", "", "3"]);
    assert_eq!(frame.lines(), [1, 2, 4]);
}

#[test]
fn the_first_rows_decide_the_columns() {
    let mut reader = open(stream(FLOWERS), &small_batches()).unwrap();
    assert_eq!(reader.format(), InputFormat::JsonLines);
    let frame = reader.read_all().unwrap();
    assert_eq!(frame.column_names(), ["width", "colour", "alive"], "'height' comes in the second batch");
    assert_eq!(column(&frame, "alive"), ["true", "", ""]);
    let label = Options { literal: names(&["height"]), ..small_batches() };
    assert_says(read(FLOWERS, &label).unwrap_err(), &["line 4", "'height'", "null"]);
}

#[test]
fn columns_asked_for_come_in_that_order_and_must_be_there() {
    let wanted = |columns: &[&str]| Options { columns: Some(names(columns)), ..Options::default() };
    let frame = read(FLOWERS, &wanted(&["height", "width"])).unwrap();
    assert_eq!(frame.column_names(), ["height", "width"]);
    assert_eq!(column(&frame, "width"), ["1.5", "", "2.5"]);
    assert_says(read(FLOWERS, &wanted(&["depth"])).unwrap_err(), &["'depth'", "'width', 'colour', 'alive'"]);
}

#[test]
fn it_is_recognised_by_name_by_content_and_by_word() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["rows.jsonl", "rows.ndjson.gz", "rows.json", "rows"] {
        let file = directory.path().join(name);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(FLOWERS.as_bytes()).unwrap();
        let bytes = if name.ends_with("gz") { packed.finish().unwrap() } else { FLOWERS.into() };
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(open(file.as_path(), &Options::default()).unwrap().read_all().unwrap().n(), 3, "{name}");
    }
    let spaced = "\u{feff} \n {\"a\":1}\r\n{\"a\":2}";
    assert_eq!(column(&read(spaced, &Options::default()).unwrap(), "a"), ["1", "2"]);
    let format = Some("jsonl".parse().unwrap());
    assert_eq!(read("{\"a\":1}", &Options { format, ..Options::default() }).unwrap().n(), 1);
    assert_eq!(read("{a},b\n1,2\n", &Options::default()).unwrap().column_names(), ["{a}", "b"], "CSV");
}

#[test]
fn what_is_wrong_is_said_with_line_and_key() {
    let format = Some(InputFormat::JsonLines);
    let says = |text: &str, parts: &[&str]| {
        assert_says(read(text, &Options { format, ..Options::default() }).unwrap_err(), parts);
    };
    says("{\"a\":1}\n{\"a\":[1,2]}\n", &["f, line 2, key 'a': found a list", "keys of their own"]);
    says("{\"a\":{\"b\":1}}", &["line 1, key 'a': found an object"]);
    says("{\"a\":1}\n{\"a\":1,\"a\":2}", &["line 2, character", "'a' stands there twice"]);
    says("{\"a\":1}\n{\"a\":", &["line 2, character 6", "the end of the line", "correct the line"]);
    says("a,b\n1,2\n", &["line 1, character 1", "found 'a,b'", "one JSON object"]);
    says("", &["f is empty"]);
    says("{\"\":1}", &["name"]);
    says("{}\n{}\n", &["column"]);
    let error = read(b"{\"a\":1}\n{\"a\":\"\xff\"}", &Options { format, ..Options::default() }).unwrap_err();
    assert_says(error, &["line 2", "UTF-8"]);
}

#[test]
fn files_cut_off_or_altered_at_any_byte_do_not_panic() {
    let options = Options { format: Some(InputFormat::JsonLines), ..small_batches() };
    for at in 0..FLOWERS.len() {
        let bytes = FLOWERS.as_bytes();
        match read(&bytes[..at], &options) {
            Ok(frame) => assert!(frame.n() < 3 || at + 1 == FLOWERS.len(), "cut at {at}"),
            Err(error) => assert!(!error.is_io() && error.to_string().len() < 500, "cut at {at}: {error}"),
        }
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= change;
            let _ = read(&damaged, &options);
        }
    }
}

proptest! {
    #[test]
    fn text_like_json_does_not_panic(text in "[\\[{}\\]:,\"a1.e\\\\u \n\u{e9}-]{0,60}") {
        let _ = read(text, &Options { format: Some(InputFormat::JsonLines), ..small_batches() });
    }
}
