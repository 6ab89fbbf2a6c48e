//! The parts of a map, for those who write it down in another language.

use ndarray::ArrayView2;

use super::{Monotone, Preprocess};

/// What a map is made of: x' = ((u(x) - shift) * scale) R * gain.
#[derive(Clone, Debug)]
pub struct PreprocessParts<'a> {
    /// Monotone maps of columns; empty if no column has one.
    pub column_maps: &'a [Option<Monotone>],
    /// What is taken from each column.
    pub shift: &'a [f64],
    /// What each column is multiplied by then.
    pub scale: &'a [f64],
    /// The sum of log scale over columns that vary.
    pub log_gain: f64,
    /// The projection, if there is one.
    pub projection: Option<ProjectionParts<'a>>,
    /// Whether x has a density; otherwise only x' has.
    pub has_density: bool,
}

/// A projection on principal directions.
#[derive(Clone, Debug)]
pub struct ProjectionParts<'a> {
    /// R, `[dim_in, dim_out]`.
    pub directions: ArrayView2<'a, f64>,
    /// What each coordinate is multiplied by.
    pub gain: &'a [f64],
    /// The variance of each direction that is dropped; 0 if none is.
    pub residual: f64,
    /// The sum of log gain, less the constant of the Gaussian that is dropped.
    pub log_gain: f64,
}

impl Preprocess {
    /// What the map is made of.
    pub fn parts(&self) -> PreprocessParts<'_> {
        let varies = |j: &usize| !self.constant.contains(j);
        let dropped = (self.dim_in() - self.constant.len()) as f64 - self.dim_out() as f64;
        PreprocessParts {
            column_maps: &self.column_maps,
            shift: &self.shift,
            scale: &self.scale,
            log_gain: (0..self.dim_in()).filter(varies).map(|j| self.scale[j].ln()).sum(),
            projection: self.projection.as_ref().map(|projection| {
                let gain: f64 = projection.gain.iter().map(|gain| gain.ln()).sum();
                let normal = match projection.residual > 0. {
                    true => 0.5 * dropped * (std::f64::consts::TAU * projection.residual).ln(),
                    false => 0.,
                };
                let shape = (self.dim_in(), self.dim_out());
                ProjectionParts {
                    directions: ArrayView2::from_shape(shape, &projection.directions)
                        .expect("as many numbers"),
                    gain: &projection.gain,
                    residual: projection.residual,
                    log_gain: gain - normal,
                }
            }),
            has_density: !self.is_projection() || self.has_residual(),
        }
    }
}
