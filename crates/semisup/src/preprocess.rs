//! Maps that bring features to a common scale: x' = ((u(x) - shift) * scale) R * gain.
//!
//! u is a monotone map of some columns, the identity on the others (see [`Monotone`]); the rest is affine, with
//! x `[n, dim_in]`, shift and scale `[dim_in]`; R `[dim_in, dim_out]` has orthonormal columns, gain
//! `[dim_out]`; without R the map acts on each column alone. Kept in these factors, the inverse needs no
//! matrix inversion and log|det dx'/du| = sum log scale + sum log gain. What a projection drops is taken as an
//! isotropic Gaussian (probabilistic PCA), so that x keeps a density. Learnt from rows once, then stored with the
//! model.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::Rng as _;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Rng};

mod directions;
mod indicators;
mod monotone;
mod parts;
mod validate;

use directions::Directions;
pub use monotone::{Monotone, normal_quantile};
pub use parts::{PreprocessParts, ProjectionParts};

/// A fitted map. One read from a file must pass [`Preprocess::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// Monotone maps of columns, applied first; empty if no column has one.
    #[serde(default, alias = "shapes")]
    column_maps: Vec<Option<Monotone>>, // [dim_in] or []
    method: Method,
    shift: Vec<f64>, // [dim_in]
    scale: Vec<f64>, // [dim_in]
    constant: Vec<usize>,
    projection: Option<Projection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    Identity,
    Standardise,
    Scale,
    Pixels,
    Pca { whiten: f64, variance_kept: f64 },
    PcaStandardised { whiten: f64, variance_kept: f64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Projection {
    directions: Vec<f64>, // R, [dim_in, dim_out] row by row
    gain: Vec<f64>,       // [dim_out]
    /// Mean variance of the directions that are dropped; 0 if there are none.
    residual: f64,
}

impl Preprocess {
    /// x' = x.
    pub fn identity(dim: usize) -> Self {
        Self::columnwise(Method::Identity, vec![0.; dim], vec![1.; dim], Vec::new())
    }

    /// Each column to mean 0, and a column of numbers to variance 1. A constant column becomes 0 and keeps the scale 1; a
    /// column of 0 and 1 is multiplied by 2, one of several one-hot columns by 1, so that a rare level does not outweigh
    /// everything else.
    pub fn standardise(x: ArrayView2<f64>) -> Result<Self> {
        let Moments { mean, variance, constant } = Moments::of(x)?;
        let indicators = indicators::scales(x);
        let scale = (0..mean.len()).map(|j| match indicators[j] {
            _ if constant.contains(&j) => 1.,
            Some(scale) => scale,
            None => 1. / variance[j].sqrt(),
        });
        checked(Self::columnwise(Method::Standardise, mean, scale.collect(), constant))
    }

    /// Each column to mean 0, and all scaled by one factor so that their mean variance is 1.
    pub fn scale(x: ArrayView2<f64>) -> Result<Self> {
        let Moments { mean, variance, constant } = Moments::of(x)?;
        let scale = vec![to_unit_mean(&variance); mean.len()];
        checked(Self::columnwise(Method::Scale, mean, scale, constant))
    }

    /// Pixel values 0 to 255, each to the middle of its bin of width 1 / 256: x' = (x + 1/2) / 256.
    pub fn pixels(dim: usize) -> Self {
        Self::columnwise(Method::Pixels, vec![-0.5; dim], vec![1. / 256.; dim], Vec::new())
    }

    /// The coordinates on the `dims` leading principal directions, coordinate j divided by sd_j^`whiten`,
    /// then all by one factor so that their mean variance is 1: `whiten` 0 keeps the relative variances, 1
    /// makes all 1.
    ///
    /// Directions in which the rows do not vary are left out, so there may be fewer than `dims`.
    pub fn pca(x: ArrayView2<f64>, dims: usize, whiten: f64) -> Result<Self> {
        let Moments { mean, constant, .. } = Moments::of(x)?;
        let scale = vec![1.; mean.len()];
        let method = |variance_kept| Method::Pca { whiten, variance_kept };
        Self::columnwise(Method::Identity, mean, scale, constant).project(x, dims, whiten, method)
    }

    /// The principal coordinates of [`Preprocess::pca`], after each column is scaled to variance 1.
    pub fn pca_standardised(x: ArrayView2<f64>, dims: usize, whiten: f64) -> Result<Self> {
        let method = |variance_kept| Method::PcaStandardised { whiten, variance_kept };
        Self::standardise(x)?.project(x, dims, whiten, method)
    }

    /// Puts monotone maps of the columns before this map; `None` for a column without one. This map must have been learnt
    /// from the mapped rows, [`to_normal_columns`].
    ///
    /// # Panics
    /// Unless there is one entry for each column.
    pub fn with_column_maps(mut self, maps: Vec<Option<Monotone>>) -> Self {
        assert_eq!(maps.len(), self.dim_in(), "one entry for each column");
        self.column_maps = if maps.iter().all(Option::is_none) { Vec::new() } else { maps };
        self
    }

    /// x' of each row, `[n, dim_in] -> [n, dim_out]`.
    ///
    /// # Panics
    /// If the number of columns is not `dim_in`.
    pub fn apply(&self, x: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim_in(), "columns to preprocess");
        let scaled = self.scaled(x);
        match &self.projection {
            None => scaled,
            Some(projection) => scaled.dot(&self.directions(projection)) * view(&projection.gain),
        }
    }

    /// Columns mapped, centred and scaled, before the projection, `[n, dim_in]`.
    fn scaled(&self, x: ArrayView2<f64>) -> Array2<f64> {
        (to_normal_columns(x, &self.column_maps) - view(&self.shift)) * view(&self.scale)
    }

    /// x of each row of x', `[n, dim_out] -> [n, dim_in]`: exact unless this is a projection, then the
    /// nearest point (after scaling) of the subspace that is kept.
    ///
    /// # Panics
    /// If the number of columns is not `dim_out`.
    pub fn invert(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.invert_with(x, |_| {})
    }

    /// [`Preprocess::invert`] with the directions that a projection drops filled by draws from their own Gaussian,
    /// of standard deviation times `temperature`: a sample of x given x'.
    ///
    /// # Panics
    /// If the number of columns is not `dim_out`.
    pub fn invert_sampling(&self, x: ArrayView2<f64>, temperature: f64, rng: &mut Rng) -> Array2<f64> {
        let sigma = self.projection.as_ref().map_or(0., |p| p.residual.sqrt()) * temperature;
        self.invert_with(x, |scaled| {
            let Some(projection) = self.projection.as_ref().filter(|_| sigma > 0.) else { return };
            let mut noise =
                Array2::from_shape_simple_fn(scaled.dim(), || sigma * rng.sample::<f64, _>(StandardNormal));
            self.constant.iter().for_each(|&column| noise.column_mut(column).fill(0.));
            let r = self.directions(projection);
            let kept = noise.dot(&r).dot(&r.t());
            *scaled += &(noise - kept);
        })
    }

    fn invert_with(&self, x: ArrayView2<f64>, add: impl FnOnce(&mut Array2<f64>)) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim_out(), "columns to map back");
        let mut scaled = match &self.projection {
            None => x.to_owned(),
            Some(projection) => (&x / &view(&projection.gain)).dot(&self.directions(projection).t()),
        };
        add(&mut scaled);
        let mut x = scaled / view(&self.scale) + view(&self.shift);
        for (mut column, map) in x.columns_mut().into_iter().zip(&self.column_maps) {
            if let Some(map) = map {
                column.mapv_inplace(|u| map.invert(u));
            }
        }
        x
    }

    /// log p(x) - log p(x') for each row: the log-determinant of the map, and for a projection the log-density of what
    /// it drops, which is an isotropic Gaussian (probabilistic PCA). Constant columns are left out. `None` if what is
    /// dropped has no variance: then x has no density, only x' has.
    pub fn log_density_gain(&self, x: ArrayView2<f64>) -> Option<Vec<f64>> {
        if self.is_projection() && !self.has_residual() {
            return None;
        }
        let varies = |j: &usize| !self.constant.contains(j);
        let mut constant: f64 = (0..self.dim_in()).filter(varies).map(|j| self.scale[j].ln()).sum();
        let mut gains = vec![0.; x.nrows()];
        for (column, map) in x.columns().into_iter().zip(&self.column_maps) {
            if let Some(map) = map {
                gains.iter_mut().zip(column).for_each(|(gain, &x)| *gain += map.apply(x).1);
            }
        }
        if let Some(projection) = &self.projection {
            constant += projection.gain.iter().map(|gain| gain.ln()).sum::<f64>();
            let dropped = (self.dim_in() - self.constant.len()) as f64 - self.dim_out() as f64;
            if self.has_residual() {
                let variance = projection.residual;
                constant -= 0.5 * dropped * (std::f64::consts::TAU * variance).ln();
                let scaled = self.scaled(x);
                let kept = scaled.dot(&self.directions(projection));
                for ((gain, all), kept) in gains.iter_mut().zip(scaled.rows()).zip(kept.rows()) {
                    // |residual|^2 by Pythagoras
                    *gain -= 0.5 * (all.dot(&all) - kept.dot(&kept)).max(0.) / variance;
                }
            }
        }
        gains.iter_mut().for_each(|gain| *gain += constant);
        Some(gains)
    }

    /// Whether a projection drops directions that vary.
    fn has_residual(&self) -> bool {
        self.projection.as_ref().is_some_and(|projection| projection.residual > 0.)
    }

    /// Number of columns before.
    pub fn dim_in(&self) -> usize {
        self.shift.len()
    }

    /// Number of columns after.
    pub fn dim_out(&self) -> usize {
        self.projection.as_ref().map_or(self.dim_in(), |projection| projection.gain.len())
    }

    /// Whether columns that vary are lost, so that [`Preprocess::invert`] only approximates.
    pub fn is_projection(&self) -> bool {
        self.dim_out() < self.dim_in() && self.dim_out() + self.constant.len() != self.dim_in()
    }

    /// The columns that are constant.
    pub fn constant_columns(&self) -> &[usize] {
        &self.constant
    }

    /// A description in one line.
    pub fn describe(&self) -> String {
        let (dim_in, dim_out) = (self.dim_in(), self.dim_out());
        let constant = match self.constant.len() {
            0 => String::new(),
            n => format!(" ({n} constant)"),
        };
        let mapped = match self.column_maps.iter().flatten().count() {
            0 => String::new(),
            n => format!("{n} columns made normal; "),
        };
        mapped
            + &match self.method {
                Method::Identity => format!("{dim_in} columns as they are"),
                Method::Standardise => format!("{dim_in} columns{constant}, each to mean 0 and variance 1"),
                Method::Scale => {
                    format!("{dim_in} columns{constant}, centred, all by one factor to mean variance 1")
                }
                Method::Pixels => format!("{dim_in} pixels from 0..255 to cells of [0, 1]"),
                Method::Pca { whiten, variance_kept } | Method::PcaStandardised { whiten, variance_kept } => {
                    let standardised = match self.method {
                        Method::PcaStandardised { .. } => ", standardised",
                        _ => "",
                    };
                    let percent = 100. * variance_kept;
                    format!(
                        "{dim_in} columns{constant}{standardised} -> {dim_out} principal directions with {percent:.1}% of \
                     the variance, whitening {whiten}"
                    )
                }
            }
    }

    fn columnwise(method: Method, shift: Vec<f64>, scale: Vec<f64>, constant: Vec<usize>) -> Self {
        Self { column_maps: Vec::new(), method, shift, scale, constant, projection: None }
    }

    /// Adds the principal directions of what this columnwise map makes of x.
    fn project(
        mut self,
        x: ArrayView2<f64>,
        dims: usize,
        whiten: f64,
        method: impl Fn(f64) -> Method,
    ) -> Result<Self> {
        if dims == 0 || !whiten.is_finite() {
            return Err(unscalable(format!(
                "expected at least 1 direction and a finite whitening, got {dims} and {whiten}"
            )));
        }
        let scaled = self.scaled(x);
        let Directions { variance, r, total } =
            directions::leading(scaled.view(), dims).ok_or_else(too_large)?;
        let kept = variance.len();
        if kept == 0 {
            return Err(unscalable(
                "all rows are the same, so there is no principal direction: add rows that differ".into(),
            ));
        }
        let whitened: Vec<f64> = variance.iter().map(|value| value.powf(1. - whiten)).collect();
        let global = to_unit_mean(&whitened);
        self.method = method(variance.iter().sum::<f64>() / total);
        let dropped = self.dim_in() - self.constant.len() - kept;
        let lost = total - variance.iter().sum::<f64>();
        self.projection = Some(Projection {
            directions: r.iter().copied().collect(),
            gain: variance.iter().map(|value| global * value.powf(-whiten / 2.)).collect(),
            residual: if dropped > 0 && lost > total * 1e-12 { lost / dropped as f64 } else { 0. },
        });
        checked(self)
    }

    fn directions<'a>(&self, projection: &'a Projection) -> ArrayView2<'a, f64> {
        let shape = (self.dim_in(), projection.gain.len());
        ArrayView2::from_shape(shape, &projection.directions).expect("validated sizes")
    }
}

