//! Batch normalisation, ReLU, 2x2 max-pooling and dropout: what is between two blocks.
//!
//! ```text
//! a = relu(gamma (x - mean) rstd + beta)      y = m max of 2 x 2 of a,  m = 0 with probability p, else 1 / (1 - p)
//! ```
//!
//! Dropout is behind the ReLU, where a dropped unit is one that is off. The gradient goes through the moments of x, as in
//! [`flowgmm_kernels::conv`]. A last odd row or column is left out; an image of one row or one column keeps it.

use flowgmm_kernels::conv::{Activations, EPSILON, Moments, Shape, Workspace};
use rand::Rng as _;
use rayon::prelude::*;
use semisup::Rng;

/// gamma and beta, `[channels]` each.
#[derive(Clone, Copy)]
pub(super) struct Norm<'a> {
    pub gamma: &'a [f32],
    pub beta: &'a [f32],
}

/// What [`unpool`] needs.
pub(super) struct Pooled {
    x: Activations,
    /// The place of each pooled number in its plane; `DROPPED` where dropout took it.
    places: Vec<u32>,
    /// 1 / (1 - p)
    scale: f32,
}

impl Pooled {
    /// What was pooled.
    pub(super) fn input(&self) -> &Activations {
        &self.x
    }
}

/// The gradients of [`pool`].
pub(super) struct PoolGradients {
    pub x: Activations,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
}

const DROPPED: u32 = u32::MAX;

/// Mean and 1 / standard deviation of a channel.
fn centre(moments: &Moments, channel: usize) -> [f32; 2] {
    let rstd = 1. / (f64::from(moments.variance[channel]) + EPSILON).sqrt();
    [moments.mean[channel], rstd as f32]
}

/// The pooled maps, and what [`unpool`] needs. `moments` are those of `x` in training.
pub(super) fn pool(
    workspace: &Workspace,
    norm: Norm,
    x: Activations,
    moments: &Moments,
    p: f64,
    rng: &mut Rng,
) -> (Activations, Pooled) {
    let from = x.shape();
    let halved = |side: usize| if side < 2 { (side, 1) } else { (side / 2, 2) };
    let ((height, down), (width, across)) = (halved(from.height), halved(from.width));
    let to = Shape { height, width, ..from };
    let values = x.to_nchw();
    let (mut places, mut pooled) = (vec![0u32; to.len()], vec![0f32; to.len()]);
    let threshold = (p * 65536.).round().min(65535.) as u16;
    let mut bits = vec![0u16; if threshold > 0 { to.len() } else { 0 }];
    rng.fill(&mut bits[..]);
    let scale = (1. / (1. - f64::from(threshold) / 65536.)) as f32;
    let (plane, area) = (height * width, from.height * from.width);
    let maps = places.par_chunks_mut(plane).zip(pooled.par_chunks_mut(plane)).enumerate();
    maps.for_each(|(at, (places, pooled))| {
        let channel = at % from.channels;
        let ([mean, rstd], gamma, beta) = (centre(moments, channel), norm.gamma[channel], norm.beta[channel]);
        let active = |v: f32| (gamma * (v - mean) * rstd + beta).max(0.);
        let map = &values[at * area..][..area];
        for (i, (place, y)) in places.iter_mut().zip(pooled).enumerate() {
            let corner = (i / width) * down * from.width + (i % width) * across;
            let window = (0..down).flat_map(|r| (0..across).map(move |c| corner + r * from.width + c));
            let larger =
                |best: usize, here: usize| if active(map[here]) > active(map[best]) { here } else { best };
            let best = window.fold(corner, larger);
            if bits.get(at * plane + i).is_some_and(|bits| *bits < threshold) {
                *place = DROPPED;
            } else {
                (*place, *y) = (best as u32, scale * active(map[best]));
            }
        }
    });
    (Activations::from_nchw(workspace, to, &pooled), Pooled { x, places, scale })
}

