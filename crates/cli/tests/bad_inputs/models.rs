//! Model files that are damaged, or none.

use super::Case;

const NONE: &[(&str, &[u8])] = &[];

macro_rules! every_command {
    ($about:literal, $file:literal) => {
        [
            Case {
                about: concat!($about, ", predict"),
                files: NONE,
                command: concat!("predict ", $file, " test.csv"),
                code: 4,
                says: &[$file, "not a usable model file"],
            },
            Case {
                about: concat!($about, ", evaluate"),
                files: NONE,
                command: concat!("evaluate ", $file, " test.csv"),
                code: 4,
                says: &[$file],
            },
            Case {
                about: concat!($about, ", calibrate"),
                files: NONE,
                command: concat!("calibrate ", $file, " test.csv --out c"),
                code: 4,
                says: &[$file],
            },
            Case {
                about: concat!($about, ", explain"),
                files: NONE,
                command: concat!("explain ", $file, " test.csv --out e.html"),
                code: 4,
                says: &[$file],
            },
            Case {
                about: concat!($about, ", sample"),
                files: NONE,
                command: concat!("sample ", $file, " -n 1"),
                code: 4,
                says: &[$file],
            },
            Case {
                about: concat!($about, ", encode"),
                files: NONE,
                command: concat!("encode ", $file, " test.csv"),
                code: 4,
                says: &[$file],
            },
            Case {
                about: concat!($about, ", inspect"),
                files: NONE,
                command: concat!("inspect ", $file),
                code: 4,
                says: &[$file],
            },
        ]
    };
}

const HALF: [Case; 7] = every_command!("half a model file", "half.flow");
const FLIPPED: [Case; 7] = every_command!("a model file with a changed byte", "flipped.flow");

/// Joins arrays of cases at compile time.
const fn joined<const A: usize, const B: usize, const C: usize, const N: usize>(
    parts: ([Case; A], [Case; B], [Case; C]),
) -> [Case; N] {
    assert!(A + B + C == N);
    let mut all = [const { Case { about: "", files: NONE, command: "", code: 0, says: &[] } }; N];
    let (a, b, c) = (&parts.0, &parts.1, &parts.2);
    let mut at = 0;
    while at < N {
        let from = if at < A {
            &a[at]
        } else if at < A + B {
            &b[at - A]
        } else {
            &c[at - A - B]
        };
        all[at] = Case {
            about: from.about,
            files: from.files,
            command: from.command,
            code: from.code,
            says: from.says,
        };
        at += 1;
    }
    all
}

const OTHERS: [Case; 9] = [
    Case {
        about: "a model file with bytes after its end",
        files: NONE,
        command: "inspect longer.flow",
        code: 4,
        says: &["longer.flow"],
    },
    Case {
        about: "an empty model file",
        files: &[("bad.flow", b"")],
        command: "inspect bad.flow",
        code: 4,
        says: &["bad.flow"],
    },
    Case {
        about: "a table in place of a model",
        files: NONE,
        command: "predict train.csv test.csv",
        code: 4,
        says: &["train.csv", "not a usable model file"],
    },
    Case {
        about: "noise in place of a model",
        files: &[("bad.flow", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}")],
        command: "inspect bad.flow",
        code: 4,
        says: &["bad.flow"],
    },
    Case {
        about: "a safetensors file of another program",
        files: &[("bad.flow", b"\x02\0\0\0\0\0\0\0{}")],
        command: "inspect bad.flow",
        code: 4,
        says: &["bad.flow"],
    },
    Case {
        about: "a model that is not there, predict",
        files: NONE,
        command: "predict absent.flow test.csv",
        code: 5,
        says: &["absent.flow"],
    },
    Case {
        about: "a model that is not there, sample",
        files: NONE,
        command: "sample absent.flow -n 3",
        code: 5,
        says: &["absent.flow"],
    },
    Case {
        about: "a directory in place of a model",
        files: NONE,
        command: "inspect .",
        code: 5,
        says: &["."],
    },
    Case {
        about: "a checkpoint file in place of a directory",
        files: NONE,
        command: "fit train.csv --label label --model n --config tiny.toml --quiet --checkpoint m",
        code: 5,
        says: &["m"],
    },
];

static ALL: [Case; 23] = joined((HALF, FLIPPED, OTHERS));

pub const CASES: &[Case] = &ALL;