/// Applies to each column of x `[n, dim]` its monotone map, which makes it roughly normal. A column without a map is left as
/// it is; so are all columns if `maps` is empty.
pub fn to_normal_columns(x: ArrayView2<f64>, maps: &[Option<Monotone>]) -> Array2<f64> {
    let mut u = x.to_owned();
    for (mut column, map) in u.columns_mut().into_iter().zip(maps) {
        if let Some(map) = map {
            column.mapv_inplace(|x| map.apply(x).0);
        }
    }
    u
}

/// Mean and variance (divided by n) of each column, and which columns are constant.
struct Moments {
    mean: Vec<f64>,
    variance: Vec<f64>,
    constant: Vec<usize>,
}

impl Moments {
    fn of(x: ArrayView2<f64>) -> Result<Self> {
        let Some(mut mean) = x.mean_axis(Axis(0)).filter(|_| x.ncols() > 0) else {
            return Err(unscalable(format!("expected at least one row and one column, got {:?}", x.dim())));
        };
        // Comparing values finds constant columns that a rounded variance would miss; their mean is then
        // exact.
        let first = x.row(0);
        let constant: Vec<usize> =
            (0..x.ncols()).filter(|&j| x.column(j).iter().all(|v| *v == first[j])).collect();
        constant.iter().for_each(|&j| mean[j] = first[j]);
        let mut variance: Array1<f64> = Array1::zeros(x.ncols());
        for row in x.rows() {
            variance += &(&row - &mean).mapv(|difference| difference * difference);
        }
        variance /= x.nrows() as f64;
        if variance.iter().any(|variance| !variance.is_finite()) {
            return Err(too_large());
        }
        Ok(Self { mean: mean.to_vec(), variance: variance.to_vec(), constant })
    }
}

/// The factor that brings the mean of these variances to 1; 1 if they are all 0.
fn to_unit_mean(variances: &[f64]) -> f64 {
    let mean = variances.iter().sum::<f64>() / variances.len() as f64;
    if mean > 0. { 1. / mean.sqrt() } else { 1. }
}

/// A map learnt from data can only be invalid because the data cannot be scaled.
fn checked(preprocess: Preprocess) -> Result<Preprocess> {
    match preprocess.validate() {
        Err(Error::BadPreprocess { why }) => Err(unscalable(format!("{why}: rescale the columns first"))),
        Err(error) => Err(error),
        Ok(()) => Ok(preprocess),
    }
}

fn too_large() -> Error {
    unscalable("values so large or infinite that their squares overflow: rescale the columns first".into())
}

fn unscalable(why: String) -> Error {
    Error::Unscalable { why }
}

fn view(values: &[f64]) -> ArrayView1<'_, f64> {
    ArrayView1::from(values)
}
