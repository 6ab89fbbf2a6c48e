//! Files of a finished or unfinished run: Markdown, CSV, JSON, HTML.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::markdown::{accuracy_table, comparison_table};
use crate::suite_table::suite_tables;
use crate::{Error, LabelSource, Outcome, Plan, Record, Result, Summary, page};

/// Writes `table.md`, `cells.csv`, `results.json` and `report.html` into a directory, each whole, and returns their
/// paths.
pub fn write_outputs(plan: &Plan, records: &[Record], directory: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(directory).map_err(Error::io(directory))?;
    let summary = Summary::new(plan, records);
    let records = in_plan_order(plan, records);
    let mut markdown =
        format!("# {}\n\n{}\n{}", summary.title, accuracy_table(&summary), comparison_table(&summary));
    let suite = suite_tables(&summary.suite);
    if !suite.is_empty() {
        markdown += &format!("\n{suite}");
    }
    let files = [
        ("table.md", markdown),
        ("cells.csv", csv(&records)),
        ("results.json", json(plan, &summary, &records)),
        ("report.html", page(&summary).to_html()),
    ];
    files
        .into_iter()
        .map(|(name, text)| {
            let path = directory.join(name);
            write_whole(&path, &text)?;
            Ok(path)
        })
        .collect()
}

/// Records in the order of the plan's cells, whatever finished first; records of other plans come last.
pub fn in_plan_order(plan: &Plan, records: &[Record]) -> Vec<Record> {
    let place = |record: &Record| {
        let cell = &record.cell;
        let dataset = plan.datasets.iter().position(|dataset| dataset.name == cell.dataset)?;
        let labels = plan.datasets[dataset].label_sources().iter().position(|at| *at == cell.labels)?;
        let learner = plan.learners.iter().position(|name| *name == cell.learner)?;
        Some((dataset, labels, cell.draw, learner))
    };
    let mut records = records.to_vec();
    records.sort_by_cached_key(|record| {
        let place = place(record);
        (place.is_none(), place)
    });
    records
}

/// Plan, summary and all cells.
pub fn json(plan: &Plan, summary: &Summary, records: &[Record]) -> String {
    #[derive(Serialize)]
    struct All<'a> {
        plan: &'a Plan,
        summary: &'a Summary,
        cells: &'a [Record],
    }
    serde_json::to_string_pretty(&All { plan, summary, cells: records }).expect("plain data") + "\n"
}

/// All cells, one line each, failed ones with their message.
pub fn csv(records: &[Record]) -> String {
    let mut text = String::from(
        "dataset,labels,learner,draw,accuracy,balanced_accuracy,macro_f1,nll,brier,ece,fit_seconds,predict_seconds,\
         peak_memory,labelled,unlabelled,test,threads,date,version,failed,settings,clipped_nll,shares_nll,\
         classes_without_label\n",
    );
    for record in records {
        let cells = line(record);
        let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
        text += &(quoted.join(",") + "\n");
    }
    text
}

fn line(record: &Record) -> Vec<String> {
    let cell = &record.cell;
    let labels = match &cell.labels {
        LabelSource::Split(file) => file.clone(),
        labels => labels.short(),
    };
    let mut line = vec![cell.dataset.clone(), labels, cell.learner.clone(), cell.draw.to_string()];
    let failed = match &record.outcome {
        Outcome::Scored(scores) => {
            let nll = scores.nll.unwrap_or(f64::INFINITY);
            let all =
                [scores.accuracy, scores.balanced_accuracy, scores.macro_f1, nll, scores.brier, scores.ece];
            line.extend(all.map(|score| score.to_string()));
            String::new()
        }
        Outcome::Failed(message) => {
            line.extend([const { String::new() }; 6]);
            message.clone()
        }
    };
    line.extend([record.fit_seconds, record.predict_seconds].map(|seconds| format!("{seconds:.4}")));
    line.push(record.peak_memory.map_or(String::new(), |bytes| bytes.to_string()));
    line.extend(record.rows.map(|n| n.to_string()));
    line.extend([record.threads.to_string(), record.date.clone(), record.version.clone(), failed]);
    line.push(cell.settings.clone());
    let clipped = record.scores().and_then(|scores| scores.clipped_nll);
    line.extend([clipped, record.shares_nll].map(|nll| nll.map_or(String::new(), |nll| nll.to_string())));
    line.push(record.classes_without_label.to_string());
    line
}

fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into()
    }
}

/// Replaces a file at once: a reader finds the old text or the new one.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    flowgmm_core::atomic_write(path, text.as_bytes()).map_err(Error::io(path))
}
