//! Files cut off or altered anywhere: an error, or rows, but never a panic.

mod common;

use std::io::Write as _;

use common::{path, read, read_file};
use flowgmm_tables::{InputFormat, Options};
use proptest::prelude::*;

const FIXTURES: [(&str, InputFormat); 8] = [
    ("types.parquet", InputFormat::Parquet),
    ("types_v2.parquet", InputFormat::Parquet),
    ("types_lz4.feather", InputFormat::Arrow),
    ("types_zstd.arrows", InputFormat::Arrow),
    ("plain.npz", InputFormat::Npz),
    ("split.npz", InputFormat::Npz),
    ("fortran_big_endian.npy", InputFormat::Npy),
    ("labels.npy", InputFormat::Npy),
];

fn options(format: InputFormat) -> Options {
    Options { format: Some(format), suffix: None, ..Options::default() }
}

/// Runs `check` on every damaged file with its position, from as many threads as there are processors.
fn for_each(positions: usize, check: impl Fn(usize) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let check = &check;
            scope.spawn(move || (first..positions).step_by(threads).for_each(check));
        }
    });
}

#[test]
fn files_cut_off_anywhere_are_errors() {
    for (file, format) in FIXTURES {
        let bytes = std::fs::read(path(file)).unwrap();
        for_each(bytes.len(), |cut| {
            let error = read(&bytes[..cut], &options(format)).err();
            let error = error.unwrap_or_else(|| panic!("{file}, cut at {cut}, was read"));
            assert!(!error.is_io() && error.to_string().len() < 500, "{file}, cut at {cut}: {error}");
        });
    }
}

/// What a gzip file holds shows nothing of a cut after its last row; its check sum, which comes last, does.
#[test]
fn gzip_cut_off_anywhere_is_an_error() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(b"a,b\n1,2\n3,4\n").unwrap();
    let bytes = packed.finish().unwrap();
    assert_eq!(read(&bytes, &Options::default()).unwrap().n(), 2);
    for cut in 0..bytes.len() {
        assert!(read(&bytes[..cut], &Options::default()).is_err(), "cut at {cut} of {}", bytes.len());
    }
}

/// Decoders may panic inside; what leaves the crate is an error, and a hook can tell.
#[test]
fn files_with_any_byte_altered_do_not_panic() {
    std::panic::set_hook(Box::new(|info| {
        if !flowgmm_tables::is_decoding() {
            eprintln!("{info}");
        }
    }));
    for (file, format) in FIXTURES {
        let bytes = std::fs::read(path(file)).unwrap();
        for_each(bytes.len(), |at| {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
            let _ = read(&damaged, &options(format));
        });
    }
}

/// Every array carries a check sum; only names, which stand in the directory at the end, may change unnoticed.
#[test]
fn an_altered_array_is_never_read_as_if_it_were_right() {
    for (file, suffix) in [("plain.npz", None), ("split.npz", Some("_train".to_string()))] {
        let bytes = std::fs::read(path(file)).unwrap();
        let options = Options { suffix, ..Options::default() };
        let sound = read(&bytes, &options).unwrap();
        let directory = bytes.windows(4).position(|word| word == b"PK\x01\x02").unwrap();
        for_each(directory, |at| {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(read(&damaged, &options).map_or(true, |frame| frame == sound), "{file}, byte {at}");
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn text_of_random_bytes_does_not_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        csv_like in "[a-c0-9,;\t\"\n\r \u{feff}é.-]{0,120}",
    ) {
        let _ = read(bytes, &Options::default());
        let _ = read(csv_like, &Options::default());
    }
}

#[test]
fn the_fixtures_are_sound() {
    for (file, _) in FIXTURES.iter().filter(|(file, _)| *file != "split.npz") {
        assert_eq!(read_file(file, &Options::default()).unwrap().n(), 3, "{file}");
    }
}
