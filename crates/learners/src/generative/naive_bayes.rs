//! Naive Bayes learnt by EM from labelled and unlabelled rows (Nigam, McCallum, Thrun and Mitchell 2000, "EM-lambda").
//!
//! Every column is cut into levels: its own values, if they are few, else quantile bins. Within a class, columns are
//! independent,
//!
//! ```text
//! p(x, k) = pi_k prod_j theta_jk(level of x_j)
//! maximise  sum_labelled log p(x, y) + lambda sum_unlabelled log sum_k p(x, k)
//!           + a sum_jk sum_l m_jl log theta_jk(l) + b sum_k log pi_k
//! ```
//!
//! with m_j the shares of the levels in all rows: a level that no labelled row of a class has is as rare there as it is
//! elsewhere. Few labels go a long way where many columns each say a little, as categories do; unlabelled rows then tell
//! which levels go together.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use semisup::{Classifier, Learner, SemiSupervised, Watch, metrics::log_sum_exp, split::evenly_spaced};

use crate::{Error, Result, Scorecard, error::within, targets::one_hot};

/// Values up to which a column is taken level by level.
const FEW_VALUES: usize = 10;
/// Unlabelled rows that EM sees, at most: it has only some numbers for each column to learn.
const ROWS: usize = 3000;
/// a: rows that the shares of all rows count as, in each class.
const LEVEL_ROWS: f64 = 2.;
/// b: rows of each class that even class shares count as.
const CLASS_ROWS: f64 = 5.;
/// EM has converged when a step gains less than this, in nats per row.
const TOLERANCE: f64 = 1e-6;

/// Naive Bayes over the levels of columns, by EM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NaiveBayes {
    /// Quantile bins of a column with many values.
    pub bins: usize,
    /// lambda: how much an unlabelled row counts beside a labelled one; 0 learns from the labels alone.
    pub unlabelled_weight: f64,
    /// The largest number of steps of EM.
    pub steps: usize,
}

impl Default for NaiveBayes {
    /// Five bins; five unlabelled rows count as much as a labelled one.
    fn default() -> Self {
        Self { bins: 5, unlabelled_weight: 0.2, steps: 40 }
    }
}

impl Learner for NaiveBayes {
    type Model = NaiveBayesModel;
    type Error = Error;

    fn name(&self) -> String {
        "naive Bayes".into()
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<NaiveBayesModel> {
        self.fit_rows(data.x(), data.y(), data.classes(), &())
    }

    fn fit_watched(&self, data: &SemiSupervised, _seed: u64, watch: &dyn Watch) -> Result<NaiveBayesModel> {
        self.fit_rows(data.x(), data.y(), data.classes(), watch)
    }
}

impl NaiveBayes {
    /// Fits rows x `[n, dim]`, of which some have a class in y `[n]`, an index of `classes`.
    pub fn fit_rows(
        &self,
        x: ArrayView2<f64>,
        y: &[Option<usize>],
        classes: &[String],
        watch: &dyn Watch,
    ) -> Result<NaiveBayesModel> {
        Ok(self.maximise_by_em(x, y, classes, watch)?.0)
    }

