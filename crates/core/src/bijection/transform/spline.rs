//! Rational-quadratic spline (neural spline flows).
//!
//! Each changed column goes through a monotone spline on [-B, B] with K bins, whose widths w, heights h and
//! inner knot slopes d come from the conditioner; outside the box the map is the identity, and the slope is 1 at its
//! edges. Inside bin k, with xi = (x - x_k) / w_k, sigma = h_k / w_k and slopes d_k, d_{k+1}:
//!
//!   z = y_k + h_k (sigma xi^2 + d_k xi (1 - xi)) / (sigma + (d_k + d_{k+1} - 2 sigma) xi (1 - xi))
//!   dz/dx = sigma^2 (d_{k+1} xi^2 + 2 sigma xi (1 - xi) + d_k (1 - xi)^2) / (same denominator)^2
//!
//! Rows and changed columns are flattened to r = n * changed lines, so that everything is `[r, K]` or `[r, 1]`.
//! A zero network output gives equal bins and slopes 1: the identity.

use burn_tensor::{Bool, Tensor, activation::softplus};

use crate::{
    bijection::Mapped,
    tensor::{Place, log_normalise},
};

/// The smallest width and height of a spline's bin, as a fraction of its box.
pub const MIN_BIN: f64 = 1e-3;
/// The smallest slope at a knot of a spline.
pub const MIN_SLOPE: f64 = 1e-3;

/// A spline's settings: K bins on [-B, B].
#[derive(Clone, Copy, Debug)]
pub(super) struct Spline {
    pub(super) bins: usize,
    pub(super) bound: f64,
}

/// The changed values of a batch, line by line.
struct Lines {
    value: Tensor<2>,         // [r, 1]
    raw: Tensor<2>,           // [r, 3 K - 1], the conditioner's output
    outside: Tensor<2, Bool>, // [r, 1], whether a value is outside the box
}

/// The bin each line falls into, each `[r, 1]`.
struct Bin {
    x: Tensor<2>,
    y: Tensor<2>,
    width: Tensor<2>,
    height: Tensor<2>,
    slope: Tensor<2>,
    next_slope: Tensor<2>,
}

/// Which side of the map a value is on when its bin is looked up.
#[derive(Clone, Copy)]
enum Side {
    Data,
    Latent,
}

impl Spline {
    /// Looks up the bin of each line; `inside` values only (callers clamp).
    fn bin(&self, raw: Tensor<2>, value: Tensor<2>, side: Side) -> Bin {
        let (k, place) = (self.bins, Place::of(&value));
        let width = self.bin_sizes(raw.clone().narrow(1, 0, k));
        let height = self.bin_sizes(raw.clone().narrow(1, k, k));
        // softplus(raw + c) + MIN_SLOPE is 1 at raw = 0
        let shift = ((1.0 - MIN_SLOPE).exp() - 1.0).ln();
        let inner = softplus(raw.narrow(1, 2 * k, k - 1).add_scalar(shift), 1.0).add_scalar(MIN_SLOPE);
        let edge = inner.clone().narrow(1, 0, 1).zeros_like().add_scalar(1.0);
        let slopes = Tensor::cat(vec![edge.clone(), inner, edge], 1); // [r, K + 1]

        // Left edges: exclusive running sums, as a product with a strictly upper triangle of ones.
        let ones: Vec<f64> = (0..k * k).map(|i| if i / k < i % k { 1.0 } else { 0.0 }).collect();
        let running = place.matrix(ones, [k, k]);
        let left_x = width.clone().matmul(running.clone()).sub_scalar(self.bound);
        let left_y = height.clone().matmul(running).sub_scalar(self.bound);

        // One-hot bin: the number of left edges at or below the value, minus the number above.
        let edges = match side {
            Side::Data => left_x.clone(),
            Side::Latent => left_y.clone(),
        };
        let passed = value.expand(edges.dims()).greater_equal(edges.detach()).float().cast(place.dtype); // [r, K]
        let rows = passed.dims()[0];
        // The first edge is the box's own: rounding must not lose a value that sits on it.
        let passed =
            Tensor::cat(vec![passed.clone().narrow(1, 0, 1).ones_like(), passed.narrow(1, 1, k - 1)], 1);
        let next = Tensor::cat(
            vec![passed.clone().narrow(1, 1, k - 1), passed.clone().narrow(1, 0, 1).zeros_like()],
            1,
        );
        let hot = passed - next;
        debug_assert_eq!(hot.dims(), [rows, k]);
        let pick = |a: Tensor<2>| (a * hot.clone()).sum_dim(1);
        Bin {
            x: pick(left_x),
            y: pick(left_y),
            width: pick(width),
            height: pick(height),
            slope: pick(slopes.clone().narrow(1, 0, k)),
            next_slope: pick(slopes.narrow(1, 1, k)),
        }
    }

