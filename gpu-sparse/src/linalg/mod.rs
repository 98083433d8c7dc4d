//! Solvers for linear systems, with the conventions of `scipy.sparse.linalg`.
//!
//! [`cg`] starts a solve by conjugate gradients; the methods of the builder it returns are SciPy's keywords:
//!
//! ```
//! use gpu_sparse::{gallery, linalg};
//!
//! let a = gallery::Poisson::two_d(30, 30).build::<f64>()?;
//! let b = vec![1.0; a.rows()];
//! let solution = linalg::cg(&a, &b).rtol(1e-8).preconditioner(linalg::Jacobi).solve()?;
//! assert!(solution.is_converged());
//! assert!(solution.relative_residual <= 2e-8);
//! println!("{solution}");
//! # Ok::<(), gpu_sparse::SparseError>(())
//! ```
//!
//! With a [`DeviceMatrix`](crate::DeviceMatrix) the same call solves on its device, and with a `&GpuArray` for `b` the solution is one too:
//!
//! ```no_run
//! use gpu_array::GpuArray;
//! use gpu_sparse::{DeviceMatrix, gallery, linalg};
//!
//! let device = gpu_driver::Device::first()?;
//! let a = DeviceMatrix::new(&gallery::Poisson::two_d(30, 30).build::<f64>()?, &device)?;
//! let b = GpuArray::full(&device, a.rows(), 1.0)?;
//! let solution = linalg::cg(&a, &b).rtol(1e-8).solve()?;
//! let x: GpuArray<f64, ndarray::Ix1> = solution.x;
//! # Ok::<(), gpu_sparse::SparseError>(())
//! ```
//!
//! The outcome of a solve is a value, [`Status`]; an `Err` means that the input makes no sense (shapes, negative tolerances). A
//! matrix need not exist as one: whatever implements [`LinearOperator`] will do, a closure among them ([`from_fn`]).

pub(crate) mod cg;
mod log;
mod operator;
mod outcome;
mod preconditioner;

pub use crate::vector::{DeviceVector, Host, IntoView, OnDevice, VectorBackend};
pub use cg::{Cg, cg};
pub use operator::{FromFn, LinearOperator, from_fn};
pub use outcome::{Progress, Quantity, ResidualNorm, Solution, Status};
pub use preconditioner::{Identity, Jacobi, Preconditioner, Prepared};