    /// The model, and the objective at the start of each step.
    fn maximise_by_em(
        &self,
        x: ArrayView2<f64>,
        y: &[Option<usize>],
        classes: &[String],
        watch: &dyn Watch,
    ) -> Result<(NaiveBayesModel, Vec<f64>)> {
        within("bins", self.bins as f64, (2..=256).contains(&self.bins), "from 2 to 256")?;
        let lambda = self.unlabelled_weight;
        within("unlabelled_weight", lambda, (0.0..=1.0).contains(&lambda), "from 0 to 1")?;
        let levels: Vec<Levels> =
            x.columns().into_iter().map(|column| Levels::of(column, self.bins)).collect();
        let (labelled, unlabelled): (Vec<usize>, Vec<usize>) =
            (0..y.len()).partition(|&row| y[row].is_some());
        let some = evenly_spaced(unlabelled.len(), ROWS).into_iter().map(|at| unlabelled[at]);
        let rows: Vec<usize> = labelled.iter().copied().chain(some).collect();
        let known: Vec<Option<usize>> = rows.iter().map(|&row| y[row]).collect();
        let codes = codes(&levels, x.select(Axis(0), &rows).view());
        let problem = Problem { shares: level_shares(&levels, &codes), codes };
        let labels = one_hot(&known, classes.len());
        let mut tables = problem.maximise(labels.view());
        let mut trace: Vec<f64> = Vec::new();
        if lambda > 0. && !unlabelled.is_empty() {
            for step in 0..self.steps {
                watch.at(step as f64 / self.steps as f64)?;
                let log_joint = tables.log_joint(&problem.codes);
                trace.push(problem.objective(&tables, &log_joint, &known, lambda));
                if let [.., before, now] = trace[..]
                    && now - before <= TOLERANCE * rows.len() as f64
                {
                    break;
                }
                tables = problem.maximise(responsibilities(log_joint, &known, lambda).view());
            }
        }
        Ok((NaiveBayesModel { levels, tables, classes: classes.to_vec() }, trace))
    }
}

/// Where a column is cut: a value has as its level the number of cuts that are not above it.
#[derive(Clone, Debug, PartialEq)]
struct Levels {
    cuts: Vec<f64>,
}

impl Levels {
    fn of(column: ArrayView1<f64>, bins: usize) -> Self {
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut values = sorted.clone();
        values.dedup();
        let cuts = if values.len() <= FEW_VALUES {
            values.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0])).collect()
        } else {
            let mut cuts: Vec<f64> = (1..bins).map(|bin| sorted[bin * sorted.len() / bins]).collect();
            cuts.dedup();
            cuts
        };
        Self { cuts }
    }

    fn count(&self) -> usize {
        self.cuts.len() + 1
    }

    fn level(&self, value: f64) -> u16 {
        self.cuts.partition_point(|cut| *cut <= value) as u16
    }
}

/// The levels of rows, `[n, dim]`.
fn codes(levels: &[Levels], x: ArrayView2<f64>) -> Array2<u16> {
    Array2::from_shape_fn(x.dim(), |(i, j)| levels[j].level(x[[i, j]]))
}

/// m_j: the share of each level among rows, with half a row more for each.
fn level_shares(levels: &[Levels], codes: &Array2<u16>) -> Vec<Vec<f64>> {
    let share = |(levels, column): (&Levels, ArrayView1<u16>)| {
        let mut counts = vec![0.5; levels.count()];
        column.iter().for_each(|&level| counts[level as usize] += 1.);
        let total: f64 = counts.iter().sum();
        counts.into_iter().map(|count| count / total).collect()
    };
    levels.iter().zip(codes.columns()).map(share).collect()
}

/// What EM sees of the rows.
struct Problem {
    codes: Array2<u16>,    // [n, dim]
    shares: Vec<Vec<f64>>, // [dim][levels]
}

impl Problem {
    /// M-step: the most probable tables for rows that are q `[n, K]` of each class.
    fn maximise(&self, q: ArrayView2<f64>) -> Tables {
        let n_k = q.sum_axis(Axis(0));
        let total = n_k.sum() + CLASS_ROWS * n_k.len() as f64;
        let log_prior = n_k.mapv(|n| ((n + CLASS_ROWS) / total).ln()).to_vec();
        let columns = self.shares.iter().zip(self.codes.columns()).map(|(shares, column)| {
            let mut counts =
                Array2::from_shape_fn((shares.len(), n_k.len()), |(l, _)| LEVEL_ROWS * shares[l]);
            for (&level, q) in column.iter().zip(q.rows()) {
                counts.row_mut(level as usize).scaled_add(1., &q);
            }
            for (mut counts, n) in counts.columns_mut().into_iter().zip(&n_k) {
                counts.mapv_inplace(|count| (count / (n + LEVEL_ROWS)).ln());
            }
            counts
        });
        Tables { log_theta: columns.collect(), log_prior }
    }

    /// What EM never lowers.
    fn objective(&self, tables: &Tables, log_joint: &Array2<f64>, y: &[Option<usize>], lambda: f64) -> f64 {
        let rows = log_joint.rows().into_iter().zip(y).map(|(log_joint, y)| match y {
            Some(k) => log_joint[*k],
            None => lambda * log_sum_exp(log_joint),
        });
        let levels = tables.log_theta.iter().zip(&self.shares).map(|(log_theta, shares)| {
            let of_level = |(log_theta, share): (ArrayView1<f64>, &f64)| share * log_theta.sum();
            log_theta.rows().into_iter().zip(shares).map(of_level).sum::<f64>()
        });
        let (rows, levels): (f64, f64) = (rows.sum(), levels.sum());
        rows + LEVEL_ROWS * levels + CLASS_ROWS * tables.log_prior.iter().sum::<f64>()
    }
}

