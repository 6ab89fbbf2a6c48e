//! Where bytes come from, and what they turn out to be.

mod common;

use std::io::{Cursor, Write};

use common::{assert_says, column, path, read, stream};
use flate2::{Compression, write::GzEncoder};
use flowgmm_tables::{InputFormat, Options, Source, open};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_undone_also_in_several_members() {
    let text = "a,y\n1,p\n2,q\n";
    let packed = [gzip(&text.as_bytes()[..6]), gzip(&text.as_bytes()[6..])].concat();
    assert_eq!(column(&read(packed, &Options::default()).unwrap(), "a"), ["1", "2"]);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.tsv.gz");
    std::fs::write(&file, gzip(b"a,b\ty\n1,5\tp\n")).unwrap();
    let mut reader = open(file.as_path(), &Options::default()).unwrap();
    assert_eq!(reader.read_all().unwrap().column_names(), ["a,b", "y"], "the name inside of .gz says tab");
    let parquet = gzip(&std::fs::read(path("types.parquet")).unwrap());
    assert_eq!(read(parquet, &Options::default()).unwrap().n(), 3);
}

#[test]
fn a_gzip_file_cut_off_is_an_error_and_not_a_short_table() {
    let text: String = (0..5000).map(|row| format!("{row},{}\n", row * 7919 % 1000)).collect();
    let packed = gzip(format!("a,b\n{text}").as_bytes());
    for cut in [5, 12, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
        let error = read(&packed[..cut], &Options::default()).unwrap_err();
        assert_says(error, &["f cannot be read as", "cut off or damaged"]);
    }
    let mut wrong_sum = packed.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    assert_says(read(&wrong_sum, &Options::default()).unwrap_err(), &["cannot be read as"]);
}

#[test]
fn the_first_bytes_say_more_than_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("table.csv");
    for (fixture, format) in [
        ("types.parquet", InputFormat::Parquet),
        ("types_lz4.feather", InputFormat::Arrow),
        ("types_zstd.arrows", InputFormat::Arrow),
        ("labels.npy", InputFormat::Npy),
        ("plain.npz", InputFormat::Npz),
    ] {
        std::fs::copy(path(fixture), &file).unwrap();
        assert_eq!(open(file.as_path(), &Options::default()).unwrap().format(), format);
        let through_a_pipe = stream(std::fs::read(&file).unwrap());
        assert_eq!(open(through_a_pipe, &Options::default()).unwrap().format(), format);
    }
    assert_eq!(read("PAR1,b\n1,2\n", &Options::default()).unwrap().column_names(), ["PAR1", "b"]);
}

#[test]
fn files_of_another_kind_are_named() {
    let says =
        |bytes: &[u8], parts: &[&str]| assert_says(read(bytes, &Options::default()).unwrap_err(), parts);
    says(b"\x28\xb5\x2f\xfd....", &["f is packed with zstd", "gzip"]);
    says(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", &["a spreadsheet", "CSV"]);
    says(b"\0\0\x08\x01\0\0\x27\x10\x07\x02", &["binary data of an unknown kind", "Parquet"]);
    says(b"FEA1....", &["Feather version 1"]);
    let mut xlsx = zip::ZipWriter::new(Cursor::new(Vec::new()));
    xlsx.start_file("xl/workbook.xml", stored()).unwrap();
    says(&xlsx.finish().unwrap().into_inner(), &["a spreadsheet", "save the sheet as CSV"]);
    let mut empty = zip::ZipWriter::new(Cursor::new(Vec::new()));
    empty.start_file("readme.txt", stored()).unwrap();
    says(&empty.finish().unwrap().into_inner(), &["without NumPy arrays"]);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rows.json");
    std::fs::write(&file, "[{\"a\":1}]\n").unwrap();
    let error = open(file.as_path(), &Options::default()).err().unwrap();
    assert_says(error, &["rows.json is JSON but not one object per line", "jq -c"]);
}

fn stored() -> zip::write::SimpleFileOptions {
    zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored)
}

#[test]
fn a_missing_file_is_an_io_error() {
    let error = open("no/such/file.csv", &Options::default()).err().unwrap();
    assert!(error.is_io());
    assert_says(error, &["cannot read no/such/file.csv"]);
    let folder = open("/", &Options::default()).err().unwrap();
    assert!(!folder.is_io(), "{folder}");
    assert_says(folder, &["/ is a folder, and no table", "pattern"]);
    assert!(matches!(Source::from("-"), Source::Stdin));
}
