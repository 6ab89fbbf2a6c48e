//! How long a fit to a small table takes: the development tables of at most a thousand rows, five labels of each class.

use std::{collections::HashMap, fs, path::Path, time::Instant};

use flowgmm::{
    Request, Source,
    tables::{self, Header, Options},
};
use rand::seq::SliceRandom as _;
use serde_json::json;

use super::{
    median,
    scaling::{Outcome, processor},
};

const MOST_ROWS: usize = 1000;
const LABELS: usize = 5;
/// Fits of a table; the fastest counts, since other programs only ever make one slower.
const FITS: usize = 3;

/// Fits every table `DATA/small/*.csv.gz` (no header, label last); prints a table and writes `DIRECTORY/small.json`.
pub fn run(data: &Path, directory: &Path) -> Outcome<()> {
    let mut paths: Vec<_> = fs::read_dir(data.join("small"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    println!("| table | rows | columns | classes | seconds |\n|---|---|---|---|---|");
    let (mut results, mut all) = (Vec::new(), Vec::new());
    for path in paths {
        let options = Options { header: Header::Absent, ..Options::default() };
        let frame = tables::open(path.as_path(), &options)?.read_all()?;
        if frame.n() > MOST_ROWS {
            continue;
        }
        let name = frame.name().split('.').next().unwrap_or_default().to_string();
        let name = name.rsplit('/').next().unwrap_or_default().to_string();
        let (rows, lines) = (frame.n(), frame.lines().to_vec());
        let mut columns = frame.into_columns();
        let classes = columns.pop().ok_or("a table without columns")?.cells;
        let classes: Vec<String> =
            (0..rows).filter_map(|row| Some(classes.text(row)?.into_owned())).collect();
        let n_columns = columns.len();
        let frame = flowgmm::data::Frame::new(&name, columns, lines)?;
        let source = Source::frame(frame).named_labels("class", labels(&classes));
        let mut seconds = f64::INFINITY;
        for _ in 0..FITS {
            let began = Instant::now();
            let fit = flowgmm::fit(&Request::new(source.clone()), &mut ())?;
            std::hint::black_box(fit);
            seconds = seconds.min(began.elapsed().as_secs_f64());
        }
        let n_classes = classes.iter().collect::<std::collections::HashSet<_>>().len();
        println!("| {name} | {rows} | {n_columns} | {n_classes} | {seconds:.2} |");
        results.push(json!({ "table": name, "rows": rows, "columns": n_columns, "classes": n_classes, "seconds": seconds }));
        all.push(seconds);
    }
    let most = all.iter().copied().fold(0.0, f64::max);
    let middle = median(all);
    println!("median {middle:.2}, most {most:.2}");
    let written = json!({
        "processor": processor(), "threads": rayon::current_num_threads(),
        "instructions": flowgmm_kernels::instruction_set(), "fits": FITS, "labels_per_class": LABELS,
        "median": middle, "most": most, "results": results,
    });
    fs::create_dir_all(directory)?;
    Ok(fs::write(directory.join("small.json"), format!("{}\n", serde_json::to_string_pretty(&written)?))?)
}

/// The classes of five rows of each class, drawn with a seed; the other rows have none.
fn labels(classes: &[String]) -> Vec<Option<String>> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.shuffle(&mut semisup::rng(1));
    let (mut labels, mut given) = (vec![None; classes.len()], HashMap::<&str, usize>::new());
    for row in order {
        let given = given.entry(&classes[row]).or_default();
        if *given < LABELS {
            *given += 1;
            labels[row] = Some(classes[row].clone());
        }
    }
    labels
}