/// E-step: q `[n, K]`, one-hot where there is a label, else lambda times the posterior.
fn responsibilities(mut log_joint: Array2<f64>, y: &[Option<usize>], lambda: f64) -> Array2<f64> {
    for (mut row, y) in log_joint.rows_mut().into_iter().zip(y) {
        match y {
            Some(k) => {
                row.fill(0.);
                row[*k] = 1.;
            }
            None => {
                let log_evidence = log_sum_exp(row.view());
                row.mapv_inplace(|log| lambda * (log - log_evidence).exp());
            }
        }
    }
    log_joint
}

/// log theta and log pi.
#[derive(Clone, Debug, PartialEq)]
struct Tables {
    log_theta: Vec<Array2<f64>>, // [dim][levels, K]
    log_prior: Vec<f64>,         // [K]
}

impl Tables {
    /// log p(x, k), `[n, K]`.
    fn log_joint(&self, codes: &Array2<u16>) -> Array2<f64> {
        let k = self.log_prior.len();
        let mut log_joint = Array2::from_shape_fn((codes.nrows(), k), |(_, k)| self.log_prior[k]);
        for (mut log_joint, codes) in log_joint.rows_mut().into_iter().zip(codes.rows()) {
            for (&level, log_theta) in codes.iter().zip(&self.log_theta) {
                log_joint += &log_theta.row(level as usize);
            }
        }
        log_joint
    }
}

/// A fitted [`NaiveBayes`].
#[derive(Clone, Debug, PartialEq)]
pub struct NaiveBayesModel {
    levels: Vec<Levels>,
    tables: Tables,
    classes: Vec<String>,
}

impl NaiveBayesModel {
    /// The same probabilities as a [`Scorecard`], but for the rounding of its numbers to single precision.
    pub fn scorecard(&self) -> Scorecard {
        let mut base = Array1::from(self.tables.log_prior.clone());
        let (mut steps, mut points) = (Vec::new(), Array2::zeros((0, base.len())));
        for (column, (levels, log_theta)) in self.levels.iter().zip(&self.tables.log_theta).enumerate() {
            base += &log_theta.row(0);
            for (level, &cut) in levels.cuts.iter().enumerate() {
                steps.push((column, cut));
                let gain = &log_theta.row(level + 1) - &log_theta.row(level);
                points.push_row(gain.view()).expect("as many classes");
            }
        }
        let most = base.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let base: Vec<f64> = base.iter().map(|score| score - most).collect();
        Scorecard::new(self.levels.len(), &base, &steps, points.view())
    }
}

