//! Outputs that cannot be written, or would destroy something.

use super::Case;

const NONE: &[(&str, &[u8])] = &[];
const NOTES: &[(&str, &[u8])] = &[("notes.txt", b"years of work\n")];

macro_rules! refused {
    ($about:literal, $files:expr, $command:literal, $code:literal, $($says:literal),+) => {
        Case { about: $about, files: $files, command: $command, code: $code, says: &[$($says),+] }
    };
}

pub const CASES: &[Case] = &[
    refused!(
        "a model over the training table",
        NONE,
        "fit train.csv --label label --model train.csv",
        2,
        "--model train.csv",
        "FILE train.csv"
    ),
    refused!(
        "a model over the test table",
        NONE,
        "fit train.csv --label label --test test.csv --model test.csv",
        2,
        "--model test.csv",
        "--test test.csv"
    ),
    refused!(
        "a model over the config file",
        NONE,
        "fit train.csv --label label --config tiny.toml --model tiny.toml",
        2,
        "--config tiny.toml"
    ),
    refused!(
        "a report over the training table",
        NONE,
        "fit train.csv --label label --model n --report train.csv",
        2,
        "--report train.csv"
    ),
    refused!(
        "a report over the model",
        NONE,
        "fit train.csv --label label --model n --report n",
        2,
        "--report n",
        "--model n"
    ),
    refused!(
        "predictions over their rows",
        NONE,
        "predict m test.csv --out test.csv",
        2,
        "--out test.csv",
        "FILE test.csv"
    ),
    refused!("predictions over the model", NONE, "predict m test.csv --out m", 2, "--out m", "MODEL m"),
    refused!("predictions over the model by force", NONE, "predict m test.csv --out m --force", 2, "MODEL m"),
    refused!("samples over the model", NONE, "sample m -n 3 --out m", 2, "MODEL m"),
    refused!("latent points over the rows", NONE, "encode m test.csv --out test.csv", 2, "FILE test.csv"),
    refused!("decoded rows over the points", NONE, "decode m test.csv --out test.csv", 2, "FILE test.csv"),
    refused!("a page over the rows", NONE, "explain m test.csv --out test.csv", 2, "FILE test.csv"),
    refused!("a page over the model", NONE, "explain m test.csv --out m", 2, "MODEL m"),
    refused!(
        "a calibrated model over the rows",
        NONE,
        "calibrate m test.csv --out test.csv",
        2,
        "FILE test.csv"
    ),
    refused!(
        "a calibrated model over the model without saying so",
        NONE,
        "calibrate m test.csv --out m",
        2,
        "MODEL m"
    ),
    refused!(
        "a model over a file of another kind",
        NOTES,
        "fit train.csv --label label --model notes.txt",
        2,
        "notes.txt",
        "--force"
    ),
    refused!(
        "a page over a file of another kind",
        NOTES,
        "explain m test.csv --out notes.txt",
        2,
        "notes.txt",
        "--force"
    ),
    refused!("a table over a model", NONE, "predict m test.csv --out half.flow", 2, "half.flow"),
    refused!("a table of an unknown ending", NONE, "predict m test.csv --out p.xyz", 2, "p.xyz"),
    refused!(
        "a model in a directory that is not there",
        NONE,
        "fit train.csv --label label --model no/such/m",
        5,
        "no/such/m"
    ),
    refused!(
        "predictions in a directory that is not there",
        NONE,
        "predict m test.csv --out no/such/p.csv",
        5,
        "no/such/p.csv"
    ),
    refused!(
        "samples in a directory that is not there",
        NONE,
        "sample m -n 3 --out no/such/s.csv",
        5,
        "no/such/s.csv"
    ),
    refused!(
        "a page in a directory that is not there",
        NONE,
        "explain m test.csv --out no/such/e.html",
        5,
        "no/such/e.html"
    ),
    refused!("a demo in place of a file", NONE, "demo moons --out m", 5, "m"),
    refused!(
        "a model in place of a directory",
        NONE,
        "fit train.csv --label label --model .",
        5,
        "directory"
    ),
    #[cfg(target_os = "linux")]
    refused!(
        "a model in place of a device",
        NONE,
        "fit train.csv --label label --model /dev/null",
        5,
        "/dev/null",
        "not a regular file"
    ),
    #[cfg(target_os = "linux")]
    refused!(
        "predictions to a full disk",
        NONE,
        "predict m test.csv --out /dev/full",
        5,
        "/dev/full",
        "No space left"
    ),
    #[cfg(target_os = "linux")]
    refused!("samples to a full disk", NONE, "sample m -n 100000 --out /dev/full", 5, "No space left"),
    #[cfg(target_os = "linux")]
    refused!(
        "a model where nobody may write",
        NONE,
        "fit train.csv --label label --model /proc/m",
        5,
        "/proc/m"
    ),
    #[cfg(target_os = "linux")]
    refused!(
        "predictions where nobody may write",
        NONE,
        "predict m test.csv --out /proc/p.csv",
        5,
        "/proc/p.csv"
    ),
    #[cfg(target_os = "linux")]
    refused!("manual pages where nobody may write", NONE, "man --out /proc/pages", 5, "/proc/pages"),
];
