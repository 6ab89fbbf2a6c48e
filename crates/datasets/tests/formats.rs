//! Every loader on small files made in the exact format: the numbers that go in come out, at their place.

mod common;

use common::*;
use flowgmm_datasets::*;
use semisup::{Labelled, rng};
use tempfile::tempdir;

#[test]
fn idx_plain_and_gzipped() {
    let folder = tempdir().unwrap();
    let pixels: Vec<u8> = (0..2 * 3 * 4).collect();
    let (images, labels) = (idx(&[2, 3, 4], &pixels), idx(&[2], &[1, 0]));
    for (images, labels) in [(images.clone(), gzip(&labels)), (gzip(&images), labels)] {
        let (a, b) = (write(folder.path(), "images", &images), write(folder.path(), "labels", &labels));
        let set = read_idx(&a, &b, &["cat", "dog"]).unwrap();
        assert_eq!((set.n, set.channels, set.height, set.width), (2, 1, 3, 4));
        assert_eq!((set.image(1), &set.labels[..]), (&pixels[12..], &[1, 0][..]));
        assert!(read_idx(&a, &b, &["cat"]).unwrap_err().to_string().contains("label 1 of item 0"));
    }
    let three = write(folder.path(), "three", &idx(&[3], &[0; 3]));
    let images = write(folder.path(), "images", &idx(&[2, 3, 4], &pixels));
    let error = read_idx(&images, &three, &["cat"]).unwrap_err().to_string();
    assert!(error.contains("three") && error.contains("3 labels"), "{error}");
}

#[test]
fn cifar_batches_and_archive_agree() {
    let folder = tempdir().unwrap();
    let first = [cifar_record(3, 1), cifar_record(9, 2)].concat();
    let second = cifar_record(0, 5);
    let a = write(folder.path(), "data_batch_1.bin", &first);
    let b = write(folder.path(), "data_batch_2.bin.gz", &gzip(&second));
    let set = read_cifar10(&[&a, &b]).unwrap();
    assert_eq!((set.n, &set.labels[..], set.dim()), (3, &[3, 9, 0][..], 3072));
    assert_eq!(set.image(2), &cifar_record(0, 5)[1..]);
    let packed = tar(&[
        ("cifar-10-batches-bin/readme.html", b"<html>"),
        ("cifar-10-batches-bin/data_batch_1.bin", &first),
        ("cifar-10-batches-bin/data_batch_2.bin", &second),
    ]);
    let archive = write(folder.path(), "cifar-10-binary.tar.gz", &gzip(&packed));
    assert_eq!(read_cifar10_archive(&archive, &["data_batch_1.bin", "data_batch_2.bin"]).unwrap(), set);
    let error = read_cifar10_archive(&archive, &["test_batch.bin"]).unwrap_err().to_string();
    assert!(
        error.contains("test_batch.bin is not in it") && error.contains("cifar-10-binary.tar.gz"),
        "{error}"
    );
    let bad = write(folder.path(), "bad.bin", &cifar_record(10, 0));
    assert!(read_cifar10(&[&bad]).unwrap_err().to_string().contains("label 10"));
}

#[test]
fn svhn_in_every_shape_of_the_mat_file() {
    let folder = tempdir().unwrap();
    for order in [Order::Little, Order::Big] {
        for packed in [false, true] {
            let path = write(folder.path(), "test_32x32.mat", &svhn(order, packed));
            let set = read_svhn(&path).unwrap();
            assert_eq!((set.n, &set.labels[..]), (2, &[7, 0][..]), "label 10 is digit 0");
            for (image, channel, row, column) in [(0, 0, 0, 0), (0, 2, 3, 17), (1, 1, 31, 2)] {
                let value = (100 * image + 8 * row + column + channel) as u8;
                assert_eq!(set.image(image)[channel * 1024 + row * 32 + column], value);
            }
        }
    }
}

/// Files that scipy 1.17 wrote (`savemat(.., {"X": x, "y": y}, do_compression=..)`), with the pixels of our own ones.
#[test]
fn svhn_as_scipy_writes_it() {
    let folder = tempdir().unwrap();
    let own = read_svhn(&write(folder.path(), "own.mat", &svhn(Order::Little, true))).unwrap();
    for (name, bytes) in [
        ("bytes, packed", &include_bytes!("data/svhn_scipy_packed.mat")[..]),
        ("doubles, plain", &include_bytes!("data/svhn_scipy_plain.mat")[..]),
    ] {
        assert_eq!(read_svhn(&write(folder.path(), "scipy.mat", bytes)).unwrap(), own, "{name}");
    }
}

