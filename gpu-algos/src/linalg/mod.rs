//! Linear algebra of stacks of small matrices, as numpy.linalg and scipy.linalg have it: each function is one launch for the whole stack.
//!
//! ```no_run
//! use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::{self, Triangle}};
//! use ndarray::Axis;
//!
//! let device = Device::first()?;
//! let a = GpuArray::from_ndarray(&device, &(ndarray::Array2::<f64>::eye(8) * 3.0))?;
//! let stack = a.broadcast((1000, 8, 8))?; // a thousand matrices, here the same one
//! let b = GpuArray::<f64, _>::full(&device, (1000, 8, 2), 6.0)?; // two right-hand sides for each
//! let x = linalg::solve(&stack, &b).eval()?; // (1000, 8, 2); an error names the first singular matrix
//! let l = linalg::cholesky(&stack).eval()?;
//! let y = linalg::solve_triangular(&l, &b, Triangle::Lower).eval()?; // l y = b
//! let z = linalg::solve_triangular(l.swap_axes(Axis(1), Axis(2))?, &y, Triangle::Upper).eval()?; // l^T z = y, a view of l
//! let (inverses, info) = linalg::inv(&stack).eval_with_info()?; // does not wait; info is not 0 for singular matrices
//! let determinants = linalg::det(&stack).eval()?; // (1000,)
//! let (signs, logs) = linalg::slogdet(&stack).eval()?; // of determinants that overflow too
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! # Shapes
//! The last two axes of an array are the rows and columns of its matrices, at most 64 of each; the axes before them are the stack. Right-hand sides
//! are one vector, for all matrices, or a stack of matrices, with a column for each side; stacks are broadcast. That is NumPy 2's rule, and that of matrix
//! products. A vector for each matrix is a matrix of one column: `b.insert_axis(Axis(1))?`.
//!
//! # Not here
//! Norms are [reductions](crate::Reductions): `a.norm_l2()`. Eigenvalues and singular values (`eigh`, `svd`) are not here, nor matrices of more than 64 rows;
//! least squares are `(q, r) = qr(&a)` and `solve_triangular(&r, &q.t().matmul(&b), Triangle::Upper)`.
//!
//! # Matrices without a result
//! A singular matrix, or one that is not positive definite, never passes silently. `eval` and `write_into` wait and return an error with the
//! index of the first such matrix and the number of its first failing pivot; `eval_with_info` waits for nothing and gives each matrix its number, as
//! LAPACK's `info`. Its result is NaN throughout, and the results of all others are right. Only a pivot that is exactly 0 counts as
//! singular, as in LAPACK: a matrix that rounding has made regular has a large result.
//!
//! # NaN and infinities
//! They propagate through the results of their own matrix, and touch no other. In elimination a NaN counts as the greatest element of its column, so that
//! it becomes a pivot and is not lost. For `cholesky` a pivot that is NaN means not positive definite, as in LAPACK.
//!
//! # Layouts
//! Arrays and views of any strides are read where they are: transposed, reversed, with gaps, broadcast. Other expressions are computed into an
//! array first.
//!
//! # Determinism
//! Bitwise the same from run to run, whatever the place of a matrix in the stack. Its size alone fixes the order of operations.
//!
//! # How it works
//! `problem.rs` has the rules for shapes. `policy.rs` chooses the place of a matrix. Elimination and `cholesky` keep one of up to 8 rows in the registers of
//! a thread (`lu_by_threads`, `cholesky_by_threads`), and one of up to 32 in those of 16 or 32 lanes of a warp, a row each (`lu_by_rows`,
//! `cholesky_by_rows`): their loops are unrolled for 4, 8, 16 or 32 rows, and elements pass between lanes and memory through shared memory. Each use of an
//! elimination (factors, one right-hand side, several) is a kernel of its own, so that a first call compiles that alone. Larger matrices,
//! and all of `solve_triangular` and `qr`, stay in shared memory from load to store, with 4 to 32 threads of a warp, or a block above 32 rows or columns
//! (`solve_triangular`, `cholesky`, `lu`, `qr`). All kernels of a function have the same operations in the same order, so that results have the same bits.
//! `plan.rs` chooses kernel, policy and grid; `launch.rs` compiles and launches the kernels of `device/`.
//! [`host::linalg`](crate::host::linalg) has the same functions for arrays on the host, and
//! [`reference::linalg`](crate::reference::linalg) their definitions.
//!
//! Tests: `tests/gpu/linalg.rs` (definitions, bounds on residuals), `linalg_bits.rs` (the operations of each kernel in order), `choices.txt` (the kernel of
//! each problem).

#[cfg(test)]
mod choices;
mod constants;
mod element;
mod factors;
mod functions;
mod launch;
mod params;
mod plan;
mod policy;
mod problem;
pub(crate) mod samples;
mod triangle;
mod value;

pub use element::LinalgElement;
pub use factors::{LuFactors, Pivots, QrFactors, SignedLogs, lu_factor, qr, slogdet};
pub use functions::{cholesky, det, inv, solve, solve_triangular};
pub use triangle::Triangle;
pub use value::{Info, LinalgValue};

pub(crate) use problem::{LinalgFunction, LinalgShape};
