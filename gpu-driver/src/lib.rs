//! The CUDA driver for Rust: automatic cleanup, real errors, kernels compiled at run time.
//!
//! Built over [`cust`], and unlike it usable everywhere: nothing of CUDA is needed to build, link, test or document; the
//! driver (`libcuda.so.1`) and the run-time compiler (NVRTC) are opened when they are first needed. Where they are missing
//! every call returns an error that names the places that were searched and the remedy.
//!
//! # From a kernel's text to its result
//! ```no_run
//! use gpu_driver::{Device, DeviceVec, LaunchConfig};
//!
//! let device = Device::first()?;
//! let double_all = device.compile(r#"extern "C" __global__ void double_all(float *x, unsigned long long n) {
//!     for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2;
//! }"#)?.function("double_all")?;
//!
//! let stream = device.stream();
//! let mut x = DeviceVec::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
//! let n = x.len();
//! // SAFETY: the kernel touches x[..n] only, each element in one thread.
//! unsafe { double_all.launch(LaunchConfig::for_elements(n), (x.in_out(), n), &stream)? };
//! assert_eq!(x.to_vec()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), gpu_driver::DriverError>(())
//! ```
//! A launch compares its arguments with the compiled kernel ([`Function::launch`]); slices of the host may stand among them.
//! Kernels that ship with a crate are typed instead: see [`Entry`] and [`Registry`].
//!
//! # From CuPy
//! `PYCUDA.md` of the crate has PyCUDA's services, each with a test.
//!
//! | CuPy | here |
//! |---|---|
//! | `f = RawKernel(text, "f")` | `let f = device.compile(text)?.function("f")?` |
//! | `f((4,), (32,), (x, y, n))` | `unsafe { f.launch(LaunchConfig::new(4, 32), (&x, &mut y, n), &stream)? }`: [`LaunchArgument`] lists the arguments |
//! | `RawModule(code=text, options=…, name_expressions=["g<float>"])` | `device.compile(Program::from(text).option("…").name_expression("g<float>"))?` |
//! | `module.get_function("g<float>")`, `get_global("factors")` | `module.function("g<float>")?`, `module.global::<f32>("factors")?`, to `read` and `write` |
//! | `cuda.Device(1)`, `runtime.getDeviceCount()`, `device.mem_info` | [`Device::new`]`(1)?`, [`Device::count`]`()?`, `device.memory()?`: free and all bytes |
//! | `with cuda.Device(1):`, `with stream:` | there is no current device or stream: each new object is given a `&device` or `&stream` |
//! | `cuda.Stream()`, `cuda.Event()`, `get_elapsed_time(start, end)` | [`Stream::new`]`(&device)?`, [`Event::new`]`(&device)?`, `end.elapsed_ms_since(&start)?` |
//! | `get_default_memory_pool()`: `used_bytes()`, `total_bytes()` | `device.pool_use()?`: bytes in use and reserved, and their peaks |
//! | its `free_all_blocks()`, `set_limit(size=n)` | `device.trim_pool(0)?`, `device.set_pool_limit(n)` |
//! | `ElementwiseKernel`, `ReductionKernel`, `fuse` | in `gpu-algos` ([below](#the-crates-above)), its module `kernels`; expressions of `gpu-array` are fused as they are |
//! | `cupyx.jit.rawkernel` | not here: kernels are written in CUDA C++ |
//!
//! # The crates above
//! Arrays with NumPy's operators and expressions (`GpuArray`, `&x * 2.0 + 1.0`) are in the crate `gpu-array`; reductions, scans, selection, matrix
//! products and kernels of one's own from their element's formula in `gpu-algos` (`use gpu_algos::prelude::*` gives arrays `sum`, `cumsum`,
//! `matmul`, …); random numbers in `gpu-random`; sparse matrices and conjugate gradients in `gpu-sparse`.
//!
//! # In a crate of your own
//! On a machine without the CUDA toolkit the build script of `cust`, below these crates, asks for a folder with a `lib64`; nothing in it is used:
//! `CUDA_LIBRARY_PATH=/usr cargo build`, or the same variable under `[env]` in `.cargo/config.toml`.
//!
//! `gpu-driver = { version = "…", default-features = false }`, and the same for the crates above, leaves `cust` out, and with it that variable: all but
//! `gpu_driver::cust` stays as it is.
//!
//! The feature `templates` adds `Program::from_template`; `half` and `num-complex` make the numbers of these crates elements and arguments; `gl` adds
//! `GlBuffer` and `GlImage`, objects of OpenGL for kernels.
//!
//! Debug builds run the emulated device about five times slower unless two of its crates are optimised in `Cargo.toml`, as
//! [`emulated`] shows.
//!
//! # Rules for all calls
//! * Handles are Send, may be dropped in any order and on any thread: each keeps its context alive, and every call makes
//!   that context current first.
//! * A failure in a Drop is returned by the next call on that device ([`DriverError::InDrop`]).
//! * In the child of a fork every call is an error ([`DriverError::Forked`]) if the parent had used the library before, and Drops do nothing: a driver
//!   works only in the process that initialised it. Fork before the first call, or start a new program.
//! * A kernel fault makes the device lost for the process ([`DriverError::DeviceLost`]); `GPU_SYNC=1` finds the kernel,
//!   or the [`Graph`] that it is part of.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPU_DEVICE` | `cuda` (the default), `emulated` ([`emulated`]: on the CPU, to test kernels), or `none`, which hides every device |
//! | `CUDA_DEVICE` | the device that [`Device::from_environment`] takes: its number, PCI bus id or a part of its name |
//! | `GPU_LIBCUDA`, `GPU_NVRTC` | the file to open in place of the search |
//! | `GPU_NVRTC_OPTIONS` | further options of NVRTC for each kernel that is compiled for a GPU, such as `-lineinfo` for a profiler |
//! | `GPU_NVCC`, `GPU_CUDADEVRT` | the compiler of [`Program::nvcc`] and the library of [`Device::compile_dynamic`], in place of the search |
//! | `GPU_NVTX` | the file to open for ranges of a profiler ([`profiler`]) in place of the search, which must be there, or `off` for none |
//! | `GPU_CACHE_DIR` | folder of compiled kernels and of the choices of a [`Tuner`], `off` for none; else `gpu-driver` in the user's cache folder |
//! | `GPU_SYNC` | `0` (the default) or `1`: wait after each launch, so that a fault names its kernel |
//!
//! Cache folders and files that another user owns or can write to are refused, as ssh refuses keys. `GPU_SYNC=1` waits after
//! [`Graph::launch`] too, where no kernel is named; captured launches are not waited for.

