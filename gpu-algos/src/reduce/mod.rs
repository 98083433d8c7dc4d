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
//! let centred = (&x - x.mean().axis(Axis(1)).keep_dims().eval()?.view()).eval()?;
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! `operators.cuh` has the operators, `reduce.cuh` two kernels, which are templates over the operator and the lowered expression. The last block of a
//! result combines the states that the others left in the stream's scratch memory, so that one launch is enough (the single-pass scheme of the CUDA
//! sample `threadFenceReduction`).

mod axes;
#[cfg(test)]
mod choices;
mod launch;
mod leaves;
mod methods;
mod operand;
mod params;
mod place;
mod plan;
mod policy;
mod reduction;
mod results;
pub(crate) mod samples;

pub use methods::{Common, Reductions};
pub use place::{ReduceBackend, Reduces};
pub use reduction::Reduction;
pub use results::{Pair, Results};

pub use crate::common::summable::Summable;
pub(crate) use launch::{compile_custom, reduce_custom, run};
