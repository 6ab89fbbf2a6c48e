//! What labels that were held out say of a model: how often its parts were right on them, and what to expect of it.
//!
//! ```text
//! expected = (hits + c own) / (n + c)
//! ```
//!
//! own is what the model itself expects, which counts as c labels. It moves the expectation, but does not narrow the interval
//! around it: that is Wilson's of n labels, since nobody checked what a model expects of itself.

use serde::{Deserialize, Serialize};

/// What held-out labels say of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Labels that were held out.
    pub n: usize,
    /// Share of them that predictions were right on.
    pub accuracy: f64,
    /// Share of them that the flow was right on, alone.
    pub flow_accuracy: f64,
    /// Share of them that the trees were right on, alone; `None` without experts.
    pub forest_accuracy: Option<f64>,
    /// How much the flow counts beside the experts, in 0..=1; 1 without experts.
    pub flow_weight: f64,
    /// The temperature that followed from them.
    pub temperature: f64,
    /// Share of new rows like these that is expected to be right.
    pub expected: f64,
    /// An interval that holds this share with 95% probability.
    pub interval: [f64; 2],
    /// The labels of each class, `[K]`; empty if only the parts were counted.
    pub classes: Vec<ClassEvidence>,
}

/// Held-out labels of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassEvidence {
    /// Labels that were held out.
    pub n: usize,
    /// Those that predictions were right on.
    pub hits: usize,
}

/// What is expected of a flow's accuracy before any label is held out, and how many labels that counts as.
const FLOW_PRIOR: (f64, f64) = (0.75, 4.0);

impl Evidence {
    /// Of a flow alone at a temperature, by what it predicted for labels y.
    pub(crate) fn of_flow(predicted: &[usize], y: &[usize], n_classes: usize, temperature: f64) -> Self {
        let classes = by_class(predicted, y, n_classes);
        let hits: usize = classes.iter().map(|class| class.hits).sum();
        let accuracy = hits as f64 / y.len() as f64;
        Self::alone(y.len(), accuracy, temperature, classes)
    }

    /// Of flow and experts together, given what flow, trees and all together predicted for labels y.
    pub(crate) fn of_blend(
        [flow, forest, together]: [&[usize]; 3],
        y: &[usize],
        n_classes: usize,
        expected: f64,
        (flow_weight, temperature): (f64, f64),
    ) -> Self {
        let accuracy = |predicted: &[usize]| semisup::metrics::accuracy(predicted, y);
        Self {
            n: y.len(),
            accuracy: accuracy(together),
            flow_accuracy: accuracy(flow),
            forest_accuracy: Some(accuracy(forest)),
            flow_weight,
            temperature,
            expected,
            interval: wilson(expected, y.len()),
            classes: by_class(together, y, n_classes),
        }
    }

    /// What remains of it when the flow predicts alone, at its temperature.
    pub(crate) fn flow_alone(&self, temperature: f64) -> Self {
        match self.forest_accuracy {
            None => self.clone(),
            Some(_) => Self::alone(self.n, self.flow_accuracy, temperature, Vec::new()),
        }
    }

    fn alone(n: usize, accuracy: f64, temperature: f64, classes: Vec<ClassEvidence>) -> Self {
        let (prior, labels) = FLOW_PRIOR;
        let expected = (accuracy * n as f64 + prior * labels) / (n as f64 + labels);
        Self {
            n,
            accuracy,
            flow_accuracy: accuracy,
            forest_accuracy: None,
            flow_weight: 1.0,
            temperature,
            expected,
            interval: wilson(expected, n),
            classes,
        }
    }

    /// The class whose labels were predicted worst, by Laplace's rule (hits + 1) / (n + 2): more labels of it would help most.
    /// `None` if all classes did alike, or if no held-out label of any class was predicted wrong.
    pub fn weakest_class(&self) -> Option<usize> {
        if self.classes.iter().all(|class| class.n > 0 && class.hits == class.n) {
            return None;
        }
        let recall = |class: &ClassEvidence| (class.hits + 1) as f64 / (class.n + 2) as f64;
        let recalls: Vec<f64> = self.classes.iter().map(recall).collect();
        let weakest = (0..recalls.len()).min_by(|&a, &b| recalls[a].total_cmp(&recalls[b]))?;
        recalls.iter().any(|recall| *recall > recalls[weakest]).then_some(weakest)
    }

