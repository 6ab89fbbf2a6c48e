//! Section 5.3, and what section 6 shows of images.

use super::{ABSENT, GPU, cell, json};
use crate::paper::{How, Item, Ours};

/// Tables 2 and 3.
pub(super) fn images() -> Vec<Item> {
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

/// Section 6: calibration, interpolation, distance to the boundary, features.
pub(super) fn analysis() -> Vec<Item> {
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
