//! What a user sees when reading CSV, TSV and other delimited text, good and bad.

mod common;

use std::io::{self, Read};

use common::{assert_says, column, names, read, stream};
use flowgmm_tables::{Delimiter, Error, Header, InputFormat, Options, Source, Warning, open};

fn plain() -> Options {
    Options::default()
}

fn no_header() -> Options {
    Options { header: Header::Absent, ..plain() }
}

/// The message of reading `text`; it must not be an I/O error.
#[track_caller]
fn assert_complains(text: impl AsRef<[u8]>, parts: &[&str]) {
    let error = read(text, &plain()).unwrap_err();
    assert!(!error.is_io());
    assert_says(error, parts);
}

#[test]
fn between_semicolons_a_comma_is_the_decimal_point() {
    let cells = |text: &str| column(&read(text, &Options::default()).unwrap(), "a");
    let german = "a;b\n1,5;x\n-0,25;y\n1.234.567,5;z\n7;\n 2,0 ;\n";
    assert_eq!(cells(german), ["1.5", "-0.25", "1234567.5", "7", "2"]);
    assert_eq!(
        cells("a;b\n1,2,3;x\n12.34,5;y\n,5;z\n1,;w\n1,x;v\n")[..2],
        ["1,2,3", "12.34,5"],
        "no numbers"
    );
    assert_eq!(cells("a\tb\n1,5\tx\n"), ["1,5"], "between tabs a comma may be anything");
}

#[test]
fn numbers_texts_and_missing_cells() {
    let frame = read("a,b,c\n1,red,x\n NA ,?,3.0\n-2.5e1,,03\n", &plain()).unwrap();
    assert_eq!(column(&frame, "a"), ["1", "", "-25"]);
    assert_eq!(column(&frame, "b"), ["red", "", ""]);
    assert_eq!(column(&frame, "c"), ["x", "3", "3"], "one number however it is written");
    assert_eq!(frame.lines(), [2, 3, 4]);
    assert_eq!(frame.name(), "f");
}

#[test]
fn bom_crlf_spaces_quotes_and_blank_lines_are_accepted() {
    let text = "\u{feff}a, b ,y\r\n 1 ,2,p\r\n\r\n\"3\",4,\"q, \"\"r\"\"\"\r\n   \r\n5,6,\r\n\r\n";
    let frame = read(text, &plain()).unwrap();
    assert_eq!(frame.column_names(), ["a", "b", "y"]);
    assert_eq!(column(&frame, "a"), ["1", "3", "5"]);
    assert_eq!(column(&frame, "y"), ["p", "q, \"r\"", ""]);
    assert_eq!(frame.lines(), [2, 4, 6]);
}

#[test]
fn files_without_content() {
    assert_complains("", &["f is empty"]);
    assert_complains("\n\r\n", &["f is empty"]);
    assert_complains("a,b,y\n", &["header but no rows"]);
    assert_says(read("", &no_header()).unwrap_err(), &["f is empty"]);
}

#[test]
fn broken_lines_are_named() {
    assert_complains(
        "a,y\n1,p\n2\n",
        &["f, line 3", "found 1 columns, expected 2 as in the header", "comma"],
    );
    assert_complains("a,y\n1,p\n2,q,r\n", &["line 3", "found 3 columns, expected 2"]);
    assert_complains("a,y\n1,p\n\"2,q\n3,p\n", &["line 3", "quote"]);
    assert_complains(b"a,y\n1,p\n2,\xff\n", &["f, line 3", "UTF-8"]);
    assert_complains(b"\xff\xfea\0,\0y\0\n\0", &["line 1", "UTF-8"]);
    assert_complains("a\ty\n1\tp\n2\n", &["line 3", "extra tab"]);
    assert_says(read("1,2\n3\n", &no_header()).unwrap_err(), &["line 2", "as in the first row"]);
}

