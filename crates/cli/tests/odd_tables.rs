//! Tables as newcomers bring them: each ends in a model or in a message that says what to do.

mod common;

use std::{
    io::Write,
    process::{Command, Stdio},
};

use common::{Bench, cells, stderr};
use rand::Rng as _;

const FIT: &str = "fit t.csv --label y --model m --config tiny.toml --quiet";

/// `n` rows of two classes, told apart by column `a`; the first `labelled` have their label.
fn table(
    header: &str,
    n: usize,
    labelled: usize,
    row: impl Fn(usize, f64, &mut semisup::Rng) -> String,
) -> String {
    let rng = &mut semisup::rng(4);
    let rows = (0..n).map(|i| {
        let a = rng.random_range(-1.0..1.0) + 3.0 * (i % 2) as f64;
        let label = if i < labelled { ["p", "q"][i % 2] } else { "" };
        format!("{},{label}\n", row(i, a, rng))
    });
    format!("{header},y\n{}", rows.collect::<String>())
}

/// Standard error of a command that must succeed.
fn warned(bench: &Bench, words: &str) -> String {
    let output = bench.run(words);
    assert!(output.status.success(), "{words}: {}", stderr(&output));
    stderr(&output)
}

fn with_stdin(command: &mut Command, bytes: &[u8]) -> std::process::Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn twenty_rows_and_gaps_in_four_cells_of_ten_are_enough() {
    let bench = Bench::new();
    bench.write("t.csv", table("a,b", 20, 8, |_, a, rng| format!("{a},{}", rng.random_range(0.0..1.0))));
    assert_eq!(warned(&bench, FIT), "");
    bench.ok("predict m t.csv --out p.csv");
    assert_eq!(cells(&bench.read("p.csv")).len(), 21);
    let gappy = table("a,b,c", 200, 30, |_, a, rng| {
        let mut cell = |v: f64| if rng.random_range(0.0..1.0) < 0.4 { String::new() } else { v.to_string() };
        [cell(a), cell(a + 1.0), cell(-a)].join(",")
    });
    bench.write("t.csv", gappy);
    bench.ok(FIT);
    bench.ok("predict m t.csv --out p.csv");
    assert!(bench.ok("fit t.csv --label y --print-schema").contains("whether it is missing"));
}

#[test]
fn names_may_be_anything() {
    let bench = Bench::new();
    let header = "\"say \"\"hi\"\"\",\"a,b\",😀 é";
    bench.write(
        "t.csv",
        table(header, 40, 10, |_, a, rng| format!("{a},{},1.{}", -a, rng.random_range(0..99))),
    );
    bench.ok(FIT);
    bench.ok("sample m --n 3 --out s.csv");
    assert!(bench.read("s.csv").starts_with("\"say \"\"hi\"\"\",\"a,b\",😀 é,"), "{}", bench.read("s.csv"));
    bench.ok("predict m s.csv --out p.jsonl");
    assert_eq!(bench.read("p.jsonl").lines().count(), 3);
    bench.write("other.csv", "\"say \"\"hi\"\"\",\"a,b\"\n1,2\n");
    bench.fails("predict m other.csv --out q.csv", 3, &["other.csv lacks 1 column", "😀 é"]);
}

#[test]
fn labels_that_are_no_classes_are_told_from_rare_ones() {
    let bench = Bench::new();
    let own = |i: usize| format!("{i}.25,{},k{i}\n", i * i % 7);
    bench.write("t.csv", format!("a,b,y\n{}", (0..60).map(own).collect::<String>()));
    bench.fails(
        FIT,
        3,
        &["'y' has 60 different values in 60 labelled rows", "column that holds the classes"],
    );
    let price = |i: usize| {
        format!("{i}.25,{},{}\n", i * i % 7, if i < 41 { format!("{}.5", i % 40) } else { "".into() })
    };
    bench.write("t.csv", format!("a,b,y\n{}", (0..60).map(price).collect::<String>()));
    bench.fails(FIT, 3, &["40 different values in 41", "low and high"]);
    // One label for each of many classes, and unlabelled rows, are few labels and no mistake.
    let one_each =
        |i: usize| format!("{},{},{}\n", i % 25, i / 25, if i < 25 { format!("k{i}") } else { "".into() });
    bench.write("t.csv", format!("a,b,y\n{}", (0..100).map(one_each).collect::<String>()));
    let said = warned(&bench, FIT);
    assert!(said.contains("25 classes have one labelled row only, such as 'k0'"), "{said}");
    assert_eq!(said.lines().count(), 1, "said once: {said}");
    bench.write("t.csv", table("a", 40, 20, |_, a, _| a.to_string()) + "9,rare\n");
    assert!(warned(&bench, FIT).contains("class 'rare' has one labelled row only"));
    bench.write("t.csv", "a,b,y\n1,2,p\n");
    bench.fails(FIT, 3, &["one class only, 'p'", "second class"]);
}

