//! Damaged files: cut at every byte of the header and beyond, and with bytes changed at random. Never a panic; a cut
//! file is always an error, and every error names the file.

mod common;

use std::{fs, path::Path};

use common::*;
use flowgmm_datasets::*;
use proptest::prelude::*;
use tempfile::tempdir;

/// A loader, a sound file for it, and how many of its first bytes are cut at one by one.
struct Case {
    name: &'static str,
    sound: Vec<u8>,
    header: usize,
    load: fn(&Path) -> Result<()>,
}

fn case(name: &'static str, sound: Vec<u8>, header: usize, load: fn(&Path) -> Result<()>) -> Case {
    Case { name, sound, header, load }
}

fn cases() -> Vec<Case> {
    let images = idx(&[2, 5, 5], &[7; 50]);
    let cifar = [cifar_record(3, 1), cifar_record(9, 2)].concat();
    let tape = tar(&[("d/readme", b"hello"), ("d/data_batch_1.bin", &cifar_record(1, 2))]);
    let mat = |order, packed| svhn(order, packed);
    vec![
        case("images.idx", images.clone(), 70, load_idx),
        case("images.idx.gz", gzip(&images), 70, load_idx),
        case("batch.bin", cifar.clone(), 10, |path| read_cifar10(&[path]).map(drop)),
        case("batch.bin.gz", gzip(&cifar), 40, |path| read_cifar10(&[path]).map(drop)),
        case("cifar.tar", tape.clone(), 600, load_archive),
        case("cifar.tar.gz", gzip(&tape), 60, load_archive),
        case("little.mat", mat(Order::Little, false), 400, |path| read_svhn(path).map(drop)),
        case("big.mat", mat(Order::Big, false), 400, |path| read_svhn(path).map(drop)),
        case("packed.mat", mat(Order::Little, true), 400, |path| read_svhn(path).map(drop)),
        case("hepmass.csv", hepmass(4, true).into(), 200, |path| {
            read_hepmass(path, RowSelection::All).map(drop)
        }),
        case("hepmass.csv.gz", gzip(hepmass(4, true).as_bytes()), 60, |path| {
            read_hepmass(path, RowSelection::All).map(drop)
        }),
        case("miniboone.txt", miniboone().into(), 100, |path| read_miniboone(path).map(drop)),
        case("news.csv", AG_NEWS.into(), 5, |path| read_ag_news(path).map(drop)),
        case("news.csv.gz", gzip(AG_NEWS.as_bytes()), 60, |path| read_ag_news(path).map(drop)),
        case("yahoo.csv.gz", gzip(YAHOO.as_bytes()), 60, |path| read_yahoo(path).map(drop)),
        case("table.csv.gz", gzip(b"1,2,a\n3,4,b\n"), 30, |path| {
            read_uci(&[path], Separator::Comma, LabelAt::Last).map(drop)
        }),
        case("splits.npy", npy(2, 3, &[5, 0, 9, 1, 2, 3]), 150, |path| LabelSplits::read(path, 10).map(drop)),
    ]
}

/// Sound labels lie beside the damaged images.
fn load_idx(images: &Path) -> Result<()> {
    let labels = images.with_file_name("labels");
    fs::write(&labels, idx(&[2], &[0, 1])).unwrap();
    read_idx(images, &labels, &["a", "b"]).map(drop)
}

fn load_archive(archive: &Path) -> Result<()> {
    read_cifar10_archive(archive, &["data_batch_1.bin"]).map(drop)
}

/// What the loader says of these bytes; an error that does not name a file of the folder fails the test.
fn load(case: &Case, folder: &Path, bytes: &[u8]) -> Result<()> {
    let loaded = (case.load)(&write(folder, case.name, bytes));
    if let Err(error) = &loaded {
        let message = error.to_string();
        assert!(message.contains(case.name) || message.contains("labels"), "{}: {message}", case.name);
        assert!(!matches!(error, Error::Io { .. }), "damage is not the machine's fault: {message}");
        assert!(message.len() < 1000, "{message}");
    }
    loaded
}

#[test]
fn sound_files_load() {
    let folder = tempdir().unwrap();
    for case in cases() {
        load(&case, folder.path(), &case.sound).unwrap();
    }
}