mod arguments;
mod attributes;
mod capture;
mod context;
#[cfg(feature = "cust")]
mod cust_handles;
#[cfg(feature = "cust")]
mod cust_memory;
mod device;
pub mod emulated;
mod environment;
mod event;
mod generated;
#[cfg(feature = "gl")]
mod gl;
mod global;
mod graph;
mod ipc;
mod kernel;
mod launch_arguments;
mod loaded;
mod memory;
mod module;
pub mod nvrtc;
mod nvtx;
mod occupancy;
#[cfg(test)]
mod pages;
#[doc(hidden)]
pub mod params;
mod pinned;
mod pod;
mod pointer;
mod pool;
mod preload;
pub mod profiler;
pub mod raw;
mod scratch;
mod signature;
mod stream;
mod sys;
mod tensor_map;
mod texture;
mod tuner;

#[cfg(feature = "cust")]
pub use cust;
#[cfg(feature = "cust")]
pub use cust_handles::CustView;
#[cfg(feature = "templates")]
pub use minijinja;

pub use arguments::{Argument, Arguments, In, InOut, Out};
pub use attributes::{Attribute, CacheConfig, DeviceData, Limit};
pub use device::{CurrentGuard, Device, OLDEST_DRIVER};
pub use event::Event;
pub use generated::{GeneratedKernel, KernelSpace, PARAMETER_BYTES};
#[cfg(feature = "gl")]
pub use gl::{GlAccess, GlBuffer, GlImage, MappedGlBuffer, MappedGlImage};
pub use global::Global;
#[doc(hidden)]
pub use gpu_driver_core::debug_by_text;
#[doc(inline)]
pub use gpu_driver_core::{ArgumentMismatch, CompileError, CudaCode, CudaVersion, DriverError, JitError, Result};
pub use graph::Graph;
pub use ipc::{IpcEventHandle, IpcMemoryHandle};
pub use kernel::{CHECKED_ARCHS, Entry, Instance, Kernel, Registry, Source};
pub use launch_arguments::{HostOut, LaunchArgument, LaunchArguments};
pub use memory::{Advice, DevicePool, DeviceSlice, DeviceSliceMut, DeviceVec, GrowingVec, ManagedVec, Pitched};
pub use module::{Dim3, Function, JitOptions, LaunchConfig, LinkInput, Linker, Module};
pub use nvrtc::{Arch, Binaries, Binary, BinaryKind, Header, Origin, Program};
pub use occupancy::FunctionAttributes;
pub use params::{LIST, ListElement, ParamWords};
pub use pinned::{AlignedVec, Pending, PinnedPool, PinnedPoolUse, PinnedVec};
pub use pod::{COMPLEX, Definitions, DevicePod, HALF, KernelType};
pub use pointer::{MemoryKind, PointerFacts};
pub use pool::{AllocationTrace, PoolUse, TracedAllocation};
pub use preload::Preload;
pub use scratch::SCRATCH_COUNTERS;
#[doc(hidden)]
pub use signature::ArgumentType;
pub use stream::Stream;
pub use tensor_map::{SHARED_ADDRESS, Swizzle, TENSOR_COPY, TensorLayout, TensorMap, WARP_PRODUCTS, WARPGROUP};
pub use texture::{AddressMode, ArrayShape, Channel, CudaArray, MipmappedArray, Sampling, Surface, Texture};
pub use tuner::{Answer, Choice, Tuner, Variants};
