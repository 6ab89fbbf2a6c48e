//! Typicality is a p-value for fresh rows: at most 5% of them fall below 0.05, however closely the flow fits its own rows.

use std::{path::PathBuf, process::Command};

use flowgmm::{ExplainRequest, FitConfig, Fitter, Model, Request, Source, explain, explain::Abstention};
use flowgmm_data::{Cells, Column, Frame, TextCells};
use ndarray::Array2;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use semisup::SemiSupervised;

/// The level at which shares are counted.
const LEVEL: f64 = 0.05;

/// Most of a share that is `LEVEL` on average: three standard errors, of the m rows that it is ranked among and of n rows.
fn most(m: usize, n: usize) -> f64 {
    LEVEL + 3.0 * (LEVEL * (1.0 - LEVEL) * (1.0 / m as f64 + 1.0 / n as f64)).sqrt()
}

fn share_below(model: &Model, log_marginal: &[f64]) -> f64 {
    let typical = model.typicality(log_marginal);
    typical.iter().filter(|p| **p < LEVEL).count() as f64 / typical.len() as f64
}

/// The rows that typicality is ranked among, as the model says.
fn kept(model: &Model) -> usize {
    let said = model.decisions().iter().find(|decision| decision.what == "typicality").expect("it is said");
    said.choice.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0)
}

/// Two classes in 16 columns, of which one tells them apart; the first rows are labelled.
fn gaussians(n: usize, labelled: usize, seed: u64) -> SemiSupervised {
    let (mut rng, dim) = (semisup::rng(seed), 16);
    let mut x = Array2::from_shape_fn((n, dim), |_| StandardNormal.sample(&mut rng));
    (0..n).for_each(|i| x[[i, 0]] += if i % 2 == 0 { 3.0 } else { -3.0 });
    let y = (0..n).map(|i| (i < labelled).then_some(i % 2)).collect();
    let columns = (0..dim).map(|j| format!("c{j}")).collect();
    SemiSupervised::new(x, y, vec!["a".into(), "b".into()], columns).unwrap()
}

/// As many parameters as a table's flow has, trained long enough to know its rows by heart.
fn overfitted(data: &SemiSupervised) -> Model {
    let mut config = FitConfig::toy();
    config.train.steps = 600;
    Fitter::new(&config, data, 5).run(&mut ()).unwrap()
}

#[test]
fn fresh_rows_of_an_overfitted_flow_are_typical() {
    let data = gaussians(340, 20, 1);
    let model = overfitted(&data);
    assert_eq!(kept(&model), 40);
    let fresh = model.score(gaussians(2000, 2, 2).x()).log_marginal;
    let own = model.score(data.x()).log_marginal;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!(mean(&own) > mean(&fresh) + 1.0, "it does not overfit: the test tests nothing");
    let share = share_below(&model, &fresh);
    assert!(share <= most(40, 2000), "{share}");
    // Rows from elsewhere are noticed.
    let far = model.score((&gaussians(100, 2, 3).x() * 4.0).view()).log_marginal;
    assert!(share_below(&model, &far) > 0.9, "{}", share_below(&model, &far));
}

#[test]
fn few_unlabelled_rows_are_all_trained_on_and_the_model_says_so() {
    let model = overfitted(&gaussians(95, 20, 1));
    let said = model.decisions().iter().find(|decision| decision.what == "typicality").unwrap();
    assert_eq!((kept(&model), said.choice.as_str()), (0, "ranked among training rows"));
    assert!(said.why.contains("at least 80 unlabelled rows"), "{}", said.why);
}

/// The rows of a table in `FLOWGMM_DATA` or `../shared/data`, shuffled, as texts; the last column is the class.
fn table(name: &str) -> Option<Vec<Vec<String>>> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("FLOWGMM_DATA").map_or(beside, PathBuf::from);
    let path = folder.join("small").join(format!("{name}.csv.gz"));
    if !path.exists() {
        eprintln!("skipped: {name} is not there; set FLOWGMM_DATA to a folder with small/{name}.csv.gz");
        return None;
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip runs");
    let text = String::from_utf8(unpacked.stdout).unwrap();
    let mut rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(|cell| cell.trim().to_string()).collect()).collect();
    rows.shuffle(&mut semisup::rng(11));
    Some(rows)
}

/// Rows as a frame, with the class of the first `labelled`.
fn frame(rows: &[Vec<String>], labelled: usize) -> Source {
    let n_columns = rows[0].len();
    let columns = (0..n_columns).map(|j| {
        let mut cells = TextCells::default();
        for (i, row) in rows.iter().enumerate() {
            let known = j + 1 < n_columns || i < labelled;
            cells.push(Some(row[j].as_str()).filter(|cell| known && !cell.is_empty()));
        }
        let name = if j + 1 == n_columns { "class".into() } else { format!("c{j}") };
        Column { name, cells: Cells::from_texts(cells) }
    });
    let lines = (1..=rows.len() as u64).collect();
    Source::frame(Frame::new("rows", columns.collect(), lines).unwrap()).label_column("class")
}

#[test]
fn fresh_rows_of_real_tables_are_typical() {
    let names = [
        "wine",
        "splice",
        "heart",
        "ionosphere",
        "german",
        "vehicle",
        "led7digit",
        "mammographic",
        "pima",
        "segment",
    ];
    let mut shares = Vec::new();
    for name in names {
        let Some(rows) = table(name) else { continue };
        let (train, fresh) = rows.split_at((rows.len() * 3 / 4).min(500));
        let fresh = &fresh[..fresh.len().min(500)];
        let request = Request::new(frame(train, 40)).with("train.steps", 150);
        let model = flowgmm::fit(&request, &mut ()).unwrap().model;
        let found = explain(&model, &ExplainRequest::new(frame(fresh, 0)), &mut ()).unwrap();
        let log_p: Vec<f64> = found.trust.cards.iter().map(|card| card.log_p).collect();
        let (share, m) = (share_below(&model, &log_p), kept(&model));
        assert!(share <= most(m, log_p.len()), "{name}: {share} of fresh rows, ranked among {m}");
        let atypical = found.trust.cards.iter().filter(|card| card.why == Some(Abstention::Atypical)).count();
        let against = atypical as f64 / log_p.len() as f64;
        eprintln!("{name}: ranked among {m}, {share:.3} below {LEVEL}, {against:.3} advised against");
        assert!(against <= 0.1, "{name}: {against} are advised against for being atypical");
        shares.push(share);
    }
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    assert!(mean <= 0.06, "{mean} of fresh rows on average: {shares:?}");
}
