//! Tables with running text: an encoder made up on the spot, from `fit` to the report.

mod common;
#[path = "../../encoder/tests/common/mod.rs"]
mod tiny;

use std::process::Stdio;

use common::{Bench, cells, json, stderr};

const FIT: &str = "fit news.csv --label topic --text body --encoder encoder --text-cache cache --model m.flow \
                   --config tiny.toml --steps 300 --quiet";

/// Two topics with words of their own, 160 rows, every tenth labelled; a quoted comma, a missing text.
fn news(labels: impl Fn(usize) -> bool) -> String {
    const WORDS: [[&str; 5]; 2] =
        [["oil", "price", "market", "falls", "rises"], ["team", "wins", "game", "goal", "world"]];
    let row = |i: usize| {
        let topic = i % 2;
        let word = |k: usize| WORDS[topic][(i * 7 + k * k * 3 + i / 10 * k) % 5];
        let body = match i {
            33 => String::new(),
            _ => format!("\"the {}, {} a {} {}\"", word(1), word(2), word(3), word(4)),
        };
        let label = if labels(i) { ["money", "sport"][topic] } else { "" };
        format!("{body},{}.5,{label}\n", i % 13)
    };
    format!("body,length,topic\n{}", (0..160).map(row).collect::<String>())
}

fn bench() -> Bench {
    let bench = Bench::new();
    tiny::Model::random(tiny::Family::Bert, 5).write(&bench.path("encoder"));
    bench.write("news.csv", news(|i| i % 10 < 2));
    bench.write("test.csv", news(|_| true));
    bench
}

#[test]
fn texts_are_embedded_for_fitting_predicting_and_the_report() {
    let bench = bench();
    let summary = json(&bench.ok(&format!("{FIT} --json --test test.csv --report page.html")));
    let columns: Vec<&str> =
        summary["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let last = format!("body_{}", tiny::DIM - 1);
    assert!(columns.contains(&"body_0") && columns.contains(&last.as_str()), "{columns:?}");
    assert!(columns.contains(&"length") && !columns.contains(&"body"), "{columns:?}");
    assert!(summary["test"]["accuracy"].as_f64().unwrap() > 0.9, "{}", summary["test"]);

    let page = bench.read("page.html");
    assert!(page.contains("body_0") && page.contains("money") && page.len() > 20_000, "{} bytes", page.len());

    bench.ok("predict m.flow test.csv --text-cache cache --out p.csv"); // with the encoder that the model remembers
    let rows = cells(&bench.read("p.csv"));
    assert_eq!((rows.len(), rows[0][0].as_str()), (161, "class"));
    let right = (0..160).filter(|i| rows[i + 1][0] == ["money", "sport"][i % 2]).count();
    assert!(right >= 144, "{right} of 160");

    // Without a cache, and in another format, the same bits.
    let lines: String = news(|_| false)
        .lines()
        .skip(1)
        .map(|line| {
            let (body, rest) = line.rsplit_once(',').unwrap().0.rsplit_once(',').unwrap();
            let body = if body.is_empty() { "null" } else { body };
            format!("{{\"length\": {rest}, \"body\": {body}}}\n")
        })
        .collect();
    bench.write("news.jsonl", lines);
    bench.ok("predict m.flow news.jsonl --encoder encoder --text-cache other --out again.csv");
    assert_eq!(bench.read("again.csv"), bench.read("p.csv"));
}

#[test]
fn what_is_wrong_with_texts_or_encoders_is_said() {
    let bench = bench();
    bench.ok(FIT);
    std::fs::rename(bench.path("encoder"), bench.path("elsewhere")).unwrap();
    let lost = bench.path("encoder").display().to_string();
    bench.fails("predict m.flow test.csv --out p.csv", 2, &["'body'", &lost, "--encoder"]);
    std::fs::rename(bench.path("elsewhere"), bench.path("encoder")).unwrap();
    bench.write("lacks.csv", "length\n1.5\n");
    bench.fails(
        "predict m.flow lacks.csv --encoder encoder --text-cache cache --out p.csv",
        3,
        &["lacks.csv", "'body'"],
    );
    tiny::Model::random(tiny::Family::Bert, 6).write(&bench.path("stranger"));
    let stranger = "predict m.flow test.csv --encoder stranger --text-cache cache --out p.csv";
    bench.fails(stranger, 2, &["another sentence encoder"]);
    bench.fails("predict m.flow test.csv --encoder nowhere --out p.csv", 5, &["nowhere"]);
    bench.fails(&FIT.replace("--text body", "--text bodies"), 3, &["'bodies'", "body"]);
    assert!(!bench.path("p.csv").exists());
}

#[test]
fn text_that_is_not_declared_is_left_out_with_advice() {
    let bench = bench();
    let rows: String = (0..40)
        .map(|i| format!("the {i}th story of many {} words,{},{}\n", i * i, i % 7, ["a", "b"][i % 2]))
        .collect();
    bench.write("plain.csv", format!("body,n,topic\n{rows}"));
    let fit = "fit plain.csv --label topic --model t --config tiny.toml --quiet";
    let output = bench.command(fit).stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("--text body --encoder"), "{}", stderr(&output));
}
