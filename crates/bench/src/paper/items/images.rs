//! Section 5.3, and what section 6 shows of images.

use super::{cell, json, json_at};
use crate::paper::{Analysis, How, Item, Ours};

/// Tables 2 and 3.
pub(super) fn images() -> Vec<Item> {
    vec![table2(), table3()]
}

/// The paper's numbers: DIGLM and FlowGMM with all labels, M1+M2, DIGLM, FlowGMM with few labels alone, FlowGMM, FlowGMM-cons,
/// BadGAN, Pi-model; its dashes are `None`.
const TABLE2: [(&str, [Option<f64>; 9]); 3] = [
    (
        "MNIST",
        [Some(99.27), Some(99.63), Some(97.60), Some(99.0), Some(97.36), Some(98.94), Some(99.0), None, None],
    ),
    (
        "SVHN",
        [
            Some(95.74),
            Some(95.81),
            Some(63.98),
            None,
            Some(78.26),
            Some(82.42),
            Some(86.44),
            Some(95.75),
            Some(94.57),
        ],
    ),
    (
        "CIFAR-10",
        [None, Some(88.44), None, None, Some(73.13), Some(78.24), Some(80.9), Some(85.59), Some(87.64)],
    ),
];

fn table2() -> Item {
    let few = |dataset, learner| match dataset {
        "MNIST" => Ours::Plan { plan: "images", dataset, learner },
        _ => Ours::Plan { plan: "paper-images", dataset, learner },
    };
    let all = |dataset, learner| Ours::Plan { plan: "paper-supervised", dataset, learner };
    let pi = |dataset| Ours::Plan { plan: "paper-pi-model", dataset, learner: "pi-model-conv" };
    let cited = Ours::Absent("cited by the paper");
    let mut cells = Vec::new();
    for (column, of) in TABLE2 {
        let [diglm_all, all_labels, m1m2, diglm, few_labels, flowgmm, cons, bad_gan, pi_model] = of;
        let mut row = |name, theirs, ours| cells.push(cell(name, column, theirs, 2, ours));
        row("DIGLM Sup (all labels)", diglm_all, all(column, "diglm"));
        row("FlowGMM Sup (all labels)", all_labels, all(column, "flowgmm-labelled"));
        row("M1+M2 VAE SSL", m1m2, few(column, "m1m2"));
        if column == "MNIST" {
            row("DIGLM SSL", diglm, few(column, "diglm"));
        }
        row("FlowGMM Sup (n_l labels)", few_labels, few(column, "flowgmm-labelled"));
        row("FlowGMM", flowgmm, few(column, "flowgmm-no-consistency"));
        row("FlowGMM-cons", cons, few(column, "flowgmm"));
        if bad_gan.is_some() {
            row("BadGAN", bad_gan, cited.clone());
        }
        row("Pi-model", pi_model, pi(column));
    }
    Item {
        id: "table2",
        title: "Table 2: images, supervised and with 1,000 labels (4,000 of CIFAR-10)",
        how: How::Plans(&["images", "paper-supervised", "paper-pi-model", "paper-images"]),
        cost: "On two cores: MNIST with 1,000 labels 3 hours (4,000 steps of the preset for CPUs), with all labels 5 minutes for \
               FlowGMM and as long for DIGLM (1,000 steps), the Pi-model 10 minutes; colour images by 300 steps some 4 minutes a row. \
               One plan alone: flowgmm bench experiments/PLAN.toml. The paper's model takes 14 days of two cores for MNIST. SVHN is \
               not here; CIFAR-10 as far as its batches are. The paper cites BadGAN and the Pi-model",
        data: &["mnist", "svhn", "cifar10"],
        cells,
    }
}

fn table3() -> Item {
    const COUNTS: [(&str, f64, f64); 4] =
        [("100", 96.67, 98.2), ("600", 97.41, 98.7), ("1000", 97.60, 99.0), ("3000", 97.82, 99.2)];
    let plan = |dataset, learner| Ours::Plan { plan: "paper-table3", dataset, learner };
    let long = |row, column, theirs, file| cell(row, column, Some(theirs), 2, json(file, "/accuracy", 100.0));
    let mut cells = Vec::new();
    for (labels, m1m2, cons) in COUNTS {
        let short = match labels {
            "1000" => Ours::Plan { plan: "m1m2", dataset: "3,000 steps", learner: "m1m2" },
            _ => plan(labels, "m1m2"),
        };
        cells.push(cell("M1+M2 VAE SSL, 3,000 steps", labels, Some(m1m2), 2, short));
        cells.push(cell("FlowGMM-cons, 600 steps", labels, Some(cons), 2, plan(labels, "flowgmm")));
    }
    let m1m2 = Ours::Plan { plan: "m1m2", dataset: "24,000 steps", learner: "m1m2" };
    cells.push(cell("M1+M2 VAE SSL, 24,000 steps", "1000", Some(97.60), 2, m1m2));
    cells.push(long("FlowGMM-cons, 9,000 steps", "100", 98.2, "images/mnist-100.json"));
    cells.push(long("FlowGMM-cons, 18,000 steps", "1000", 99.0, "images/mnist-1000.json"));
    Item {
        id: "table3",
        title: "Table 3: MNIST with 100, 600, 1,000 and 3,000 labels",
        how: How::Plans(&["paper-table3"]),
        cost: "On two cores 4 minutes for each number of labels by the plan's 600 steps of the preset for CPUs, and as long for M1+M2; \
               45 minutes by all 18,000 steps: cargo run --release --example images -- --labels 600",
        data: &["mnist"],
        cells,
    }
}

