//! What a fit costs as a table grows: seconds and memory over rows, columns, classes and parameters.
//!
//! Every fit runs in a process of its own, since the peak of memory is that of a process, and reads its rows from a CSV file as
//! a user's would be. Classes are clusters; ten rows of each are labelled.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::Command,
    time::Instant,
};

use flowgmm::{
    Request, Source,
    figures::{AxisScale, LineChart, Plot as _, Series},
};
use serde_json::{Value, json};

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Memory that a fit may take, in bytes.
const MEMORY: u64 = 1_000_000_000;
const LABELS: usize = 10;

/// A table, and the width of the flow's hidden layer if it is not left to the recipe.
#[derive(Clone, Copy)]
struct Table {
    rows: usize,
    columns: usize,
    classes: usize,
    hidden: Option<usize>,
}

const BASE: Table = Table { rows: 10_000, columns: 20, classes: 4, hidden: None };

/// Fits tables of many shapes; prints a table and writes `DIRECTORY/scaling.json` and `DIRECTORY/scaling-*.svg`. At most
/// `most` rows, since ten million take two gigabytes on disk.
pub fn run(directory: &Path, most: usize) -> Outcome<()> {
    std::fs::create_dir_all(directory)?;
    let powers = (3..=7).map(|power| 10_usize.pow(power)).filter(|&rows| rows <= most);
    let sweeps: [(&str, Vec<(usize, Table)>); 4] = [
        ("rows", powers.map(|rows| (rows, Table { rows, ..BASE })).collect()),
        ("columns", [5, 20, 80, 320].map(|columns| (columns, Table { columns, ..BASE })).to_vec()),
        ("classes", [2, 4, 8, 16, 32].map(|classes| (classes, Table { classes, ..BASE })).to_vec()),
        ("hidden units", [64, 256, 1024].map(|n| (n, Table { hidden: Some(n), ..BASE })).to_vec()),
    ];
    let mut results = Vec::new();
    println!(
        "| varied | value | rows | columns | classes | parameters | seconds | MB |\n|---|---|---|---|---|---|---|---|"
    );
    for (varied, tables) in &sweeps {
        let mut points = [Vec::new(), Vec::new()];
        for &(value, table) in tables {
            let cost = in_a_process(table)?;
            let number = |key: &str| cost[key].as_f64().unwrap_or(f64::NAN);
            let (seconds, megabytes) = (number("seconds"), number("megabytes"));
            println!(
                "| {varied} | {value} | {} | {} | {} | {} | {seconds:.1} | {megabytes:.0} |",
                table.rows, table.columns, table.classes, cost["parameters"]
            );
            points[0].push([value as f64, seconds]);
            points[1].push([value as f64, megabytes]);
            results.push(json!({
                "varied": varied, "rows": table.rows, "columns": table.columns, "classes": table.classes,
                "hidden": table.hidden, "parameters": cost["parameters"], "seconds": seconds, "megabytes": megabytes,
            }));
        }
        plot(directory, varied, points)?;
    }
    let written = json!({
        "processor": processor(), "threads": rayon::current_num_threads(),
        "instructions": flowgmm_kernels::instruction_set(), "memory_limit": MEMORY, "results": results,
    });
    std::fs::write(directory.join("scaling.json"), format!("{}\n", serde_json::to_string_pretty(&written)?))?;
    Ok(())
}

/// Seconds and megabytes over one of the sweeps, both on logarithmic axes.
fn plot(directory: &Path, varied: &str, [seconds, megabytes]: [Vec<[f64; 2]>; 2]) -> Outcome<()> {
    let log = |points: Vec<[f64; 2]>| points.into_iter().map(|[x, y]| [x.log10(), y]).collect();
    let series = |name: &str, points| Series { name: name.into(), points: log(points), ..Series::default() };
    let chart = LineChart {
        title: format!("Cost of a fit over {varied}"),
        x_label: format!("{varied}, as a power of ten"),
        y_label: "seconds, megabytes".into(),
        y_scale: AxisScale::Log,
        series: vec![series("seconds", seconds), series("megabytes", megabytes).dashed()],
        ..LineChart::default()
    };
    let name = format!("scaling-{}.svg", varied.replace(' ', "-"));
    Ok(std::fs::write(directory.join(name), chart.to_svg())?)
}

fn in_a_process(table: Table) -> Outcome<Value> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.csv");
    write(table, &path)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--one-fit").arg(&path);
    command.args(table.hidden.map(|hidden| hidden.to_string()));
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A fit to the table in a file; prints its cost as JSON.
pub fn one_fit(path: &Path, hidden: Option<&str>) -> Outcome<()> {
    let mut request = Request::new(Source::path(path).label_column("class"));
    request.memory = Some(MEMORY);
    if let Some(hidden) = hidden {
        request = request.with("architecture.hidden", json!([hidden.parse::<usize>()?]));
    }
    let began = Instant::now();
    let fit = flowgmm::fit(&request, &mut ())?;
    let seconds = began.elapsed().as_secs_f64();
    let cost =
        json!({ "seconds": seconds, "megabytes": peak()? / 1e6, "parameters": fit.model.n_parameters() });
    println!("{cost}");
    Ok(())
}

/// Classes around points of a cube, by a generator of two lines: nothing here needs good random numbers.
fn write(table: Table, path: &Path) -> Outcome<()> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let centres: Vec<f64> = (0..table.classes * table.columns).map(|_| 4.0 * uniform()).collect();
    let mut file = BufWriter::new(File::create(path)?);
    let names: Vec<String> = (0..table.columns).map(|column| format!("x{column}")).collect();
    writeln!(file, "{},class", names.join(","))?;
    for row in 0..table.rows {
        let class = row % table.classes;
        for centre in &centres[class * table.columns..][..table.columns] {
            let noise: f64 = (0..4).map(|_| uniform()).sum::<f64>() - 2.0;
            write!(file, "{:.5},", centre + noise)?;
        }
        if row / table.classes < LABELS {
            write!(file, "c{class}")?;
        }
        writeln!(file)?;
    }
    Ok(file.flush()?)
}

/// The peak of this process's resident memory in bytes.
fn peak() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(1024.0 * line.trim().trim_end_matches(" kB").parse::<f64>()?)
}

pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    name.map_or("unknown".into(), |name| name.trim_start_matches([' ', '\t', ':']).to_string())
}
