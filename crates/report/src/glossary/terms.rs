//! The terms and what they mean. They speak of examples, since a page may be about images.

use super::Term;

/// A term that is no ordinary word.
const fn term(
    id: &'static str,
    name: &'static str,
    spellings: &'static [&'static str],
    meaning: &'static str,
) -> Term {
    Term { id, name, spellings, meaning, everyday: false }
}

/// A term that is also an ordinary word.
const fn everyday(
    id: &'static str,
    name: &'static str,
    spellings: &'static [&'static str],
    meaning: &'static str,
) -> Term {
    Term { id, name, spellings, meaning, everyday: true }
}

/// All terms.
pub(super) const TERMS: [Term; 26] = [
    term(
        "term-balanced-accuracy",
        "Balanced accuracy",
        &["balanced accuracy"],
        "The mean of the accuracies within each class, so that a rare class counts as much as a common one.",
    ),
    term(
        "term-macro-f1",
        "Macro F1",
        &["macro F1"],
        "The mean over classes of F1, which is the harmonic mean of precision (how many of the predictions of a class are \
         correct) and recall (how many of its members are found).",
    ),
    term(
        "term-nll",
        "Negative log-likelihood (NLL)",
        &["negative log-likelihood", "NLL", "log-loss"],
        "The mean of \u{2212}log p of what was observed, in nats; lower is better. For predictions, p is the probability \
         given to the true class, so confident mistakes cost most. In training, p is the density of the data.",
    ),
    term(
        "term-ece",
        "Expected calibration error (ECE)",
        &["ECE", "calibration error", "expected calibration error"],
        "The mean gap between confidence and accuracy, over bins of confidence. If predictions made with 90\u{a0}% \
         confidence are correct 90\u{a0}% of the time, and so on, it is 0.",
    ),
    term(
        "term-classwise-ece",
        "Classwise ECE",
        &["classwise ECE"],
        "The calibration error of the probability of each class, instead of only the predicted one, as a mean over classes.",
    ),
    term(
        "term-mce",
        "Maximum calibration error (MCE)",
        &["MCE", "maximum calibration error", "maximum calibration error (MCE)"],
        "The largest gap between confidence and accuracy in any bin of confidence.",
    ),
    term(
        "term-brier",
        "Brier score",
        &["Brier score", "Brier"],
        "The squared distance between the predicted probabilities and the truth (1 for the true class, 0 for the others): \
         0 is perfect, 2 is the worst.",
    ),
    everyday(
        "term-confidence",
        "Confidence",
        &["confidence"],
        "The probability that the model gives to the class it predicts.",
    ),
    everyday(
        "term-temperature",
        "Temperature",
        &["temperature"],
        "A number T that the differences between the classes\u{2019} log-densities are divided by: above 1, probabilities \
         become less extreme, below 1 more extreme. For samples, the factor that standard deviations are multiplied by: \
         below 1, samples stay nearer to the mean of their class.",
    ),
    term(
        "term-interval",
        "95\u{a0}% interval",
        &["95\u{a0}% interval", "95\u{a0}% intervals"],
        "A range computed so that, over many repetitions, it contains the true value 95\u{a0}% of the time.",
    ),
    term(
        "term-cross-validation",
        "Cross-validation",
        &["cross-validation"],
        "Labels are split into parts (folds). Each part is held out in turn and predicted by a model fitted without it.",
    ),
    term(
        "term-latent",
        "Latent space",
        &["latent space"],
        "The space that the flow f maps data to, z = f(x). In it, each class is a Gaussian, or a few of them.",
    ),
    everyday(
        "term-flow",
        "Flow",
        &["flow"],
        "An invertible neural network f between data x and latent points z. It gives exact densities, and f\u{207b}\u{b9} \
         turns latent points back into data.",
    ),
    term(
        "term-log-p",
        "log p(x)",
        &["log p(x)", "log p(z)", "log p"],
        "The logarithm of the density that the model gives to an example, in nats: the higher, the more the example is like \
         the training data. It depends on the units of the data, so compare it only within one model.",
    ),
    term(
        "term-bits-per-dim",
        "Bits per dimension",
        &["bits per dim", "bits per dimension"],
        "\u{2212}log\u{2082} p(x) divided by the number of dimensions: the code length of one number. Lower is better.",
    ),
    term(
        "term-typicality",
        "Typicality",
        &["typicality"],
        "How usual the log-density of an example is among data that the flow was not trained on: a p-value, below 0.05 for at \
         most about 5% of fresh data. Near 0 for examples that are less likely, or more likely, than nearly all of them.",
    ),
    term(
        "term-prediction-set",
        "Prediction set",
        &["prediction set", "prediction sets", "conformal", "split-conformal"],
        "All classes that are plausible at the chosen level. Conformal calibration on labels makes the sets contain the \
         true class at least as often as asked for. A set may be empty: then no class is plausible at this level.",
    ),
    term(
        "term-boundary",
        "Decision boundary",
        &["decision boundary", "decision boundaries"],
        "Where the predicted class changes. The distance to it is measured in the latent space, in standard deviations of a \
         class: near 0, the two nearest classes are about equally plausible.",
    ),
    term(
        "term-auroc",
        "AUROC (AUC)",
        &["AUROC", "AUC"],
        "Area under the ROC curve: how often a random out-of-distribution example scores higher than a random \
         in-distribution one. 0.5 is chance, 1 is perfect.",
    ),
    term(
        "term-aupr",
        "AUPR",
        &["AUPR"],
        "Area under the precision-recall curve, with out-of-distribution examples as positives. 1 is perfect; chance is \
         their share.",
    ),
    term(
        "term-fpr95",
        "FPR at 95\u{a0}% TPR",
        &["FPR at 95\u{a0}% TPR"],
        "The share of in-distribution examples rejected when 95\u{a0}% of out-of-distribution examples are detected. Lower \
         is better.",
    ),
    term(
        "term-aurc",
        "Risk-coverage curve (AURC)",
        &["AURC", "risk-coverage curve"],
        "How the share of wrong answers (risk) grows as less confident predictions are answered too (coverage). The area \
         under it, AURC, is small if mistakes come with low confidence.",
    ),
    term(
        "term-out-of-distribution",
        "Out-of-distribution",
        &["out-of-distribution"],
        "From another source than the training data, so that none of the classes applies.",
    ),
    term(
        "term-counterfactual",
        "Counterfactual",
        &["counterfactual", "counterfactuals"],
        "An example changed as little as possible so that the model predicts another class.",
    ),
    term(
        "term-reliability",
        "Reliability diagram",
        &["reliability diagram"],
        "Accuracy against confidence, bin by bin. Calibrated predictions follow the diagonal.",
    ),
    term(
        "term-consistency",
        "Consistency",
        &["consistency"],
        "A term of the loss: two noisy copies of the same example should get the same class.",
    ),
];
