//! Arrays from and to other libraries, without a copy: DLPack, CUDA's array interface, memory that another library owns.
//!
//! | | |
//! |---|---|
//! | out | [`GpuArray::into_dlpack`](crate::GpuArray::into_dlpack), which gives the array up; [`GpuView::cuda_array_interface`](crate::GpuView::cuda_array_interface), the facts of a view that lives on here, and [`GpuViewMut::cuda_array_interface`](crate::GpuViewMut::cuda_array_interface), of one to write |
//! | in | [`ForeignArray::from_dlpack`], [`ForeignArray::from_raw`]: unsafe, since the other side's promises cannot be checked |
//!
//! The example `python_module` is a library that Python loads, which gives and takes arrays of CuPy and PyTorch.
//!
//! # Ownership
//! A [`DlPack`] is the tensor of DLPack with its deleter. Whoever has it last calls the deleter once: a `DlPack` that is dropped, or the library
//! that [`DlPack::into_raw`] gives it to. An array that was given out goes, in the order of its home stream, when the deleter is called.
//! A [`ForeignArray`] calls the deleter when it is dropped, after the last work that uses it.
//!
//! # Streams
//! All work on an array is in the order of its home stream. Another library must know that stream: DLPack's `__dlpack__(stream=…)` and the array interface's
//! `stream` are its handle ([`Stream::as_raw`](gpu_driver::Stream::as_raw)). A library that is given a [`DlPack`] makes its stream wait for that one, or
//! the host waits before ([`Stream::synchronize`](gpu_driver::Stream::synchronize)). Memory that comes in has to be ready on the home stream, or
//! on the stream that is named.
//!
//! # Overlap
//! Two libraries that have one memory see each other's writes, as two tensors over one storage do in PyTorch. The compiler does not see them: so the
//! functions that take memory in are unsafe, and tell the conditions that hold while the array lives.
//!
//! Tests: `tests/gpu/exchanging.rs` (owners, streams, refusals; CuPy and PyTorch in one process).

#![expect(unsafe_code, reason = "memory that other libraries own, and structures in C that they call")]

mod dlpack;
mod foreign;
mod interface;

pub use dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, DlPack,
    DlPackUnversioned, FLAG_IS_COPIED, FLAG_READ_ONLY,
};
pub use foreign::ForeignArray;
pub use interface::CudaArrayInterface;
