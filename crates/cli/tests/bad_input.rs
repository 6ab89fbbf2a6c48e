//! Whatever is wrong with files or flags: one line that says what and where, and the right exit code.

mod common;

use common::Bench;

/// Fits `csv` and expects bad data (3).
fn check_data(bench: &Bench, csv: impl AsRef<[u8]>, said: &[&str]) {
    bench.write("bad.csv", csv);
    bench.fails("fit bad.csv --label label --model bad.flow --config tiny.toml --quiet", 3, said);
    assert!(!bench.path("bad.flow").exists(), "no model from bad data");
}

#[test]
fn bad_tables_are_described_by_line_and_column() {
    let bench = Bench::new();
    check_data(&bench, "", &["bad.csv", "empty"]);
    check_data(&bench, "a,b,label\n", &["bad.csv", "no rows"]);
    check_data(&bench, "a,b,label\n1,2,p\n1,q\n", &["line 3", "found 2 columns, expected 3"]);
    check_data(&bench, "a,b,label\n1,1e39,p\n2,2,q\n3,3,\n", &["line 2", "column 'b'", "1e39"]);
    check_data(&bench, "a,b,label\n1,x,p\n1,x,q\n", &["bad.csv", "no column"]);
    check_data(&bench, "a,b,label\n1,2,p\n3,4,p\n5,6,\n", &["one class", "'p'"]);
    check_data(&bench, "a,b,label\n1,2,\n3,4,\n", &["no labels"]);
    check_data(&bench, "a,a,label\n1,2,p\n3,4,q\n", &["'a'", "columns 1 and 2"]);
    check_data(&bench, "label\np\nq\n", &["no feature column"]);
    check_data(&bench, b"a,b,label\n1,\xff,p\n", &["line 2", "UTF-8"]);
    check_data(&bench, b"PK\x03\x04\x00\xff\xfe not a table".as_slice(), &["bad.csv"]);
    check_data(&bench, "a,b,labels\n1,2,p\n3,4,q\n", &["no column 'label'", "Did you mean 'labels'?"]);
}

#[test]
fn tables_that_do_not_suit_the_model_are_described() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.write("lacks.csv", "x1,y\n1,2\n");
    bench.fails("predict m lacks.csv --out p.csv", 3, &["lacks.csv", "x2"]);
    bench.write("text.csv", "x1,x2\n1,2\n3,four\n");
    bench.fails("predict m text.csv --out p.csv", 3, &["line 3", "column 'x2'", "'four'"]);
    bench.write("empty.csv", "");
    bench.fails("predict m empty.csv --out p.csv", 3, &["empty.csv", "empty"]);
    bench.write("header.csv", "x1,x2\n");
    bench.fails("predict m header.csv --out p.csv", 3, &["no rows"]);
    bench.write("far.csv", "x1,x2\n1,2\n1e300,-1e300\n");
    bench.fails("predict m far.csv --out p.csv", 3, &["far.csv", "line 3", "x1"]);
    bench.write("other.csv", "x1,x2,label\n1,2,cat\n");
    bench.fails("evaluate m other.csv --label label --json", 3, &["line 2", "'cat'"]);
    bench.fails("evaluate m test.csv --label nolabel", 3, &["'nolabel'"]);
    bench.fails("inspect m --data lacks.csv", 3, &["x2"]);
    let fit = "fit train.csv --label label --model n --config tiny.toml --quiet";
    bench.write("lacks.csv", "x1,label\n1,0\n");
    bench.fails(&format!("{fit} --test lacks.csv"), 3, &["lacks.csv", "x2"]);
    bench.fails(&format!("{fit} --test other.csv"), 3, &["other.csv", "'cat'"]);
    bench.fails(&format!("{fit} --test absent.csv"), 5, &["absent.csv"]);
    assert!(!bench.path("n").exists(), "said before the fit, not after it");
    assert!(
        bench.files().iter().all(|name| name != "p.csv" && !name.ends_with(".tmp")),
        "{:?}",
        bench.files()
    );
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let fit = "fit train.csv --label label --config tiny.toml --quiet";
    bench.fails("fit absent.csv --label label --model n", 5, &["absent.csv", "No such file"]);
    bench.fails("predict m absent.csv --out p", 5, &["absent.csv"]);
    bench.fails("predict absent.flow test.csv --out p", 5, &["absent.flow"]);
    bench.fails("evaluate m absent.csv --label label", 5, &["absent.csv"]);
    bench.fails("fit . --label label --model n", 3, &[". is a folder, and no table"]);
    bench.fails(&format!("{fit} --model no/such/dir/m"), 5, &["no/such/dir/m"]);
    bench.fails(&format!("{fit} --model /dev/null"), 5, &["/dev/null", "not a regular file"]);
    bench.fails(&format!("{fit} --model ."), 5, &["directory"]);
    bench.fails(&format!("{fit} --model n --checkpoint m"), 5, &["m"]); // a file where a directory belongs
    bench.fails("predict m test.csv --out no/such/p.csv", 5, &["no/such/p.csv"]);
    bench.fails("sample m --n 3 --out no/such/s.csv", 5, &["no/such/s.csv"]);
    bench.fails("demo moons --out m", 5, &["m"]);
    bench.fails("fit train.csv --label label --model n --config absent.toml", 5, &["absent.toml"]);
    assert!(
        bench.ok("predict m test.csv --out /dev/null").is_empty(),
        "a device is written to, not replaced"
    );
    assert!(!std::path::Path::new("/dev/null").is_file());
}

