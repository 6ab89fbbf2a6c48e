//! Wide tables are read in time linear in their cells, up to a limit; labels stay as they are written.

mod common;

use std::time::{Duration, Instant};

use common::{assert_says, column, names, read};
use flowgmm_data::{Encoding, Schema, labels};
use flowgmm_tables::{Error, InputFormat, MOST_COLUMNS, Options};

/// A header and `rows` rows of `width` columns; the first is the label.
fn wide(width: usize, rows: usize) -> String {
    let line = |cell: &dyn Fn(usize) -> String| (0..width).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let row = |row: usize| {
        line(&|at| if at == 0 { ["a", "b"][row % 2].into() } else { ((row * at) % 7).to_string() })
    };
    line(&|at| format!("c{at}")) + &(0..rows).map(row).collect::<String>()
}

/// With a look through all names for each column, this took minutes; it takes a second or two.
#[test]
fn sixty_thousand_columns_are_read_and_encoded_in_linear_time() {
    let began = Instant::now();
    let options = Options { literal: names(&["c0"]), batch_rows: 5, ..Options::default() };
    let frame = read(wide(60_000, 20), &options).unwrap();
    let schema = Schema::infer(&frame, Some("c0"), &[]).unwrap();
    let encoding = Encoding::learn(&schema, &frame).unwrap();
    let x = encoding.apply(&frame).unwrap().x;
    assert!(x.nrows() == 20 && x.ncols() > 50_000, "{:?}", x.dim());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn too_many_columns_are_refused_with_their_number_and_the_limit() {
    let limit = MOST_COLUMNS.to_string();
    let refused = |error: Error, found: u64| {
        assert!(matches!(error, Error::TooManyColumns { found: f, .. } if f == found), "{error}");
        assert_says(error, &[&limit, "Transpose", "leave columns out"]);
    };
    refused(read(wide(100_000, 1), &Options::default()).unwrap_err(), 100_000);
    let some = Options { columns: Some(names(&["c7", "c99999"])), ..Options::default() };
    assert_eq!(read(wide(100_000, 2), &some).unwrap().columns().len(), 2, "others may be there");

    let objects: String = (0..MOST_COLUMNS + 10).map(|i| format!("{{\"k{i}\": 1}}\n")).collect();
    let lines =
        Options { format: Some(InputFormat::JsonLines), batch_rows: usize::MAX, ..Options::default() };
    let keys: String = (0..MOST_COLUMNS + 1).map(|i| format!("\"k{i}\": 1,")).collect();
    refused(read(format!("{{{}}}", keys.trim_end_matches(',')), &lines).unwrap_err(), MOST_COLUMNS + 1);
    let sparse = read(objects, &lines).unwrap_err();
    assert!(matches!(sparse, Error::SparseKeys { .. }), "found in the first rows: {sparse}");
    assert_says(sparse, &["different keys", "same keys"]);

    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 70000), }";
    let mut npy = b"\x93NUMPY\x01\0".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend(vec![0; 70_000]);
    refused(read(npy, &Options::default()).unwrap_err(), 70_000);
}

#[test]
fn labels_stay_as_they_are_written() {
    let options = Options { literal: names(&["y"]), ..Options::default() };
    let classes = |csv: &str| labels(&read(csv, &options).unwrap(), "y", &[]).unwrap().classes;
    assert_eq!(classes("x,y\n1,1.0\n2,2.0\n3,\n"), ["1.0", "2.0"]);
    assert_eq!(classes("x;y\n1,5;01\n2,5;1\n3;1,0\n"), ["01", "1", "1,0"]);
    assert_eq!(classes("x,y\n1,\"01\"\n2,1\n3,\"inf\"\n"), ["01", "1", "inf"], "in quotes, too");
    let frame = read("{\"y\":\"01\"}\n{\"y\":1.0}\n", &options).unwrap();
    assert_eq!(column(&frame, "y"), ["01", "1"], "a number of JSON is a number");
}

/// All cells but one are numbers, so the column is one of numbers; its line and column are named.
#[test]
fn infinite_numbers_are_refused_by_line_and_column_unless_they_mean_missing() {
    let digits = "9".repeat(400);
    for cell in ["inf", "-inf", "Infinity", "1e999", digits.as_str()] {
        let csv = format!("x,y\n1,a\n2,b\n{cell},a\n4,b\n");
        let infer = |options: &Options| Schema::infer(&read(&csv, options).unwrap(), Some("y"), &[]);
        assert_says(
            infer(&Options::default()).unwrap_err(),
            &["line 4", "column 'x'", &cell[..cell.len().min(40)], "--missing="],
        );
        let options = Options { missing: names(&[cell]), ..Options::default() };
        assert!(infer(&options).is_ok(), "{cell} is missing");
    }
    let json = "{\"x\":1,\"y\":\"a\"}\n{\"x\":Infinity,\"y\":\"b\"}\n{\"x\":1e999,\"y\":\"b\"}\n{\"x\":2,\"y\":\"b\"}\n";
    let error = Schema::infer(&read(json, &Options::default()).unwrap(), Some("y"), &[]).unwrap_err();
    assert_says(error, &["line 2", "column 'x'", "inf"]);
    let words = read("x,y\ninf,a\nsup,b\nmax,a\n", &Options::default()).unwrap();
    assert!(Schema::infer(&words, Some("y"), &[]).is_ok(), "among words it is a word");
}
