//! A problem with few labels out of a table with all of them: the one definition of a draw.

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{Labelled, Problem, SemiSupervised, rng};

use crate::{Error, Result, TestRows};

/// What a draw keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawRule<'a> {
    /// Which labels.
    pub labels: DrawnLabels<'a>,
    /// How many rows are held out, where the data have no test rows of their own.
    pub test: TestRows,
    /// Most unlabelled rows.
    pub unlabelled_limit: usize,
}

/// Which rows keep their labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawnLabels<'a> {
    /// The first of each class in the draw's order; all of a class that has fewer.
    PerClass(usize),
    /// The first of all rows in the draw's order, whatever their class; all rows if there are fewer.
    Random(usize),
    /// These rows, from 0.
    Rows(&'a [usize]),
}

/// Draw number `draw` of a table.
///
/// All rows are shuffled by the generator of seed `draw`. The last `share` of them (rounded down, at most `limit`) are
/// the test rows, unless the data have `own_test`, which is then taken whole. In the order that is left, the first
/// rows of each class keep their labels, and of the others the first `unlabelled_limit` are kept without. The rows of
/// the problem are the labelled ones, then the unlabelled ones. More labels of the same draw include the fewer, with
/// the same test rows.
///
/// A class without a label in a draw at random is unknown to the learner: the training rows have the classes with labels
/// only (their number may be smaller than that of the test rows, which keep theirs). Fails if fewer than two classes have
/// labels, and for other than random labels if any class is left without one.
///
/// # Panics
/// If a row of [`DrawnLabels::Rows`] is out of range.
pub fn draw_labels(
    all: &Labelled,
    own_test: Option<&Labelled>,
    rule: &DrawRule,
    draw: u64,
) -> Result<Problem> {
    let mut rows: Vec<usize> = (0..all.n()).collect();
    rows.shuffle(&mut rng(draw));
    if let DrawnLabels::Rows(labelled) = rule.labels {
        let mut chosen = vec![false; all.n()];
        labelled.iter().for_each(|&row| chosen[row] = true);
        rows.retain(|&row| !chosen[row]);
    }
    let test = match own_test {
        Some(test) => test.clone(),
        None => {
            let wanted = ((all.n() as f64 * rule.test.share) as usize).min(rule.test.limit).min(rows.len());
            all.select(&rows.split_off(rows.len() - wanted))
        }
    };
    let (labelled, mut unlabelled) = match rule.labels {
        DrawnLabels::PerClass(n) => first_of_each_class(all, &rows, n),
        DrawnLabels::Random(n) => {
            let rest = rows.split_off(n.min(rows.len()));
            (rows, rest)
        }
        DrawnLabels::Rows(labelled) => (labelled.to_vec(), rows),
    };
    unlabelled.truncate(rule.unlabelled_limit);
    let x: Array2<f64> = all.x().select(Axis(0), &[labelled.as_slice(), &unlabelled].concat());
    let known = match rule.labels {
        DrawnLabels::Random(_) => classes_of(all, &labelled)?,
        DrawnLabels::PerClass(_) | DrawnLabels::Rows(_) => (0..all.n_classes()).collect(),
    };
    let class = |&row: &usize| known.binary_search(&all.y()[row]).ok();
    let y = labelled.iter().map(class).chain(unlabelled.iter().map(|_| None)).collect();
    let classes = known.iter().map(|&k| all.classes()[k].clone()).collect();
    let train = SemiSupervised::new(x, y, classes, all.columns().to_vec())?;
    let train = train.with_steps(all.steps().to_vec()).with_image_shape(all.image_shape());
    Ok(Problem { train, test })
}

/// The first `n` rows of each class, and the others, both in their order.
fn first_of_each_class(all: &Labelled, rows: &[usize], n: usize) -> (Vec<usize>, Vec<usize>) {
    let mut left = vec![n; all.n_classes()];
    rows.iter().partition(|&&row| {
        let left = &mut left[all.y()[row]];
        let taken = *left > 0;
        *left -= usize::from(taken);
        taken
    })
}

/// The classes of rows, ascending: at least two.
fn classes_of(all: &Labelled, rows: &[usize]) -> Result<Vec<usize>> {
    let mut classes: Vec<usize> = rows.iter().map(|&row| all.y()[row]).collect();
    classes.sort_unstable();
    classes.dedup();
    match classes[..] {
        [class] => Err(Error::OneLabelledClass { n: rows.len(), class: all.classes()[class].clone() }),
        _ => Ok(classes),
    }
}

#[cfg(test)]
mod tests {
    use semisup::Toy;

    use super::*;

    const TEST: TestRows = TestRows { share: 0.2, limit: 20_000 };

    fn rule(labels: DrawnLabels) -> DrawRule {
        DrawRule { labels, test: TEST, unlabelled_limit: 100 }
    }

