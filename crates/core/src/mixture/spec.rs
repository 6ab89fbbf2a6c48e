//! The architecture of a mixture: classes, Gaussians, the shape of their covariances, what is trained.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// No mixture asks for more Gaussians than this; a file that does is damaged or hostile.
const MAX_COMPONENTS: usize = 1 << 16;
/// Nor a larger padded table of (class, slot).
const MAX_SLOTS: usize = 1 << 18;
/// Nor a covariance with more columns: its entries would be millions.
const MAX_CORRELATED: usize = 1024;

/// Shape of each Gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// sigma_c^2 I.
    Spherical,
    /// diag(sigma_c^2).
    Diagonal,
    /// Any positive definite Sigma_c, as in eq. 2 of the paper.
    Full,
    /// One positive definite Sigma for all Gaussians.
    Tied,
}

impl Covariance {
    /// Rows and columns of [`super::MixtureValues::log_sigma`] for this many Gaussians.
    pub fn sigma_shape(self, n_components: usize, dim: usize) -> [usize; 2] {
        match self {
            Self::Spherical => [n_components, 1],
            Self::Diagonal | Self::Full => [n_components, dim],
            Self::Tied => [1, dim],
        }
    }

    /// Rows and columns of [`super::MixtureValues::below`] for this many Gaussians; empty where columns are independent.
    pub fn below_shape(self, n_components: usize, dim: usize) -> [usize; 2] {
        match self {
            Self::Spherical | Self::Diagonal => [0, 0],
            Self::Full => [n_components, dim * dim.saturating_sub(1) / 2],
            Self::Tied => [1, dim * dim.saturating_sub(1) / 2],
        }
    }

    /// Whether columns are correlated within a Gaussian.
    pub fn is_correlated(self) -> bool {
        matches!(self, Self::Full | Self::Tied)
    }
}

/// Which parts of the mixture the optimiser may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trainable {
    /// The means mu.
    pub means: bool,
    /// The covariances, as log sigma.
    pub covariances: bool,
    /// The class prior pi and the weights within classes.
    pub weights: bool,
}

/// The architecture of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixtureSpec {
    /// Latent dimension.
    pub dim: usize,
    /// Number of Gaussians of each class.
    pub per_class: Vec<usize>,
    /// Their shape.
    pub covariance: Covariance,
    /// What is trained.
    pub trainable: Trainable,
}

impl MixtureSpec {
    /// One spherical Gaussian per class, nothing trained: the paper's mixture.
    pub fn fixed(dim: usize, n_classes: usize) -> Self {
        Self {
            dim,
            per_class: vec![1; n_classes],
            covariance: Covariance::Spherical,
            trainable: Trainable::default(),
        }
    }

    /// Number of classes K.
    pub fn n_classes(&self) -> usize {
        self.per_class.len()
    }

    /// Number of Gaussians.
    pub fn n_components(&self) -> usize {
        self.per_class.iter().sum()
    }

    /// The class of each Gaussian.
    pub fn class_of(&self) -> Vec<usize> {
        self.per_class.iter().enumerate().flat_map(|(k, &m)| std::iter::repeat_n(k, m)).collect()
    }

    /// Checks that this describes a mixture.
    pub fn validate(&self) -> Result<()> {
        if self.dim == 0 || self.per_class.is_empty() || self.per_class.contains(&0) {
            return Err(Error::Config(format!(
                "a mixture needs a dimension and at least one Gaussian in each class, got {} and {:?}",
                self.dim, self.per_class
            )));
        }
        if self.covariance.is_correlated() && self.dim > MAX_CORRELATED {
            return Err(Error::Config(format!(
                "a full or tied covariance of {} dimensions has too many entries; use spherical or diagonal ones, or at \
                 most {MAX_CORRELATED} dimensions",
                self.dim
            )));
        }
        // The widest class first: in a hostile file the sum itself may wrap around.
        let widest = self.per_class.iter().copied().max().unwrap_or(0);
        if widest > MAX_COMPONENTS || self.n_components() > MAX_COMPONENTS {
            return Err(Error::Config(format!("more than {MAX_COMPONENTS} Gaussians are too many")));
        }
        if widest > 1 && widest * self.n_classes() > MAX_SLOTS {
            return Err(Error::Config(format!(
                "{} classes of up to {widest} Gaussians make too large a table",
                self.n_classes()
            )));
        }
        Ok(())
    }
}