/// The line of the only ragged row.
#[test]
fn lines_are_counted_as_an_editor_does() {
    for text in [
        "a,y\n1,p\n\n\nx\n",
        "a,y\r\n1,p\r\n\r\n2,q\r\nx",
        "a,y\n1,\"p\np\"\n2,q\nx",
        "\n\na,y\n1,p\nx",
        "a,y\n1,\"p\n\np\"\nx\n",
    ] {
        assert_complains(text, &["f, line 5: found 1 columns"]);
    }
}

#[test]
fn bad_headers() {
    assert_complains("a,b,a,y\n1,2,3,p\n", &["columns 1 and 3 are both named 'a'"]);
    assert_complains(",a,y\n0,1,p\n", &["line 1: column 1 has no name", "index=False"]);
    assert_complains("0,1,6,0,12\n1,2,3,4,5\n", &["line 1", "0, 1, 6, 0, ..", "no header", "c1, c2"]);
    assert_complains("4,7,7,T\n1,2,3,A\n", &["seems to have no header"]);
}

#[test]
fn a_header_of_values_is_a_warning() {
    let reader = open(stream("28.7,16.1,g\n1,2,h\n"), &plain()).unwrap();
    assert!(matches!(reader.warnings(), [Warning::ProbablyNoHeader { line: 1, .. }]));
    assert_says(&reader.warnings()[0], &["f, line 1", "28.7, 16.1, g", "no header"]);
    assert!(open(stream("0,1,2,target\n1,2,3,4\n"), &plain()).unwrap().warnings().is_empty());
    assert!(open(stream("28.7,16.1,g\n"), &no_header()).unwrap().warnings().is_empty());
}

#[test]
fn columns_without_header_are_numbered() {
    let frame = read("5,x\n6,y\n", &no_header()).unwrap();
    assert_eq!(frame.column_names(), ["c1", "c2"]);
    assert_eq!((column(&frame, "c1"), frame.lines()), (vec!["5".into(), "6".into()], &[1, 2][..]));
}

#[test]
fn the_delimiter_is_found_or_told() {
    let format = |text: &str| open(stream(text), &plain()).unwrap().format();
    assert_eq!(format("a;b\n1,5;2\n"), InputFormat::Delimited(Some(Delimiter::Semicolon)));
    assert_eq!(format("a\tb\n1\t2\n"), InputFormat::Delimited(Some(Delimiter::Tab)));
    let told = Options { format: Some(InputFormat::Delimited(Some(Delimiter::Comma))), ..plain() };
    assert_eq!(read("a;b\n1;5\n", &told).unwrap().column_names(), ["a;b"]);

    let file = tempfile::Builder::new().suffix(".tsv").tempfile().unwrap();
    std::fs::write(file.path(), "a,b\n1,2\n").unwrap();
    let frame = open(file.path(), &plain()).unwrap().read_all().unwrap();
    assert_eq!(frame.column_names(), ["a,b"], "the name of the file says tab");
}

#[test]
fn only_the_columns_asked_for_are_read_in_their_order() {
    let wanting = |columns: &[&str]| Options { columns: Some(names(columns)), ..plain() };
    let frame = read("a,b,c\n1,2,3\n4,5,6\n", &wanting(&["c", "a"])).unwrap();
    assert_eq!(frame.column_names(), ["c", "a"]);
    assert_eq!(column(&frame, "c"), ["3", "6"]);
    let error = read("a,b\n1,2\n", &wanting(&["z", "a"])).unwrap_err();
    assert_says(error, &["f lacks 1 column", "'z'", "The columns are 'a', 'b'"]);
}

#[test]
fn missing_tokens_and_literal_columns_are_the_callers_choice() {
    let text = "a,y\n-999,none\n1,-\n?,\n";
    let own = Options { missing: names(&["-999"]), literal: names(&["y"]), ..plain() };
    let frame = read(text, &own).unwrap();
    assert_eq!(column(&frame, "a"), ["", "1", "?"]);
    assert_eq!(column(&frame, "y"), ["none", "-", ""]);
    assert_eq!(column(&read(text, &plain()).unwrap(), "y"), ["", "", ""]);
}

