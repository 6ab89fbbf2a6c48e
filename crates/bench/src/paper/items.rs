//! Every table, figure and appendix of the paper that shows a result.

mod appendices;
mod images;

use flowgmm::demo::ProblemName::{self, Circles, EightGaussians, Moons, Pinwheel};

use super::{Cell, How, Item, Ours};

/// All items, in the paper's order.
pub fn items() -> Vec<Item> {
    let mut items = toys();
    items.push(table1());
    items.extend(images::images());
    items.extend(images::analysis());
    items.extend(appendices::appendices());
    items
}

fn cell(row: &'static str, column: &'static str, theirs: Option<f64>, digits: usize, ours: Ours) -> Cell {
    Cell { row, column, theirs, digits, ours }
}

fn json(file: &'static str, pointer: &'static str, factor: f64) -> Ours {
    Ours::Json { file, pointer: pointer.into(), factor }
}

fn json_at(file: &'static str, pointer: String) -> Ours {
    Ours::Json { file, pointer, factor: 1.0 }
}

fn toys() -> Vec<Item> {
    let figure = |id, title, toys: &'static [ProblemName], cost| {
        let cells = toys.iter().flat_map(|toy| toy_cells(toy.name())).collect();
        Item { id, title, how: How::Toys(toys), cost, data: &[], cells }
    };
    vec![
        figure(
            "figure1",
            "Semi-supervised learning with FlowGMM on a binary problem: data, latent space, samples",
            &[Moons],
            "5 minutes of one core: five seeds; pictures of the first in results/paper/toys",
        ),
        figure(
            "figure2",
            "Decision boundaries with labelled and unlabelled points, and with labelled points only",
            &[Circles, Pinwheel],
            "9 minutes of one core: five seeds, shared with figure 5; pictures of the first in results/paper/toys",
        ),
        figure(
            "figure5",
            "Appendix C: circles, eight Gaussians and pinwheel: data, latent space, mixture, samples",
            &[Circles, EightGaussians, Pinwheel],
            "13 minutes of one core: five seeds, shared with figure 2; pictures of the first in results/paper/toys",
        ),
    ]
}

/// The paper shows pictures of its toys, and no numbers.
fn toy_cells(toy: &'static str) -> Vec<Cell> {
    let of =
        |row, settings, labelled_only| cell(row, toy, None, 1, Ours::Toys { settings, toy, labelled_only });
    let mut cells = vec![
        of("eq. 4, the authors' notebooks", "paper-toy", false),
        of("the same, labelled points only", "paper-toy", true),
    ];
    if ["moons", "circles"].contains(&toy) {
        cells.push(of("the same, labels drawn at random", "paper-toy-random", false));
        let fits = |row, first| cell(row, toy, None, 1, Ours::ToyFits { toy, first });
        cells.push(fits("fit --preset paper-toy, paper_toys.py", 7000));
        cells.push(fits("the same, five seeds that decided nothing", 7100));
    }
    cells.push(of("our settings", "auto", false));
    cells.push(of("our settings, labelled points only", "auto", true));
    cells
}

fn table1() -> Item {
    const COLUMNS: [&str; 4] = ["AG-News", "Yahoo Answers", "Hepmass", "Miniboone"];
    const ROWS: [(&str, &str, [f64; 4]); 7] = [
        ("kNN", "paper-knn", [51.3, 28.4, 84.6, 77.7]),
        ("Logistic Regression", "logistic-regression", [78.9, 54.9, 84.9, 75.9]),
        ("3-Layer NN + Dropout", "mlp", [78.1, 55.6, 84.4, 77.3]),
        ("RBF Label Spreading", "paper-label-spreading-rbf", [54.6, 30.4, 87.1, 78.8]),
        ("kNN Label Spreading", "paper-label-spreading-knn", [56.7, 25.6, 87.2, 78.1]),
        ("Pi-model", "paper-pi-model", [80.6, 56.6, 87.9, 78.3]),
        ("FlowGMM", "flowgmm-paper", [84.8, 57.4, 88.8, 80.6]),
    ];
    let of = |dataset, learner| Ours::Plan { plan: "paper-table1", dataset, learner };
    let mut cells: Vec<Cell> = Vec::new();
    for (at, column) in COLUMNS.into_iter().enumerate() {
        for (row, learner, theirs) in ROWS {
            let learner = match (row, column) {
                ("FlowGMM", "Miniboone") => "flowgmm-paper-miniboone",
                _ => learner,
            };
            cells.push(cell(row, column, Some(theirs[at]), 1, of(column, learner)));
        }
        cells.push(cell("FlowGMM, our settings", column, None, 1, of(column, "flowgmm")));
    }
    Item {
        id: "table1",
        title: "Table 1: text and tabular data with few labels",
        how: How::Plans(&["paper-table1"]),
        cost: "One core for each of three draws of AG-News: label spreading 7 minutes, the Pi-model 5, FlowGMM 2 by the paper's \
               settings and 1 by ours, the others 2; the other datasets as long each. AG-News here are 20,464 rows by MiniLM (384 columns) instead of 200,000 by BERT (768), so that rows are not comparable across papers",
        data: &["ag-news", "yahoo-answers", "hepmass", "miniboone"],
        cells,
    }
}
