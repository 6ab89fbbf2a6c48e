//! Two-class support vector machines by sequential minimal optimisation.
//!
//! ```text
//! minimise  1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) - sum_i a_i    with 0 <= a_i <= C and sum_i y_i a_i = 0
//! f(x) = sum_i y_i a_i k(x_i, x) - rho
//! ```
//!
//! A step moves the two a_i that violate the conditions of optimality most, the second chosen by the gain of the step
//! (Fan, Chen and Lin 2005, as in libsvm).

use ndarray::Array2;

/// The violation at which the solution counts as exact; libsvm's default is 1e-3.
const TOLERANCE: f64 = 1e-5;

/// A two-class machine.
pub(super) struct Machine {
    /// y_i a_i of each row.
    pub coefficients: Vec<f64>, // [n]
    pub rho: f64,
}

struct Solver<'a> {
    kernel: &'a Array2<f32>, // between all rows
    rows: &'a [usize],       // those of the problem
    y: &'a [f64],            // their signs, -1 or 1
    c: f64,
    alpha: Vec<f64>,
    gradient: Vec<f64>,
}

/// Solves the problem of `rows`, indices of `kernel`, with signs `y`.
pub(super) fn solve(kernel: &Array2<f32>, rows: &[usize], y: &[f64], c: f64) -> Machine {
    let n = rows.len();
    let mut solver = Solver { kernel, rows, y, c, alpha: vec![0.; n], gradient: vec![-1.; n] };
    let most = 100 * n + 1_000_000;
    for _ in 0..most {
        let Some((i, j)) = solver.working_pair() else { break };
        solver.step(i, j);
    }
    let rho = solver.rho();
    let coefficients = solver.alpha.iter().zip(y).map(|(alpha, y)| alpha * y).collect();
    Machine { coefficients, rho }
}

impl Solver<'_> {
    fn k(&self, i: usize, j: usize) -> f64 {
        f64::from(self.kernel[[self.rows[i], self.rows[j]]])
    }

    /// Whether y_i a_i can grow.
    fn can_grow(&self, i: usize) -> bool {
        if self.y[i] > 0. { self.alpha[i] < self.c } else { self.alpha[i] > 0. }
    }

    /// Whether y_i a_i can shrink.
    fn can_shrink(&self, i: usize) -> bool {
        if self.y[i] > 0. { self.alpha[i] > 0. } else { self.alpha[i] < self.c }
    }

    /// The pair to move: y_i a_i shall grow and y_j a_j shrink. None at the optimum.
    fn working_pair(&self) -> Option<(usize, usize)> {
        let slope = |i: usize| -self.y[i] * self.gradient[i];
        let mut first: Option<usize> = None;
        for i in (0..self.y.len()).filter(|&i| self.can_grow(i)) {
            if first.is_none_or(|first| slope(i) > slope(first)) {
                first = Some(i);
            }
        }
        let i = first?;
        let (mut violation, mut best) = (f64::NEG_INFINITY, None);
        for j in (0..self.y.len()).filter(|&j| self.can_shrink(j)) {
            let difference = slope(i) - slope(j);
            violation = f64::max(violation, difference);
            if difference > 0. {
                let gain = difference * difference / self.curvature(i, j);
                if best.is_none_or(|(_, best)| gain > best) {
                    best = Some((j, gain));
                }
            }
        }
        best.filter(|_| violation > TOLERANCE).map(|(j, _)| (i, j))
    }

    /// k_ii + k_jj - 2 k_ij, at least a little above 0.
    fn curvature(&self, i: usize, j: usize) -> f64 {
        (self.k(i, i) + self.k(j, j) - 2. * self.k(i, j)).max(1e-12)
    }

    /// The best step along y_i a_i + y_j a_j = const inside the box.
    fn step(&mut self, i: usize, j: usize) {
        let room = |grows: bool, alpha: f64| if grows { self.c - alpha } else { alpha };
        let room_i = room(self.y[i] > 0., self.alpha[i]);
        let room_j = room(self.y[j] < 0., self.alpha[j]);
        let difference = self.y[j] * self.gradient[j] - self.y[i] * self.gradient[i];
        let step = (difference / self.curvature(i, j)).min(room_i).min(room_j);
        // At the end of the box a is exactly 0 or C, so that rounding does not leave it almost free.
        let moved = |alpha: f64, up: bool, hits: bool| match (up, hits) {
            (true, true) => self.c,
            (false, true) => 0.,
            (true, false) => alpha + step,
            (false, false) => alpha - step,
        };
        let at_i = moved(self.alpha[i], self.y[i] > 0., step == room_i);
        let at_j = moved(self.alpha[j], self.y[j] < 0., step == room_j);
        (self.alpha[i], self.alpha[j]) = (at_i, at_j);
        for t in 0..self.y.len() {
            self.gradient[t] += self.y[t] * step * (self.k(t, i) - self.k(t, j));
        }
    }

    /// The mean of y_i G_i over free a_i, or the middle of what the others allow.
    fn rho(&self) -> f64 {
        let (mut sum, mut free) = (0., 0);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for i in 0..self.y.len() {
            let value = self.y[i] * self.gradient[i];
            match (self.can_grow(i), self.can_shrink(i)) {
                (true, true) => {
                    sum += value;
                    free += 1;
                }
                (true, false) => high = f64::min(high, value),
                (false, _) => low = f64::max(low, value),
            }
        }
        if free > 0 { sum / f64::from(free) } else { (low + high) / 2. }
    }
}