/// Five thousand columns of fifty rows: principal directions come from the fifty.
#[test]
fn more_columns_than_rows_are_no_matter() {
    let bench = Bench::new();
    let names: Vec<String> = (0..5000).map(|j| format!("v{j}")).collect();
    let wide = table(&names.join(","), 50, 20, |_, a, rng| {
        let row: Vec<String> = (0..5000).map(|_| format!("{:.3}", a + rng.random_range(-1.0..1.0))).collect();
        row.join(",")
    });
    bench.write("t.csv", &wide);
    bench.ok(FIT);
    bench.ok("predict m t.csv --out p.csv");
    let right = (cells(&bench.read("p.csv")).iter().skip(1).enumerate())
        .filter(|(i, row)| row[0] == ["p", "q"][i % 2])
        .count();
    assert!(right >= 45, "{right} of 50");
}

#[test]
fn what_spreadsheets_write_is_read_or_explained() {
    let bench = Bench::new();
    let comma = |v: f64| format!("{v:.3}").replace('.', ",");
    let german = table("a,b", 40, 10, |_, a, _| format!("{a:.3},{:.3}", -a));
    let german: String = german.lines().map(|line| line.replace(',', ";").replace('.', ",") + "\n").collect();
    bench.write("t.csv", german);
    assert!(bench.ok("fit t.csv --label y --print-schema").contains("numeric"), "decimal commas");
    bench.ok(FIT);
    bench.write("new.csv", format!("b;a\n{};{}\n", comma(-3.0), comma(3.0)));
    bench.ok("predict m new.csv --out p.csv");
    assert_eq!(cells(&bench.read("p.csv"))[1][0], "q");
    bench.write("t.csv", b"gr\xf6\xdfe,y\n1.5,p\n2.5,q\n");
    bench.fails(FIT, 3, &["t.csv, line 1", "UTF-8"]);
}

#[test]
fn json_lines_come_by_name_by_content_and_by_word() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.ok("predict m test.csv --out p.csv");
    let test = cells(&bench.read("test.csv"));
    let lines: String = test[1..]
        .iter()
        .map(|row| format!("{{\"x2\":{},\"x1\":{},\"note\":\"é\"}}\n", row[1], row[0]))
        .collect();
    bench.write("t.jsonl", &lines);
    bench.ok("predict m t.jsonl --out q.csv");
    assert_eq!(bench.read("p.csv"), bench.read("q.csv"));
    for words in ["predict m - --out -", "predict m - --out - --format jsonl"] {
        let output = with_stdin(&mut bench.command(words), lines.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output.stdout), bench.read("p.csv"), "{}", stderr(&output));
    }
    bench.write("bad.jsonl", "{\"x1\":1,\"x2\":2}\n{\"x1\":1,\"x2\":[2]}\n");
    bench.fails("predict m bad.jsonl --out r.csv", 3, &["bad.jsonl, line 2, key 'x2'", "a list"]);
    bench.fails("predict m t.jsonl --format jsnol --out r.csv", 2, &["jsnol", "jsonl"]);
}

#[test]
fn nested_parquet_is_explained() {
    let bench = Bench::new();
    let nested = concat!(env!("CARGO_MANIFEST_DIR"), "/../tables/tests/data/struct.parquet");
    let fit = format!("fit {nested} --label y --model m");
    bench.fails(&fit, 3, &["struct.parquet, column 's'", "Struct", "Leave the column out"]);
}
