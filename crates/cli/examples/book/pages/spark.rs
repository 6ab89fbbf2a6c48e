//! What Spark costs: steps, reductions, a model of a step for many workers, and scoring.

use serde_json::Value;

use super::{number::thousands, results::Results};

/// Seconds that a message between two machines is assumed to take.
const ALPHA: f64 = 50e-6;
/// Bytes a second that a network is assumed to carry: 10 Gbit.
const BANDWIDTH: f64 = 1.25e9;
/// Shards of a fit, unless there are more workers.
const SHARDS: usize = 8;

fn list<'a>(found: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    found[key].as_array().ok_or(format!("no {key} in Spark's results"))
}

fn number(value: &Value, key: &str) -> Result<f64, String> {
    value[key].as_f64().ok_or(format!("no number {key} in {value}"))
}

/// Seconds of a processor for a step, by flow, rows and shards.
pub fn steps(results: &Results) -> Result<String, String> {
    let found = results.json("spark/steps.json")?;
    let mut out = String::from(
        "| flow | parameters | rows of a step | shards | ms of a processor |\n|---|---|---|---|---|\n",
    );
    let mut last = 0;
    for step in list(&found, "steps")? {
        let parameters = number(step, "parameters")? as u64;
        let widths: Vec<String> =
            list(step, "hidden")?.iter().filter_map(Value::as_u64).map(|n| n.to_string()).collect();
        let flow = format!("{} couplings, {} wide", step["depth"], widths.join(" and "));
        let flow =
            if parameters == last { [String::new(), String::new()] } else { [flow, thousands(parameters)] };
        last = parameters;
        let rows = thousands(number(step, "batch")? as u64);
        let shards = step["shards"].as_u64().map_or("none".into(), |shards| shards.to_string());
        let ms = 1e3 * number(step, "cpu_seconds")?;
        out += &format!("| {} | {} | {rows} | {shards} | {ms:.1} |\n", flow[0], flow[1]);
    }
    Ok(out)
}