/// Section 6: calibration, interpolation, distance to the boundary, features.
pub(super) fn analysis() -> Vec<Item> {
    vec![calibration(), figure4ab(), figure4c(), figure4d()]
}

fn calibration() -> Item {
    const LONG: &str = "insight/mnist-1000.json";
    const CIFAR: &str = "paper/calibration-cifar10.json";
    let (nll, ece) = ("nll", "ece/0/equal_width");
    let mut cells = Vec::new();
    for (row, measure, state, [mnist, cifar]) in [
        ("NLL, FlowGMM", nll, "one", [0.295, 2.98]),
        ("NLL, FlowGMM-temp", nll, "learnt", [0.094, 0.444]),
        ("ECE, FlowGMM", ece, "one", [0.024, 0.108]),
        ("ECE, FlowGMM-temp", ece, "learnt", [0.004, 0.038]),
    ] {
        let at = format!("/labelled_only/calibration/{state}/measures/{measure}");
        cells.push(cell(row, "MNIST", Some(mnist), 3, json_at(LONG, at)));
        cells.push(cell(
            row,
            "CIFAR-10",
            Some(cifar),
            3,
            json_at(CIFAR, format!("/{state}/measures/{measure}")),
        ));
    }
    Item {
        id: "calibration",
        title: "Calibration: NLL and ECE of supervised FlowGMM, and with sigma^2 learnt on validation rows",
        how: How::Images(Analysis::Calibration),
        cost: "2 minutes of two cores for MNIST by 1,000 steps of the preset for CPUs, 45 by all (--steps 18000); --set cifar10 \
               a few minutes by 300 steps, with what batches there are. ECE over 10 bins of equal width. MNIST below is by 18,000 steps \
               (--example insight_images)",
        data: &["mnist", "cifar10"],
        cells,
    }
}

fn figure4ab() -> Item {
    let dip = |row, pointer| cell(row, "MNIST", None, 0, json("paper/figure4ab.json", pointer, 1.0));
    Item {
        id: "figure4ab",
        title: "Figure 4(a, b): latent interpolations within a class and between classes",
        how: How::Images(Analysis::Interpolation),
        cost: "a minute, and the model of 1,000 labels of figure 4(c). --pairs 3:8,10:10 joins test images of one's choice",
        data: &["mnist"],
        cells: vec![
            dip("fall of log p(z), first path within a class", "/paths/0/dip"),
            dip("fall of log p(z), first path between classes", "/paths/3/dip"),
        ],
    }
}

fn figure4c() -> Item {
    const FILE: &str = "paper/figure4c.json";
    let share = |row, theirs: Option<f64>, ours| cell(row, "MNIST", theirs, 2, ours);
    let of = |count: f64| Some(100.0 * count / 59_000.0);
    Item {
        id: "figure4c",
        title: "Figure 4(c): distances of unlabelled rows to the decision boundary, in percent nearer than 5",
        how: How::Images(Analysis::Boundary),
        cost: "8 minutes of two cores: both models by 1,000 steps of the preset for CPUs and 10,000 images (--rows for more). The \
               paper counts 1,089 and 143 of 59,000 unlabelled rows. Rows by 18,000 steps are of the test images (--example images)",
        data: &["mnist"],
        cells: vec![
            share("FlowGMM Sup", of(1089.0), json(FILE, "/supervised/percent", 1.0)),
            share("FlowGMM-cons", of(143.0), json(FILE, "/semi_supervised/percent", 1.0)),
            share(
                "FlowGMM Sup, 18,000 steps",
                of(1089.0),
                json("images/mnist-1000-labelled-only.json", "/nearer_than_5_to_the_boundary", 100.0),
            ),
            share(
                "FlowGMM-cons, 18,000 steps",
                of(143.0),
                json("images/mnist-1000.json", "/nearer_than_5_to_the_boundary", 100.0),
            ),
            share(
                "FlowGMM-cons, refined",
                None,
                json("images/mnist-1000-refined.json", "/nearer_than_5_to_the_boundary", 100.0),
            ),
        ],
    }
}

fn figure4d() -> Item {
    Item {
        id: "figure4d",
        title: "Figure 4(d): feature visualisation, x(alpha) of eq. 8",
        how: How::Images(Analysis::Features),
        cost: "a minute, and a model of all labels: 5 minutes of two cores for MNIST, 20 for --set cifar10, which the paper shows. \
               --images 0,1,2,3 --layer 3 --channel 0 --place 4,4 --alphas=-4,-2,2,4 choose what is moved",
        data: &["cifar10"],
        cells: Vec::new(),
    }
}
