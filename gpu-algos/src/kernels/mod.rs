//! Kernels of one's own: a line of CUDA C++ that is run for each element of arrays, or that joins elements.
//!
//! In a declaration the Rust compiler checks each call against the kernel's parameters:
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
//! What is not there before the program runs is made from strings: [`ElementwiseKernel`]. Reductions ([`reduction_kernel!`](crate::reduction_kernel),
//! [`ReductionKernel`]) and scans ([`scan_kernel!`](crate::scan_kernel), [`ScanKernel`], [`ArrayScanKernel`]) take an operator of the user's.
//!
//! # What the text sees
//! * `i` and `n`, 64-bit signed integers: the place, and the length of the arrays. The text is run once for each place; which thread runs it, and in
//!   which order, is not said. A `return` ends the place.
//! * The arguments by their names. Arrays are pointers to their first elements, in C order. A `bool` in an array is a byte that is 0 or not; it
//!   reads and is assigned as a `bool`.
//! * The functions of CUDA; those of arrays' expressions in namespace `gpu`, such as `gpu::maximum` (`operations.cuh` of gpu-array); what
//!   the preamble holds.
//! * What the loop preparation declares, a set of it in each thread. `gpu::first_index()` is the number of the thread and `gpu::index_step()` the
//!   number of threads there are.
//! * In the operator of a reduction or a scan `a` and `b`, and nothing else but the preamble; in the output of a scan `item` and `prev_item`.
//!
//! The kernel touches memory only for what the text uses: an argument that it does not mention is neither read nor written, and what it stores under a
//! condition is stored where the condition holds.
//!
//! # What the text must keep to
//! Nothing checks the text but the C++ compiler. Who writes it sees to it that for all values that the arrays and the other arguments can have:
//!
//! 1. Each index is at least 0 and less than the length of its array. That of `i` is, and so is `n - 1 - i`; an index that was read or computed from
//!    an argument is not until the text has looked.
//! 2. No element that one place writes is read or written by another, but by atomic functions. That rules out `x[i + 1]` where `x[i]` is written.
//! 3. A constant array is not written, and no pointer is kept for later kernels. Pointers are restricted: Rust has lent what is written to the kernel
//!    alone.
//! 4. No place waits for another one: no `__syncthreads`, no function of a warp whose lanes all take part, no lock. Threads have different numbers of
//!    places. (In the loop preparation and behind the loop all threads of a block run; there a barrier that all reach is right.)
//! 5. Loop preparation, and what is behind the loop, do not leave the kernel early; each thread's memory writes there are its own.
//! 6. Braces and parentheses of each text are balanced, and no text ends in the middle of a comment. Names that begin with `gpu_` are not used.
//! 7. It ends, and does what C++ defines: no division of an integer by 0, no overflow of a signed integer, no shift by more than a type has bits.
//!
//! 8. The operator of a reduction or a scan is defined for whatever values of places and `neutral` give together, also where no result needs it.
//!    Where a scan's `item` or `prev_item` is an index, or says whether something is written, the operator is associative and `neutral` is neutral:
//!    else there is no saying what they are.
//!
//! What a place reads itself and then writes is in order: a scan's input and segments are computed before the output of the same place.
//!
//! A kernel that is made at run time is called in an `unsafe` block: the call says that text and arguments keep to this. In
//! [`elementwise_kernel!`](crate::elementwise_kernel) either the function is `unsafe`, and its callers say so, or the text stands in an `unsafe`
//! block, by which its author says that it does whatever the arguments are.
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
pub use places::Places;
pub use reduction::ReductionKernel;
pub use scan::{ArrayScanKernel, ScanKernel};

pub(crate) use declaration::NUMBERS;

/// Kernels that stand for all others where kernels are checked without a device.
pub(crate) mod samples {
    use gpu_array::gpu_driver::Registry;

    pub(crate) fn add_to(registry: Registry) -> Registry {
        super::scan::samples::add_to(super::elementwise::samples::add_to(registry))
    }
}
