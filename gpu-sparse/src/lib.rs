//! Sparse matrices and Krylov solvers.
#![deny(unsafe_code)]

mod coo;
mod csr;
mod device;
mod error;
pub mod gallery;
pub mod io;
pub mod linalg;
mod packets;
mod partition;
mod scalar;

pub use coo::CooMatrix;
pub use csr::{CsrMatrix, Symmetry};
pub use device::{DeviceMatrix, KERNELS};
pub use error::{Result, SparseError};
pub use packets::{Description, Format, PacketMatrix, PacketPlan};
pub use scalar::Scalar;
