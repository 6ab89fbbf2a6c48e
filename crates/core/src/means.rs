//! Where the means of the mixture are put before training (paper, appendix B; authors' code).

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A placement of one mean per class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Means {
    /// r N(0, I): the paper (r = 1) and the authors' image code.
    Random {
        /// Scale of the draw.
        r: f64,
    },
    /// Two classes at +-(distance/2) along the diagonal: the authors' tabular code (distance 7.5).
    Antipodal {
        /// Distance between the two means.
        distance: f64,
    },
    /// Evenly on a circle in the first two dimensions.
    Ring {
        /// Radius of the circle.
        r: f64,
    },
    /// The mean latent image of each class' labelled rows, scaled by r around their common centre.
    Centroids {
        /// 1 keeps the centroids; more widens the margin between classes.
        r: f64,
    },
    /// [`Means::Centroids`] where the centroids tell the classes apart; otherwise a ring (in the plane) or random
    /// directions, with neighbouring means 2 `apart` from each other. Concentric classes have one centroid.
    Separated {
        /// Scale of the centroids.
        r: f64,
        /// Smallest distance of two scaled centroids that still tells classes apart, in latent units.
        apart: f64,
    },
}

impl Means {
    /// Whether the placement depends on rows.
    pub fn depends_on_data(&self) -> bool {
        matches!(self, Self::Centroids { .. } | Self::Separated { .. })
    }

    /// Means `[n_classes, dim]`; `z` and the weights `q` (`[n, n_classes]`, rows of a label or a soft label)
    /// are used by [`Means::Centroids`] and [`Means::Separated`] only.
    pub fn place(
        &self,
        n_classes: usize,
        dim: usize,
        z: ArrayView2<f64>,
        q: ArrayView2<f64>,
        rng: &mut Rng,
    ) -> Result<Array2<f64>> {
        Ok(match *self {
            Self::Random { r } => Array2::from_shape_simple_fn((n_classes, dim), || {
                let eps: f64 = StandardNormal.sample(rng);
                r * eps
            }),
            Self::Antipodal { distance } => {
                if n_classes != 2 {
                    return Err(Error::Config(format!(
                        "antipodal means are for two classes, got {n_classes}"
                    )));
                }
                let offset = 0.5 * distance / (dim as f64).sqrt();
                Array2::from_shape_fn((2, dim), |(k, _)| if k == 0 { offset } else { -offset })
            }
            Self::Ring { r } => {
                let mut means = Array2::zeros((n_classes, dim));
                for k in 0..n_classes {
                    let angle = std::f64::consts::TAU * k as f64 / n_classes as f64;
                    means[[k, 0]] = r * angle.cos();
                    if dim > 1 {
                        means[[k, 1]] = r * angle.sin();
                    }
                }
                means
            }
            Self::Centroids { r } => {
                let centroids = centroids(z, q);
                let centre = centroids.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(dim));
                (&centroids - &centre) * r + &centre
            }
            Self::Separated { r, apart } => {
                let centroids = Self::Centroids { r }.place(n_classes, dim, z, q, rng)?;
                if smallest_gap(&centroids) >= apart {
                    centroids
                } else if dim == 2 {
                    let chord = 2.0 * (std::f64::consts::PI / n_classes as f64).sin();
                    Self::Ring { r: 2.0 * apart / chord }.place(n_classes, dim, z, q, rng)?
                } else {
                    let random = Self::Random { r: 1.0 }.place(n_classes, dim, z, q, rng)?;
                    let scale = 2.0 * apart / smallest_gap(&random).max(1e-12);
                    random * scale
                }
            }
        })
    }
}

/// The distance between the two nearest means.
fn smallest_gap(means: &Array2<f64>) -> f64 {
    let gap = |a: usize, b: usize| (&means.row(a) - &means.row(b)).mapv(|v| v * v).sum().sqrt();
    let pairs = (0..means.nrows()).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs.map(|(a, b)| gap(a, b)).fold(f64::INFINITY, f64::min)
}

/// Weighted class means of rows: `[n_classes, dim]`. A class without weight gets the overall mean.
pub fn centroids(z: ArrayView2<f64>, q: ArrayView2<f64>) -> Array2<f64> {
    let sums = q.t().dot(&z);
    let overall = z.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(z.ncols()));
    let mut means = sums;
    for (mut mean, weights) in means.rows_mut().into_iter().zip(q.columns()) {
        let total = weights.sum();
        if total > 0.0 {
            mean /= total;
        } else {
            mean.assign(&overall);
        }
    }
    means
}

/// Several means per class: `per_class` centres of each class' rows by k-means, translated with their class mean.
///
/// k-means starts from the rows farthest from the centres so far, so it needs no randomness. Returns
/// `[n_classes * per_class, dim]`, class by class.
pub fn component_means(
    class_means: ArrayView2<f64>,
    z: ArrayView2<f64>,
    q: ArrayView2<f64>,
    per_class: usize,
) -> Array2<f64> {
    let (n_classes, dim) = class_means.dim();
    let own = centroids(z, q);
    let mut means = Array2::zeros((n_classes * per_class, dim));
    for k in 0..n_classes {
        let weights = q.column(k);
        let members: Vec<usize> = (0..z.nrows()).filter(|&row| weights[row] > 0.5).collect();
        let centres = k_means(z, &members, own.row(k).to_owned(), per_class);
        for (i, centre) in centres.into_iter().enumerate() {
            let moved = &centre - &own.row(k) + class_means.row(k);
            means.row_mut(k * per_class + i).assign(&moved);
        }
    }
    means
}

fn k_means(z: ArrayView2<f64>, members: &[usize], centroid: Array1<f64>, k: usize) -> Vec<Array1<f64>> {
    let square = |row: usize, centre: &Array1<f64>| (&z.row(row) - centre).mapv(|v| v * v).sum();
    let nearest = |row: usize, centres: &[Array1<f64>]| {
        (0..centres.len())
            .min_by(|&a, &b| square(row, &centres[a]).total_cmp(&square(row, &centres[b])))
            .unwrap_or(0)
    };
    let farthest = |centres: &[Array1<f64>]| {
        let gap = |row: usize| square(row, &centres[nearest(row, centres)]);
        members.iter().copied().max_by(|&a, &b| gap(a).total_cmp(&gap(b)))
    };
    let first = [centroid.clone()];
    let mut centres: Vec<Array1<f64>> = vec![farthest(&first).map_or(centroid, |row| z.row(row).to_owned())];
    while centres.len() < k {
        let next = farthest(&centres).map_or_else(|| centres[0].clone(), |row| z.row(row).to_owned());
        centres.push(next);
    }
    for _ in 0..20 {
        let mut sums = vec![(Array1::<f64>::zeros(z.ncols()), 0usize); k];
        for &row in members {
            let (sum, n) = &mut sums[nearest(row, &centres)];
            *sum += &z.row(row);
            *n += 1;
        }
        for (centre, (sum, n)) in centres.iter_mut().zip(sums) {
            if n > 0 {
                *centre = sum / n as f64;
            }
        }
    }
    centres
}
