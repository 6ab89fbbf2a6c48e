//! Where a store looks, what it says of each file, and what it refuses.

mod common;

use std::{ffi::OsString, fs, path::PathBuf};

use common::*;
use flowgmm_datasets::*;
use semisup::rng;
use tempfile::tempdir;

const IMAGES: &str = "t10k-images-idx3-ubyte.gz";
const LABELS: &str = "t10k-labels-idx1-ubyte.gz";

/// The places a store of these variables names when a file is nowhere.
fn looked(variables: &[(&str, &str)], name: &str) -> Vec<PathBuf> {
    let find =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
    let checks = Store::new(StoreOptions::from_variables(find)).check(name).unwrap();
    let State::Absent(places) = &checks[0].state else { panic!("{checks:?}") };
    places.clone()
}

#[test]
fn directories_come_from_variables() {
    let places = looked(&[("FLOWGMM_DATA", "/no/data"), ("HOME", "/no/home")], "svhn");
    let wanted = [
        "/no/data/svhn/train_32x32.mat",
        "/no/data/svhn/train_32x32.mat.gz",
        "/no/data/train_32x32.mat",
        "/no/data/train_32x32.mat.gz",
        "/no/home/.cache/flowgmm/datasets/svhn/train_32x32.mat",
    ];
    assert_eq!(places[..5], wanted.map(PathBuf::from));
    let first = |variables: &[(&str, &str)]| looked(variables, "svhn").last().unwrap().display().to_string();
    let xdg = [("FLOWGMM_DATA", "/d"), ("XDG_CACHE_HOME", "/no/xdg"), ("HOME", "/no/home")];
    assert!(first(&xdg).starts_with("/no/xdg/flowgmm/datasets/"));
    assert!(first(&[("FLOWGMM_CACHE", "/no/own"), xdg[0], xdg[1], xdg[2]]).starts_with("/no/own/"));
}

#[test]
fn without_any_directory_a_download_says_so() {
    let store = Store::new(StoreOptions { search: vec!["/no/data".into()], ..StoreOptions::default() });
    let error = store.get("svhn", &mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, Error::NoCache), "{error}");
}

/// All relatives of MNIST call their files alike: in a flat directory nobody knows whose they are.
#[test]
fn names_shared_by_datasets_are_only_found_in_their_folder() {
    let folder = tempdir().unwrap();
    let (images, labels) = (gzip(&idx(&[1, 2, 2], &[9; 4])), gzip(&idx(&[1], &[3])));
    let store = Store::offline(folder.path());
    write(folder.path(), IMAGES, &images);
    write(folder.path(), LABELS, &labels);
    assert!(matches!(store.images("mnist", Subset::Test), Err(Error::Absent { .. })));
    write(folder.path(), &format!("mnist/{IMAGES}"), &images);
    write(folder.path(), "mnist/t10k-labels-idx1-ubyte", &idx(&[1], &[3]));
    assert_eq!(store.images("mnist", Subset::Test).unwrap().labels, [3], "unzipped files do as well");
    assert!(matches!(store.images("fashion-mnist", Subset::Test), Err(Error::Absent { .. })));
}

