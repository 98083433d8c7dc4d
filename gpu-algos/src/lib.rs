//! Reductions, scans, selections and matrix products over whole arrays.
//!
//! The crate has [reductions](Reductions) and [scans](Scans) on a GPU, over all axes or some, in one kernel with the expression that they read;
//! [selections](select) of the values that a mask selects; [sums and extremes at indices](WriteAt), NumPy's `add.at`; [matrix products](mod@matmul) of
//! any layout, and [sums of products by labels](mod@einsum), NumPy's `einsum`;
//! [linear algebra](linalg) of stacks of small matrices;
//! [kernels of one's own](kernels) from a line of CUDA C++, elementwise, reductions or scans; and [pieces of kernels](block) as headers, which the
//! kernels of this crate are made of. On the host, [`host`] has reductions, scans, selections, matrix and dot products of arrays of any layout on all
//! threads, and [`reference`](mod@reference) defines them in serial loops, over the [`operators`] of both. All of them give the same bits from run to
//! run, those of the host for any number of threads.
//!
//! ```no_run
//! use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
//! use ndarray::Axis;
//!
//! let device = Device::first()?;
//! let x = GpuArray::<f32, _>::full(&device, (1000, 300), 2.0)?;
//! let total: f32 = x.sum().get()?; // waits, and copies one value
//! let farthest = (&x - 1.0).abs().max().axis(Axis(0)).eval()?; // one kernel; 300 values, which stay on the device
//! let (mean, var) = x.mean_var(1).get()?; // one pass
//! let of_large = x.select(x.gt(1.0)).mean().get()?; // NumPy's x[x > 1].mean(), one kernel
//! let sums = x.cumsum().axis(Axis(1)).map(|sum| sum / 300.0).eval()?; // one kernel
//! assert_eq!((total, mean, var), (600_000.0, 2.0, 0.0));
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//! A reduction is an operand of operators, `x.sum() / 2.0`, and has the functions of its result, `x.square().sum().axis(Axis(1)).sqrt()`; so have a scan
//! and a product of matrices. A function that they lack is one of the expression, [`into_expr`](Reduction::into_expr).
//!
//! Arrays of float literals are of f64. Give integer literals a type, `1i64`: with `1` alone rustc says "`?` operator has incompatible types: expected
//! `i64`, found `!`" at a sum. A result with a type, `let s: i64 = x.sum().get()?`, helps too.
//!
//! ```no_run
//! use gpu_algos::{elementwise_kernel, gpu_array::{GpuArray, gpu_driver::Device}};
//!
//! elementwise_kernel! {
//!     /// `y += a x`.
//!     fn axpy(a: f64, x: &[f64], y: &mut [f64]) { unsafe { "y[i] += a * x[i]" } }
//! }
//! let device = Device::first()?;
//! let x = GpuArray::full(&device, (100, 100), 2.0)?;
//! let mut y = GpuArray::zeros(&device, (100, 100))?;
//! axpy(0.5, &x, &mut y)?;
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//! ```
//! use gpu_algos::host::{self, Sum, reduce_axes};
//! use ndarray::{Axis, array};
//!
//! let x = array![[3.0_f32, 4.0], [f32::NAN, 1.0]];
//! assert_eq!(host::nansum(&x), 8.0);
//! assert_eq!(host::argmax(&x)?, 2); // as NumPy: NaN comes first
//! assert_eq!(reduce_axes(&Sum::new(), &x, &[Axis(1)])?[0], 7.0);
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//! Arrays, and expressions of them, are the crate `gpu-array`'s; random numbers are in `gpu-random`, sparse matrices and solvers in `gpu-sparse`.
//!
//! # Errors of several crates
//! A program that uses several of these crates returns `Box<dyn std::error::Error>` from `main`. In a function that returns [`Result`], `?`
//! turns the errors of `gpu-driver` and `gpu-array` into an [`AlgoError`], and with the feature `random` those of `gpu-random`. gpu-sparse, whose
//! feature has the same name, has an error for all of these crates.
//!
//! # In a crate of your own
//! On a machine without the CUDA toolkit the build script of `cust`, below these crates, asks for a folder with a `lib64`; nothing in it is used:
//! `CUDA_LIBRARY_PATH=/usr cargo build`, or the same variable under `[env]` in `.cargo/config.toml`.
//!
//! Debug builds run the emulated device about five times slower unless two of its crates are optimised in `Cargo.toml`, as
//! [`gpu_driver::emulated`](gpu_array::gpu_driver::emulated) shows.
#![deny(unsafe_code)]

pub mod block;
mod common;
mod device;
pub mod einsum;
mod error;
pub mod host;
pub mod kernels;
pub mod linalg;
pub mod matmul;
pub mod operators;
pub mod reduce;
pub mod reference;
mod registry;
pub mod scan;
#[doc(alias("sort", "argsort"))]
pub mod select;
mod tiles;
mod warm;
mod write_at;

pub use gpu_array;

/// The extension traits: `use gpu_algos::prelude::*`.
pub mod prelude {
    pub use gpu_array::ArrayMut;

    pub use crate::{
        matmul::Matmul,
        reduce::Reductions,
        scan::{Scans, ScansInPlace},
        select::Select,
        write_at::WriteAt,
    };
}

#[doc(hidden)]
pub use common::launch::as_for;
pub use common::operand::Receiver;
#[doc(no_inline)]
pub use einsum::{einsum, inner, kron};
pub use error::{AlgoError, Result};
#[doc(no_inline)]
pub use matmul::tensordot;
pub use matmul::{Matmul, MatrixProduct};
pub use reduce::{Ordered, Pair, Reduction, Reductions, Results, Summable};
pub use registry::KERNELS;
pub use scan::{InPlace, Scan, Scans, ScansInPlace};
pub use warm::warm;
pub use write_at::{CombinesAt, WriteAt};
