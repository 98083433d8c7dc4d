//! Reductions on a GPU, fused with the expression that they reduce.
//!
//! ```no_run
//! use gpu_algos::prelude::*;
//! use gpu_array::{GpuArray, gpu_driver::Device};
//! use ndarray::Axis;
//!
//! let device = Device::first()?;
//! let x = GpuArray::<f32, _>::zeros(&device, (1000, 300))?;
//! let total: f32 = x.sum().get()?;
//! let distance = (&x - 1.0).abs().max().eval()?; // an array of rank 0 on the device
//! let of_columns = x.mean().axis(Axis(0)).eval()?; // 300 means
//! let standardised = ((&x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0))).eval()?; // two kernels
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! # Reductions within expressions
//! A reduction, or a [scan](crate::scan), is an operand of expressions: operators, functions such as `where_`, and other reductions take it as they
//! take the array that it would give, with NumPy's broadcasting and types. Its own methods on an expression's values come after `into_expr`.
//! ```
//! use gpu_algos::prelude::*;
//! use gpu_array::expression::host; // the same lines as on a GPU, there with `&x` in place of `host(&x)`
//! use ndarray::{Axis, array};
//!
//! let x = array![[1.0f64, 2.0], [3.0, 6.0]];
//! let (x, columns, rows) = (host(&x), Axis(0), Axis(1));
//! assert_eq!(((&x - x.mean().axis(columns)) / x.std(0).axis(columns)).eval()?, array![[-1.0, -1.0], [1.0, 1.0]]);
//!
//! let e = (&x - x.max().axis(rows).keep_dims()).exp();
//! let softmax = (&e / e.sum().axis(rows).keep_dims()).eval()?;
//! assert!(softmax.sum_axis(rows).iter().all(|sum: &f64| (sum - 1.0).abs() < 1e-15));
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! Nothing is computed before the expression is evaluated, on its stream. Then each reduction is one launch, and all the rest is one kernel. A reduction
//! that was written twice, with the same axes over the same operand, is computed once. The mean and the deviation (or the variance) of one operand
//! over the same axes come from one launch, and so do the least and the greatest; such a mean has the bits of [`mean_var`](Reductions::mean_var),
//! which may differ from those of [`mean`](Reductions::mean) in the last place. Results live until the kernel that reads them has been launched.
//!
//! Errors come from the evaluation: those of axes, shapes and arrays as they are, others as `ArrayError::Deferred` with the name of the operation.
//! Reductions may stand in the operands of reductions on 16 levels (`TooDeep`).
//!
//! # Rows in one launch
//! Where all reductions of an expression are of its own rows (along the last axis, kept by `keep_dims`), they and the rest are one launch: softmax, layer
//! normalisation and standardised rows read their array once from the device's memory and write once, as fused kernels by hand do (the first one of
//! Triton's tutorials). Softmax of the rows of 8192^2 f32 takes 164 us on an H200, where a copy takes 128 and three launches take 326.
//!
//! This holds for at most 4 reductions and 16 arrays, if the nearest neighbours of each array lie along the rows, and if rows have at most 2^14 values or
//! there are as many as the device has multiprocessors. In this launch sums of floats have an order of their own, with the same bounds, and the same bits
//! each time.
//!
//! # How
//! `map_rows.cuh` reduces rows and writes the expression of the results (`map_rows/`).
//! `operators.cuh` has the operators; `reduce_rows.cuh`, `reduce_columns.cuh` and `reduce_all.cuh` have a kernel each, a template over the operator and
//! the lowered expression.
//! The block of a result that arrives last combines the states that the others stored in the stream's scratch memory; with a single result of
//! `reduce_all`, or of `reduce_rows`, the last block of the grid waits for them. So one launch is enough (the single-pass scheme of the CUDA sample
//! `threadFenceReduction`).
//!
//! Tests: `tests/gpu/reductions.rs` (known answers), `reductions_random.rs` (operators, layouts, lengths), `reductions_large.rs`, `within.rs` (in
//! expressions), `result_hashes.rs` (bits), `choices.txt` (the kernel of each problem).

mod axes;
#[cfg(test)]
mod choices;
mod constants;
mod families;
mod launch;
mod leaves;
mod map_rows;
mod masked;
mod methods;
mod operand;
mod params;
mod place;
mod plan;
mod policy;
mod reduction;
mod results;
pub(crate) mod samples;
mod table;

pub use methods::{Common, Reductions};
pub use place::Reduces;
pub use reduction::{ReduceBackend, Reduction};
pub use results::{Pair, Results};

pub use crate::common::summable::{Ordered, Summable};
pub(crate) use launch::{compile_custom, reduce_custom, run};
pub(crate) use methods::own_sum;