/// Seconds of an all-reduce, by numbers and workers.
pub fn reductions(results: &Results) -> Result<String, String> {
    let found = results.json("spark/reductions.json")?;
    let found = list(&found, "reductions")?;
    let distinct = |key: &str| -> Vec<u64> {
        let mut values: Vec<u64> = found.iter().filter_map(|entry| entry[key].as_u64()).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let workers: Vec<u64> = distinct("workers").into_iter().filter(|&n| n > 1).collect();
    let heads: Vec<String> = workers.iter().map(|n| format!("{n} workers, ms")).collect();
    let mut out = format!("| numbers | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(workers.len()));
    for n in distinct("int64") {
        let cell = |of: &u64| {
            let mut at = found.iter().filter(|entry| entry["workers"] == *of && entry["int64"] == n);
            at.find_map(|entry| entry["seconds"].as_f64()).map_or("–".into(), |s| format!("{:.2}", 1e3 * s))
        };
        let cells: Vec<String> = workers.iter().map(cell).collect();
        out += &format!("| {} | {} |\n", thousands(n), cells.join(" | "));
    }
    Ok(out)
}

/// The seconds that a row and a shard add to a step of the middle flow, and its parameters.
fn per_row_and_shard(results: &Results) -> Result<[f64; 3], String> {
    let found = results.json("spark/steps.json")?;
    let flows = list(&found, "steps")?;
    let sharded: Vec<&Value> = flows
        .iter()
        .filter(|step| step["shards"].is_u64() && step["hidden"] == serde_json::json!([256]))
        .collect();
    let [few, many] = sharded[..] else {
        return Err("steps of one flow by two numbers of rows are needed".into());
    };
    let seconds = [number(few, "cpu_seconds")?, number(many, "cpu_seconds")?];
    let rows = [number(few, "batch")?, number(many, "batch")?];
    let row = (seconds[1] - seconds[0]) / (rows[1] - rows[0]);
    Ok([row, (seconds[0] - row * rows[0]) / number(few, "shards")?, number(few, "parameters")?])
}

/// What each row and each shard costs.
pub fn parts(results: &Results) -> Result<String, String> {
    let [row, shard, _] = per_row_and_shard(results)?;
    Ok(format!(
        "| for each | milliseconds |\n|---|---|\n| row | {:.4} |\n| shard | {:.2} |\n",
        1e3 * row,
        1e3 * shard
    ))
}

/// Seconds of a step by rows and workers, after the formula on the page.
pub fn model(results: &Results) -> Result<String, String> {
    let [row, shard, parameters] = per_row_and_shard(results)?;
    let seconds = |rows: f64, workers: usize| {
        let (w, shards) = (workers as f64, SHARDS.max(workers));
        row * rows / w
            + shard * shards.div_ceil(workers) as f64
            + 6.0 * (w - 1.0) * ALPHA
            + 2.0 * (w - 1.0) / w * 8.0 * parameters / BANDWIDTH
    };
    let workers = [1, 8, 16, 32, 128, 1000];
    let heads = workers.map(|n| thousands(n as u64)).join(" | ").replacen('1', "W = 1", 1);
    let mut out = format!(
        "| rows of a step | {heads} | best W | its ms |\n|---|{}---|---|\n",
        "---|".repeat(workers.len())
    );
    for rows in [200.0, 20_000.0, 200_000.0, 2_000_000.0] {
        let cells = workers.map(|n| thousands((1e3 * seconds(rows, n)).round() as u64)).join(" | ");
        let best =
            (1..=1000).min_by(|&a, &b| seconds(rows, a).total_cmp(&seconds(rows, b))).expect("a range");
        let ms = 1e3 * seconds(rows, best);
        out += &format!("| {} | {cells} | {best} | {ms:.0} |\n", thousands(rows as u64));
    }
    Ok(out)
}

/// Processor seconds of scoring, beside jobs without any.
pub fn scoring(results: &Results) -> Result<String, String> {
    let found = results.json("spark/scoring.json")?;
    let runs = list(&found, "runs")?;
    let heads: Vec<String> =
        runs.iter().map(|run| format!("{} rows", thousands(run["rows"].as_u64().unwrap_or(0)))).collect();
    let mut out = format!(
        "| processor seconds | {} | µs for one row more |\n|---|{}---|\n",
        heads.join(" | "),
        "---|".repeat(runs.len())
    );
    let mut line = |name: &str, at: &str, more: String| {
        let cell =
            |run: &Value| run.pointer(at).and_then(Value::as_f64).map_or("–".into(), |s| format!("{s:.1}"));
        out += &format!("| {name} | {} | {more} |\n", runs.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    let more = |job: &str| {
        let found = found["microseconds_a_row"][job].as_f64();
        found.map_or(String::new(), |us| format!("{us:.1}"))
    };
    let alone = number(&found["scoring_alone"], "microseconds_a_row")?;
    line("`flowgmm predict`, all of it", "/command/cpu_seconds", more("command"));
    line("two executors start", "/flowgmm/start_cpu_seconds", String::new());
    line("Spark reads and writes, without Python", "/copy/cpu_seconds", more("copy"));
    line("the same, with all rows to Python and back", "/identity/cpu_seconds", more("identity"));
    line("**scoring by `transform`**", "/flowgmm/cpu_seconds", more("flowgmm"));
    out += &format!("| the arithmetic of scoring alone |{} {alone:.1} |\n", " |".repeat(runs.len()));
    let mut ratio = |name: &str, at: &str| {
        let cell =
            |run: &Value| run.pointer(at).and_then(Value::as_f64).map_or("–".into(), |s| format!("{s:.2}"));
        out += &format!("| {name} | {} | |\n", runs.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    ratio("**`transform` / `predict`**", "/ratios/flowgmm");
    ratio("the same, with the start of executors", "/ratios/flowgmm_with_start");
    ratio("the least that is possible / `predict`", "/ratios/least");
    let memory = |run: &Value| {
        run["flowgmm"]["largest_executor_bytes"]
            .as_f64()
            .map_or("–".into(), |b| format!("{:.2} GB", b / 1e9))
    };
    out += &format!(
        "| largest executor with its Python | {} | |\n",
        runs.iter().map(memory).collect::<Vec<_>>().join(" | ")
    );
    Ok(out)
}
