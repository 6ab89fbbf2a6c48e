//! The datasets of tables and texts.
//!
//! The MD5s of AG-News are torchtext's; that of its test part was computed anew from a real copy. UCI publishes none.
//! SHA-256s were computed from the copies that `shared/data` holds.

use super::{DataFile, Dataset, DatasetKind, Extent, KnownCopy, also, file, part, whole};
use crate::{
    Checksum::{Md5, Sha256},
    LabelAt, Separator,
};

const UCI_TERMS: &str = "CC BY 4.0";

macro_rules! uci {
    ($path:literal) => {
        &[concat!("https://archive.ics.uci.edu/ml/machine-learning-databases/", $path)]
    };
}

pub(super) const ALL: &[Dataset] = &[
    Dataset {
        name: "hepmass",
        title: "collisions with and without a heavy particle (mass 1000), 27 numbers, as the paper uses",
        licence: UCI_TERMS,
        home: "https://archive.ics.uci.edu/dataset/347/hepmass",
        folder: "hepmass",
        kind: DatasetKind::Hepmass,
        files: &[
            file("1000_train.csv.gz", uci!("00347/1000_train.csv.gz"), None, None),
            file("1000_test.csv.gz", uci!("00347/1000_test.csv.gz"), None, None),
        ],
        merged: None,
    },
    Dataset {
        name: "hepmass-all",
        title: "7,000,000 + 3,500,000 collisions with and without a heavy particle of any mass, 27 numbers",
        licence: UCI_TERMS,
        home: "https://archive.ics.uci.edu/dataset/347/hepmass",
        folder: "hepmass",
        kind: DatasetKind::Hepmass,
        files: &[
            file("all_train.csv.gz", uci!("00347/all_train.csv.gz"), None, None),
            file("all_test.csv.gz", uci!("00347/all_test.csv.gz"), None, None),
        ],
        merged: None,
    },
    Dataset {
        name: "miniboone",
        title: "130,064 neutrino events, signal and background, 50 numbers",
        licence: UCI_TERMS,
        home: "https://archive.ics.uci.edu/dataset/199/miniboone+particle+identification",
        folder: "miniboone",
        kind: DatasetKind::MiniBoone,
        files: &[file("MiniBooNE_PID.txt", uci!("00199/MiniBooNE_PID.txt"), None, None)],
        merged: None,
    },
    Dataset {
        name: "ag-news",
        title: "120,000 + 7,600 news in four classes",
        licence: "non-commercial research",
        home: "http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
        folder: "text/ag_news",
        kind: DatasetKind::AgNews,
        files: &[
            file(
                "train.csv",
                &[
                    "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/train.csv",
                ],
                None,
                Some(Md5("b1a00f826fdfbd249f79597b59e1dc12")),
            ),
            file(
                "test.csv",
                &[
                    "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv",
                ],
                Some(1857427),
                Some(Md5("d52ea96a97a2d943681189a97654912d")),
            ),
        ],
        merged: None,
    },
    Dataset {
        name: "yahoo-answers",
        title: "1,400,000 + 60,000 questions with answers in ten classes",
        licence: "research use",
        home: "https://arxiv.org/abs/1509.01626",
        folder: "text/yahoo_answers",
        kind: DatasetKind::Yahoo,
        files: &[also(
            file(
                "yahoo_answers_csv.tgz",
                &["https://s3.amazonaws.com/fast-ai-nlp/yahoo_answers_csv.tgz"],
                None,
                None,
            ),
            &[
                KnownCopy {
                    name: "yahoo_answers_csv.tar.gz",
                    checksum: Some(Md5("f3f9899b997a42beb24157e62e3eea8d")),
                    extent: Extent::Whole,
                },
                part("train.csv"),
                part("test.csv"),
            ],
        )],
        merged: None,
    },
    uci_set(
        "optdigits",
        "5,620 handwritten digits as 8 x 8 counts, 64 numbers",
        COMMA_LAST,
        Some(whole("optdigits.csv.gz", "bdccb52c2f1fa9951c7168f02253bfcb2e66f26000216f4ea23ec2e2078622ea")),
        &[
            file("optdigits.tra", uci!("optdigits/optdigits.tra"), None, None),
            file("optdigits.tes", uci!("optdigits/optdigits.tes"), None, None),
        ],
    ),
    uci_set(
        "pendigits",
        "10,992 digits written with a pen, 16 numbers",
        COMMA_LAST,
        Some(whole("pendigits.csv.gz", "37a0f2635c675d90c1585bc9d2c70bd559fae0965cb57db0d3cd260f02e95897")),
        &[
            file("pendigits.tra", uci!("pendigits/pendigits.tra"), None, None),
            file("pendigits.tes", uci!("pendigits/pendigits.tes"), None, None),
        ],
    ),
    uci_set(
        "satimage",
        "6,435 pixels of a satellite image, six kinds of soil, 36 numbers",
        DatasetKind::Uci(Separator::Blank, LabelAt::Last),
        Some(whole("satimage.csv.gz", "4f4ed3dc07c2bc50bc858d7305b7c360cb173c446214eebd7a82707c0f2c2aab")),
        &[
            file("sat.trn", uci!("statlog/satimage/sat.trn"), None, None),
            file("sat.tst", uci!("statlog/satimage/sat.tst"), None, None),
        ],
    ),
    uci_set(
        "letter",
        "20,000 printed letters A to Z, 16 numbers",
        DatasetKind::Uci(Separator::Comma, LabelAt::First),
        Some(whole("letter.csv.gz", "2f689a0dcb386ded28024254333b29e314ce4b45e3c84ab6daf7276c058fad6e")),
        &[file("letter-recognition.data", uci!("letter-recognition/letter-recognition.data"), None, None)],
    ),
    uci_set(
        "magic04",
        "19,020 gamma and hadron showers in a telescope, 10 numbers",
        COMMA_LAST,
        None,
        &[also(
            file("magic04.data", uci!("magic/magic04.data"), None, None),
            &[whole("magic04.data.gz", "3cfa121556434f2359d69cf5e0518a73bf82f732cf14fb1d42af2f78fefab95d")],
        )],
    ),
    uci_set(
        "spambase",
        "4,601 e-mails, spam or not, 57 numbers",
        COMMA_LAST,
        Some(whole("spambase.csv.gz", "be1033479cd0ee51f89e52e0d5e941111b97b3b8dba8a1a2f3b714fed49c4404")),
        &[file("spambase.data", uci!("spambase/spambase.data"), None, None)],
    ),
    uci_set(
        "covtype",
        "581,012 patches of forest in seven kinds, 54 numbers",
        COMMA_LAST,
        None,
        &[also(
            file("covtype.data.gz", uci!("covtype/covtype.data.gz"), None, None),
            &[whole("covtype.data.gz", "00fc17eb1e994d88a3a75f19518ab6c422668baf814e036f62a59552792fb52e")],
        )],
    ),
    uci_set(
        "higgs-11k",
        "10,984 collisions with and without a Higgs boson, 28 numbers",
        COMMA_LAST,
        None,
        &[file(
            "higgs_11k.csv.gz",
            &[],
            Some(1488365),
            Some(Sha256("4a4982899ecd173795f8017de210c2d5e2be560ef30871911a0f7f3f33d2ff84")),
        )],
    ),
];

const COMMA_LAST: DatasetKind = DatasetKind::Uci(Separator::Comma, LabelAt::Last);

const fn uci_set(
    name: &'static str,
    title: &'static str,
    kind: DatasetKind,
    merged: Option<KnownCopy>,
    files: &'static [DataFile],
) -> Dataset {
    let home = "https://archive.ics.uci.edu/";
    Dataset { name, title, licence: UCI_TERMS, home, folder: "tabular", kind, files, merged }
}
