//! The datasets of images.
//!
//! MD5s are their publishers' (as torchvision and the pages state them); those of MNIST and Fashion-MNIST were
//! computed anew from real copies. SHA-256s were computed from the copies that `shared/data` holds.

use super::{Dataset, DatasetKind, also, file, part, whole};
use crate::Checksum::Md5;

const DIGITS: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const CLOTHES: &[&str] = &[
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];
const LETTERS: &[&str] = &["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
const KANA: &[&str] = &["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"];

macro_rules! urls {
    ($name:literal: $($base:literal),+) => { &[$(concat!($base, $name)),+] };
}

macro_rules! mnist {
    ($name:literal) => {
        urls!($name:
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/")
    };
}

macro_rules! fashion {
    ($name:literal) => {
        urls!($name:
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/")
    };
}

macro_rules! kmnist {
    ($name:literal) => {
        urls!($name: "http://codh.rois.ac.jp/kmnist/dataset/kmnist/")
    };
}

macro_rules! notmnist {
    ($name:literal) => {
        urls!($name: "https://raw.githubusercontent.com/davidflanagan/notMNIST-to-MNIST/master/")
    };
}

const IMAGES_TRAIN: &str = "train-images-idx3-ubyte.gz";
const LABELS_TRAIN: &str = "train-labels-idx1-ubyte.gz";
const IMAGES_TEST: &str = "t10k-images-idx3-ubyte.gz";
const LABELS_TEST: &str = "t10k-labels-idx1-ubyte.gz";

pub(super) const ALL: &[Dataset] = &[
    Dataset {
        name: "mnist",
        title: "60,000 + 10,000 handwritten digits, 28 x 28 grey",
        licence: "CC BY-SA 3.0",
        home: "http://yann.lecun.com/exdb/mnist/",
        folder: "mnist",
        kind: DatasetKind::Idx(DIGITS),
        files: &[
            file(
                IMAGES_TRAIN,
                mnist!("train-images-idx3-ubyte.gz"),
                Some(9912422),
                Some(Md5("f68b3c2dcbeaaa9fbdd348bbdeb94873")),
            ),
            file(
                LABELS_TRAIN,
                mnist!("train-labels-idx1-ubyte.gz"),
                Some(28881),
                Some(Md5("d53e105ee54ea40749a09fcbcd1e9432")),
            ),
            file(
                IMAGES_TEST,
                mnist!("t10k-images-idx3-ubyte.gz"),
                Some(1648877),
                Some(Md5("9fb629c4189551a2d022fa330f9573f3")),
            ),
            file(
                LABELS_TEST,
                mnist!("t10k-labels-idx1-ubyte.gz"),
                Some(4542),
                Some(Md5("ec29112dd5afa0611ce80d1b7f02629c")),
            ),
        ],
        merged: None,
    },
    Dataset {
        name: "fashion-mnist",
        title: "60,000 + 10,000 pieces of clothing, 28 x 28 grey",
        licence: "MIT",
        home: "https://github.com/zalandoresearch/fashion-mnist",
        folder: "fashion-mnist",
        kind: DatasetKind::Idx(CLOTHES),
        files: &[
            file(
                IMAGES_TRAIN,
                fashion!("train-images-idx3-ubyte.gz"),
                Some(26421880),
                Some(Md5("8d4fb7e6c68d591d4c3dfef9ec88bf0d")),
            ),
            file(
                LABELS_TRAIN,
                fashion!("train-labels-idx1-ubyte.gz"),
                Some(29515),
                Some(Md5("25c81989df183df01b3e8a0aad5dffbe")),
            ),
            file(
                IMAGES_TEST,
                fashion!("t10k-images-idx3-ubyte.gz"),
                Some(4422102),
                Some(Md5("bef4ecab320f06d8554ea6380940ec79")),
            ),
            file(
                LABELS_TEST,
                fashion!("t10k-labels-idx1-ubyte.gz"),
                Some(5148),
                Some(Md5("bb300cfdad3c16e7a12a480ee83cd310")),
            ),
        ],
        merged: None,
    },
    Dataset {
        name: "kmnist",
        title: "60,000 + 10,000 cursive Japanese characters, 28 x 28 grey",
        licence: "CC BY-SA 4.0",
        home: "https://github.com/rois-codh/kmnist",
        folder: "kmnist",
        kind: DatasetKind::Idx(KANA),
        files: &[
            file(
                IMAGES_TRAIN,
                kmnist!("train-images-idx3-ubyte.gz"),
                None,
                Some(Md5("bdb82020997e1d708af4cf47b453dcf7")),
            ),
            file(
                LABELS_TRAIN,
                kmnist!("train-labels-idx1-ubyte.gz"),
                None,
                Some(Md5("e144d726b3acfaa3e44228e80efcd344")),
            ),
            also(
                file(
                    IMAGES_TEST,
                    kmnist!("t10k-images-idx3-ubyte.gz"),
                    None,
                    Some(Md5("5c965bf0a639b31b8f53240b1b52f4d7")),
                ),
                &[whole(IMAGES_TEST, "f78e098603cd608185a9c90c432b1c6eafd3d27b4922ef2d86ccd9d6a955113d")],
            ),
            also(
                file(
                    LABELS_TEST,
                    kmnist!("t10k-labels-idx1-ubyte.gz"),
                    None,
                    Some(Md5("7320c461ea6c1c855c0b718fb2a4b134")),
                ),
                &[whole(LABELS_TEST, "71462da0de57529a4cf7c94a36a1334b37981a06101b73aad37da188fbbc26ed")],
            ),
        ],
        merged: None,
    },
    Dataset {
        name: "notmnist",
        title: "10,000 letters A to J in many fonts, 28 x 28 grey (no training part)",
        licence: "not stated; research use",
        home: "https://github.com/davidflanagan/notMNIST-to-MNIST",
        folder: "notmnist",
        kind: DatasetKind::Idx(LETTERS),
        files: &[
            also(
                file(IMAGES_TEST, notmnist!("t10k-images-idx3-ubyte.gz"), None, None),
                &[whole(IMAGES_TEST, "70ae9e06201f2827e5b0a3781a3169d735dd2efc69996b9eeaee7f10ed4044d7")],
            ),
            also(
                file(LABELS_TEST, notmnist!("t10k-labels-idx1-ubyte.gz"), None, None),
                &[whole(LABELS_TEST, "1fa03836e01c862542f8eb83463bb951bebec6fcb3efa28dad748c6b38a9021b")],
            ),
        ],
        merged: None,
    },
    Dataset {
        name: "cifar10",
        title: "50,000 + 10,000 photographs of ten things, 32 x 32 colour",
        licence: "not stated; research use",
        home: "https://www.cs.toronto.edu/~kriz/cifar.html",
        folder: "cifar10",
        kind: DatasetKind::Cifar10,
        files: &[also(
            file(
                "cifar-10-binary.tar.gz",
                &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
                Some(170052171),
                Some(Md5("c32a1d4ab5d03f1284b67883e8d87530")),
            ),
            &[
                part("data_batch_1.bin"),
                part("data_batch_2.bin"),
                part("data_batch_3.bin"),
                part("data_batch_4.bin"),
                part("data_batch_5.bin"),
                part("test_batch.bin"),
            ],
        )],
        merged: None,
    },
    Dataset {
        name: "svhn",
        title: "73,257 + 26,032 digits of house numbers, 32 x 32 colour",
        licence: "not stated; non-commercial use",
        home: "http://ufldl.stanford.edu/housenumbers/",
        folder: "svhn",
        kind: DatasetKind::Svhn,
        files: &[
            file(
                "train_32x32.mat",
                &["http://ufldl.stanford.edu/housenumbers/train_32x32.mat"],
                Some(182040794),
                Some(Md5("e26dedcc434d2e4c54c9b2d4a06d8373")),
            ),
            file(
                "test_32x32.mat",
                &["http://ufldl.stanford.edu/housenumbers/test_32x32.mat"],
                Some(64275384),
                Some(Md5("eb5a983be6a315427106f1b164d9cef3")),
            ),
        ],
        merged: None,
    },
];
