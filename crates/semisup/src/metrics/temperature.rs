//! Temperature scaling (Guo et al. 2017): the temperature T that calibrates softmax(logits / T).
//!
//! With beta = 1/T the loss is L(beta) = mean [ log sum_k exp(beta l_k + b_k) - beta l_y - b_y ], which is convex: L' =
//! mean [ E_p l - l_y ] and L'' = mean Var_p l >= 0, p = softmax(beta l + b). So T is the one root of L', found
//! by Newton steps in log beta, kept inside a bracket by bisection. The biases b, logarithms of class priors, are not
//! scaled.

use ndarray::{ArrayView1, ArrayView2};

/// The range of temperatures. If every row is predicted correctly the loss decreases for ever as T -> 0, if the logits are
/// worse than chance as T grows; the result is then an end of this range.
pub const TEMPERATURE_RANGE: (f64, f64) = (1e-3, 1e4);

/// argmin_T of the mean negative log probability of `y` under softmax(logits / T), logits `[n, n_classes]`.
///
/// 1 if the logits do not distinguish any classes, or there are no rows: every T is then equally good.
pub fn fit_temperature(logits: ArrayView2<f64>, y: &[usize]) -> f64 {
    fit_temperature_with(logits, &vec![0.0; logits.ncols()], y)
}

/// argmin_T of the mean negative log probability of `y` under softmax(logits / T + bias), with one bias for each class;
/// see [`fit_temperature`].
pub fn fit_temperature_with(logits: ArrayView2<f64>, bias: &[f64], y: &[usize]) -> f64 {
    minimise(logits, bias, y, |_| Slope { first: 0., second: 0. })
}

/// The temperature of largest posterior probability, if `near` is what was believed before.
///
/// [`fit_temperature_with`] goes to an end of its range where no row is predicted wrongly; few rows, all of them right, do
/// not tell that much. A Gamma prior on beta with its mode at 1 / `near`, worth [`PRIOR_ROWS`] rows, adds
/// n0 (beta near - log beta) to the loss, which stays convex.
pub fn fit_temperature_near(logits: ArrayView2<f64>, bias: &[f64], y: &[usize], near: f64) -> f64 {
    minimise(logits, bias, y, |log_beta: f64| {
        let t = (-log_beta).exp();
        Slope { first: PRIOR_ROWS * (near - t), second: PRIOR_ROWS * t }
    })
}

/// What the temperature believed before counts as, in [`fit_temperature_near`].
pub const PRIOR_ROWS: f64 = 2.;

fn minimise(logits: ArrayView2<f64>, bias: &[f64], y: &[usize], prior: impl Fn(f64) -> Slope) -> f64 {
    assert_eq!(logits.nrows(), y.len(), "one row per label");
    assert_eq!(logits.ncols(), bias.len(), "one bias per class");
    let slope = |log_beta| {
        let (data, prior) = (slope(logits, bias, y, log_beta), prior(log_beta));
        Slope { first: data.first + prior.first, second: data.second + prior.second }
    };
    let (coldest, hottest) = TEMPERATURE_RANGE;
    let (mut lo, mut hi) = (-hottest.ln(), -coldest.ln()); // log beta
    let (at_lo, at_hi) = (slope(lo), slope(hi));
    if at_lo.first == 0. && at_hi.first == 0. {
        return 1.;
    }
    if at_lo.first >= 0. {
        return hottest;
    }
    if at_hi.first <= 0. {
        return coldest;
    }
    let mut log_beta: f64 = 0.;
    for _ in 0..200 {
        let Slope { first, second } = slope(log_beta);
        if first <= 0. {
            lo = log_beta;
        } else {
            hi = log_beta;
        }
        let newton = log_beta - first / second;
        let next = if newton >= lo && newton <= hi { newton } else { (lo + hi) / 2. };
        let step = (next - log_beta).abs();
        log_beta = next;
        if step < 1e-13 || first == 0. {
            break;
        }
    }
    (-log_beta).exp()
}

/// L' and its derivative by log beta, which is beta L''.
struct Slope {
    first: f64,
    second: f64,
}

fn slope(logits: ArrayView2<f64>, bias: &[f64], y: &[usize], log_beta: f64) -> Slope {
    let beta = log_beta.exp();
    let mut total = Slope { first: 0., second: 0. };
    for (l, &y) in logits.rows().into_iter().zip(y) {
        let (mean, variance) = moments(l, bias, y, beta);
        total.first += mean;
        total.second += beta * variance;
    }
    total
}