impl Classifier for NaiveBayesModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let mut log_joint = self.tables.log_joint(&codes(&self.levels, x));
        for mut row in log_joint.rows_mut() {
            let log_evidence = log_sum_exp(row.view());
            row -= log_evidence;
        }
        log_joint
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::Rng as _;

    use super::*;

    fn names(k: usize) -> Vec<String> {
        (0..k).map(|k| k.to_string()).collect()
    }

    /// Rows of two classes whose `dim` binary columns each agree with the class in two of three rows.
    fn weak_columns(n: usize, dim: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut rng = semisup::rng(seed);
        let y: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let x = Array2::from_shape_fn((n, dim), |(i, _)| {
            if rng.random_bool(2. / 3.) { y[i] as f64 } else { 1. - y[i] as f64 }
        });
        (x, y)
    }

    #[test]
    fn by_labels_alone_it_is_the_counts() {
        let x = array![[0.], [0.], [1.], [1.]];
        let y = [Some(0), Some(0), Some(0), Some(1)];
        let learner = NaiveBayes { unlabelled_weight: 0., ..NaiveBayes::default() };
        let model = learner.fit_rows(x.view(), &y, &names(2), &()).unwrap();
        // Both levels have share 1/2: theta = (count + 2/2) / (n_k + 2), pi = (n_k + 5) / (4 + 10).
        let joint = [(8. / 14.) * (2. + 1.) / 5., (6. / 14.) * (0. + 1.) / 3.];
        let p = model.log_probs(array![[0.]].view()).exp();
        assert!((p[[0, 0]] - joint[0] / (joint[0] + joint[1])).abs() < 1e-12, "{p}");
    }

    #[test]
    fn no_step_lowers_the_objective() {
        let (x, y) = weak_columns(300, 12, 3);
        let known: Vec<Option<usize>> = y.iter().enumerate().map(|(i, k)| (i < 10).then_some(*k)).collect();
        let (_, trace) = NaiveBayes::default().maximise_by_em(x.view(), &known, &names(2), &()).unwrap();
        assert!(trace.len() > 3);
        for pair in trace.windows(2) {
            assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{trace:?}");
        }
    }

    #[test]
    fn unlabelled_rows_tell_which_levels_go_together() {
        let accuracy = |unlabelled_weight: f64| -> f64 {
            let right: usize = (0..5)
                .map(|seed| {
                    let (x, y) = weak_columns(1000, 40, seed);
                    let known: Vec<Option<usize>> =
                        y.iter().enumerate().map(|(i, k)| (i < 4).then_some(*k)).collect();
                    let learner = NaiveBayes { unlabelled_weight, ..NaiveBayes::default() };
                    let model = learner.fit_rows(x.view(), &known, &names(2), &()).unwrap();
                    let found = model.log_probs(x.view());
                    (0..y.len()).filter(|&i| (found[[i, 1]] > found[[i, 0]]) == (y[i] == 1)).count()
                })
                .sum();
            right as f64 / 5000.
        };
        let (alone, all) = (accuracy(0.), accuracy(0.2));
        assert!(alone < 0.9 && all > 0.95, "{alone} with labels alone, {all} with all rows");
    }

    #[test]
    fn many_values_are_cut_at_quantiles() {
        let column = ndarray::Array1::from_iter((0..100).map(f64::from));
        let levels = Levels::of(column.view(), 5);
        assert_eq!(levels.cuts, [20., 40., 60., 80.]);
        assert_eq!([-1e9, 19.9, 20., 99., 1e9].map(|value| levels.level(value)), [0, 0, 1, 4, 4]);
        let few = Levels::of(array![3., 1., 1., 7.].view(), 5);
        assert_eq!([1., 3., 7., 4.9, 5.1].map(|value| few.level(value)), [0, 1, 2, 1, 2]);
        assert_eq!(Levels::of(array![2., 2.].view(), 5).count(), 1, "a constant column says nothing");
    }

    #[test]
    fn a_scorecard_says_the_same_and_comes_back_from_its_arrays() {
        let (mut x, y) = weak_columns(200, 6, 5);
        let mut rng = semisup::rng(6);
        x.column_mut(0).mapv_inplace(|v| v + rng.random::<f64>()); // quantile bins
        x.column_mut(1).fill(3.); // no step
        let known: Vec<Option<usize>> = y.iter().enumerate().map(|(i, k)| (i < 10).then_some(*k)).collect();
        let model = NaiveBayes::default().fit_rows(x.view(), &known, &names(3), &()).unwrap();
        let card = model.scorecard();
        let (found, expected) = (card.log_probs(x.view()), model.log_probs(x.view()));
        let apart = (&found - &expected).fold(0f64, |a, &b| a.max(b.abs()));
        assert!(apart < 1e-5, "{apart}");
        let arrays = card.to_arrays();
        assert_eq!(Scorecard::from_arrays(arrays.clone(), 6, 3).unwrap(), card);
        for array in 0..arrays.len() {
            let mut spoilt = arrays.clone();
            spoilt[array][0] = f32::NAN;
            assert!(Scorecard::from_arrays(spoilt, 6, 3).is_err());
            let mut short = arrays.clone();
            short[array].pop();
            assert!(Scorecard::from_arrays(short, 6, 3).is_err());
        }
        assert!(Scorecard::from_arrays(arrays.clone(), 2, 3).is_err(), "a column that is not there");
    }

    #[test]
    fn a_class_without_a_label_has_a_probability() {
        let (x, y) = weak_columns(40, 5, 1);
        let known: Vec<Option<usize>> = y.iter().enumerate().map(|(i, k)| (i < 6).then_some(*k)).collect();
        let model = NaiveBayes::default().fit_rows(x.view(), &known, &names(3), &()).unwrap();
        let p = model.log_probs(x.view()).exp();
        assert!(p.iter().all(|p| p.is_finite() && *p > 0.));
    }
}
