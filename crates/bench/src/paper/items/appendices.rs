//! The appendices.

use super::{cell, json};
use crate::paper::{Analysis, Cell, How, Item, Ours};

/// Appendices A, B, F, G and H; C is figure 5.
pub(super) fn appendices() -> Vec<Item> {
    let mixture = |row, column, learner| {
        cell(row, column, None, 1, Ours::Plan { plan: "mixture", dataset: column, learner })
    };
    let mnist = |row, theirs, learner| {
        cell(row, "MNIST", theirs, 2, Ours::Plan { plan: "paper-mixture", dataset: "MNIST", learner })
    };
    let mut a: Vec<Cell> =
        vec![mnist("eq. 4", Some(98.94), "eq4"), mnist("eq. 4 by EM", Some(98.97), "eq4-em")];
    let mut b: Vec<Cell> = vec![
        mnist("random means, fixed", None, "eq4"),
        mnist("means of labelled rows", None, "eq4-means"),
        mnist("mixture trained with the flow", None, "eq4-joint"),
        mnist("mixture by EM's closed form", None, "eq4-closed-form"),
    ];
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
    let of_h = |row, pointer| cell(row, "MNIST", None, 1, json("paper/appendix-h.json", pointer, 100.0));
    let distance = |row, column, theirs, pointer| {
        cell(row, column, Some(theirs), 3, json("paper/appendix-g.json", pointer, 1.0))
    };
    vec![
        Item {
            id: "appendix-a",
            title: "Appendix A: EM instead of descent on the marginal likelihood",
            how: How::Plans(&["mixture", "paper-mixture"]),
            cost: "10 minutes on three tables; 2 minutes of one core for each row of MNIST, for the 300 steps in the plan, after which \
                   descent on eq. 4 with random means is still at chance. The paper's MNIST is by its own model and thousands of \
                   passes",
            data: &["mnist"],
            cells: a,
        },
        Item {
            id: "appendix-b",
            title: "Appendix B: where the means are, and training them (the paper: no improvement)",
            how: How::Plans(&["mixture", "paper-mixture"]),
            cost: "10 minutes on three tables, shared with appendix A; MNIST as there",
            data: &["mnist"],
            cells: b,
        },
        appendix_f(),
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
            how: How::Images(Analysis::Generation),
            cost: "a minute, and the model of all labels of appendix F. The paper's T = 0.25^2 is a variance, ours a standard \
                   deviation: 0.25",
            data: &["mnist"],
            cells: vec![
                of_h("means that are taken for their own class, %", "/means_of_their_class"),
                of_h("samples that are taken for their own class, %", "/samples_of_their_class"),
            ],
        },
    ]
}

/// The paper shows histograms: letters and clothes are less likely under the model of digits, digits more likely under that of
/// clothes, which is an AUROC below 0.5.
fn appendix_f() -> Item {
    const DIGITS: &str = "paper/appendix-f-mnist.json";
    const CLOTHES: &str = "paper/appendix-f-fashion-mnist.json";
    const OTHER_DIGITS: &str = "insight/out-of-domain-mnist.json";
    const OTHER_CLOTHES: &str = "insight/out-of-domain-fashion.json";
    let auroc = |row, column, file, pointer| cell(row, column, None, 3, json(file, pointer, 1.0));
    let percent = |row, theirs, file, pointer| cell(row, "MNIST", theirs, 1, json(file, pointer, 1.0));
    Item {
        id: "appendix-f",
        title: "Appendix F: images from elsewhere: AUROC of raw likelihood, and the classes they are taken for",
        how: How::Images(Analysis::Domains),
        cost: "5 minutes of two cores for each of two models by 1,000 steps of the preset for CPUs, all labels. Histograms of three \
               sets each are in results/paper. The other models are those of docs/trust.md",
        data: &["mnist", "fashion-mnist", "notmnist"],
        cells: vec![
            auroc("model of MNIST", "Fashion-MNIST", DIGITS, "/others/fashion-mnist/auroc"),
            auroc("model of MNIST", "notMNIST", DIGITS, "/others/notmnist/auroc"),
            auroc("model of Fashion-MNIST", "MNIST", CLOTHES, "/others/mnist/auroc"),
            auroc("model of Fashion-MNIST", "notMNIST", CLOTHES, "/others/notmnist/auroc"),
            auroc("another model of MNIST", "Fashion-MNIST", OTHER_DIGITS, "/0/found/auroc"),
            auroc("another model of MNIST", "notMNIST", OTHER_DIGITS, "/4/found/auroc"),
            auroc("another model of Fashion-MNIST", "MNIST", OTHER_CLOTHES, "/0/found/auroc"),
            auroc("another model of Fashion-MNIST", "notMNIST", OTHER_CLOTHES, "/4/found/auroc"),
            percent(
                "digits taken for sandals, %",
                Some(75.0),
                CLOTHES,
                "/others/mnist/percent_by_class/Sandal",
            ),
            percent(
                "digits less likely than the image of zeros, %",
                None,
                DIGITS,
                "/zero/percent_less_likely",
            ),
            cell(
                "class of the image of zeros",
                "MNIST",
                Some(1.0),
                0,
                json(DIGITS, "/zero/class_number", 1.0),
            ),
        ],
    }
}
