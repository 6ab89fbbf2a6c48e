//! One number in a sentence, by where it stands in the results and how it is written.
//!
//! ```text
//! images/mnist-1000.json#/accuracy percent:2            a JSON pointer into a file
//! bench:m1m2|24,000 steps|m1m2 accuracy                 mean of a learner on a dataset of a plan
//! bench:spreading|covtype|label-spreading-knn seconds
//! moons mean | moons worst | moons seeds                over all seeds of moons-seeds.json
//! small tables                                          how many small tables there are results of
//! ```

use flowgmm_bench::Entry;
use serde_json::Value;

use super::results::{Results, entry, mean};

pub fn of(results: &Results, name: &str) -> Result<String, String> {
    let unknown = || format!("no such number: '{name}'");
    if let Some(cell) = name.strip_prefix("bench:") {
        return of_bench(results, cell);
    }
    if let Some(what) = name.strip_prefix("moons ") {
        let runs = results.json("moons-seeds.json")?["runs"].as_array().cloned().unwrap_or_default();
        let accuracies = || runs.iter().filter_map(|run| run["semi_supervised"].as_f64());
        return match what {
            "seeds" => Ok(runs.len().to_string()),
            "mean" => Ok(format!("{:.1}", 100.0 * mean(accuracies()))),
            "worst" => Ok(format!("{:.1}", 100.0 * accuracies().fold(1.0, f64::min))),
            _ => Err(unknown()),
        };
    }
    if name == "small-tables" {
        let summary = results.finished("small")?;
        let mut tables: Vec<&str> = summary.rows.iter().map(|row| row.dataset.as_str()).collect();
        tables.sort_unstable();
        tables.dedup();
        return Ok(tables.len().to_string());
    }
    let (place, format) = name.rsplit_once(' ').ok_or_else(unknown)?;
    let (file, pointer) = place.split_once('#').ok_or_else(unknown)?;
    let value = results.json(file)?;
    let value = value.pointer(pointer).ok_or_else(|| format!("no {pointer} in {file}"))?;
    written(value, format).ok_or_else(|| format!("{pointer} of {file} cannot be written as {format}"))
}

fn of_bench(results: &Results, cell: &str) -> Result<String, String> {
    let unknown = || format!("no such result: '{cell}'");
    let (cell, what) = cell.rsplit_once(' ').ok_or_else(unknown)?;
    let [plan, dataset, learner] = cell.split('|').collect::<Vec<_>>()[..] else { return Err(unknown()) };
    let summary = results.finished(plan)?;
    let row = summary.rows.iter().find(|row| row.dataset == dataset).ok_or_else(unknown)?;
    let found: &Entry = entry(row, learner).ok_or_else(unknown)?;
    let text = match what {
        "accuracy" => found.accuracy.map(|accuracy| format!("{:.1}", 100.0 * accuracy.mean)),
        "seconds" => found.seconds.map(|seconds| format!("{:.0}", seconds.mean)),
        "gigabytes" => found.peak_memory.map(|bytes| format!("{:.1}", bytes as f64 / 1e9)),
        _ => None,
    };
    text.ok_or_else(unknown)
}

/// A value in words: `text`, `count`, `fixed:2`, `percent:1`, `gigabytes:1`, `seconds:1` (of milliseconds).
pub fn written(value: &Value, format: &str) -> Option<String> {
    let (kind, digits) = format.split_once(':').unwrap_or((format, "0"));
    let digits: usize = digits.parse().ok()?;
    if kind == "text" {
        return value.as_str().map(String::from);
    }
    let number = value.as_f64()?;
    Some(match kind {
        "count" => thousands(number as u64),
        "fixed" => format!("{number:.digits$}"),
        "percent" => format!("{:.digits$}", 100.0 * number),
        "gigabytes" => format!("{:.digits$}", number / 1e9),
        "seconds" => format!("{:.digits$}", number / 1e3),
        _ => return None,
    })
}

/// 12345 as 12,345.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