/// The gradients of what was pooled and of gamma and beta, from that of the pooled maps.
pub(super) fn unpool(workspace: &Workspace, norm: Norm, pooled: Pooled, gy: &Activations) -> PoolGradients {
    let Pooled { x, places, scale } = pooled;
    let (from, moments) = (x.shape(), x.moments());
    let (values, gy, plane) = (x.to_nchw(), gy.to_nchw(), gy.shape().height * gy.shape().width);
    let area = from.height * from.width;
    let mut gx = vec![0f32; from.len()];
    // First the gradient of b = gamma (x - mean) rstd + beta, with its sums over each map.
    let maps = gx.par_chunks_mut(area).zip(places.par_chunks(plane).zip(gy.par_chunks(plane))).enumerate();
    let sums: Vec<[f64; 2]> = maps
        .map(|(at, (gx, (places, gy)))| {
            let channel = at % from.channels;
            let [mean, rstd] = centre(moments, channel);
            let map = &values[at * area..][..area];
            for (place, gy) in places.iter().zip(gy).filter(|(place, _)| **place != DROPPED) {
                let place = *place as usize;
                if norm.gamma[channel] * (map[place] - mean) * rstd + norm.beta[channel] > 0. {
                    gx[place] += scale * gy;
                }
            }
            let along = gx.iter().zip(map).map(|(g, v)| f64::from(g * (v - mean) * rstd)).sum();
            [gx.iter().map(|g| f64::from(*g)).sum(), along]
        })
        .collect();
    let total =
        |k: usize, i: usize| sums.iter().skip(k).step_by(from.channels).map(|s| s[i]).sum::<f64>() as f32;
    let [beta, gamma] = [0, 1].map(|i| (0..from.channels).map(|k| total(k, i)).collect::<Vec<f32>>());
    let m = (from.n * area) as f32;
    gx.par_chunks_mut(area).enumerate().for_each(|(at, gx)| {
        let channel = at % from.channels;
        let [mean, rstd] = centre(moments, channel);
        let (gain, level, slope) = (norm.gamma[channel] * rstd, beta[channel] / m, gamma[channel] / m);
        for (g, v) in gx.iter_mut().zip(&values[at * area..][..area]) {
            *g = gain * (*g - level - (v - mean) * rstd * slope);
        }
    });
    PoolGradients { x: Activations::from_nchw(workspace, from, &gx), gamma, beta }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments that change nothing but by 5e-6.
    fn unit(channels: usize) -> Moments {
        Moments { mean: vec![0.; channels], variance: vec![1.; channels] }
    }

    #[test]
    fn the_largest_of_four_goes_through() {
        let workspace = Workspace::default();
        let shape = Shape { n: 1, channels: 1, height: 3, width: 4 };
        let x = [1., 5., -2., -2., 0., 3., -7., -1., 9., 9., 9., 9.];
        let x = Activations::from_nchw(&workspace, shape, &x);
        let norm = Norm { gamma: &[1.], beta: &[0.5] };
        let (y, _) = pool(&workspace, norm, x, &unit(1), 0., &mut semisup::rng(0));
        let (y, height) = (y.to_nchw(), y.shape().height);
        assert!(
            (y[0] - 5.5).abs() < 1e-4 && y[1] == 0. && height == 1,
            "{y:?}: the last odd row is left out"
        );
    }

    #[test]
    fn dropout_keeps_the_mean() {
        let workspace = Workspace::default();
        let shape = Shape { n: 4, channels: 8, height: 32, width: 32 };
        let x = Activations::filled(&workspace, shape, 1.);
        let norm = Norm { gamma: &[1.; 8], beta: &[0.; 8] };
        let y = pool(&workspace, norm, x, &unit(8), 0.5, &mut semisup::rng(1)).0.to_nchw();
        assert!(y.iter().all(|y| *y == 0. || (*y - 2.).abs() < 1e-4));
        // 8,192 units: their mean deviates from 1 by 0.011.
        assert!((y.iter().sum::<f32>() / y.len() as f32 - 1.).abs() < 0.05);
    }
}
