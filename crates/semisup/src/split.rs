//! Which rows to label, to test on, to hold out: stratified by class, and drawn from the caller's generator.
//!
//! All functions return row indices in ascending order, so that a split does not also shuffle.

use rand::seq::SliceRandom;

use crate::Rng;

/// `per_class` rows of each class drawn at random, or all rows of a class that has fewer.
pub fn stratified(y: &[usize], n_classes: usize, per_class: usize, rng: &mut Rng) -> Vec<usize> {
    let drawn =
        shuffled_classes(y, n_classes, rng).into_iter().flat_map(|rows| rows.into_iter().take(per_class));
    sorted(drawn)
}

/// (train, test) rows with about `test_fraction` of each class in the test part.
///
/// A class with at least two rows is in both parts; a class with one row is in the train part.
///
/// # Panics
/// If `test_fraction` is not strictly between 0 and 1.
pub fn train_test(y: &[usize], test_fraction: f64, rng: &mut Rng) -> (Vec<usize>, Vec<usize>) {
    assert!(test_fraction > 0. && test_fraction < 1., "test_fraction must be between 0 and 1");
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for rows in shuffled_classes(y, n_classes(y), rng) {
        let wanted = (rows.len() as f64 * test_fraction).round() as usize;
        let n_test = if rows.len() < 2 { 0 } else { wanted.clamp(1, rows.len() - 1) };
        test.extend(&rows[..n_test]);
        train.extend(&rows[n_test..]);
    }
    (sorted(train), sorted(test))
}

/// The held-out rows of each fold of a stratified k-fold cross-validation over the labels `y`.
///
/// Every training part (all rows but one fold) keeps every class: the only row of a class is never held out,
/// and the rows of a class with more go to different folds. No fold is empty, so there may be fewer than `k`;
/// there are none when fewer than two rows could be held out or `k < 2`.
pub fn folds(y: &[usize], k: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let held_out: Vec<usize> =
        shuffled_classes(y, n_classes(y), rng).into_iter().filter(|rows| rows.len() > 1).flatten().collect();
    let k = k.min(held_out.len());
    if k < 2 {
        return Vec::new();
    }
    // Classes are dealt out one after the other, without starting again at fold 0, so that the sizes of folds differ by
    // at most one row.
    (0..k).map(|fold| sorted(held_out.iter().copied().skip(fold).step_by(k))).collect()
}

/// At most `count` of `n` rows, evenly spaced from the first on: row floor(i n / count) for i = 0, 1, .. All rows if there
/// are no more than `count`, none if `count` is 0.
///
/// ```
/// use semisup::split::evenly_spaced;
///
/// assert_eq!(evenly_spaced(10, 4), [0, 2, 5, 7]);
/// assert_eq!(evenly_spaced(3, 4), [0, 1, 2]);
/// assert!(evenly_spaced(10, 0).is_empty());
/// ```
pub fn evenly_spaced(n: usize, count: usize) -> Vec<usize> {
    let count = count.min(n);
    (0..count).map(|i| i * n / count).collect()
}

/// The rows of each class, shuffled.
fn shuffled_classes(y: &[usize], n_classes: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut classes = vec![Vec::new(); n_classes];
    for (row, &label) in y.iter().enumerate() {
        classes[label].push(row);
    }
    for rows in &mut classes {
        rows.shuffle(rng);
    }
    classes
}

fn n_classes(y: &[usize]) -> usize {
    y.iter().max().map_or(0, |&label| label + 1)
}

fn sorted(rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut rows: Vec<usize> = rows.into_iter().collect();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::rng;

    fn count(y: &[usize], rows: &[usize], label: usize) -> usize {
        rows.iter().filter(|&&row| y[row] == label).count()
    }

    #[test]
    fn as_many_labels_per_class_as_asked_for_or_as_there_are() {
        let y: Vec<usize> = (0..100).map(|i| if i < 3 { 2 } else { i % 2 }).collect();
        let rows = stratified(&y, 3, 5, &mut rng(1));
        assert_eq!([0, 1, 2].map(|label| count(&y, &rows, label)), [5, 5, 3]);
        assert!(rows.is_sorted());
        assert_eq!(rows, stratified(&y, 3, 5, &mut rng(1)), "the seed decides");
        assert_ne!(rows, stratified(&y, 3, 5, &mut rng(2)), "and nothing else does");
    }

    #[test]
    fn train_and_test_share_each_class_in_proportion() {
        let y: Vec<usize> = [vec![0; 80], vec![1; 20], vec![2; 2], vec![3]].concat();
        let (train, test) = train_test(&y, 0.25, &mut rng(3));
        assert_eq!([0, 1, 2, 3].map(|label| count(&y, &test, label)), [20, 5, 1, 0]);
        let all: BTreeSet<usize> = train.iter().chain(&test).copied().collect();
        assert_eq!((all.len(), train.len() + test.len()), (y.len(), y.len()), "a partition");
    }

    /// The law of cross-validation: disjoint, non-empty folds of even size; every training part keeps every
    /// class; all rows but lone ones are held out once.
    fn check_folds(y: &[usize], k: usize, folds: &[Vec<usize>]) {
        let lone = |row: usize| y.iter().filter(|&&label| label == y[row]).count() == 1;
        let can_hold = (0..y.len()).filter(|&row| !lone(row)).count();
        assert_eq!(folds.len(), if k < 2 || can_hold < 2 { 0 } else { k.min(can_hold) });
        let classes: BTreeSet<usize> = y.iter().copied().collect();
        let mut seen = BTreeSet::new();
        for fold in folds {
            assert!(!fold.is_empty());
            assert!(fold.iter().all(|&row| seen.insert(row) && !lone(row)));
            let training = (0..y.len()).filter(|row| !fold.contains(row));
            assert_eq!(training.map(|row| y[row]).collect::<BTreeSet<_>>(), classes);
        }
        if !folds.is_empty() {
            assert_eq!(seen.len(), can_hold);
            let sizes: Vec<usize> = folds.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }

    proptest! {
        #[test]
        fn every_training_part_keeps_every_class(
            y in prop::collection::vec(0usize..5, 0..40), k in 0usize..8, seed: u64,
        ) {
            check_folds(&y, k, &folds(&y, k, &mut rng(seed)));
        }
    }
}
