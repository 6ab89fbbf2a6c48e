//! What a user sees when reading CSV files, good and bad.

use std::io::{self, Read};
use std::path::Path;

use semisup::ndarray::{Array2, array};
use semisup::{Error, RowBatches, Table, read_table, read_table_path, stream_features};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn table(text: &str) -> Table {
    read_table(text.as_bytes(), "f.csv").unwrap()
}

/// The message of reading `text` with label column "y"; it must not be an I/O error.
fn complaint(text: impl AsRef<[u8]>) -> String {
    let error = match read_table(text.as_ref(), "f.csv") {
        Ok(table) => table.semi_supervised("y").unwrap_err(),
        Err(error) => error,
    };
    assert!(!error.is_io());
    error.to_string()
}

#[track_caller]
fn assert_complains(text: impl AsRef<[u8]>, parts: &[&str]) {
    let message = complaint(text);
    for part in parts {
        assert!(message.contains(part), "'{message}' should contain '{part}'");
    }
}

#[test]
fn rows_labels_and_sorted_classes() {
    let data = table("a,y,b\n1,cat,2\n3,,4\n5,ant,-6e-1\n").semi_supervised("y").unwrap();
    assert_eq!(data.x(), array![[1., 2.], [3., 4.], [5., -0.6]]);
    assert_eq!(data.classes(), ["ant", "cat"]);
    assert_eq!(data.y(), [Some(1), None, Some(0)]);
    assert_eq!(data.columns(), ["a", "b"]);
}

#[test]
fn numeric_classes_sort_by_value_and_pandas_floats_are_integers() {
    let data = table("a,y\n1,10.0\n2,9.0\n3,\n4,-1.0\n5,10\n").semi_supervised("y").unwrap();
    assert_eq!(data.classes(), ["-1", "9", "10"]);
    assert_eq!(data.y(), [Some(2), Some(1), None, Some(0), Some(2)]);
    let decimals = table("a,y\n1,0.5\n2,v1.0\n").semi_supervised("y").unwrap();
    assert_eq!(decimals.classes(), ["0.5", "v1.0"], "only whole numbers are rewritten");
}

#[test]
fn bom_crlf_spaces_quotes_and_blank_lines_are_accepted() {
    let text = "\u{feff}a, b ,y\r\n 1 ,2,p\r\n\r\n\"3\",4,\"q\"\r\n   \r\n5,6,\r\n\r\n";
    let data = table(text).semi_supervised("y").unwrap();
    assert_eq!(data.columns(), ["a", "b"]);
    assert_eq!(data.x(), array![[1., 2.], [3., 4.], [5., 6.]]);
    assert_eq!(data.y(), [Some(0), Some(1), None]);
}

#[test]
fn files_without_content() {
    assert_complains("", &["f.csv is empty"]);
    assert_complains("\n\r\n", &["f.csv is empty"]);
    assert_complains("a,b,y\n", &["header but no rows"]);
}

#[test]
fn broken_lines_are_named() {
    assert_complains("a,y\n1,p\n2\n", &["f.csv, line 3", "found 1 columns, expected 2"]);
    assert_complains("a,y\n1,p\n2,q,r\n", &["line 3", "found 3 columns, expected 2"]);
    assert_complains("a,y\n1,p\n\"2,q\n3,p\n", &["line 3", "quote"]);
    assert_complains(b"a,y\n1,p\n2,\xff\n", &["f.csv, line 3", "UTF-8"]);
    assert_complains(b"\xff\xfea\0,\0y\0\n\0", &["line 1", "UTF-8"]);
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    let parts = &["line 5, column 'a'", "'x'"];
    assert_complains("a,y\n1,p\n\n\nx,q\n", parts);
    assert_complains("a,y\r\n1,p\r\n\r\n2,q\r\nx,q", parts);
    assert_complains("a,y\n1,\"p\np\"\n2,q\nx,q", parts); // a quoted line break in line 2
    assert_complains("\n\na,y\n1,p\nx,q", parts);
}

#[test]
fn bad_cells_are_named_with_line_and_column() {
    assert_complains("a,b,y\n1,2,p\n1,red,q\n", &["line 3, column 'b'", "'red'", "Remove the column"]);
    assert_complains("a,b,y\n1,NA,p\n1,2,q\n", &["line 2, column 'b'", "'NA'", "missing value"]);
    assert_complains("a,b,y\n1,\"2,5\",p\n1,2,q\n", &["line 2, column 'b'", "'2,5'", "point, not a comma"]);
    assert_complains("a,b,y\n1,2,p\n1,,q\n", &["line 3, column 'b'", "empty"]);
    for cell in ["NaN", "inf", "-Infinity", "1e999"] {
        let text = format!("a,b,y\n1,2,p\n{cell},1,q\n");
        assert_complains(text, &["line 3, column 'a'", "finite", cell]);
    }
}

