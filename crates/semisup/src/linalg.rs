//! The two matrix decompositions that the crates of this project need, in f64 and with the same bits on any number of
//! threads: eigenvalues of a symmetric matrix, and Cholesky's factor of a positive definite one.

mod cholesky;
mod eigen;

pub use cholesky::{cholesky, cholesky_solve};
pub use eigen::{Eigen, symmetric_eigen};