/// Mean and variance of l_k - l_y under softmax(beta l + b).
fn moments(l: ArrayView1<f64>, bias: &[f64], y: usize, beta: f64) -> (f64, f64) {
    let score = |k: usize| beta * (l[k] - l[y]) + bias[k];
    let largest = (0..l.len()).map(score).fold(f64::NEG_INFINITY, f64::max);
    let weighed = (0..l.len()).map(|k| ((score(k) - largest).exp(), l[k] - l[y]));
    let sum: f64 = weighed.clone().map(|(weight, _)| weight).sum();
    let mean = weighed.clone().map(|(weight, gap)| weight * gap).sum::<f64>() / sum;
    let variance = weighed.map(|(weight, gap)| weight * (gap - mean).powi(2)).sum::<f64>() / sum;
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use rand::Rng as _;

    use super::*;
    use crate::metrics::{log_softmax, nll};

    #[test]
    fn rows_that_cannot_tell() {
        assert_eq!(fit_temperature(Array2::zeros((0, 2)).view(), &[]), 1.);
        assert_eq!(fit_temperature(array![[3., 3.], [1., 1.]].view(), &[0, 1]), 1.);
        assert_eq!(fit_temperature(array![[3., 0.], [0., 3.]].view(), &[0, 1]), TEMPERATURE_RANGE.0);
        assert_eq!(fit_temperature(array![[3., 0.], [0., 3.]].view(), &[1, 0]), TEMPERATURE_RANGE.1);
    }

    /// Three of four rows right with a gap of 2: p = 3/4 needs 2 / T = ln 3.
    #[test]
    fn closed_form() {
        let logits = array![[2., 0.], [2., 0.], [2., 0.], [2., 0.]];
        let t = fit_temperature(logits.view(), &[0, 0, 1, 0]);
        assert!((t - 2. / 3_f64.ln()).abs() < 1e-12, "{t}");
    }

    /// All rows right: without a prior T falls to the end of the range, with one it moves only as far as the rows tell.
    #[test]
    fn rows_without_a_mistake_move_the_temperature_a_little() {
        let rows = |n: usize| Array2::from_shape_fn((n, 2), |(_, k)| if k == 0 { 3. } else { 0. });
        let near = |n: usize, t: f64| fit_temperature_near(rows(n).view(), &[0., 0.], &vec![0; n], t);
        assert!((near(0, 1.7) - 1.7).abs() < 1e-9, "no rows say nothing");
        assert!(near(35, 1.) > 0.4 && near(35, 1.) < 1., "{}", near(35, 1.));
        assert!(near(1000, 1.) < near(35, 1.), "more rows say more");
        // With mistakes the data decide: three of four right needs 3 / T = ln 3, whatever was believed.
        let many = Array2::from_shape_fn((4000, 2), |(_, k)| if k == 0 { 3. } else { 0. });
        let y: Vec<usize> = (0..4000).map(|i| usize::from(i % 4 == 0)).collect();
        let t = fit_temperature_near(many.view(), &[0., 0.], &y, 0.1);
        assert!((t / (3. / 3_f64.ln()) - 1.).abs() < 0.01, "{t}");
    }

    /// Half of the rows right with a gap of 2 against odds of 3 to 1: p = 1/2 needs 2 / T = ln 3.
    #[test]
    fn biases_are_not_tempered() {
        let logits = array![[2., 0.], [2., 0.]];
        let t = fit_temperature_with(logits.view(), &[0.25_f64.ln(), 0.75_f64.ln()], &[0, 1]);
        assert!((t - 2. / 3_f64.ln()).abs() < 1e-12, "{t}");
    }

    /// Scaling the logits scales T, and no neighbour of T is better.
    #[test]
    fn optimal_at_every_scale() {
        let mut rng = crate::rng(3);
        let base = Array2::from_shape_fn((60, 4), |_| rng.random_range(-2. ..2.));
        let y: Vec<usize> = (0..60)
            .map(|row| if row % 3 == 0 { row % 4 } else { crate::metrics::arg_max(base.view())[row] })
            .collect();
        let t1 = fit_temperature(base.view(), &y);
        for scale in [0.05, 1., 300.] {
            let logits = &base * scale;
            let t = fit_temperature(logits.view(), &y);
            assert!((t / (t1 * scale) - 1.).abs() < 1e-11, "{t} {t1}");
            let loss = |t: f64| nll(log_softmax((&logits / t).view()).view(), &y);
            assert!(loss(t) < loss(t * 1.001) && loss(t) < loss(t * 0.999));
        }
    }
}
