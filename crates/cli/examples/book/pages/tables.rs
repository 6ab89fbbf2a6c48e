//! Tables from committed results.

use std::path::Path;

use flowgmm_bench::{MeanSd, accuracy_table, paper, suite_tables};
use serde_json::Value;

use super::number::thousands;
use super::results::{Results, called, entry, mean, per_class};

/// The accuracy table of a plan, as `flowgmm bench` writes it.
pub fn of_plan(results: &Results, plan: &str) -> Result<String, String> {
    Ok(accuracy_table(&results.finished(plan)?))
}

/// What a plan says over all its tables.
pub fn suite(results: &Results, plan: &str) -> Result<String, String> {
    let tables = suite_tables(&results.finished(plan)?.suite);
    let bold = |line: &str| line.strip_prefix("## ").map_or(line.into(), |heading| format!("**{heading}**"));
    Ok(tables.lines().map(bold).collect::<Vec<String>>().join("\n"))
}

/// The demo's problems with and without their unlabelled rows.
pub fn core(results: &Results) -> Result<String, String> {
    let stored = results.json("core.json")?;
    let runs = stored["runs"].as_array().ok_or("core.json has no runs")?;
    let mut names: Vec<&str> = runs.iter().filter_map(|run| run["dataset"].as_str()).collect();
    names.dedup();
    let mut out = String::from(
        "| data | labels | unlabelled rows | with unlabelled rows | labelled rows only | draws |\n|---|---|---|---|---|---|\n",
    );
    for name in names {
        let of: Vec<&Value> = runs.iter().filter(|run| run["dataset"] == name).collect();
        let cell = |key: &str| {
            let values: Vec<f64> = of.iter().filter_map(|run| run[key].as_f64()).map(|v| 100.0 * v).collect();
            MeanSd::of(&values).map_or(String::new(), |found| format!("{:.1} ± {:.1}", found.mean, found.sd))
        };
        let (labels, unlabelled) = (&of[0]["labels"], &of[0]["unlabelled"]);
        let (with, without, draws) = (cell("semi_supervised"), cell("labelled_only"), of.len());
        out += &format!("| {name} | {labels} | {unlabelled} | **{with}** | {without} | {draws} |\n");
    }
    Ok(out)
}

/// Learners over all small tables at five labels of each class: the ranked ones, best first.
pub fn small(results: &Results) -> Result<String, String> {
    let summary = results.finished("small")?;
    let rows: Vec<_> = summary.rows.iter().filter(|row| per_class(row) == Some(5)).collect();
    let group = summary.suite.groups.iter().find(|group| group.labels == rows[0].labels);
    let group = group.ok_or("small has no results at five labels")?;
    let mut ranked: Vec<_> = group.learners.iter().filter(|found| found.mean_rank.is_some()).collect();
    ranked.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy));
    let accuracy = |row: &flowgmm_bench::SummaryRow, name: &str| {
        entry(row, name).and_then(|entry| entry.accuracy).map_or(f64::NAN, |found| found.mean)
    };
    let mut out = String::from("| | accuracy | log-loss | furthest behind the best |\n|---|---|---|---|\n");
    for found in &ranked {
        let behind = |row: &&flowgmm_bench::SummaryRow| {
            let others = ranked.iter().map(|other| accuracy(row, &other.learner));
            others.fold(f64::NEG_INFINITY, f64::max) - accuracy(row, &found.learner)
        };
        let worst = rows.iter().map(behind).fold(0.0, f64::max);
        let nll = found.nll.map_or(String::new(), |nll| format!("{nll:.2}"));
        let (name, percent) = (called(&found.learner), 100.0 * found.accuracy);
        let name = if found.learner == "flowgmm" { format!("**{name}**") } else { name.into() };
        out += &format!("| {name} | {percent:.1} % | {nll} | {:.1} points |\n", 100.0 * worst);
    }
    Ok(out)
}