#[test]
fn svhn_labels_as_bytes_and_wrong_arrays() {
    let folder = tempdir().unwrap();
    let order = Order::Little;
    let file = |x_dims: &[u32], y: &[u8]| {
        let x = vec![9; x_dims.iter().product::<u32>() as usize];
        let x = mat_array(order, "X", 9, x_dims, 2, &x);
        let y = mat_array(order, "y", 9, &[y.len() as u32, 1], 2, y);
        write(folder.path(), "a.mat", &[mat_header(order), y, x].concat())
    };
    assert_eq!(read_svhn(&file(&[32, 32, 3, 1], &[10])).unwrap().labels, [0]);
    let message = |x_dims: &[u32], y: &[u8]| read_svhn(&file(x_dims, y)).unwrap_err().to_string();
    assert!(message(&[32, 32, 3, 1], &[11]).contains("label of image 0 is 11"));
    assert!(message(&[32, 32, 3, 2], &[1]).contains("1 labels for 2 images"));
    assert!(message(&[32, 32, 2], &[1]).contains("[32, 32, 2]"));
}

#[test]
fn hepmass_with_and_without_mass() {
    let folder = tempdir().unwrap();
    let with = write(folder.path(), "all_train.csv", hepmass(30, true).as_bytes());
    let without = write(folder.path(), "1000_train.csv.gz", &gzip(hepmass(30, false).as_bytes()));
    let data = read_hepmass(&with, RowSelection::All).unwrap();
    assert_eq!((data.n(), data.dim(), data.class_counts()), (30, 27, vec![20, 10]));
    assert_eq!(data.x()[[4, 2]], ((4 * 31 + 14) % 101) as f64 / 8.0 + 4.0);
    assert_eq!(read_hepmass(&without, RowSelection::All).unwrap(), data);
    let some = read_hepmass(&with, RowSelection::Fraction(0.5, &mut rng(1))).unwrap();
    assert!((5..25).contains(&some.n()), "{}", some.n());
    assert_eq!(
        some,
        read_hepmass(&with, RowSelection::Fraction(0.5, &mut rng(1))).unwrap(),
        "the seed decides"
    );
}

#[test]
fn hepmass_is_prepared_as_in_the_paper() {
    let folder = tempdir().unwrap();
    let train =
        read_hepmass(&write(folder.path(), "a", hepmass(40, false).as_bytes()), RowSelection::All).unwrap();
    let test =
        read_hepmass(&write(folder.path(), "b", hepmass(7, true).as_bytes()), RowSelection::All).unwrap();
    let (x, x_test) = prepare_hepmass(&train, &test).unwrap();
    assert_eq!((x.dim(), x_test.dim()), (26, 26), "f1 has two values only");
    assert!(!x.columns().contains(&"f1".to_string()));
    check_standard(&x, 1.0);
    // The test rows are scaled by the training rows: where both have the same raw value, they agree.
    assert_eq!(x_test.x().row(6), x.x().row(6));
}

