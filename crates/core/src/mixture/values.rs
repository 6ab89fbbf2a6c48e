//! The numbers of a mixture, and single points of its Gaussians in double precision.

use ndarray::{Array1, Array2, ArrayView1, ArrayViewMut1};

/// Values of a mixture, on the CPU in double precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixtureValues {
    /// mu, `[C, dim]`.
    pub means: Array2<f64>,
    /// log sigma: `[C, 1]` of spherical, `[C, dim]` of diagonal and full, `[1, dim]` of tied covariances. Of the last two,
    /// sigma_d is the standard deviation of column d given the columns before it.
    pub log_sigma: Array2<f64>,
    /// The entries of U below the diagonal, row by row, of full `[C, dim (dim - 1) / 2]` and tied `[1, ..]` covariances:
    /// Sigma^-1 = A^T A with A = diag(1 / sigma) U. Empty otherwise.
    pub below: Array2<f64>,
    /// log w_c within the class, `[C]`; normalised on use.
    pub log_weight: Vec<f64>,
    /// log pi_k, `[K]`; normalised on use.
    pub log_prior: Vec<f64>,
}

/// Where row i, column j < i of a lower triangle without its diagonal is, counted row by row.
pub(crate) fn below_index(i: usize, j: usize) -> usize {
    i * (i - 1) / 2 + j
}

impl MixtureValues {
    /// sigma of column `d` of Gaussian `c`; of correlated columns, given those before it.
    pub fn sigma(&self, c: usize, d: usize) -> f64 {
        self.log_sigma[[self.sigma_row(c), d.min(self.log_sigma.ncols() - 1)]].exp()
    }

    /// A (z - mu_c), `[dim]`: standard normal under Gaussian c.
    pub fn whitened(&self, c: usize, z: ArrayView1<f64>) -> Array1<f64> {
        let apart = &z - &self.means.row(c);
        let mut whitened = self.mixed(c, apart.view());
        for (d, value) in whitened.iter_mut().enumerate() {
            *value /= self.sigma(c, d);
        }
        whitened
    }

    /// log N(z; mu_c, Sigma_c) without the constant (2 pi)^(-dim/2).
    pub fn log_density(&self, c: usize, z: ArrayView1<f64>) -> f64 {
        let whitened = self.whitened(c, z);
        let log_volume: f64 = (0..z.len()).map(|d| self.sigma(c, d).ln()).sum();
        -0.5 * whitened.dot(&whitened) - log_volume
    }

    /// grad_z log N(z; mu_c, Sigma_c) = -A^T A (z - mu_c), `[dim]`.
    pub fn gradient(&self, c: usize, z: ArrayView1<f64>) -> Array1<f64> {
        let mut scaled = self.whitened(c, z);
        for (d, value) in scaled.iter_mut().enumerate() {
            *value /= -self.sigma(c, d);
        }
        let Some(below) = self.below_row(c) else { return scaled };
        let mut gradient = scaled.clone(); // U^T scaled
        for i in 1..z.len() {
            for j in 0..i {
                gradient[j] += below[below_index(i, j)] * scaled[i];
            }
        }
        gradient
    }

    /// Makes standard normal numbers a point of N(mu_c, T^2 Sigma_c): mu + T A^-1 eps, by forward substitution.
    pub(crate) fn colour(&self, c: usize, temperature: f64, mut point: ArrayViewMut1<f64>) {
        for d in 0..point.len() {
            let mut value = temperature * self.sigma(c, d) * point[d];
            if let Some(below) = self.below_row(c) {
                value -= (0..d).map(|j| below[below_index(d, j)] * point[j]).sum::<f64>();
            }
            point[d] = value;
        }
        point += &self.means.row(c);
    }

    /// Sigma_c = A^-1 A^-T, `[dim, dim]`.
    pub fn covariance(&self, c: usize) -> Array2<f64> {
        let dim = self.means.ncols();
        let zero = Self { means: Array2::zeros(self.means.dim()), ..self.clone() };
        let mut root = Array2::eye(dim); // columns of A^-1
        root.columns_mut().into_iter().for_each(|column| zero.colour(c, 1.0, column));
        root.dot(&root.t())
    }

    /// Whether all Gaussians have the same covariance sigma^2 I, as in the paper's experiments; then sigma.
    pub fn common_sigma(&self) -> Option<f64> {
        let first = *self.log_sigma.first()?;
        let same = self.log_sigma.ncols() == 1 && self.below.is_empty();
        (same && self.log_sigma.iter().all(|s| *s == first)).then(|| first.exp())
    }

    /// U v.
    fn mixed(&self, c: usize, v: ArrayView1<f64>) -> Array1<f64> {
        let mut mixed = v.to_owned();
        if let Some(below) = self.below_row(c) {
            for i in 1..v.len() {
                mixed[i] += (0..i).map(|j| below[below_index(i, j)] * v[j]).sum::<f64>();
            }
        }
        mixed
    }

    /// Tied covariances have one row for all Gaussians.
    fn sigma_row(&self, c: usize) -> usize {
        c.min(self.log_sigma.nrows() - 1)
    }

    fn below_row(&self, c: usize) -> Option<ArrayView1<'_, f64>> {
        (!self.below.is_empty()).then(|| self.below.row(c.min(self.below.nrows() - 1)))
    }
}