/// MNIST beside the paper's numbers, which `flowgmm_bench::paper` keeps.
pub fn mnist(results: &Results) -> Result<String, String> {
    let paper = paper::items();
    let theirs = |row: &str, column: &str| {
        let cells = paper.iter().flat_map(|item| &item.cells);
        let mut found = cells.filter(|cell| cell.row == row && cell.column == column);
        found.find_map(|cell| cell.theirs).map_or("–".to_string(), |theirs| format!("{theirs:.2} %"))
    };
    let ours = |file: &str| -> Result<(String, String), String> {
        let run = results.json(&format!("images/{file}.json"))?;
        let accuracy = run["accuracy"].as_f64().ok_or("no accuracy")?;
        let steps = thousands(run["steps"].as_u64().unwrap_or_default());
        Ok((format!("{:.2} %", 100.0 * accuracy), steps))
    };
    let mut out = String::from("| MNIST | steps | here | the paper |\n|---|---|---|---|\n");
    for (file, what, row, column) in [
        ("mnist-1000", "1,000 labels, 59,000 unlabelled images", "FlowGMM-cons", "MNIST"),
        ("mnist-1000-labelled-only", "the 1,000 labelled images alone", "FlowGMM Sup (n_l labels)", "MNIST"),
        ("mnist-100", "100 labels, 59,900 unlabelled images", "FlowGMM-cons, 9,000 steps", "100"),
    ] {
        let (accuracy, steps) = ours(file)?;
        out += &format!("| {what} | {steps} | {accuracy} | {} |\n", theirs(row, column));
    }
    Ok(out)
}

/// What was measured of sets, calibration, other distributions and labels that were asked for.
pub fn trust(results: &Results) -> Result<String, String> {
    let list = |name: &str| -> Result<Vec<Value>, String> {
        Ok(results.json(&format!("insight/{name}.json"))?.as_array().cloned().unwrap_or_default())
    };
    let number =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let mut out = String::from("| measured | result |\n|---|---|\n");

    let sets = list("conformal")?;
    let mut names: Vec<&str> = sets.iter().filter_map(|run| run["set"].as_str()).collect();
    names.dedup();
    for name in &names {
        let of: Vec<&Value> = sets.iter().filter(|run| run["set"] == *name).collect();
        let cover: Vec<f64> = of.iter().map(|run| 100.0 * number(run, "/coverage")).collect();
        let ece: Vec<f64> = of.iter().map(|run| number(run, "/calibrated/ece/1/equal_width")).collect();
        let (low, high) =
            (cover.iter().copied().fold(f64::MAX, f64::min), cover.iter().copied().fold(0.0, f64::max));
        out += &format!(
            "| {name}, {} draws: 90 % prediction sets hold the true class in | {low:.1} to {high:.1} % |\n",
            of.len()
        );
        out += &format!(
            "| {name}: calibration error (ECE, 15 bins) after calibration | {:.3}, at most {:.3} |\n",
            mean(ece.iter().copied()),
            ece.iter().copied().fold(0.0, f64::max)
        );
    }
    let (rounds, at_once) = (list("label-next")?, list("label-next-at-once")?);
    let mut names: Vec<&str> = rounds.iter().filter_map(|run| run["set"].as_str()).collect();
    names.dedup();
    for name in names {
        let of = |runs: &[Value], key: &str| {
            100.0
                * mean(
                    runs.iter().filter(|run| run["set"] == name).map(|run| number(run, &format!("/{key}"))),
                )
        };
        let (asked, drawn) = (of(&rounds, "asked"), of(&rounds, "drawn"));
        let once = of(&at_once, "asked") - of(&at_once, "drawn");
        out += &format!(
            "| {name}, as many labels again: suggested in four rounds, or drawn at random | {asked:.1} %, {drawn:.1} % ({:+.1} points; suggested all at once {once:+.1}) |\n",
            asked - drawn
        );
    }
    let boundary = |file: &str, which: &str| -> Result<f64, String> {
        Ok(100.0
            * number(
                &results.json(&format!("insight/{file}.json"))?,
                &format!("/{which}/boundary/nearer_than/6/1"),
            ))
    };
    out += &format!(
        "| MNIST images nearer to the decision boundary than 5: labelled images only, all images, all with refinement | {:.2} %, {:.2} %, {:.2} % |\n",
        boundary("mnist-1000", "labelled_only")?,
        boundary("mnist-1000", "all")?,
        boundary("mnist-1000-refined", "all")?
    );
    let mnist = results.json("insight/mnist-1000.json")?;
    let of = |at: &str, key: &str| number(&mnist, &format!("/labelled_only/calibration/{at}/measures/{key}"));
    out += &format!(
        "| MNIST, 1,000 labels and nothing else: log-loss with sigma² = 1, and with sigma² learnt on other images | {:.2}, {:.3} |\n",
        of("one", "nll"),
        of("learnt", "nll")
    );
    Ok(out)
}

