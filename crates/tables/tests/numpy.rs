//! NPY and NPZ as NumPy writes them; `data/make.py` says what is in the files.

mod common;

use common::{assert_says, column, names, path, read, read_file};
use flowgmm_tables::{Options, open};

fn suffix(suffix: &str) -> Options {
    Options { suffix: Some(suffix.into()), ..Options::default() }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn a_matrix_is_columns_and_a_vector_is_one() {
    for batch_rows in [1, 2, 100] {
        let options = Options { batch_rows, ..Options::default() };
        let frame = read_file("fortran_big_endian.npy", &options).unwrap();
        assert_eq!(frame.column_names(), ["x0", "x1"]);
        assert_eq!(column(&frame, "x0"), ["0", "2", "4"]);
        assert_eq!(column(&frame, "x1"), ["1", "3", "5"]);
        assert_eq!(frame.lines(), [1, 2, 3]);
    }
    assert_eq!(column(&read_file("labels.npy", &Options::default()).unwrap(), "labels"), ["3", "1", "2"]);
    let piped = std::fs::read(path("labels.npy")).unwrap();
    assert_eq!(column(&read(piped, &Options::default()).unwrap(), "y"), ["3", "1", "2"]);
}

#[test]
fn arrays_of_one_length_stand_side_by_side() {
    for batch_rows in [2, 100] {
        let options = Options { batch_rows, ..Options::default() };
        let frame = read_file("plain.npz", &options).unwrap();
        assert_eq!(frame.column_names(), ["x0", "x1", "y", "flag"]);
        assert_eq!(column(&frame, "x1"), ["1", "3", "5"]);
        assert_eq!(column(&frame, "y"), ["a", "b", ""]);
        assert_eq!(column(&frame, "flag"), ["true", "false", "true"]);
    }
}

#[test]
fn a_suffix_chooses_among_arrays_of_several_lengths() {
    let train = read_file("split.npz", &suffix("_train")).unwrap();
    assert_eq!((train.column_names(), train.n()), (names(&["x0", "x1", "y"]), 3));
    assert_eq!(column(&read_file("split.npz", &suffix("_test")).unwrap(), "y"), ["1", "2"]);

    let error = read_file("split.npz", &Options::default()).unwrap_err();
    assert_says(&error, &["split.npz", "differ in length", "x_train [3, 2], y_train [3], x_test [2, 2]"]);
    assert_says(&error, &["'_test' or '_train'"]);
    let error = read_file("split.npz", &suffix("_valid")).unwrap_err();
    assert_says(error, &["ends in '_valid'", "x_train [3, 2]", "'_test' or '_train'"]);
}

#[test]
fn only_the_columns_asked_for_are_read_in_their_order() {
    let wanting = |columns: &[&str]| Options { columns: Some(names(columns)), ..Options::default() };
    let frame = read_file("plain.npz", &wanting(&["y", "x1"])).unwrap();
    assert_eq!(frame.column_names(), ["y", "x1"]);
    assert_eq!(column(&frame, "x1"), ["1", "3", "5"]);
    let one_length = read_file("split.npz", &wanting(&["y_train", "x_train1"])).unwrap();
    assert_eq!(one_length.column_names(), ["y_train", "x_train1"], "no other array is looked at");
    for missing in ["x2", "x01", "x", "z"] {
        let error = read_file("plain.npz", &wanting(&["y", missing])).unwrap_err();
        assert_says(error, &["plain.npz lacks 1 column", &format!("'{missing}'")]);
    }
}

#[test]
fn shapes_larger_than_the_data_are_an_error_at_once() {
    let says =
        |bytes: &[u8], parts: &[&str]| assert_says(read(bytes, &Options::default()).unwrap_err(), parts);
    let eight = [0; 8];
    says(&npy("<f8", "(2,)", &eight), &["shape [2]", "ends before the last element"]);
    says(&npy("<f8", "(1000000000, 1000000000)", &eight), &["1000000000 columns", "65536"]);
    says(&npy("<f8", "(1, 1000000000000000)", &eight), &["1000000000000000 columns", "65536"]);
    says(&npy("<f8", "(1000000000, 1000)", &eight), &["ends before the last element"]);
    says(&npy("<f8", "(1000000000000, 10000000000000)", &eight), &["absurd shape"]);
    says(&npy("<U1000000000000", "(3,)", &eight), &["ends before the last element"]);
    says(&npy("<f8", "(0, 3)", &[]), &["no rows"]);
    says(&npy("<f4", "(1,)", &eight), &["bytes after the last element"]);
    says(b"\x93NUMPY\x02\0\xff\xff\xff\xff", &["absurd length"]);
    says(b"\x93NUMPY\x09\0\xff\xff\xff\xff", &["unknown version"]);
    let huge = npy("<f8", "(1000000000000, 100)", &eight).iter().map(|b| *b as char).collect::<String>();
    let fortran = huge.replace("False", "True ").chars().map(|c| c as u8).collect::<Vec<u8>>();
    says(&fortran, &["ends before the last element"]);
}

#[test]
fn every_element_type_of_a_file_made_by_hand() {
    let halves = [0x3c00_u16, 0xc000].map(u16::to_le_bytes).concat();
    let frame = read(npy("<f2", "(1, 2)", &halves), &Options::default()).unwrap();
    assert_eq!((column(&frame, "x0"), column(&frame, "x1")), (vec!["1".to_string()], vec!["-2".to_string()]));
    let file = tempfile::Builder::new().prefix("colour").suffix(".npy").rand_bytes(0).tempfile().unwrap();
    std::fs::write(file.path(), npy("|S4", "(2,)", b"red\0blue")).unwrap();
    let frame = open(file.path(), &Options::default()).unwrap().read_all().unwrap();
    assert_eq!(column(&frame, "colour"), ["red", "blue"]);
}
