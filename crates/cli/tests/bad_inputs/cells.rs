//! Cells and labels that cannot be used.

use super::Case;

macro_rules! fit {
    ($about:literal, $csv:expr, $($says:literal),*) => {
        Case { about: $about, files: &[("bad.csv", $csv)], command: "FIT", code: 3, says: &["bad.csv", $($says),*] }
    };
}

macro_rules! predict {
    ($about:literal, $csv:expr, $($says:literal),*) => {
        Case {
            about: $about,
            files: &[("bad.csv", $csv)],
            command: "predict m bad.csv",
            code: 3,
            says: &["bad.csv", $($says),*],
        }
    };
}

pub const CASES: &[Case] = &[
    fit!("no labels at all", b"a,b,label\n1,2,\n3,4,\n", "no labels"),
    fit!("one class only", b"a,b,label\n1,2,p\n3,4,p\n5,6,\n", "one class", "'p'"),
    fit!("a label column that measures", b"a,b,label\n1,2,0.17\n3,4,1.92\n5,6,2.71\n7,8,9.13\n9,1,4.44\n2,3,5.67\n4,5,6.78\n6,7,7.89\n8,9,8.91\n1,4,0.12\n2,5,1.23\n3,6,2.34\n4,7,3.45\n5,8,4.56\n6,9,5.66\n7,1,6.7\n8,2,7.8\n9,3,8.9\n1,5,9.01\n2,6,0.99\n", "label"),
    fit!("a number too large for the model", b"a,b,label\n1,1e39,p\n2,2,q\n3,3,\n", "line 2", "column 'b'", "1e39"),
    fit!("an infinite number", b"a,b,label\n1,1,p\n2,inf,q\n3,3,p\n4,4,q\n", "line 3", "'b'", "inf"),
    fit!("minus infinity", b"a,b,label\n1,1,p\n2,-inf,q\n3,3,p\n4,4,q\n", "line 3", "'b'"),
    fit!("infinity in words", b"a,b,label\n1,1,p\n2,Infinity,q\n3,3,p\n4,4,q\n", "line 3", "'b'"),
    fit!("a number beyond double precision", b"a,b,label\n1,1,p\n2,1e999,q\n3,3,p\n4,4,q\n", "line 3", "'b'", "1e999"),
    fit!("a number of hundreds of digits", b"a,b,label\n1,1,p\n2,9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999,q\n3,3,p\n4,4,q\n", "line 3", "'b'"),
    predict!("an infinite number to predict", b"x1,x2\n1,2\n3,inf\n", "line 3", "x2"),
    predict!("a number beyond double precision to predict", b"x1,x2\n1,2\n3,1e999\n", "line 3", "x2"),
    predict!("a date in a numeric column", b"x1,x2\n1,2\n3,2024-01-01\n", "line 3", "x2"),
    predict!("a formula in a numeric column", b"x1,x2\n1,2\n3,=A1\n", "line 3", "x2"),
    predict!("two numbers in a cell", b"x1,x2\n1,2\n3,4 5\n", "line 3", "x2"),
    predict!("a hexadecimal number", b"x1,x2\n1,2\n3,0x1F\n", "line 3", "x2"),
    predict!("a number with a unit", b"x1,x2\n1,2\n3,4kg\n", "line 3", "x2"),
    Case { about: "a column of the declared kind that is not there", files: &[("bad.csv", b"a,b,label\n1,2,p\n3,4,q\n2,2,p\n1,4,q\n")], command: "FIT --numeric weight", code: 2, says: &["weight"] },
    Case { about: "a column of two declared kinds", files: &[("bad.csv", b"a,b,label\n1,2,p\n3,4,q\n2,2,p\n1,4,q\n")], command: "FIT --numeric a --categorical a", code: 2, says: &["'a'"] },
    Case { about: "the label column declared as a feature", files: &[("bad.csv", b"a,b,label\n1,2,p\n3,4,q\n2,2,p\n1,4,q\n")], command: "FIT --numeric label", code: 2, says: &["label"] },
    Case { about: "all columns ignored", files: &[("bad.csv", b"a,b,label\n1,2,p\n3,4,q\n2,2,p\n1,4,q\n")], command: "FIT --ignore a --ignore b", code: 3, says: &["column"] },
    Case { about: "a text column without an encoder", files: &[("bad.csv", b"a,t,label\n1,some words,p\n3,other words,q\n2,more words,p\n1,few words,q\n")], command: "FIT --text t", code: 2, says: &["--encoder"] },
    Case { about: "an encoder that is not there", files: &[("bad.csv", b"a,t,label\n1,some words,p\n3,other words,q\n2,more words,p\n1,few words,q\n")], command: "FIT --text t --encoder nowhere", code: 5, says: &["nowhere"] },
    Case { about: "a value for unlabelled that makes all rows unlabelled", files: &[("bad.csv", b"a,b,label\n1,2,p\n3,4,p\n2,2,p\n1,4,p\n")], command: "FIT --unlabelled-value p", code: 3, says: &["no labels"] },
    Case { about: "a date column without dates", files: &[("bad.csv", b"a,b,label\n1,x,p\n3,y,q\n2,z,p\n1,w,q\n")], command: "FIT --date b", code: 2, says: &["'b'"] },
];
