//! Kernels of one's own: a line of CUDA C++ that runs for each element of arrays, or that combines elements.
//!
//! The Rust compiler checks each call of a declared kernel against its parameters:
//! ```no_run
//! use gpu_algos::elementwise_kernel;
//! use gpu_array::{GpuArray, gpu_driver::Device};
//!
//! elementwise_kernel! {
//!     /// `z = a x + b y`.
//!     pub fn lin_comb(a: f32, x: &[f32], b: f32, y: &[f32], z: &mut [f32]) {
//!         unsafe { "z[i] = a * x[i] + b * y[i]" }
//!     }
//! }
//!
//! let device = Device::first()?;
//! let x = GpuArray::full(&device, 1000, 1.0f32)?;
//! let y = GpuArray::full(&device, 1000, 2.0f32)?;
//! let mut z = GpuArray::zeros(&device, 1000)?;
//! lin_comb(5.0, &x, 6.0, &y, &mut z)?;
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//! [`ElementwiseKernel`] makes kernels from strings at run time. Reductions ([`reduction_kernel!`](crate::reduction_kernel), [`ReductionKernel`]) and
//! scans ([`scan_kernel!`](crate::scan_kernel), [`ScanKernel`], [`ArrayScanKernel`]) take a user's operator.
//!
//! # From CuPy
//! | CuPy | here |
//! |---|---|
//! | `ElementwiseKernel("float32 x, float32 y", "float32 z", text, "name")` | [`elementwise_kernel!`](crate::elementwise_kernel): arrays are indexed, `z[i] = x[i] + y[i]`, and written where they are |
//! | `raw T x` | `x: &[f32; _]`: an array of any length |
//! | a scalar for an array; arrays that are broadcast | `x: f32` is a kernel of its own; `&y.broadcast((2, 5))?.to_standard_layout()?`, or an expression in the kernel's place |
//! | type-generic `T x` | one declaration for each type by a macro of Rust, or `ElementwiseKernel::new(&format!("const {t} *x, {t} *z"), text)?` |
//! | `ReductionKernel` with `axis=1` and a text after the reduction | [`reduction_kernel!`](crate::reduction_kernel) has neither: `x.square().sum().axis(Axis(1)).sqrt()` |
//! | `fuse` | [expressions](gpu_array::expression) are fused as they are |
//! | `RawKernel`, `RawModule` | [`Device::compile`](gpu_array::gpu_driver::Device::compile), which takes `&x` and `&mut x` of arrays |
//!
//! # Names in the text
//! * `i` and `n`, 64-bit signed integers: the place, and the length of the arrays. The text runs once for each place, in no specified order and
//!   thread. A `return` ends the place.
//! * The arguments by their names. Arrays are pointers to their first elements, in C order. A `bool` in an array is a byte, 0 or not 0; it is read
//!   and assigned as a `bool`.
//! * The functions of CUDA, those of expressions in namespace `gpu`, such as `gpu::maximum` (`operations.cuh` of gpu-array), and the contents of the
//!   preamble.
//! * The declarations of the loop preparation, one set per thread. `gpu::first_index()` is the number of the thread and `gpu::index_step()` the
//!   number of threads.
//! * In the operator of a reduction or a scan `a` and `b`, and nothing else but the preamble; in the output of a scan `item` and `prev_item`.
//!
//! The kernel touches only the memory that the text uses. It neither reads nor writes an argument that the text does not mention, and a store under a
//! condition happens only where the condition holds.
//!
//! # Requirements on the text
//! Only the C++ compiler checks the text. Its author ensures the following for all values of the arrays and the other arguments:
//!
//! 1. Each index is at least 0 and less than the length of its array. `i` and `n - 1 - i` are. The text must check an index that it read or computed
//!    from an argument.
//! 2. No place reads or writes an element that another place writes, except by atomic functions. That rules out `x[i + 1]` where `x[i]` is written.
//! 3. The text writes no constant array and keeps no pointer for later kernels. Pointers are restricted: Rust has lent each written array to the
//!    kernel alone.
//! 4. No place waits for another: no `__syncthreads`, no warp function that all lanes must call, no lock. Threads have different numbers of places.
//!    (In the loop preparation and after the loop all threads of a block run; a barrier that all reach is allowed there.)
//! 5. The loop preparation and the text after the loop do not leave the kernel early, and no two threads write the same memory there.
//! 6. Braces and parentheses of each text are balanced, and no text ends inside a comment. No name begins with `gpu_`.
//! 7. The text terminates, and C++ defines its behaviour: no division of an integer by 0, no overflow of a signed integer, no shift by the width of a
//!    type or more.
//!
//! 8. The operator of a reduction or a scan is defined for all combinations of places' values and `identity`, also where no result needs them. If a
//!    scan's `item` or `prev_item` is an index, or decides whether something is written, the operator is associative and `identity` is its identity;
//!    otherwise their values are unspecified.
//!
//! A place's own reads and writes are ordered: a scan's input and segments are computed before the output of the same place.
//!
//! A kernel made at run time is called in an `unsafe` block: the call promises that text and arguments fulfil the requirements. In
//! [`elementwise_kernel!`](crate::elementwise_kernel) either the function is `unsafe`, and its callers promise it, or the text stands in an `unsafe`
//! block, and its author promises it for all arguments.
//!
//! # Element types
//! Numbers of Rust have the types of C, and `bool` in an array a type of its own. [`f16`](gpu_array::f16) and [`bf16`](gpu_array::bf16) are `gpu::f16` and
//! `gpu::bf16` in the text: `+ - * /` of two of one type round once to it, beside another number they are of `float`, and any number is assigned with
//! one rounding. [`Complex`](gpu_array::Complex) numbers are `gpu::Complex<float>` and `gpu::Complex<double>`, with parts `re` and `im`.
//! ```no_run
//! use gpu_algos::reduction_kernel;
//! use gpu_array::{GpuArray, f16, gpu_driver::Device};
//!
//! reduction_kernel! {
//!     /// The sum of squares, in f32.
//!     fn sum_of_squares(x: &[f16]) -> f32 {
//!         unsafe { identity: "0"; reduce: "a + b"; map: "float(x[i]) * float(x[i])" }
//!     }
//! }
//!
//! let x = GpuArray::full(&Device::first()?, 1000, f16::from_f32(0.5))?;
//! assert_eq!(sum_of_squares(&x)?.to_vec()?, [250.0]);
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! # Structures
//! A `#[repr(C)]` structure becomes an element type by [`#[derive(DevicePod)]`](gpu_array::gpu_driver::DevicePod); its arrays are
//! [`DeviceVec`](gpu_array::gpu_driver::DeviceVec)s.
//! ```no_run
//! use gpu_algos::elementwise_kernel;
//! use gpu_array::gpu_driver::{self, Device, DevicePod, DeviceVec};
//!
//! #[repr(C)]
//! #[derive(Clone, Copy, Debug, DevicePod)]
//! # #[device_pod(crate = gpu_driver)]
//! struct Extrema {
//!     least: f32,
//!     greatest: f32,
//! }
//!
//! elementwise_kernel! {
//!     /// Each number as the range that it alone spans.
//!     fn spans(x: &[f32], spans: &mut [Extrema]) {
//!         unsafe { "spans[i] = Extrema{x[i], x[i]}" }
//!     }
//! }
//!
//! let stream = Device::first()?.stream();
//! let x = DeviceVec::from_slice(&stream, &[3.0f32, -1.0])?;
//! let mut all = DeviceVec::<Extrema>::zeros(&stream, 2)?;
//! spans(&x, &mut all)?;
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```

mod arguments;
mod bind;
mod builder;
mod declaration;
mod elementwise;
mod macros;
mod places;
mod program;
mod reduction;
mod scan;
mod types;

pub use arguments::{Input, KernelArg, Output};
#[doc(hidden)]
pub use builder::Declaration;
pub use elementwise::ElementwiseKernel;
pub use places::IndexRange;
pub use reduction::ReductionKernel;
pub use scan::{ArrayScanKernel, ScanKernel};

/// Samples of kernels, for checks without a device.
pub(crate) mod samples {
    use gpu_array::gpu_driver::Registry;

    pub(crate) fn add_to(registry: Registry) -> Registry {
        super::scan::samples::add_to(super::elementwise::samples::add_to(registry))
    }
}
