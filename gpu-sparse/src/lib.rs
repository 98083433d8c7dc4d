//! Sparse matrices and Krylov solvers.
#![deny(unsafe_code)]

mod coo;
mod error;
pub mod io;
mod scalar;

pub use coo::CooMatrix;
pub use error::{Result, SparseError};
pub use scalar::Scalar;
