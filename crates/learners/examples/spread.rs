//! Time and memory of nearest neighbours and label spreading on a table of numbers without a header, the
//! label last; or, without a file, on rows of eight Gaussians.
//!
//! ```text
//! zcat covtype.data.gz > covtype.csv
//! cargo run --release -p flowgmm-learners --example spread -- 200000 covtype.csv
//! ```
//!
//! Rows are drawn at random and standardised, 100 of each class keep their label, k = 10, alpha = 0.99.

use std::time::Instant;

use flowgmm_learners::graph::{EdgeWeight, Graph, spread};
use flowgmm_learners::knn;
use semisup::ndarray::Array2;
use semisup::{Labelled, Rng, Toy, metrics, rng, split};

const K: usize = 10;
const ALPHA: f64 = 0.99;
const LABELS_PER_CLASS: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let n: usize = args.next().ok_or("usage: spread ROWS [FILE]")?.parse()?;
    let mut rng = rng(1);
    let data = match args.next() {
        Some(path) => read(&path, n, &mut rng)?,
        None => Toy::EightGaussians.sample(n, &mut rng),
    };
    println!("{} rows, {} columns, {} classes", data.n(), data.dim(), data.n_classes());

    let start = Instant::now();
    knn(data.x(), data.x(), K);
    report("nearest neighbours", start);

    let start = Instant::now();
    let graph = Graph::symmetric_knn(data.x(), K, EdgeWeight::LocalGaussian);
    report("graph, with its neighbours", start);

    let start = Instant::now();
    let labelled = split::stratified(data.y(), data.n_classes(), LABELS_PER_CLASS, &mut rng);
    let problem = data.reveal(&labelled)?;
    let q = spread(graph, problem.y(), data.n_classes(), ALPHA);
    report("spreading", start);
    println!("accuracy {:.4} of all rows", metrics::accuracy(&metrics::arg_max(q.view()), data.y()));
    Ok(())
}

/// `n` rows at random, or all if there are fewer, each column with mean 0 and deviation 1.
fn read(path: &str, n: usize, rng: &mut Rng) -> Result<Labelled, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut drawn = rand::seq::index::sample(rng, lines.len(), n.min(lines.len())).into_vec();
    drawn.sort_unstable();
    let (mut values, mut names): (Vec<f64>, Vec<&str>) = (Vec::new(), Vec::new());
    for row in drawn {
        let (features, label) = lines[row].rsplit_once(',').ok_or("expected two columns or more")?;
        for cell in features.split(',') {
            values.push(cell.parse()?);
        }
        names.push(label);
    }
    let mut x = Array2::from_shape_vec((names.len(), values.len() / names.len().max(1)), values)?;
    for mut column in x.columns_mut() {
        let (mean, deviation) = (column.mean().unwrap_or(0.), column.std(0.));
        column.mapv_inplace(|v| if deviation > 0. { (v - mean) / deviation } else { 0. });
    }
    let classes: Vec<&str> =
        std::collections::BTreeSet::from_iter(names.iter().copied()).into_iter().collect();
    let y = names.iter().map(|name| classes.partition_point(|class| class < name)).collect();
    let columns = (1..=x.ncols()).map(|j| format!("column {j}")).collect();
    Ok(Labelled::new(x, y, classes.into_iter().map(String::from).collect(), columns)?)
}

/// Seconds since `start`, and the most memory the process has held, where the system tells.
fn report(what: &str, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!("{what}: {seconds:.2} s, peak memory {peak}");
}