#[test]
fn check_tells_present_damaged_and_absent_apart() {
    let folder = tempdir().unwrap();
    write(folder.path(), &format!("mnist/{IMAGES}"), b"short");
    write(folder.path(), &format!("mnist/{LABELS}"), &[0; 4542]);
    write(folder.path(), "mnist/train-labels-idx1-ubyte", b"unzipped");
    let checks = Store::offline(folder.path()).check("mnist").unwrap();
    let [absent, unzipped, short, wrong] = &checks[..] else { panic!("{checks:?}") };
    assert!(matches!(absent.state, State::Absent(_)));
    assert!(matches!(unzipped.state, State::Present(_, Checked::Nothing)));
    assert!(matches!(&short.state, State::Damaged(_, Error::WrongSize { found: 5, expected: 1648877, .. })));
    assert!(matches!(&wrong.state, State::Damaged(_, Error::WrongChecksum { kind: "MD5", .. })));
    let message = match &wrong.state {
        State::Damaged(path, error) if path.ends_with(format!("mnist/{LABELS}")) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(message.contains(LABELS) && message.contains("ec29112dd5afa0611ce80d1b7f02629c"), "{message}");
}

#[test]
fn a_zipped_copy_is_checked_by_its_content() {
    let folder = tempdir().unwrap();
    write(folder.path(), "text/ag_news/test.csv.gz", &gzip(AG_NEWS.as_bytes()));
    let checks = Store::offline(folder.path()).check("ag-news").unwrap();
    assert!(matches!(&checks[1].state, State::Damaged(_, Error::WrongChecksum { .. })), "{checks:?}");
}

#[test]
fn cifar_and_yahoo_are_read_packed_or_unpacked() {
    let folder = tempdir().unwrap();
    let store = Store::offline(folder.path());
    let batch = |label| cifar_record(label, 1);
    for number in [1, 2] {
        write(folder.path(), &format!("cifar10/data_batch_{number}.bin"), &batch(number));
    }
    assert_eq!(store.images("cifar10", Subset::Train).unwrap().labels, [1, 2]);
    assert!(matches!(store.images("cifar10", Subset::Test), Err(Error::Absent { .. })));
    let names: Vec<String> =
        (1..=5).map(|number| format!("cifar-10-batches-bin/data_batch_{number}.bin")).collect();
    let records: Vec<Vec<u8>> = (1..=5).map(|number| batch(10 - number)).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&records).map(|(name, record)| (&name[..], &record[..])).collect();
    write(folder.path(), "cifar10/cifar-10-binary.tar.gz", &gzip(&tar(&files)));
    assert_eq!(store.images("cifar10", Subset::Train).unwrap().labels, [9, 8, 7, 6, 5]);
    let archive = gzip(&tar(&[("yahoo_answers_csv/test.csv", YAHOO.as_bytes())]));
    write(folder.path(), "text/yahoo_answers/yahoo_answers_csv.tar.gz", &archive);
    assert_eq!(store.texts("yahoo-answers", Subset::Test).unwrap().labels, [4, 9]);
    fs::write(folder.path().join("text/yahoo_answers/test.csv"), &YAHOO[..YAHOO.find('\n').unwrap()])
        .unwrap();
    assert_eq!(store.texts("yahoo-answers", Subset::Test).unwrap().labels, [4]);
}

#[test]
fn an_archive_is_not_needed_where_all_its_parts_are() {
    let folder = tempdir().unwrap();
    let get = || Store::offline(folder.path()).get("cifar10", &mut |_| std::ops::ControlFlow::Continue(()));
    for number in 1..=5 {
        write(folder.path(), &format!("cifar10/data_batch_{number}.bin"), &cifar_record(1, 1));
    }
    assert!(matches!(get(), Err(Error::Offline { .. })));
    write(folder.path(), "cifar10/test_batch.bin.gz", &gzip(&cifar_record(1, 1)));
    let fetched = get().unwrap();
    assert!(fetched[0].was_there && fetched[0].path.ends_with("cifar10/data_batch_1.bin"), "{fetched:?}");
}

#[test]
fn tables_by_name() {
    let folder = tempdir().unwrap();
    let store = Store::offline(folder.path());
    write(folder.path(), "miniboone/MiniBooNE_PID.txt", miniboone().as_bytes());
    assert_eq!(store.table("miniboone").unwrap().n(), 20);
    write(folder.path(), "hepmass/1000_test.csv", hepmass(9, true).as_bytes());
    assert_eq!(store.hepmass("hepmass", Subset::Test, RowSelection::All).unwrap().n(), 9);
    assert!(store.hepmass("hepmass", Subset::Train, RowSelection::Fraction(0.2, &mut rng(1))).is_err());
    write(folder.path(), "tabular/pendigits.tra", b"1,2,0\n");
    assert!(
        store.table("pendigits").unwrap_err().to_string().contains("pendigits.tes"),
        "both parts are needed"
    );
    write(folder.path(), "tabular/pendigits.tes", b"3,4,1\n");
    assert_eq!(store.table("pendigits").unwrap().n(), 2);
    write(folder.path(), "tabular/pendigits.csv", b"1,2,0\n3,4,1\n5,6,1\n");
    assert_eq!(store.table("pendigits").unwrap().n(), 3, "one file with all rows is preferred");
}

#[test]
fn the_wrong_kind_is_refused_with_the_right_one() {
    let store = Store::offline("/no/where");
    let error = store.images("miniboone", Subset::Train).unwrap_err();
    assert_eq!(error.to_string(), "'miniboone' holds a table, not images");
    assert_eq!(error.blame(), Blame::Usage);
    assert_eq!(
        store.table("mnist").unwrap_err().to_string(),
        "'mnist' holds images, not a table in one part"
    );
    assert_eq!(store.table("miniboone").unwrap_err().blame(), Blame::Io);
}