/// AUROC of four scores against images from elsewhere.
pub fn detection(results: &Results) -> Result<String, String> {
    let mut out = String::from(
        "| model of | against | likelihood | typicality | latent distance | likelihood ratio |\n|---|---|---|---|---|---|\n",
    );
    for (file, model) in [("out-of-domain-mnist", "MNIST"), ("out-of-domain-fashion", "Fashion-MNIST")] {
        let scores = results.json(&format!("insight/{file}.json"))?.as_array().cloned().unwrap_or_default();
        let mut others: Vec<&str> = scores.iter().filter_map(|found| found["other"].as_str()).collect();
        others.dedup();
        for other in others {
            let of = |score: &str| {
                let mut found = scores.iter().filter(|f| f["other"] == other && f["score"] == score);
                let value = found.next().and_then(|found| found.pointer("/found/auroc")?.as_f64());
                value.map_or("–".to_string(), |auroc| format!("{auroc:.4}"))
            };
            let cells =
                ["raw likelihood", "typicality", "latent distance", "likelihood ratio"].map(of).join(" | ");
            out += &format!("| {model} | {other} | {cells} |\n");
        }
    }
    Ok(out)
}

/// Seconds and memory of whole fits by the number of rows.
pub fn scaling(results: &Results) -> Result<String, String> {
    let stored = results.json("scaling/scaling.json")?;
    let runs = stored["results"].as_array().ok_or("scaling.json has no results")?;
    let mut out = String::from("| rows | seconds | MB |\n|---|---|---|\n");
    for run in runs.iter().filter(|run| run["varied"] == "rows") {
        let rows = thousands(run["rows"].as_u64().unwrap_or_default());
        let of = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
        out += &format!("| {rows} | {:.1} | {:.0} |\n", of("seconds"), of("megabytes"));
    }
    Ok(out)
}

/// Milliseconds beside PyTorch and JAX.
pub fn peers(results: &Results, instruction_set: &str) -> Result<String, String> {
    let stored = results.json(&format!("speed/peers-{instruction_set}.json"))?;
    let rows = stored["rows"].as_array().ok_or("the peers' times have no rows")?;
    let peers = [
        ("authors", "PyTorch, as the authors write it"),
        ("torch", "PyTorch, halves split"),
        ("compiled", "PyTorch, compiled"),
        ("jax", "JAX"),
    ];
    let measured: Vec<_> = peers.iter().filter(|(key, _)| rows.iter().any(|row| row[key].is_f64())).collect();
    let names: String = measured.iter().map(|(_, name)| format!(" {name} |")).collect();
    let mut out = format!("| work | flowgmm, ms |{names}\n|---|---|{}\n", "---|".repeat(measured.len()));
    for row in rows {
        let times = |key: &str| row[key].as_f64().map_or("–".into(), |times| format!("{times:.1}×"));
        let cells: String = measured.iter().map(|(key, _)| format!(" {} |", times(key))).collect();
        let (work, ms) = (row["work"].as_str().unwrap_or_default(), row["ms"].as_f64().unwrap_or(f64::NAN));
        out += &format!("| {work} | {ms:.digits$} |{cells}\n", digits = usize::from(ms < 100.0));
    }
    Ok(out)
}

/// The paper's tables and figures: how each is made, its cost, and ours beside theirs.
pub fn paper(root: &Path) -> String {
    let mut out = String::new();
    for item in paper::items() {
        out += &format!(
            "\n### `{}`: {}\n\n```text\n{}\n```\n\nCost: {}.\n",
            item.id,
            item.title,
            item.commands().join("\n"),
            item.cost
        );
        let cells = item.ours(&root.join("experiments"));
        if cells.is_empty() {
            continue;
        }
        out += "\n| | data | paper | ours |\n|---|---|---|---|\n";
        for cell in cells {
            let digits = cell.digits;
            let theirs = cell.theirs.map_or("–".into(), |theirs| format!("{theirs:.digits$}"));
            let ours = match cell.ours {
                Err(why) => why,
                Ok(found) => {
                    let sd = found.sd.map_or(String::new(), |sd| format!(" ± {sd:.digits$}"));
                    let draws =
                        if found.draws > 1 { format!(" ({} draws)", found.draws) } else { String::new() };
                    format!("{:.digits$}{sd}{draws}", found.mean)
                }
            };
            out += &format!("| {} | {} | {theirs} | {ours} |\n", cell.row, cell.column);
        }
    }
    out
}
