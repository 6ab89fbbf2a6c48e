//! The appendices.

use super::{cell, json};
use crate::paper::{Cell, How, Item, Ours};

/// Appendices A, B, F, G and H; C is figure 5.
pub(super) fn appendices() -> Vec<Item> {
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
