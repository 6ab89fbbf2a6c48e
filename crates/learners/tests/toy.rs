//! The toy problems as their makers meant them: with all labels, a classic classifier solves them.

use flowgmm_learners::knn;
use semisup::ndarray::Array2;
use semisup::{Toy, metrics, rng};

/// With all labels the classes hardly overlap: 15 nearest neighbours among 20000 points approach the
/// Bayes rule, and at most 0.2% of the fresh points (pinwheel, whose arms meet at the centre: 0.5%) fool
/// them.
#[test]
fn classes_hardly_overlap() {
    for toy in Toy::ALL {
        let full = toy.sample(20_000, &mut rng(1));
        let test = toy.problem(2).test;
        let (index, _) = knn(full.x(), test.x(), 15);
        let votes = Array2::from_shape_fn((test.n(), toy.n_classes()), |(row, k)| {
            index.row(row).iter().filter(|&&i| full.y()[i] == k).count() as f64
        });
        let accuracy = metrics::accuracy(&metrics::arg_max(votes.view()), test.y());
        let least = if toy == Toy::Pinwheel { 0.995 } else { 0.998 };
        assert!(accuracy >= least, "{toy}: {accuracy}");
    }
}
