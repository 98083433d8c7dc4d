//! Sparse matrices, their products, and conjugate gradients, on the CPU's threads and on a GPU.
//!
//! # From a matrix to a solution
//! A matrix is read from a file ([`io`]), made by formula ([`gallery`]) or assembled from entries ([`CooMatrix`]). Each way ends
//! in a [`CsrMatrix`], compressed rows of f32 or f64, which the solvers of [`linalg`] take as it is:
//!
//! ```
//! use gpu_sparse::{gallery::Poisson, linalg};
//!
//! let a = Poisson::two_d(100, 100).build::<f64>()?; // or io::read_matrix_market("a.mtx.gz")?
//! let b = vec![1.0; a.rows()];
//! let solution = linalg::cg(&a, &b).rtol(1e-8).preconditioner(linalg::Jacobi).solve()?;
//! assert!(solution.is_converged(), "{solution}");
//! # Ok::<(), gpu_sparse::SparseError>(())
//! ```
//!
//! # On a GPU
//! A [`DeviceMatrix`] is a matrix in GPU memory, in one of two [`Format`]s: compressed rows, or packets of slices
//! ([`PacketMatrix`]), which are smaller and faster where neighbouring rows are alike. [`DeviceMatrix::new`] takes the one that
//! is expected to be faster; a [`PacketPlan`] tells which and why before anything is copied. Solves with such a matrix run on
//! its device, and the solution comes back where `b` is: on the host, or as a `GpuArray` that never leaves the device.
//!
//! ```no_run
//! use gpu_array::GpuArray;
//! use gpu_sparse::{DeviceMatrix, PacketPlan, gallery::Poisson, linalg};
//!
//! let a = Poisson::three_d(16, 16, 16).build::<f64>()?;
//! println!("{}", PacketPlan::new(&a)?.description());
//!
//! let device = gpu_driver::Device::first()?; // with GPU_DEVICE=emulated all of this takes seconds
//! let a = DeviceMatrix::new(&a, &device)?; // or a.to_device(&device)?, a.to_packets()?.to_device(&device)?
//! let solution = linalg::cg(&a, &vec![1.0; a.rows()]).rtol(1e-8).solve()?;
//! println!("{solution}, x[0] = {}", solution.x[0]);
//!
//! let b = GpuArray::full(&device, a.rows(), 1.0)?;
//! let x = linalg::cg(&a, &b).rtol(1e-8).solve()?.x;
//! let b_again = a.matvec(&x)?;
//! println!("{:?}", b_again.to_ndarray()?);
//! # Ok::<(), gpu_sparse::SparseError>(())
//! ```
//! The example `on_device` is this program.
//!
//! # Guarantees
//! Rows are added up in f64 and rounded once. Results have the same bits on every run: on the CPU for any number of threads, on a
//! GPU for any model. How a solve ended is a value, [`linalg::Status`]; an `Err` is for input that makes no sense and for devices
//! that fail.
//!
//! # Where to read on
//! [`linalg::Cg`] documents the iteration, the stopping test and the cost; [`linalg::LinearOperator`] lets an operator of your
//! own take a matrix's place; [`Description`] lists the arrays of a format and their bytes; `gpu_driver` has devices and streams, and in its
//! module `emulated` a device for machines without a GPU; `gpu_array` has dense arrays, `gpu_algos::prelude` their sums, norms and products,
//! `gpu_random` random ones. The example `solve` does all of this from the command line.
//!
//! # From SciPy
//! | SciPy | here |
//! |---|---|
//! | `csr_matrix((data, indices, indptr), shape)` | [`CsrMatrix::from_parts`]`(rows, cols, indptr, indices, data)?` |
//! | `a.indptr`, `a.indices`, `a.data` | `a.row_starts()`, `a.columns()`, `a.values()` |
//! | `coo_matrix((data, (i, j)), shape).tocsr()` | [`CooMatrix::from_triplets`]`(rows, cols, i, j, data)?.to_csr()`, or [`CooMatrix::from_entries`] |
//! | `csr_array(dense)`, `eye_array(n)`, `A.toarray()` | `CsrMatrix::from_dense(&dense)?`, `CsrMatrix::<f64>::identity(n)?`, `a.to_dense()?` |
//! | `mmread`, `mmwrite` | [`io::read_matrix_market`]`::<f64>("a.mtx.gz")?`, [`io::write_matrix_market`]; of vectors [`io::read_vector`], [`io::write_vector`] |
//! | `print(A)`, `A.shape`, `A.nnz` | `println!("{a}")`, `a.shape()`, `a.nnz()` |
//! | `A[i, j]`, `A[2:5]`, `A.diagonal()`, `A.T` | `a.get(i, j)`, `a.submatrix(2..5, 0..a.cols())?`, `a.diagonal()`, `a.transpose()` |
//! | `A @ x`, `A.T @ x` | `a.matvec(&x)?`, `a.matvec_transpose(&x)?`; on a device the transpose is a matrix of its own, `a.transpose().to_device(&device)?` |
//! | `A * 2`, `A.astype(float32)` | `a.scale(2.0)`, in place; `a.map_values(\|value\| value as f32)` |
//! | `A + B`, `A @ B` | on the host, by the crate `sprs`: [`CsrMatrix::to_sprs`] |
//! | `cg(A, b)` | [`linalg::cg`]`(&a, &b).solve()?`; on a GPU with a [`DeviceMatrix`] |
//! | its `x0`, `rtol`, `atol`, `maxiter` | `.x0(&guess)`, `.rtol(1e-8)`, `.atol(0.0)`, `.maxiter(1000)` |
//! | its `M`, `callback` | `.preconditioner(linalg::Jacobi)` or `(&m)`; `.callback(\|progress\| …)`, or `monitor`, for which no device waits |
//! | its `info` | `solution.status`, `solution.is_converged()` |
//! | `LinearOperator((n, n), matvec=f)` | [`linalg::from_fn`]`(n, f)` of slices of the host; on a device not here: the loop of `a.matvec(&p)?`, `dot` and `+=` is the user's |
//! | `spsolve`, `splu`, `minres`, `gmres`, `bicgstab` | not here; a symmetric positive definite system is for [`linalg::cg`] |
//! | `eigsh`, `svds`, `expm` | not here |
//!
//! # Errors of several crates
//! A program that uses several of these crates returns `Box<dyn std::error::Error>` from `main`. In a function that returns [`Result`], `?`
//! turns the errors of `gpu-driver`, `gpu-array` and `gpu-algos` into a [`SparseError`], and with the feature `random` those of `gpu-random`.
//!
//! # In a crate of your own
//! On a machine without the CUDA toolkit the build script of `cust`, below these crates, asks for a folder with a `lib64`; nothing in it is used:
//! `CUDA_LIBRARY_PATH=/usr cargo build`, or the same variable under `[env]` in `.cargo/config.toml`.
//!
//! Debug builds run the emulated device about five times slower unless two of its crates are optimised in `Cargo.toml`, as
//! [`gpu_driver::emulated`] shows.
#![deny(unsafe_code)]

mod coo;
mod csr;
mod device;
mod error;
pub mod gallery;
pub mod io;
pub mod linalg;
mod memory;
mod packets;
mod partition;
mod print;
mod product;
mod registry;
mod scalar;
mod threads;
mod vector;

pub use coo::CooMatrix;
pub use csr::{CsrMatrix, Symmetry};
pub use device::DeviceMatrix;
pub use error::{Result, SparseError};
pub use packets::{Description, Format, PacketMatrix, PacketPlan};
pub use registry::{KERNELS, compile_cg, warm};
pub use scalar::Scalar;
pub use threads::start_threads;
