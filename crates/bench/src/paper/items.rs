//! Every table, figure and appendix of the paper that shows a result.

use flowgmm::demo::ProblemName::{Circles, EightGaussians, Moons, Pinwheel};

use super::{Cell, How, Item, Ours};

const ABSENT: &str = "data not here";
const GPU: &str = "needs a GPU";

/// All items, in the paper's order.
pub fn items() -> Vec<Item> {
    let mut items = toys();
    items.push(table1());
    items.extend(images());
    items.extend(analysis());
    items.extend(appendices());
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

fn images() -> Vec<Item> {
    let plan = |learner| Ours::Plan { plan: "images", dataset: "MNIST", learner };
    vec![
        Item {
            id: "table2",
            title: "Table 2: images, supervised and with 1,000 labels (4,000 of CIFAR-10)",
            how: How::Plan("images"),
            cost: "3 hours with the preset for CPUs and 4,000 steps; the paper's model takes 14 days of two cores for MNIST",
            data: &["mnist", "svhn", "cifar10"],
            cells: vec![
                cell("DIGLM Sup (all labels)", "MNIST", Some(99.27), 2, Ours::Absent(GPU)),
                cell("DIGLM Sup (all labels)", "SVHN", Some(95.74), 2, Ours::Absent(ABSENT)),
                cell("FlowGMM Sup (all labels)", "MNIST", Some(99.63), 2, Ours::Absent(GPU)),
                cell("FlowGMM Sup (all labels)", "SVHN", Some(95.81), 2, Ours::Absent(ABSENT)),
                cell("FlowGMM Sup (all labels)", "CIFAR-10", Some(88.44), 2, Ours::Absent(GPU)),
                cell("M1+M2 VAE SSL", "MNIST", Some(97.60), 2, plan("m1m2")),
                cell("M1+M2 VAE SSL", "SVHN", Some(63.98), 2, Ours::Absent(ABSENT)),
                cell("DIGLM SSL", "MNIST", Some(99.0), 2, plan("diglm")),
                cell("FlowGMM Sup (n_l labels)", "MNIST", Some(97.36), 2, plan("flowgmm-labelled")),
                cell("FlowGMM Sup (n_l labels)", "SVHN", Some(78.26), 2, Ours::Absent(ABSENT)),
                cell("FlowGMM Sup (n_l labels)", "CIFAR-10", Some(73.13), 2, Ours::Absent(GPU)),
                cell("FlowGMM", "MNIST", Some(98.94), 2, plan("flowgmm-no-consistency")),
                cell("FlowGMM", "SVHN", Some(82.42), 2, Ours::Absent(ABSENT)),
                cell("FlowGMM", "CIFAR-10", Some(78.24), 2, Ours::Absent(GPU)),
                cell("FlowGMM-cons", "MNIST", Some(99.0), 2, plan("flowgmm")),
                cell("FlowGMM-cons", "SVHN", Some(86.44), 2, Ours::Absent(ABSENT)),
                cell("FlowGMM-cons", "CIFAR-10", Some(80.9), 2, Ours::Absent(GPU)),
                cell("BadGAN", "SVHN", Some(95.75), 2, Ours::Absent("cited by the paper")),
                cell("BadGAN", "CIFAR-10", Some(85.59), 2, Ours::Absent("cited by the paper")),
                cell("Pi-Model", "SVHN", Some(94.57), 2, Ours::Absent("cited by the paper")),
                cell("Pi-Model", "CIFAR-10", Some(87.64), 2, Ours::Absent("cited by the paper")),
            ],
        },
        Item {
            id: "table3",
            title: "Table 3: MNIST with 100, 600, 1,000 and 3,000 labels",
            how: How::Commands(&[
                "cargo run --release --example images -- --labels 100 --steps 9000 --out experiments/results/images/mnist-100.json",
                "cargo run --release --example images -- --labels 600 --out experiments/results/images/mnist-600.json",
                "cargo run --release --example images -- --labels 1000 --out experiments/results/images/mnist-1000.json",
                "cargo run --release --example images -- --labels 3000 --out experiments/results/images/mnist-3000.json",
                "flowgmm bench experiments/m1m2.toml --data DIRECTORY",
            ]),
            cost: "45 minutes for each number of labels with the preset for CPUs; M1+M2 half an hour",
            data: &["mnist"],
            cells: vec![
                cell("M1+M2 VAE SSL", "100", Some(96.67), 2, Ours::Absent("not run")),
                cell("M1+M2 VAE SSL", "600", Some(97.41), 2, Ours::Absent("not run")),
                cell(
                    "M1+M2 VAE SSL",
                    "1000",
                    Some(97.60),
                    2,
                    Ours::Plan { plan: "m1m2", dataset: "24,000 steps", learner: "m1m2" },
                ),
                cell("M1+M2 VAE SSL", "3000", Some(97.82), 2, Ours::Absent("not run")),
                cell("FlowGMM-cons", "100", Some(98.2), 2, json("images/mnist-100.json", "/accuracy", 100.0)),
                cell("FlowGMM-cons", "600", Some(98.7), 2, json("images/mnist-600.json", "/accuracy", 100.0)),
                cell(
                    "FlowGMM-cons",
                    "1000",
                    Some(99.0),
                    2,
                    json("images/mnist-1000.json", "/accuracy", 100.0),
                ),
                cell(
                    "FlowGMM-cons",
                    "3000",
                    Some(99.2),
                    2,
                    json("images/mnist-3000.json", "/accuracy", 100.0),
                ),
            ],
        },
    ]
}

fn analysis() -> Vec<Item> {
    const INSIGHT: &str = "insight/mnist-1000.json";
    vec![
        Item {
            id: "calibration",
            title: "Calibration: NLL and ECE of supervised FlowGMM, and with sigma^2 learnt on validation rows",
            how: How::Commands(&[
                "cargo run --release --example images -- --labels 1000 --labelled-only --out experiments/results/images/mnist-1000-labelled-only.json",
                "flowgmm calibrate MODEL HELD_OUT --out CALIBRATED",
            ]),
            cost: "45 minutes for MNIST with the preset for CPUs; CIFAR-10 needs a GPU. ECE over 10 bins of equal width",
            data: &["mnist", "cifar10"],
            cells: vec![
                cell(
                    "NLL, FlowGMM",
                    "MNIST",
                    Some(0.295),
                    3,
                    json(INSIGHT, "/labelled_only/calibration/one/measures/nll", 1.0),
                ),
                cell(
                    "NLL, FlowGMM-temp",
                    "MNIST",
                    Some(0.094),
                    3,
                    json(INSIGHT, "/labelled_only/calibration/learnt/measures/nll", 1.0),
                ),
                cell(
                    "ECE, FlowGMM",
                    "MNIST",
                    Some(0.024),
                    3,
                    json(INSIGHT, "/labelled_only/calibration/one/measures/ece/0/equal_width", 1.0),
                ),
                cell(
                    "ECE, FlowGMM-temp",
                    "MNIST",
                    Some(0.004),
                    3,
                    json(INSIGHT, "/labelled_only/calibration/learnt/measures/ece/0/equal_width", 1.0),
                ),
                cell("NLL, FlowGMM", "CIFAR-10", Some(2.98), 3, Ours::Absent(GPU)),
                cell("NLL, FlowGMM-temp", "CIFAR-10", Some(0.444), 3, Ours::Absent(GPU)),
                cell("ECE, FlowGMM", "CIFAR-10", Some(0.108), 3, Ours::Absent(GPU)),
                cell("ECE, FlowGMM-temp", "CIFAR-10", Some(0.038), 3, Ours::Absent(GPU)),
            ],
        },
        Item {
            id: "figure4ab",
            title: "Figure 4(a, b): latent interpolations within a class and between classes",
            how: How::Commands(&["flowgmm explain MODEL IMAGES --out explain.html"]),
            cost: "a minute for a model there is",
            data: &["mnist"],
            cells: Vec::new(),
        },
        Item {
            id: "figure4c",
            title: "Figure 4(c): distances of rows to the decision boundary, in percent nearer than 5",
            how: How::Commands(&[
                "cargo run --release --example images -- --labels 1000 --out experiments/results/images/mnist-1000.json",
                "cargo run --release --example images -- --labels 1000 --labelled-only --out experiments/results/images/mnist-1000-labelled-only.json",
                "flowgmm explain MODEL IMAGES --out explain.html",
            ]),
            cost: "45 minutes for each model with the preset for CPUs. The paper counts 1,089 and 143 of 59,000 unlabelled rows; ours are \
                   shares of the test images",
            data: &["mnist"],
            cells: vec![
                cell(
                    "FlowGMM Sup",
                    "MNIST",
                    Some(100.0 * 1089.0 / 59_000.0),
                    2,
                    json("images/mnist-1000-labelled-only.json", "/nearer_than_5_to_the_boundary", 100.0),
                ),
                cell(
                    "FlowGMM-cons",
                    "MNIST",
                    Some(100.0 * 143.0 / 59_000.0),
                    2,
                    json("images/mnist-1000.json", "/nearer_than_5_to_the_boundary", 100.0),
                ),
                cell(
                    "FlowGMM-cons, refined",
                    "MNIST",
                    None,
                    2,
                    json("images/mnist-1000-refined.json", "/nearer_than_5_to_the_boundary", 100.0),
                ),
            ],
        },
        Item {
            id: "figure4d",
            title: "Figure 4(d): feature visualisation, x(alpha) of eq. 8",
            how: How::Commands(&["flowgmm explain MODEL IMAGES --out explain.html"]),
            cost: "a minute for a model there is; the paper's is of CIFAR-10",
            data: &["cifar10"],
            cells: Vec::new(),
        },
    ]
}

fn appendices() -> Vec<Item> {
    let mixture = |row, column, learner| {
        cell(row, column, None, 1, Ours::Plan { plan: "mixture", dataset: column, learner })
    };
    let mut a: Vec<Cell> = vec![cell("FlowGMM by EM", "MNIST", Some(98.97), 2, Ours::Absent("not run"))];
    let mut b: Vec<Cell> = Vec::new();
    for column in ["optdigits", "pendigits", "satimage"] {
        a.push(mixture("eq. 4", column, "eq4"));
        a.push(mixture("eq. 4 by EM", column, "eq4-em"));
        b.push(mixture("random means, fixed", column, "eq4"));
        b.push(mixture("means of labelled rows", column, "eq4-means"));
        b.push(mixture("means of labelled rows x 2", column, "eq4-means-double"));
        b.push(mixture("mixture trained with the flow", column, "eq4-joint"));
        b.push(mixture("mixture by EM's closed form", column, "eq4-closed-form"));
        b.push(mixture("flow and mixture in turn", column, "eq4-alternating"));
    }
    let auroc = |row, column, file, pointer| cell(row, column, None, 3, json(file, pointer, 1.0));
    let distance = |row, column, theirs, pointer| {
        cell(row, column, Some(theirs), 3, json("paper/appendix-g.json", pointer, 1.0))
    };
    vec![
        Item {
            id: "appendix-a",
            title: "Appendix A: EM instead of descent on the marginal likelihood",
            how: How::Plan("mixture"),
            cost: "10 minutes on three tables; MNIST as table 3",
            data: &["mnist"],
            cells: a,
        },
        Item {
            id: "appendix-b",
            title: "Appendix B: where the means are, and training them (the paper: no improvement)",
            how: How::Plan("mixture"),
            cost: "10 minutes on three tables",
            data: &[],
            cells: b,
        },
        Item {
            id: "appendix-f",
            title: "Appendix F: log-likelihoods of images from elsewhere, as AUROC of raw likelihood",
            how: How::Commands(&[
                "flowgmm explain MODEL IMAGES --out-of-distribution OTHER_IMAGES --out explain.html",
            ]),
            cost: "20 minutes for each model with the preset for CPUs. The paper shows histograms: letters and clothes are less likely \
                   under the model of digits, digits more likely under that of clothes (below 0.5)",
            data: &["mnist", "fashion-mnist", "notmnist"],
            cells: vec![
                auroc(
                    "model of MNIST",
                    "Fashion-MNIST",
                    "insight/out-of-domain-mnist.json",
                    "/0/found/auroc",
                ),
                auroc("model of MNIST", "notMNIST", "insight/out-of-domain-mnist.json", "/4/found/auroc"),
                auroc(
                    "model of Fashion-MNIST",
                    "MNIST",
                    "insight/out-of-domain-fashion.json",
                    "/0/found/auroc",
                ),
                auroc(
                    "model of Fashion-MNIST",
                    "notMNIST",
                    "insight/out-of-domain-fashion.json",
                    "/4/found/auroc",
                ),
                cell(
                    "digits that fall into the class of sandals, %",
                    "MNIST",
                    Some(75.0),
                    0,
                    Ours::Absent("not run"),
                ),
            ],
        },
        Item {
            id: "appendix-g",
            title: "Appendix G: expected distances between Gaussian samples, D and 3 D, and posteriors that saturate",
            how: How::Distances,
            cost: "a second",
            data: &[],
            cells: vec![
                distance("squared distance to its own mean / D", "D = 2", 1.0, "/2/own_per_dim"),
                distance("squared distance to its own mean / D", "D = 784", 1.0, "/784/own_per_dim"),
                distance("squared distance to the other mean / D", "D = 2", 3.0, "/2/other_per_dim"),
                distance("squared distance to the other mean / D", "D = 784", 3.0, "/784/other_per_dim"),
                distance("posterior of its own component", "D = 784", 1.0, "/784/posterior"),
            ],
        },
        Item {
            id: "appendix-h",
            title: "Appendix H: images of the means, and class-conditional samples at a reduced temperature",
            how: How::Commands(&[
                "flowgmm sample MODEL --means --out means.png",
                "flowgmm sample MODEL -n 10 --temperature 0.25 --out samples.png",
            ]),
            cost: "a minute for a model there is. The paper's T = 0.25^2 is a variance, ours a standard deviation: 0.25",
            data: &["mnist"],
            cells: Vec::new(),
        },
    ]
}