#[test]
fn bad_headers() {
    assert_complains("a,b,a,y\n1,2,3,p\n", &["columns 1 and 3 are both named 'a'"]);
    assert_complains(",a,y\n0,1,p\n", &["line 1: column 1 has no name", "index=False"]);
    assert_complains("a,b,Y\n1,2,p\n", &["no column 'y'", "Did you mean 'Y'?", "'a', 'b', 'Y'"]);
    assert_complains("alpha,beta\n1,2\n", &["no column 'y'", "The columns are 'alpha', 'beta'"]);
    assert_complains("a;b;y\n1;2;p\n", &["separate the columns with commas"]);
    assert_complains("y\np\nq\n", &["no feature column"]);
}

#[test]
fn labels_must_distinguish() {
    assert_complains("a,y\n1,\n2,\n", &["f.csv has no labels"]);
    assert_complains("a,y\n1,p\n2,\n3,p\n", &["f.csv", "one class only, 'p'"]);
}

#[test]
fn evaluation_finds_columns_by_name_and_skips_unlabelled_rows() {
    let file = table("extra,b,y,a\nfoo,1,1.0,2\nbar,3,,4\nbaz,5,0,6\n");
    let (data, skipped) = file.labelled("y", &names(&["a", "b"]), &names(&["0", "1"])).unwrap();
    assert_eq!((data.x(), data.y(), skipped), (array![[2., 1.], [6., 5.]].view(), &[1, 0][..], 1));

    let unknown = file.labelled("y", &names(&["a"]), &names(&["0", "2"])).unwrap_err();
    let message = unknown.to_string();
    assert!(
        message.contains("line 2, column 'y'") && message.contains("'1.0'") && message.contains("'0', '2'")
    );
    assert!(matches!(unknown, Error::UnknownLabel { line: 2, .. }));

    let missing = file.labelled("y", &names(&["a", "c", "d"]), &names(&["0", "1"])).unwrap_err().to_string();
    assert!(missing.contains("lacks 2 columns the model needs: 'c', 'd'"), "{missing}");
    let unlabelled = table("a,y\n1,\n").labelled("y", &names(&["a"]), &names(&["0"])).unwrap_err();
    assert!(matches!(unlabelled, Error::NoLabels { .. }));
}

#[test]
fn features_come_in_the_order_asked_for() {
    let file = table("b,a\n1,2\n3,4\n");
    assert_eq!(file.features(&names(&["a", "b"])).unwrap(), array![[2., 1.], [4., 3.]]);
    let missing = file.features(&names(&["a", "z"])).unwrap_err().to_string();
    assert!(missing.contains("lacks 1 column the model needs: 'z'"), "{missing}");
}

#[test]
fn a_missing_file_is_an_io_error() {
    let error = read_table_path(Path::new("no/such/file.csv")).err().unwrap();
    assert!(error.is_io() && error.to_string().contains("no/such/file.csv"));
    let directory = read_table_path(Path::new("/")).err().unwrap();
    assert!(directory.is_io(), "{directory}");
}

fn stream<'a>(text: &'a str, columns: &[&str], batch: usize) -> RowBatches<&'a [u8]> {
    stream_features(text.as_bytes(), "f.csv", &names(columns), batch).unwrap()
}

#[test]
fn streaming_gives_the_same_rows_in_batches() {
    let text = "b,y,a\n1,p,2\n3,,4\n5,q,6\n7,q,8\n9,q,10\n";
    let whole = table(text).features(&names(&["a", "b"])).unwrap();
    for (batch, sizes) in [(2, vec![2, 2, 1]), (5, vec![5]), (100, vec![5]), (0, vec![1; 5])] {
        let batches: Vec<Array2<f64>> = stream(text, &["a", "b"], batch).map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(|x| x.nrows()).collect::<Vec<_>>(), sizes);
        let rows: Vec<f64> = batches.iter().flatten().copied().collect();
        assert_eq!(rows, whole.iter().copied().collect::<Vec<_>>());
    }
}

#[test]
fn streaming_reports_errors_once_and_ends() {
    let mut batches = stream("a\n1\n2\nx\n4\n", &["a"], 2);
    assert!(batches.next().unwrap().is_ok());
    let message = batches.next().unwrap().unwrap_err().to_string();
    assert!(message.contains("line 4, column 'a'"), "{message}");
    assert!(batches.next().is_none());

    let mut none = stream("a\n", &["a"], 2);
    assert!(matches!(none.next(), Some(Err(Error::NoRows { .. }))));
    assert!(none.next().is_none());
    let missing = stream_features(&b"a\n1\n"[..], "f.csv", &names(&["b"]), 2).err().unwrap();
    assert!(matches!(missing, Error::MissingColumns { .. }));
}

/// A reader without end: only a reader with bounded memory gets to its batches.
#[test]
fn streaming_does_not_wait_for_the_end() {
    let endless = b"a,b\n".chain(Repeat { line: b"1,2\n", at: 0 });
    let batches = stream_features(endless, "endless", &names(&["b"]), 1000).unwrap();
    for batch in batches.take(3) {
        assert_eq!(batch.unwrap(), Array2::from_elem((1000, 1), 2.));
    }
}

struct Repeat {
    line: &'static [u8],
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.line[self.at];
            self.at = (self.at + 1) % self.line.len();
        }
        Ok(buffer.len())
    }
}