/// Every column has mean 0 and standard deviation 1, where `ddof` is taken off the number of rows.
fn check_standard(data: &Labelled, ddof: f64) {
    for column in data.x().columns() {
        assert!(column.mean().unwrap().abs() < 1e-12);
        assert!((column.std(ddof) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn miniboone_and_both_of_its_preparations() {
    let folder = tempdir().unwrap();
    let data = read_miniboone(&write(folder.path(), "MiniBooNE_PID.txt", miniboone().as_bytes())).unwrap();
    assert_eq!((data.n(), data.dim(), data.class_counts()), (20, 50, vec![12, 8]));
    assert_eq!((data.y()[7], data.y()[8]), (1, 0), "signal comes first");
    assert_eq!(data.x()[[0, 2]], 10.0);
    let code = prepare_miniboone(&data, MiniBooneRecipe::Code).unwrap();
    assert_eq!((code.dim(), code.class_counts()), (50, vec![8, 8]));
    check_standard(&code, 0.0);
    let paper = prepare_miniboone(&data, MiniBooneRecipe::Paper).unwrap();
    assert_eq!(
        (paper.dim(), paper.class_counts()),
        (49, vec![7, 7]),
        "the row of -999 and the last column are gone"
    );
    check_standard(&paper, 0.0);
}

#[test]
fn miniboone_must_keep_its_promise() {
    let folder = tempdir().unwrap();
    let text = miniboone().replace("     8    12", "     8    13");
    let error = read_miniboone(&write(folder.path(), "m.txt", text.as_bytes())).unwrap_err().to_string();
    assert!(error.contains("m.txt") && error.contains("8 + 13 rows, found 20"), "{error}");
}

#[test]
fn line_breaks_of_ag_news_and_of_yahoo() {
    let folder = tempdir().unwrap();
    let news = read_ag_news(&write(folder.path(), "test.csv.gz", &gzip(AG_NEWS.as_bytes()))).unwrap();
    assert_eq!((news.n(), &news.labels[..], &news.classes[2][..]), (2, &[2, 0][..], "Business"));
    assert_eq!(news.texts[0].get(0), Some("Oil $46 a barrel"));
    assert_eq!(news.texts[1].get(0), Some("He said \"no\", and\nnew prices, came."));
    assert_eq!(news.joined(1), "Two\n\nbreaks");
    let yahoo = write(folder.path(), "test.csv", YAHOO.as_bytes());
    let set = read_yahoo(&yahoo).unwrap();
    assert_eq!((&set.labels[..], set.joined(0)), (&[4, 9][..], "why? because\n\nof \"it\"".into()));
    let archive = gzip(&tar(&[("yahoo_answers_csv/test.csv", YAHOO.as_bytes())]));
    let archive = write(folder.path(), "yahoo_answers_csv.tgz", &archive);
    assert_eq!(read_yahoo_archive(&archive, "test.csv").unwrap(), set);
    let frame = set.to_frame("yahoo").unwrap();
    assert_eq!(frame.column_names(), ["question_title", "question_content", "best_answer", "label"]);
    assert_eq!(frame.column("label").unwrap().text(0).as_deref(), Some("Computers & Internet"));
}

#[test]
fn uci_tables_in_their_several_layouts() {
    let folder = tempdir().unwrap();
    let a = write(folder.path(), "a.tra", b"1,2,10\n3,4,9\n");
    let b = write(folder.path(), "a.tes", b" 5, 6,10\n\n");
    let data = read_uci(&[&a, &b], Separator::Comma, LabelAt::Last).unwrap();
    assert_eq!((data.y(), data.classes()), (&[1, 0, 1][..], &["9".to_string(), "10".into()][..]));
    let letter = write(folder.path(), "letter.data", b"T,2,8\nI,5,12\n");
    let letters = read_uci(&[&letter], Separator::Comma, LabelAt::First).unwrap();
    assert_eq!((letters.y(), letters.x()[[1, 1]]), (&[1, 0][..], 12.0));
    let blank = write(folder.path(), "sat.trn", b"92 115  3\n84 102 4\n");
    assert_eq!(read_uci(&[&blank], Separator::Blank, LabelAt::Last).unwrap().dim(), 2);
    let headed = write(folder.path(), "h.csv", b"width,height,label\n1,2,x\n");
    assert_eq!(read_uci(&[&headed], Separator::Comma, LabelAt::Last).unwrap().columns(), ["width", "height"]);
    let ragged = write(folder.path(), "r.csv", b"1,2,x\n1,x\n");
    let error = read_uci(&[&ragged], Separator::Comma, LabelAt::Last).unwrap_err().to_string();
    assert!(error.contains("r.csv") && error.contains("line 2: found 2 columns, expected 3"), "{error}");
}

#[test]
fn splits_are_checked_against_the_set() {
    let folder = tempdir().unwrap();
    let path = write(folder.path(), "mnist_3_labeled_indices.npy", &npy(2, 3, &[5, 0, 9, 1, 2, 3]));
    let splits = LabelSplits::read(&path, 10).unwrap();
    assert_eq!((splits.seeds(), splits.n_labels(), splits.seed(0).unwrap()), (2, 3, &[5, 0, 9][..]));
    assert!(splits.seed(2).unwrap_err().to_string().contains("seeds 0 to 1"));
    assert!(LabelSplits::read(&path, 9).unwrap_err().to_string().contains("seed 0 labels row 9"));
    let twice = write(folder.path(), "t.npy", &npy(1, 2, &[4, 4]));
    assert!(LabelSplits::read(&twice, 9).unwrap_err().to_string().contains("row 4 twice"));
    let negative = write(folder.path(), "n.npy", &npy(1, 1, &[-1]));
    assert!(LabelSplits::read(&negative, 9).unwrap_err().to_string().contains("n.npy"));
}