    /// Positive sizes `[r, K]` that fill the box.
    fn bin_sizes(&self, raw: Tensor<2>) -> Tensor<2> {
        let free = 1.0 - MIN_BIN * self.bins as f64;
        log_normalise(raw).exp().mul_scalar(free).add_scalar(MIN_BIN).mul_scalar(2.0 * self.bound)
    }

    fn lines(self, changed: Tensor<2>, output: Tensor<2>) -> Lines {
        let [n, columns] = changed.dims();
        let rows = n * columns;
        let raw = output.reshape([rows, 3 * self.bins - 1]);
        let value = changed.reshape([rows, 1]);
        // Written so that a NaN counts as inside and stays visible.
        let outside = value.clone().detach().abs().greater_scalar(self.bound);
        Lines { value, raw, outside }
    }

    /// z `[n, changed]` and log_det `[n, 1]`.
    pub(super) fn forward(self, x: Tensor<2>, output: Tensor<2>) -> Mapped {
        let shape = x.dims();
        let Lines { value, raw, outside } = self.lines(x, output);
        // Outside lines are computed at 0 and then replaced, so that no gradient there can be NaN.
        let inside = value.clone().mask_fill(outside.clone(), 0.0);
        let bin = self.bin(raw, inside.clone(), Side::Data);
        let xi = (inside - bin.x) / bin.width.clone();
        let sigma = bin.height.clone() / bin.width;
        let rest = xi.clone().neg().add_scalar(1.0);
        let product = xi.clone() * rest.clone();
        let denominator = sigma.clone()
            + (bin.slope.clone() + bin.next_slope.clone() - sigma.clone() * 2.0) * product.clone();
        let z = bin.y
            + bin.height * (sigma.clone() * xi.clone().square() + bin.slope.clone() * product.clone())
                / denominator.clone();
        let numerator =
            bin.next_slope * xi.square() + sigma.clone() * product * 2.0 + bin.slope * rest.square();
        let log_slope = sigma.log() * 2.0 + numerator.log() - denominator.log() * 2.0;

        let value = z.mask_where(outside.clone(), value).reshape(shape);
        let log_det = log_slope.mask_fill(outside, 0.0).reshape(shape).sum_dim(1);
        Mapped { value, log_det }
    }

    /// x `[n, changed]`.
    pub(super) fn inverse(self, z: Tensor<2>, output: Tensor<2>) -> Tensor<2> {
        let shape = z.dims();
        let Lines { value, raw, outside } = self.lines(z, output);
        let inside = value.clone().mask_fill(outside.clone(), 0.0);
        let bin = self.bin(raw, inside.clone(), Side::Latent);
        // a xi^2 + b xi + c = 0, solved in the form that does not cancel.
        let sigma = bin.height.clone() / bin.width.clone();
        let up = inside - bin.y;
        let curve = up.clone() * (bin.slope.clone() + bin.next_slope - sigma.clone() * 2.0);
        let a = bin.height.clone() * (sigma.clone() - bin.slope.clone()) + curve.clone();
        let b = bin.height * bin.slope - curve;
        let c = up.neg() * sigma;
        let root = (b.clone().square() - a * c.clone() * 4.0).clamp_min(0.0).sqrt();
        let xi = c * -2.0 / (b + root);
        let x = bin.x + xi * bin.width;
        x.mask_where(outside, value).reshape(shape)
    }
}
