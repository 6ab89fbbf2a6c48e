//! Every table, figure and appendix of the paper that shows a result.

mod appendices;
mod images;

use flowgmm::demo::ProblemName::{Circles, EightGaussians, Moons, Pinwheel};

use super::{Cell, How, Item, Ours};

const ABSENT: &str = "data not here";
const GPU: &str = "needs a GPU";

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
    Ours::Json { file, pointer, factor }
}

fn toys() -> Vec<Item> {
    let toy = |row, column, file, pointer| cell(row, column, None, 1, json(file, pointer, 100.0));
    vec![
        Item {
            id: "figure1",
            title: "Semi-supervised learning with FlowGMM on a binary problem: data, latent space, samples",
            how: How::Toys(&[Moons]),
            cost: "4 minutes; five seeds, figures of the first",
            data: &[],
            cells: vec![
                toy(
                    "FlowGMM by eq. 4, the authors' notebooks",
                    "moons",
                    "paper/figure1.json",
                    "/paper-toy/moons/semi_supervised",
                ),
                toy("FlowGMM, our settings", "moons", "paper/figure1.json", "/auto/moons/semi_supervised"),
            ],
        },
        Item {
            id: "figure2",
            title: "Decision boundaries with labelled and unlabelled points, and with labelled points only",
            how: How::Toys(&[Circles, Pinwheel]),
            cost: "8 minutes; five seeds, figures of the first",
            data: &[],
            cells: vec![
                toy(
                    "eq. 4, labelled + unlabelled",
                    "circles",
                    "paper/figure2.json",
                    "/paper-toy/circles/semi_supervised",
                ),
                toy(
                    "eq. 4, labelled only",
                    "circles",
                    "paper/figure2.json",
                    "/paper-toy/circles/labelled_only",
                ),
                toy(
                    "our settings, labelled + unlabelled",
                    "circles",
                    "paper/figure2.json",
                    "/auto/circles/semi_supervised",
                ),
                toy(
                    "our settings, labelled only",
                    "circles",
                    "paper/figure2.json",
                    "/auto/circles/labelled_only",
                ),
                toy(
                    "eq. 4, labelled + unlabelled",
                    "pinwheel",
                    "paper/figure2.json",
                    "/paper-toy/pinwheel/semi_supervised",
                ),
                toy(
                    "eq. 4, labelled only",
                    "pinwheel",
                    "paper/figure2.json",
                    "/paper-toy/pinwheel/labelled_only",
                ),
                toy(
                    "our settings, labelled + unlabelled",
                    "pinwheel",
                    "paper/figure2.json",
                    "/auto/pinwheel/semi_supervised",
                ),
                toy(
                    "our settings, labelled only",
                    "pinwheel",
                    "paper/figure2.json",
                    "/auto/pinwheel/labelled_only",
                ),
            ],
        },
        Item {
            id: "figure5",
            title: "Appendix C: circles, eight Gaussians and pinwheel: data, latent space, mixture, samples",
            how: How::Toys(&[Circles, EightGaussians, Pinwheel]),
            cost: "12 minutes; five seeds, figures of the first",
            data: &[],
            cells: vec![
                toy(
                    "eq. 4, the authors' notebooks",
                    "circles",
                    "paper/figure5.json",
                    "/paper-toy/circles/semi_supervised",
                ),
                toy(
                    "eq. 4, the authors' notebooks",
                    "eight Gaussians",
                    "paper/figure5.json",
                    "/paper-toy/eight-gaussians/semi_supervised",
                ),
                toy(
                    "eq. 4, the authors' notebooks",
                    "pinwheel",
                    "paper/figure5.json",
                    "/paper-toy/pinwheel/semi_supervised",
                ),
                toy("our settings", "circles", "paper/figure5.json", "/auto/circles/semi_supervised"),
                toy(
                    "our settings",
                    "eight Gaussians",
                    "paper/figure5.json",
                    "/auto/eight-gaussians/semi_supervised",
                ),
                toy("our settings", "pinwheel", "paper/figure5.json", "/auto/pinwheel/semi_supervised"),
            ],
        },
    ]
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
        how: How::Plan("paper-table1"),
        cost: "AG-News: an hour and a half, most of it label spreading; the others as long each. AG-News here are 20,464 rows \
               by MiniLM (384 columns) instead of 200,000 by BERT (768), so that rows are not comparable across papers",
        data: &["ag-news", "yahoo-answers", "hepmass", "miniboone"],
        cells,
    }
}
