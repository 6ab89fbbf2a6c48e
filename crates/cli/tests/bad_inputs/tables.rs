//! Tables that cannot be read, or lack what is needed.

use super::Case;

macro_rules! fit {
    ($about:literal, $csv:expr, $code:literal, $($says:literal),*) => {
        Case { about: $about, files: &[("bad.csv", $csv)], command: "FIT", code: $code, says: &["bad.csv", $($says),*] }
    };
}

macro_rules! read {
    ($about:literal, $name:literal, $bytes:expr, $($says:literal),*) => {
        Case {
            about: $about,
            files: &[($name, $bytes)],
            command: concat!("predict m ", $name),
            code: 3,
            says: &[$name, $($says),*],
        }
    };
}

pub const CASES: &[Case] = &[
    fit!("an empty file", b"", 3, "empty"),
    fit!("a header only", b"a,b,label\n", 3, "no rows"),
    fit!("blank lines only", b"\n\n\n", 3,),
    fit!("a row with too few cells", b"a,b,label\n1,2,p\n1,q\n", 3, "line 3", "found 2 columns, expected 3"),
    fit!(
        "a row with too many cells",
        b"a,b,label\n1,2,p\n1,2,3,q\n",
        3,
        "line 3",
        "found 4 columns, expected 3"
    ),
    fit!("two columns of one name", b"a,a,label\n1,2,p\n3,4,q\n", 3, "'a'", "columns 1 and 2"),
    fit!("only the label column", b"label\np\nq\n", 3, "no feature column"),
    fit!("bytes that are no UTF-8", b"a,b,label\n1,\xff,p\n", 3, "line 2", "UTF-8"),
    fit!("an archive instead of a table", b"PK\x03\x04\x00\xff\xfe not a table", 3,),
    fit!("a quotation mark that is never closed", b"a,b,label\n1,\"2,p\n3,4,q\n", 3,),
    fit!("NUL bytes", b"a,b,label\n1,\0\0,p\n3,4,q\n", 3,),
    fit!(
        "a misspelt label column",
        b"a,b,labels\n1,2,p\n3,4,q\n",
        3,
        "no column 'label'",
        "Did you mean 'labels'?"
    ),
    fit!("no header where one is expected", b"1,2,p\n3,4,q\n5,6,p\n", 3, "no column 'label'"),
    fit!("columns without a value", b"a,b,label\n,,p\n,,q\n,,\n", 3,),
    fit!("constant columns only", b"a,b,label\n1,2,p\n1,2,q\n1,2,p\n1,2,q\n", 3, "column"),
    fit!("a spreadsheet's file", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 3,),
    fit!("a page instead of a table", b"<!doctype html><html><body>404</body></html>\n", 3,),
    Case {
        about: "a table that is not there",
        files: &[],
        command: "fit absent.csv --label label --model n",
        code: 5,
        says: &["absent.csv", "No such file"],
    },
    Case {
        about: "a folder of neither tables nor images",
        files: &[],
        command: "fit . --label label --model n",
        code: 3,
        says: &[". is a folder, and no table", "is in it", "pattern"],
    },
    Case {
        about: "a test table that is not there",
        files: &[("bad.csv", b"x1,x2,label\n1,2,p\n3,4,q\n2,2,p\n4,4,q\n")],
        command: "FIT --test absent.csv",
        code: 5,
        says: &["absent.csv"],
    },
    Case {
        about: "a test table without the columns",
        files: &[("bad.csv", b"x1,x2,label\n1,2,p\n3,4,q\n2,2,p\n4,4,q\n"), ("t.csv", b"x1,label\n1,p\n")],
        command: "FIT --test t.csv",
        code: 3,
        says: &["t.csv", "x2"],
    },
    Case {
        about: "a test table with another class",
        files: &[
            ("bad.csv", b"x1,x2,label\n1,2,p\n3,4,q\n2,2,p\n4,4,q\n"),
            ("t.csv", b"x1,x2,label\n1,2,cat\n"),
        ],
        command: "FIT --test t.csv",
        code: 3,
        says: &["t.csv", "'cat'"],
    },
    Case {
        about: "unlabelled rows without the columns",
        files: &[("bad.csv", b"x1,x2,label\n1,2,p\n3,4,q\n2,2,p\n4,4,q\n"), ("u.csv", b"y1,y2\n1,2\n")],
        command: "FIT --unlabelled u.csv",
        code: 3,
        says: &["u.csv", "x1"],
    },
    Case {
        about: "unlabelled rows that are not there",
        files: &[("bad.csv", b"x1,x2,label\n1,2,p\n3,4,q\n2,2,p\n4,4,q\n")],
        command: "FIT --unlabelled absent.csv",
        code: 5,
        says: &["absent.csv"],
    },
    read!("rows without a column of the model", "bad.csv", b"x1,y\n1,2\n", "x2"),
    read!(
        "rows with a text in a numeric column",
        "bad.csv",
        b"x1,x2\n1,2\n3,four\n",
        "line 3",
        "column 'x2'",
        "'four'"
    ),
    read!("an empty file to predict", "bad.csv", b"", "empty"),
    read!("a header without rows to predict", "bad.csv", b"x1,x2\n", "no rows"),
    read!("values out of all proportion", "bad.csv", b"x1,x2\n1,2\n1e300,-1e300\n", "line 3", "x1"),
    read!("a Parquet file that is none", "bad.parquet", b"PAR1 not really",),
    read!("a Parquet file that is cut", "bad.parquet", b"PAR1",),
    read!("an Arrow file that is none", "bad.arrow", b"ARROW1\0\0garbage",),
    read!("an NPY file that is none", "bad.npy", b"\x93NUMPY\x01\x00\x10\x00garbage",),
    read!("an NPZ file that is none", "bad.npz", b"PK\x03\x04garbage",),
    read!("a gzip file that is cut", "bad.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00",),
    read!(
        "JSON lines that are no JSON",
        "bad.jsonl",
        b"{\"x1\": 1, \"x2\": 2}\n{\"x1\": 1, \"x2\": }\n",
        "line 2"
    ),
    read!("JSON lines that are no objects", "bad.jsonl", b"[1, 2]\n3\n",),
    read!("JSON nested without end", "bad.jsonl", b"{\"x1\": {\"a\": {\"b\": 1}}, \"x2\": 1}\n",),
    Case {
        about: "rows that are not there",
        files: &[],
        command: "predict m absent.csv",
        code: 5,
        says: &["absent.csv"],
    },
    Case {
        about: "a column to keep that is not there",
        files: &[("bad.csv", b"id,x1,x2\n1,1,2\n")],
        command: "predict m bad.csv --keep name",
        code: 3,
        says: &["'name'", "id"],
    },
    Case {
        about: "evaluating without the label column",
        files: &[("bad.csv", b"x1,x2\n1,2\n")],
        command: "evaluate m bad.csv",
        code: 3,
        says: &["label"],
    },
    Case {
        about: "evaluating by a column that is not there",
        files: &[],
        command: "evaluate m test.csv --label nolabel",
        code: 3,
        says: &["'nolabel'"],
    },
    Case {
        about: "evaluating a class that the model does not know",
        files: &[("bad.csv", b"x1,x2,label\n1,2,cat\n")],
        command: "evaluate m bad.csv",
        code: 3,
        says: &["line 2", "'cat'"],
    },
    Case {
        about: "evaluating rows without a label",
        files: &[("bad.csv", b"x1,x2,label\n1,2,\n3,4,\n")],
        command: "evaluate m bad.csv",
        code: 3,
        says: &["bad.csv"],
    },
    Case {
        about: "calibrating on rows without a label",
        files: &[("bad.csv", b"x1,x2,label\n1,2,\n3,4,\n")],
        command: "calibrate m bad.csv --out c",
        code: 3,
        says: &["bad.csv"],
    },
    Case {
        about: "decoding too few latent columns",
        files: &[("bad.csv", b"z1\n1\n")],
        command: "decode m bad.csv",
        code: 3,
        says: &["z2"],
    },
    Case {
        about: "decoding a latent point that is no number",
        files: &[("bad.csv", b"z1,z2\n1,nan\n")],
        command: "decode m bad.csv",
        code: 3,
        says: &["bad.csv"],
    },
    Case {
        about: "inspecting with rows that lack a column",
        files: &[("bad.csv", b"x1\n1\n")],
        command: "inspect m --data bad.csv",
        code: 3,
        says: &["x2"],
    },
    Case {
        about: "explaining rows that lack a column",
        files: &[("bad.csv", b"x1\n1\n")],
        command: "explain m bad.csv --out e.html",
        code: 3,
        says: &["x2"],
    },
    Case {
        about: "explaining rows that are not there",
        files: &[],
        command: "explain m absent.csv --out e.html",
        code: 5,
        says: &["absent.csv"],
    },
    Case {
        about: "strangers that are not there",
        files: &[],
        command: "explain m test.csv --out-of-distribution absent.csv --out e.html",
        code: 5,
        says: &["absent.csv"],
    },
];
