//! The 1797 handwritten digits of scikit-learn and UCI (CC BY 4.0, see `data/README.md`), embedded in the crate.
//!
//! x is `[1797, 64]`: 8 x 8 pixels from 0 to 16, row by row; y is the digit.

use ndarray::Array2;

use crate::{Labelled, Problem, rng, split};

const SIDE: usize = 8;
const PIXELS: usize = SIDE * SIDE;

/// 65 bytes a digit: the pixels, then the label.
static BYTES: &[u8] = include_bytes!("../data/digits.u8");

/// All digits in the order of scikit-learn's `load_digits`; columns are `pixel_row_column`.
pub fn digits() -> Labelled {
    let records = BYTES.chunks_exact(PIXELS + 1);
    let n = records.len();
    let pixels = records.clone().flat_map(|record| record[..PIXELS].iter().map(|&pixel| f64::from(pixel)));
    let x = Array2::from_shape_vec((n, PIXELS), pixels.collect()).expect("64 pixels each");
    let y = records.map(|record| usize::from(record[PIXELS])).collect();
    let classes = (0..10).map(|digit| digit.to_string()).collect();
    let columns = (0..PIXELS).map(|i| format!("pixel_{}_{}", i / SIDE, i % SIDE)).collect();
    Labelled::new(x, y, classes, columns).expect("the embedded digits are valid")
}

/// The digits as a semi-supervised problem: 70% of the rows for training, `per_class` of each digit labelled, and the rest
/// for testing. The seed decides the split and the labels.
pub fn digits_problem(per_class: usize, seed: u64) -> Problem {
    let (all, mut rng) = (digits(), rng(seed));
    let (train, test) = split::train_test(all.y(), 0.3, &mut rng);
    let train = all.select(&train);
    let revealed = split::stratified(train.y(), train.n_classes(), per_class, &mut rng);
    let train = train.reveal(&revealed).expect("every digit has labels");
    Problem { train, test: all.select(&test) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `sklearn.datasets.load_digits()`: np.bincount(target), data.sum() and data[0, :8].
    #[test]
    fn digits_are_those_of_scikit_learn() {
        let digits = digits();
        assert_eq!(digits.x().dim(), (1797, 64));
        assert_eq!(digits.class_counts(), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert_eq!(digits.x().sum(), 561_718.);
        assert_eq!(digits.x().row(0).to_vec()[..8], [0., 0., 5., 13., 9., 1., 0., 0.]);
        assert_eq!(digits.y()[..5], [0, 1, 2, 3, 4]);
        assert_eq!((digits.columns()[0].as_str(), digits.columns()[63].as_str()), ("pixel_0_0", "pixel_7_7"));
    }

    #[test]
    fn a_draw_labels_as_many_as_asked_and_keeps_the_rest_apart() {
        let problem = digits_problem(5, 3);
        assert_eq!(problem.train.class_counts(), [5; 10]);
        assert_eq!(problem.train.n() + problem.test.n(), 1797);
        assert_ne!(problem, digits_problem(5, 4));
    }
}
