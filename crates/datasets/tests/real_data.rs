//! The real files, in `FLOWGMM_DATA` or `../shared/data`: their published shapes, classes and checksums.

mod common;

use common::real_data;
use flowgmm_datasets::*;

fn counts(labels: &[u8]) -> Vec<usize> {
    (0..10).map(|class| labels.iter().filter(|&&label| label == class).count()).collect()
}

#[test]
fn relatives_of_mnist() {
    for (name, part, n, evenly) in [
        ("mnist", Subset::Train, 60_000, false),
        ("mnist", Subset::Test, 10_000, false),
        ("fashion-mnist", Subset::Train, 60_000, true),
        ("fashion-mnist", Subset::Test, 10_000, true),
        ("kmnist", Subset::Test, 10_000, true),
        ("notmnist", Subset::Test, 10_000, true),
    ] {
        let Some(root) = real_data(name) else { continue };
        let set = Store::offline(root).images(name, part).unwrap();
        assert_eq!((set.n, set.channels, set.height, set.width), (n, 1, 28, 28), "{name}");
        assert_eq!(counts(&set.labels).iter().all(|&count| count == n / 10), evenly, "{name}");
    }
}

#[test]
fn mnist_begins_with_a_five_and_has_its_published_class_counts() {
    let Some(root) = real_data("mnist") else { return };
    let set = Store::offline(root).images("mnist", Subset::Train).unwrap();
    assert_eq!(set.labels[..5], [5, 0, 4, 1, 9]);
    assert_eq!(counts(&set.labels), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    assert_eq!(set.image(0)[5 * 28 + 12..][..4], [3, 18, 18, 18], "the first ink of the first five");
}

#[test]
fn what_is_absent_is_said() {
    let Some(root) = real_data("kmnist") else { return };
    let error = Store::offline(root).images("kmnist", Subset::Train).unwrap_err().to_string();
    assert!(
        error.contains("train-images-idx3-ubyte.gz")
            && error.contains("'kmnist'")
            && error.contains("downloaded"),
        "{error}"
    );
}

#[test]
fn cifar10_batches() {
    let Some(root) = real_data("cifar10") else { return };
    let store = Store::offline(root);
    let test = store.images("cifar10", Subset::Test).unwrap();
    assert_eq!((test.n, counts(&test.labels)), (10_000, vec![1000; 10]));
    assert_eq!((&test.classes[usize::from(test.labels[0])][..], test.image(0)[0]), ("cat", 158));
    let train = store.images("cifar10", Subset::Train).unwrap();
    assert_eq!(train.n % 10_000, 0);
    assert_eq!(&train.classes[usize::from(train.labels[0])], "frog");
}

#[test]
fn label_splits_are_balanced() {
    let Some(root) = real_data("labels") else { return };
    let store = Store::offline(&root);
    if real_data("mnist").is_some() {
        let set = store.images("mnist", Subset::Train).unwrap();
        for n in [100, 600, 1000, 3000] {
            let splits = store.label_splits("mnist", n, set.n).unwrap();
            assert_eq!((splits.seeds(), splits.n_labels()), (20, n));
            for seed in 0..20 {
                let labels: Vec<u8> = splits.seed(seed).unwrap().iter().map(|&row| set.labels[row]).collect();
                assert_eq!(counts(&labels), [n / 10; 10], "{n} labels, seed {seed}");
            }
        }
    }
    for (name, n, n_train) in [("cifar10", 1000, 50_000), ("cifar10", 4000, 50_000), ("svhn", 1000, 73_257)] {
        assert_eq!(store.label_splits(name, n, n_train).unwrap().n_labels(), n);
        let error = store.label_splits(name, n, 10_000).unwrap_err().to_string();
        assert!(error.contains("but the set has 10000 rows"), "{error}");
    }
    let error = store.label_splits("mnist", 50, 60_000).unwrap_err().to_string();
    assert!(error.contains("There are splits with 100, 600, 1000, 3000 labels"), "{error}");
}

#[test]
fn ag_news_test() {
    let Some(root) = real_data("text/ag_news") else { return };
    let set = Store::offline(root).texts("ag-news", Subset::Test).unwrap();
    assert_eq!(set.n(), 7600);
    for class in 0..4 {
        assert_eq!(set.labels.iter().filter(|&&label| label == class).count(), 1900);
    }
    assert_eq!(set.texts[0].get(0), Some("Fears for T N pension after talks"));
    assert!((0..set.n()).all(|row| !set.joined(row).contains('\\')));
    assert!(set.joined(1).contains("A second\nteam of rocketeers"));
}

#[test]
fn uci_tables() {
    for (name, n, dim, classes) in [
        ("optdigits", 5620, 64, 10),
        ("pendigits", 10992, 16, 10),
        ("satimage", 6435, 36, 6),
        ("letter", 20000, 16, 26),
        ("magic04", 19020, 10, 2),
        ("spambase", 4597, 57, 2),
        ("higgs-11k", 10984, 28, 2),
        ("covtype", 581_012, 54, 7),
    ] {
        let Some(root) = real_data("tabular") else { return };
        let data = Store::offline(root).table(name).unwrap();
        assert_eq!((data.n(), data.dim(), data.n_classes()), (n, dim, classes), "{name}");
        assert!(data.class_counts().iter().all(|&count| count > 0), "{name}");
    }
}

#[test]
fn real_files_pass_their_checks() {
    for (name, folder, checksums, unchecked) in [
        ("mnist", "mnist", 4, 0),
        ("fashion-mnist", "fashion-mnist", 4, 0),
        ("kmnist", "kmnist", 2, 0),
        ("notmnist", "notmnist", 2, 0),
        ("cifar10", "cifar10", 0, 2),
        ("ag-news", "text/ag_news", 1, 0),
        ("pendigits", "tabular", 1, 0),
        ("magic04", "tabular", 1, 0),
        ("covtype", "tabular", 1, 0),
        ("higgs-11k", "tabular", 1, 0),
    ] {
        let Some(root) = real_data(folder) else { continue };
        let checks = Store::offline(root).check(name).unwrap();
        let of = |wanted: fn(&Checked) -> bool| {
            let right =
                |check: &&FileCheck| matches!(&check.state, State::Present(_, checked) if wanted(checked));
            checks.iter().filter(right).count()
        };
        assert_eq!(of(|checked| matches!(checked, Checked::Checksum(_))), checksums, "{name}: {checks:?}");
        assert_eq!(of(|checked| *checked == Checked::Nothing), unchecked, "{name}: {checks:?}");
        assert!(!checks.iter().any(|check| matches!(check.state, State::Damaged(..))), "{name}: {checks:?}");
    }
}