    /// The procedure as the first tables of this project were made with it, kept as it was.
    fn as_first_written(all: &Labelled, per_class: usize, unlabelled_limit: usize, draw: u64) -> Problem {
        let mut rng = semisup::rng(draw);
        let mut rows: Vec<usize> = (0..all.n()).collect();
        rows.shuffle(&mut rng);
        let test = all.select(&rows.split_off(all.n() - (all.n() / 5).min(20_000)));
        let mut left = vec![per_class; all.n_classes()];
        let (mut labelled, mut unlabelled) = (Vec::new(), Vec::new());
        for row in rows {
            let k = all.y()[row];
            if left[k] > 0 {
                left[k] -= 1;
                labelled.push(row);
            } else if unlabelled.len() < unlabelled_limit {
                unlabelled.push(row);
            }
        }
        let x: Array2<f64> = all.x().select(Axis(0), &[labelled.as_slice(), &unlabelled].concat());
        let y =
            labelled.iter().map(|&row| Some(all.y()[row])).chain(unlabelled.iter().map(|_| None)).collect();
        let train = SemiSupervised::new(x, y, all.classes().to_vec(), all.columns().to_vec()).unwrap();
        Problem { train, test }
    }

    #[test]
    fn it_is_the_procedure_of_the_first_tables() {
        let all = Toy::Pinwheel.sample(333, &mut rng(1));
        for (draw, limit) in [(1000, 100), (1001, 100_000)] {
            let now = draw_labels(
                &all,
                None,
                &DrawRule { unlabelled_limit: limit, ..rule(DrawnLabels::PerClass(4)) },
                draw,
            );
            assert_eq!(now.unwrap(), as_first_written(&all, 4, limit, draw));
        }
        let share = |n: usize| (n as f64 * TEST.share) as usize;
        assert!((0..1_000_000).all(|n| share(n) == n / 5), "a fifth is a fifth");
    }

    #[test]
    fn more_labels_include_the_fewer() {
        let all = Toy::Moons.sample(200, &mut rng(2));
        let problem = |n: usize| draw_labels(&all, None, &rule(DrawnLabels::PerClass(n)), 7).unwrap();
        let (few, many) = (problem(2), problem(5));
        assert_eq!(few.test, many.test);
        let has = |x: ndarray::ArrayView1<f64>| {
            many.train.labelled_only().x().rows().into_iter().any(|row| row == x)
        };
        assert!(few.train.labelled_only().x().rows().into_iter().all(has));
    }

    #[test]
    fn rows_of_a_split_are_the_labelled_ones_and_never_tests() {
        let all = Toy::Moons.sample(50, &mut rng(3));
        let y = all.y();
        let of = |k: usize| (0..50).filter(move |&row| y[row] == k);
        let rows: Vec<usize> = of(0).take(20).chain(of(1).take(20)).collect();
        let problem = draw_labels(&all, None, &rule(DrawnLabels::Rows(&rows)), 1).unwrap();
        assert_eq!(
            (problem.train.labelled().len(), problem.train.unlabelled().len(), problem.test.n()),
            (40, 0, 10)
        );
        assert_eq!(problem.train.labelled_only().x(), all.select(&rows).x());
        let own = Toy::Moons.sample(9, &mut rng(4));
        let problem = draw_labels(&all, Some(&own), &rule(DrawnLabels::Rows(&rows)), 1).unwrap();
        assert_eq!((problem.train.unlabelled().len(), &problem.test), (10, &own));
        assert!(
            draw_labels(&all, None, &rule(DrawnLabels::Rows(&rows[..20])), 1).is_err(),
            "a class without labels"
        );
    }

    #[test]
    fn a_class_without_a_random_label_is_unknown_to_the_learner() {
        let all = Toy::Pinwheel.sample(100, &mut rng(5)); // five classes
        let problem = |n: usize, draw: u64| draw_labels(&all, None, &rule(DrawnLabels::Random(n)), draw);
        let drawn = problem(3, 0).unwrap();
        assert_eq!((drawn.train.labelled().len(), drawn.train.unlabelled().len()), (3, 77));
        let (known, n_classes) = (drawn.train.classes(), drawn.train.n_classes());
        assert!((2..=3).contains(&n_classes), "{known:?}");
        assert_eq!((drawn.test.n(), drawn.test.n_classes()), (20, 5), "the test rows keep all classes");
        // Each label is the class its row has in the table.
        for (x, y) in drawn.train.x().rows().into_iter().zip(drawn.train.y()).take(3) {
            let row = all.x().rows().into_iter().position(|row| row == x).unwrap();
            assert_eq!(known[y.unwrap()], all.classes()[all.y()[row]]);
        }
        let stratified = draw_labels(&all, None, &rule(DrawnLabels::PerClass(1)), 0).unwrap();
        assert_eq!(drawn.test, stratified.test);
        assert_eq!(problem(500, 0).unwrap().train.unlabelled().len(), 0, "all rows if there are fewer");
        let error = problem(1, 0).unwrap_err().to_string();
        assert!(error.contains("1 random label is of class"), "{error}");
    }
}
