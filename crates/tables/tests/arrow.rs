//! Parquet, Feather and Arrow streams as other tools write them; `data/make.py` says what is in them.

mod common;

use common::{assert_says, column, names, path, read, read_file};
use flowgmm_tables::{
    Options, Warning, arrow::RecordBatch, batch_from_frame, frame_from_batch, open, open_batches,
};

const FILES: [&str; 4] = ["types.parquet", "types_v2.parquet", "types_lz4.feather", "types_zstd.arrows"];

#[test]
fn every_type_reads_the_same_in_every_format() {
    for file in FILES {
        for batch_rows in [1, 2, 8192] {
            let frame = read_file(file, &Options { batch_rows, ..Options::default() }).unwrap();
            let is = |name: &str, cells: [&str; 3]| assert_eq!(column(&frame, name), cells, "{file}, {name}");
            is("i8", ["1", "", "-3"]);
            is("u64", ["1", "2", "1099511627776"]);
            is("f16", ["0.5", "1", ""]);
            is("f32", ["0.5", "", "inf"]);
            is("f64", ["0.1", "1e300", ""]);
            is("bool", ["true", "false", ""]);
            is("text", ["red", "", ""]);
            is("large", ["1", "2", "x"]);
            is("dict", ["a", "b", "a"]);
            is("date", ["2024-02-29", "", "2024-02-29"]);
            is("date64", ["2024-02-29", "", "2024-02-29"]);
            is("stamp", ["2024-02-29T12:30:15", "", "2024-02-29T12:30:15"]);
            is("zoned", ["2024-02-29T12:30:15Z", "", "2024-02-29T12:30:15Z"]);
            is("time", ["12:30:15", "", ""]);
            is("decimal", ["1.1", "", "-0.05"]);
            is("null", ["", "", ""]);
            is("list_0", ["1", "", "3"]);
            is("list_1", ["2", "", ""]);
            is("fixed_2", ["3", "6", "9"]);
            assert_eq!(frame.lines(), [1, 2, 3]);
            if !file.ends_with("parquet") {
                is("view", ["p", "", "a text that is longer than twelve bytes"]);
            }
        }
    }
}

#[test]
fn only_the_columns_asked_for_are_read_in_their_order() {
    let wanting = |columns: &[&str]| Options { columns: Some(names(columns)), ..Options::default() };
    for file in FILES {
        let frame = read_file(file, &wanting(&["list_1", "text", "i8", "fixed"])).unwrap();
        assert_eq!(frame.column_names(), ["list_1", "text", "i8", "fixed_0", "fixed_1", "fixed_2"], "{file}");
        assert_eq!(column(&frame, "i8"), ["1", "", "-3"]);
        assert_says(
            read_file(file, &wanting(&["nope", "i8"])).unwrap_err(),
            &["lacks 1 column", "'nope'", "'i8'"],
        );
        assert_says(read_file(file, &wanting(&["list_7"])).unwrap_err(), &["'list_7'", "'list_0'"]);
    }
}

#[test]
fn a_literal_column_keeps_its_texts() {
    let options = Options { literal: names(&["text"]), ..Options::default() };
    assert_eq!(column(&read_file("types.parquet", &options).unwrap(), "text"), ["red", "NA", ""]);
}

#[test]
fn the_index_of_pandas_is_left_out_and_said_so() {
    let file = path("pandas_index.parquet");
    let mut reader = open(file.as_path(), &Options::default()).unwrap();
    assert!(
        matches!(reader.warnings(), [Warning::PandasIndex { column, .. }] if column == "__index_level_0__")
    );
    assert_eq!(reader.read_all().unwrap().column_names(), ["a", "y"]);
    let asked = Options { columns: Some(names(&["__index_level_0__"])), ..Options::default() };
    assert_eq!(
        column(&read_file("pandas_index.parquet", &asked).unwrap(), "__index_level_0__"),
        ["3", "1", "2"]
    );
}

#[test]
fn a_type_without_meaning_is_named_unless_not_asked_for() {
    let error = read_file("struct.parquet", &Options::default()).unwrap_err();
    assert_says(error, &["struct.parquet, column 's'", "Struct", "Leave the column out"]);
    let other = Options { columns: Some(names(&["a"])), ..Options::default() };
    assert_eq!(column(&read_file("struct.parquet", &other).unwrap(), "a"), ["1"]);
}

#[test]
fn lists_must_be_of_one_length() {
    use arrow_array::{
        RecordBatch,
        builder::{Float32Builder, ListBuilder},
    };
    let lists = |lengths: &[usize]| {
        let mut builder = ListBuilder::new(Float32Builder::new());
        for &length in lengths {
            (0..length).for_each(|i| builder.values().append_value(i as f32));
            builder.append(true);
        }
        let batch = RecordBatch::try_from_iter([("e", std::sync::Arc::new(builder.finish()) as _)]).unwrap();
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let frame = read(lists(&[2, 2]), &Options::default()).unwrap();
    assert_eq!(frame.column_names(), ["e_0", "e_1"]);
    for batch_rows in [1, 10] {
        let options = Options { batch_rows, ..Options::default() };
        let error = read(lists(&[2, 2, 3]), &options).unwrap_err();
        assert_says(error, &["row 3, column 'e'", "a list of 3 numbers, expected 2"]);
    }
    assert_says(read(lists(&[0, 2]), &Options::default()).unwrap_err(), &["column 'e'", "empty"]);
}

#[test]
fn batches_in_memory_read_as_those_in_a_file() {
    let file = std::fs::File::open(path("types_zstd.arrows")).unwrap();
    let reader = arrow_ipc::reader::StreamReader::try_new(file, None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    for options in [Options::default(), Options { batch_rows: 2, ..Options::default() }] {
        let expected = read_file("types_zstd.arrows", &options).unwrap();
        let frame = open_batches(batches.clone(), expected.name(), &options).unwrap().read_all().unwrap();
        assert_eq!(format!("{frame:?}"), format!("{expected:?}"));
        if let [batch] = &batches[..] {
            let frame = frame_from_batch(batch, expected.name()).unwrap();
            assert_eq!(format!("{frame:?}"), format!("{expected:?}"));
        }
    }
    let wanted = Options { columns: Some(names(&["list_1", "i8"])), ..Options::default() };
    let frame = open_batches(batches.clone(), "memory", &wanted).unwrap().read_all().unwrap();
    assert_eq!(frame.column_names(), ["list_1", "i8"]);
    let other = batches[0].project(&[0]).unwrap();
    assert_says(
        open_batches(vec![batches[0].clone(), other], "memory", &Options::default()).err().unwrap(),
        &["memory", "batch 2"],
    );
    assert!(open_batches(Vec::new(), "memory", &Options::default()).is_err());
}

#[test]
fn frames_become_batches_and_come_back() {
    let text = "p,class\n0.1,a\n,b\n-3,inf\n";
    let frame = read(text, &Options::default()).unwrap();
    let batch = batch_from_frame(&frame).unwrap();
    assert_eq!(batch.schema().field(0).data_type(), &flowgmm_tables::arrow::schema::DataType::Float64);
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (3, 1));
    let back = frame_from_batch(&batch, "f").unwrap();
    for name in ["p", "class"] {
        assert_eq!(column(&back, name), column(&frame, name));
    }
}