#[test]
fn requests_that_make_no_sense() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.fails("sample m --n 3 --class cat --out s", 2, &["'cat'", "0, 1"]);
    bench.fails("sample m --n 3 --temperature -1 --out s", 2, &["--temperature"]);
    bench.fails("sample m --n 3 --temperature=nan --out s", 2, &["--temperature"]);
    bench.fails("sample m --n many --out s", 2, &["many"]);
    bench.fails("fit train.csv --label label", 2, &["--model"]);
    bench.fails("fit train.csv --model n", 2, &["--label"]);
    bench.fails("fit train.csv --label label --model n --threads 0", 2, &["--threads"]);
    bench.fails("fit train.csv --label label --model n --engine gpu", 2, &["gpu", "fused"]);
    bench.fails("fit train.csv --label label --model n --resume", 2, &["--checkpoint"]);
    bench.fails(
        "fit train.csv --label label --model n --checkpoint c --checkpoint-every -1",
        2,
        &["checkpoint-every"],
    );
    bench.fails("calibrate m test.csv", 2, &["--out"]);
    bench.fails("predict test.csv m", 2, &["swapped", "m is a model", "test.csv"]);
    bench.fails("evaluate train.csv m", 2, &["swapped"]);
    bench.fails("fit train.csv --label label --model n --threads 10000", 2, &["--threads 10000", "cores"]);
    bench.fails("demo spirals", 2, &["spirals", "moons"]);
    bench.fails("explode", 2, &["explode"]);
    assert!(bench.ok("--help").contains("Exit codes"));
}

#[test]
fn damaged_models_are_refused() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let good = bench.bytes("m");
    let check = |what: &str, bytes: &[u8]| {
        bench.write("broken.flow", bytes);
        for command in [
            "predict broken.flow test.csv --out p",
            "inspect broken.flow",
            "sample broken.flow --n 1 --out -",
        ] {
            bench.fails(command, 4, &["broken.flow", "not a usable model file"]);
        }
        assert!(!bench.path("p").exists(), "{what}");
    };
    check("empty", &[]);
    check("short", &good[..5]);
    check("half", &good[..good.len() / 2]);
    check("one byte less", &good[..good.len() - 1]);
    check("one more", &[&good[..], b"x"].concat());
    let noise: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    check("noise", &noise);
    check("a table", &bench.bytes("train.csv"));
    let mut header = good.clone();
    header[200] ^= 1;
    check("a header byte", &header);
    let mut tensor = good.clone();
    *tensor.last_mut().unwrap() ^= 1;
    check("a tensor byte", &tensor);
}

#[test]
fn devices_that_are_not_there() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let commands = [
        "fit train.csv --label label --model n --config tiny.toml --quiet",
        "predict m test.csv --out p.csv",
        "evaluate m test.csv --label label",
        "sample m --n 3 --out s.csv",
        "inspect m",
    ];
    for command in commands {
        bench.fails(&format!("{command} --device tpu"), 2, &["'tpu'", "--device", "gpu-software"]);
        #[cfg(not(feature = "wgpu"))] // with it, drivers have a say on stderr too
        bench.fails(&format!("{command} --device gpu:1"), 2, &["gpu:1", "--features wgpu"]);
    }
    assert!(["n", "p.csv", "s.csv"].iter().all(|name| !bench.path(name).exists()), "{:?}", bench.files());
}