/// Text that is cut at the end of a row or inside the last number is still a table: those formats cannot tell, except
/// MiniBooNE, which counts its rows. Whatever is zipped or has a length can.
#[test]
fn a_file_cut_in_its_header_is_an_error() {
    let folder = tempdir().unwrap();
    for case in cases() {
        for length in 0..case.header.min(case.sound.len()) {
            let loaded = load(&case, folder.path(), &case.sound[..length]);
            assert!(loaded.is_err(), "{} of {length} bytes", case.name);
        }
    }
}

/// Text and archives are left out: the one has no length, of the other only the wanted entry is read.
#[test]
fn files_that_know_their_length_notice_a_lost_end() {
    let folder = tempdir().unwrap();
    let knows = |name: &str| {
        [".idx", ".bin", ".mat", ".npy", ".idx.gz", ".bin.gz", ".csv.gz"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let cases: Vec<Case> = cases().into_iter().filter(|case| knows(case.name)).collect();
    assert_eq!(cases.len(), 12);
    for case in cases {
        assert!(load(&case, folder.path(), &case.sound[..case.sound.len() - 1]).is_err(), "{}", case.name);
    }
}

/// Only the sum of its header can tell that the name of an entry was changed into the one wanted.
#[test]
fn the_sum_of_a_tar_header_is_checked() {
    let folder = tempdir().unwrap();
    let mut tape = tar(&[("d/data_batch_2.bin", &cifar_record(1, 2))]);
    tape["d/data_batch_".len()] = b'1';
    let error = load_archive(&write(folder.path(), "cifar.tar", &tape)).unwrap_err().to_string();
    assert!(error.contains("sum") && error.contains("cifar.tar"), "{error}");
}

#[test]
fn bytes_after_the_end_are_noticed() {
    let folder = tempdir().unwrap();
    for case in cases().iter().filter(|case| ["images.idx", "batch.bin", "splits.npy"].contains(&case.name)) {
        let longer = [&case.sound[..], &[0]].concat();
        assert!(load(case, folder.path(), &longer).is_err(), "{}", case.name);
    }
}

#[test]
fn a_promise_of_much_does_not_allocate_much() {
    let folder = tempdir().unwrap();
    let mut huge = idx(&[u32::MAX, u32::MAX, u32::MAX], &[0; 9]);
    assert!(load_idx(&write(folder.path(), "images.idx", &huge)).is_err());
    huge = idx(&[u32::MAX, 1 << 10, 1 << 10], &[0; 9]);
    assert!(load_idx(&write(folder.path(), "images.idx", &huge)).is_err());
    let array = mat_array(Order::Little, "X", 9, &[u32::MAX, u32::MAX, 3, 2], 2, &[1; 8]);
    let file = [mat_header(Order::Little), array].concat();
    assert!(read_svhn(&write(folder.path(), "a.mat", &file)).is_err());
    let text = format!("{} {}\n1 2\n", usize::MAX, usize::MAX);
    assert!(read_miniboone(&write(folder.path(), "a.txt", text.as_bytes())).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_bytes_never_panic(
        which in 0usize..17,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
    ) {
        let (folder, case) = (tempdir().unwrap(), &cases()[which]);
        let mut bytes = case.sound.clone();
        for (place, byte, early) in changes {
            // Half of the changes hit the header, where they do most.
            let range = if early { case.header.min(bytes.len()) } else { bytes.len() };
            bytes[place.index(range)] = byte;
        }
        let _ = load(case, folder.path(), &bytes);
    }

    #[test]
    fn a_cut_anywhere_never_panics(which in 0usize..17, place: prop::sample::Index) {
        let (folder, case) = (tempdir().unwrap(), &cases()[which]);
        let _ = load(case, folder.path(), &case.sound[..place.index(case.sound.len())]);
    }

    #[test]
    fn noise_is_refused(which in 0usize..17, noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let (folder, case) = (tempdir().unwrap(), &cases()[which]);
        prop_assert!(load(case, folder.path(), &noise).is_err());
    }
}

#[test]
fn every_case_is_drawn() {
    assert_eq!(cases().len(), 17, "the ranges above count the cases");
}