    /// In words: `right on 20 held-out labels: flow 70%, trees 80%, together 85%`.
    pub fn describe(&self) -> String {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        let parts = match self.forest_accuracy {
            None => percent(self.accuracy),
            Some(forest) => format!(
                "flow {}, trees {}, together {}",
                percent(self.flow_accuracy),
                percent(forest),
                percent(self.accuracy)
            ),
        };
        format!("right on {} held-out labels: {parts}", self.n)
    }

    /// Whether it can be of a model of so many classes.
    pub(crate) fn is_valid(&self, n_classes: usize) -> bool {
        let [low, high] = self.interval;
        let shares = [self.accuracy, self.flow_accuracy, self.flow_weight, self.expected, low, high];
        let n: usize = self.classes.iter().map(|class| class.n).sum();
        let counted = n == self.n
            && self.classes.len() == n_classes
            && self.classes.iter().all(|class| class.hits <= class.n);
        shares.into_iter().chain(self.forest_accuracy).all(|share| (0.0..=1.0).contains(&share))
            && low <= high
            && self.n > 0
            && (self.classes.is_empty() || counted)
    }
}

fn by_class(predicted: &[usize], y: &[usize], n_classes: usize) -> Vec<ClassEvidence> {
    let mut classes = vec![ClassEvidence::default(); n_classes];
    for (&predicted, &k) in predicted.iter().zip(y) {
        classes[k].n += 1;
        classes[k].hits += usize::from(predicted == k);
    }
    classes
}

/// Wilson's 95% interval of a share that was found in n of something.
pub(crate) fn wilson(share: f64, n: usize) -> [f64; 2] {
    let (n, p, z) = (n as f64, share, 1.96_f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Evidence {
        let y: Vec<usize> = (0..20).map(|i| i % 2).collect();
        let wrong = |every: usize| -> Vec<usize> {
            (0..20).map(|i| if i % every == 0 { 1 - i % 2 } else { i % 2 }).collect()
        };
        Evidence::of_blend([&wrong(2), &wrong(4), &wrong(10)], &y, 2, 0.88, (0.25, 1.5))
    }

    #[test]
    fn parts_are_counted_and_the_weakest_class_is_named() {
        let found = example();
        assert_eq!((found.flow_accuracy, found.forest_accuracy, found.accuracy), (0.5, Some(0.75), 0.9));
        assert_eq!(found.describe(), "right on 20 held-out labels: flow 50%, trees 75%, together 90%");
        assert_eq!(found.weakest_class(), Some(0), "all mistakes are of the first class");
        assert!(found.is_valid(2) && !found.is_valid(3));
        let flow = found.flow_alone(2.0);
        assert_eq!((flow.accuracy, flow.forest_accuracy, flow.temperature), (0.5, None, 2.0));
        assert!((flow.expected - 13.0 / 24.0).abs() < 1e-12 && flow.weakest_class().is_none());
        let all_alike = Evidence::of_flow(&[0, 1], &[0, 1], 2, 1.0);
        assert_eq!(all_alike.weakest_class(), None);
        let unseen = Evidence::of_flow(&[0, 0, 0], &[0, 0, 0], 2, 1.0);
        assert_eq!(unseen.weakest_class(), Some(1), "of which no label could be held out");
    }

    /// Whatever the model expects of itself, the interval is that of the labels that were held out.
    #[test]
    fn the_interval_is_as_wide_as_labels_are_few() {
        let [low, high] = wilson(0.9, 10);
        assert!((low - 0.596).abs() < 1e-3 && (high - 0.982).abs() < 1e-3, "{low} {high}");
        let [low, high] = example().interval;
        assert!(low < 0.69 && high > 0.95, "{low} {high}");
        let width = |n| wilson(0.9, n)[1] - wilson(0.9, n)[0];
        assert!(width(1000) < 0.04 && width(5) > 0.4);
    }
}
