//! Accuracy and time of supervised learners and the pool of experts on a table of numbers, for a comparison with other
//! implementations on the same rows.
//!
//! ```text
//! cargo run --release -p flowgmm-learners --example supervised -- table.csv draws.txt > accuracy.json
//! cargo run --release -p flowgmm-learners --example supervised
//! ```
//!
//! The table has no header and the class, an integer from 0 on, last. A line of the draws is the indices of the labelled
//! rows; all other rows are unlabelled and scored. Columns are used as they are. The output is a JSON object: for each
//! learner the accuracy of every draw. Without files it prints CPU times, where the system tells them.

use std::collections::BTreeMap;

use flowgmm_learners::{
    AnyLearner, ClusterRegression, Experts, ExtraTrees, GradientBoosting, PlainLogisticRegression,
    RandomForest, Svc,
};
use rand::Rng as _;
use semisup::ndarray::{Array2, Axis};
use semisup::{Classifier, Labelled, Learner, SemiSupervised, metrics, rng};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let Some(table) = args.next() else { return times() };
    let data = read(&table)?;
    let draws = std::fs::read_to_string(args.next().ok_or("usage: supervised [TABLE DRAWS]")?)?;
    let learners: [(&str, Box<dyn AnyLearner>); 7] = [
        ("logistic", Box::new(PlainLogisticRegression::default())),
        ("extra-trees", Box::new(ExtraTrees::default())),
        ("random-forest", Box::new(RandomForest::default())),
        ("boosting", Box::new(GradientBoosting::default())),
        ("svc", Box::new(Svc::default())),
        ("cluster-regression", Box::new(ClusterRegression::default())),
        ("experts", Box::new(Experts::default())),
    ];
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (seed, line) in draws.lines().enumerate() {
        let labelled = line.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let train = data.reveal(&labelled)?;
        let hidden = train.unlabelled();
        let x = data.x().select(Axis(0), &hidden);
        let y: Vec<usize> = hidden.iter().map(|&row| data.y()[row]).collect();
        for (name, learner) in &learners {
            let model = learner.fit_any(&train, seed as u64)?;
            found.entry(name).or_default().push(metrics::accuracy(&model.predict(x.view()), &y));
        }
    }
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

fn read(path: &str) -> Result<Labelled, Failure> {
    let (mut values, mut y): (Vec<f64>, Vec<usize>) = (Vec::new(), Vec::new());
    for line in std::fs::read_to_string(path)?.lines() {
        let (features, class) = line.rsplit_once(',').ok_or("expected two columns or more")?;
        for cell in features.split(',') {
            values.push(cell.parse()?);
        }
        y.push(class.parse()?);
    }
    let x = Array2::from_shape_vec((y.len(), values.len() / y.len().max(1)), values)?;
    let classes = (0..=y.iter().max().copied().unwrap_or(0)).map(|k| k.to_string()).collect();
    let columns = (0..x.ncols()).map(|j| format!("column {j}")).collect();
    Ok(Labelled::new(x, y, classes, columns)?)
}

/// CPU times, of all threads together, with 500 trees in each forest on rows of three overlapping classes and 40 columns.
fn times() -> Result<(), Failure> {
    let rows = |n: usize, seed: u64| {
        let mut rng = rng(seed);
        let shift = |i: usize, j: usize| if j < 8 { 0.3 * (i % 3) as f64 } else { 0. };
        let x = Array2::from_shape_fn((n, 40), |(i, j)| shift(i, j) + rng.random::<f64>());
        let (names, columns) = (vec!["a".into(), "b".into(), "c".into()], (0..40).map(|j| j.to_string()));
        Labelled::new(x, (0..n).map(|i| i % 3).collect(), names, columns.collect())
    };
    let test = rows(10_000, 2)?;
    for n in [50, 500, 5000] {
        let train = rows(n, 1)?.reveal(&(0..n).collect::<Vec<_>>())?;
        println!("{n} labelled rows x 40 columns, {} rows to predict", test.n());
        let forests = (ExtraTrees::default().fit(&train, 1)?, RandomForest::default().fit(&train, 1)?);
        for (name, model) in [("extra trees", &forests.0), ("random forest", &forests.1)] {
            println!(
                "    {name}: {} bytes per tree",
                12 * model.forest().n_nodes() / model.forest().n_trees()
            );
        }
        timed("extra trees", &ExtraTrees::default(), &train, &test)?;
        timed("random forest", &RandomForest::default(), &train, &test)?;
        timed("cluster regression", &ClusterRegression::default(), &train, &test)?;
        timed("experts", &Experts::default(), &train, &test)?;
    }
    Ok(())
}

fn timed<L: Learner>(name: &str, learner: &L, train: &SemiSupervised, test: &Labelled) -> Result<(), Failure>
where
    L::Error: Send + Sync + 'static,
{
    let start = cpu_seconds()?;
    let model = learner.fit(train, 1)?;
    let fitted = cpu_seconds()?;
    let accuracy = metrics::accuracy(&model.predict(test.x()), test.y());
    let (fit, predict) = (fitted - start, cpu_seconds()? - fitted);
    println!("    {name}: fit {fit:.2} s, predict {predict:.2} s, accuracy {accuracy:.3}");
    Ok(())
}

/// CPU time of the process so far, where the system tells it in ticks of 10 ms.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("the process has a name")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.collect::<Result<Vec<_>, _>>()?.iter().sum::<f64>() / 100.)
}