#[test]
fn a_batch_turns_to_texts_when_it_must() {
    let text = "a\n1\n2\nx\n4\n5\n";
    let batches = open(stream(text), &Options { batch_rows: 2, ..plain() }).unwrap();
    let sizes: Vec<usize> = batches.map(|batch| batch.unwrap().n()).collect();
    assert_eq!(sizes, [2, 2, 1]);
    let whole = open(stream(text), &Options { batch_rows: 2, ..plain() }).unwrap().read_all().unwrap();
    assert_eq!(whole, read(text, &plain()).unwrap());
}

#[test]
fn errors_come_once_and_end_the_table() {
    let mut batches = open(stream("a,b\n1,2\n3\n4,5\n"), &Options { batch_rows: 1, ..plain() }).unwrap();
    assert!(batches.next().unwrap().is_ok());
    assert!(matches!(batches.next(), Some(Err(Error::RaggedRow { line: 3, .. }))));
    assert!(batches.next().is_none());
}

/// A reader without end: only a reader with bounded memory gets to its batches.
#[test]
fn streaming_does_not_wait_for_the_end() {
    let endless = Source::stream("endless", b"a,b\n".chain(Repeat { line: b"1,2\n", at: 0 }));
    let batches = open(endless, &Options { batch_rows: 1000, ..plain() }).unwrap();
    for batch in batches.take(3) {
        assert_eq!(batch.unwrap().n(), 1000);
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

/// A quote at the end makes all rows go through the parser that knows quotes; without it, most are cut directly.
#[test]
fn rows_before_a_quote_are_those_after_it() {
    let mut plain = String::from("\u{feff}a,b,c\r\n");
    for row in 0..5000 {
        let blank = ["", "\n", " \r\n", "\r\n"][row % 4];
        let text = ["red", " 7 ", "NA", "é", "-", "1e3"][row % 6];
        plain += &format!("{blank}{}.{:03},{text},{}\r\n", row % 37, row * 7 % 1000, -(row as i64));
    }
    for header in [Header::Present, Header::Absent] {
        for batch_rows in [1, 7, 8192] {
            let options = Options { header, batch_rows, ..Options::default() };
            let expected = read(format!("{plain}\"1\",2,3\n"), &options).unwrap();
            let frame = read(&plain, &options).unwrap();
            let n = frame.n();
            assert_eq!((n + 1, frame.lines()), (expected.n(), &expected.lines()[..n]));
            for name in frame.column_names() {
                assert_eq!(column(&frame, &name), column(&expected, &name)[..n], "{name}");
            }
        }
    }
    // One quote in the middle: rows on both sides, and the lines of errors behind it.
    let middle = plain.replace("\r\n\n", "\r\n\"x\ny\",1,2\n").replacen("red", "\"red\"", 3);
    let lines = |text: &str| read(text, &Options::default()).unwrap().lines().to_vec();
    let ragged = read(format!("{middle}1,2\n"), &Options::default()).unwrap_err();
    assert_says(ragged, &[&format!("line {}:", middle.lines().count() + 1), "found 2"]);
    assert_eq!(lines(&middle).last(), Some(&(middle.lines().count() as u64)));
}

#[test]
fn errors_of_unquoted_rows_name_the_first_line_that_is_wrong() {
    let mut text = b"a,b\n".to_vec();
    (0..5000).for_each(|row| text.extend(format!("{row},x\n").bytes()));
    let with = |changes: &[(u64, &[u8])]| {
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        changes.iter().for_each(|(line, content)| lines[*line as usize - 1] = content);
        read(lines.join(&b'\n'), &Options::default()).unwrap_err()
    };
    assert_says(with(&[(4000, b"1"), (3000, b"1,2,3")]), &["line 3000:", "found 3"]);
    assert_says(with(&[(2000, b"\xff,1"), (3000, b"1,2,3")]), &["line 2000:", "UTF-8"]);
}
