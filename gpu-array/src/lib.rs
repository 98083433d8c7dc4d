//! N-dimensional arrays in GPU memory, as ndarray has them in host memory.
//!
//! ```no_run
//! use gpu_array::{GpuArray, gpu_driver::Device};
//! use ndarray::{array, s};
//!
//! let device = Device::first()?;
//! let x = GpuArray::from_ndarray(&device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
//! assert_eq!(x.shape(), [2, 2]);
//! assert_eq!(x.to_ndarray()?, array![[1.0, 2.0], [3.0, 4.0]]);
//!
//! // A part, without a copy.
//! let mut y = GpuArray::zeros(&device, (2, 3))?;
//! y.slice_mut(s![.., 1])?.fill(7i32)?;
//! assert_eq!(y.slice(s![0, ..])?.to_ndarray()?, array![0, 7, 0]);
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! Arithmetic is [fused](expression): whole expressions become one kernel.
//! ```no_run
//! # let device = gpu_array::gpu_driver::Device::first()?;
//! # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
//! # let mut y = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
//! let z = (5.0 * &x + y.sin() * 6.0).eval()?;
//! y += 2.0 * &z;
//! let w = z * 0.5 + y; // operands by value are given up, and their memory with the expression
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! Kernels from strings take arrays by reference, as CuPy's `RawKernel` does:
//! ```no_run
//! use gpu_array::{GpuArray, gpu_driver::{Device, LaunchConfig}};
//!
//! let device = Device::first()?;
//! let add = device.compile(r#"extern "C" __global__ void add(const float *x, const float *y, float *z, int n) {
//!     int i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) z[i] = x[i] + y[i];
//! }"#)?.function("add")?;
//! let x = GpuArray::arange(&device, 0.0f32, 25.0, 1.0)?.into_shape((5, 5))?;
//! let mut z = x.zeros_like()?;
//! // SAFETY: the kernel stays within 25 elements of each, and each thread writes its own.
//! unsafe { add.launch(LaunchConfig::for_elements(25), (&x, &x, &mut z, 25), x.stream())? };
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! The crate has owned arrays in C, Fortran or any other order of their axes, their creation, views of any part of them ([`GpuView`],
//! [`GpuViewMut`]) with ndarray's slices and NumPy's reshaping and broadcasting, and copies from and to ndarray, through pinned memory
//! ([`PinnedArray`]) also while the host goes on; [joined arrays](concatenate()) and their parts; [expressions](expression) of arrays on a GPU
//! or on the host. Mistakes at which ndarray panics are an [`ArrayError`].
//!
//! # Sums, products, sorted values
//! `x.sum()`, `mean`, `argmax`, `cumsum`, `select` and their like are methods of the crate `gpu-algos`: `use gpu_algos::prelude::*;` brings
//! them in. Without it the compiler says that a `GpuArray` is not an iterator. Random numbers are in `gpu-random`, sparse matrices and solvers
//! in `gpu-sparse`, kernels from strings in `gpu-algos` (`kernels`) and `gpu-driver`.
//!
//! # From NumPy and CuPy
//! The file `NUMPY.md` of the crate has some 510 lines more, each with a test.
//!
//! | NumPy, CuPy | here |
//! |---|---|
//! | `asarray(h)`, `asnumpy(x)`, `x.item()` | [`GpuArray::from_ndarray`]`(&device, &h)?`, `x.to_ndarray()?`, `x.get()?` |
//! | `x.shape`, `x.ndim`, `x.dtype`, `x.device` | `x.shape()`, `x.ndim()`, `x.dtype()`, `x.device()` |
//! | `asarray(x)` within another `Device` | `x.to_device(&other)?`: nothing is copied to another device by itself |
//! | `get_array_module(x)` | functions [generic over the place](expression#functions-of-arrays-of-either-place) |
//! | `zeros`, `full`, `arange` | `GpuArray::<f32, _>::zeros(&device, (2, 3))?`, `full(&device, (2, 3), 1.0f32)?`, `arange(&device, 0, 10, 1)?` |
//! | `ones`, `linspace(0, 1, 5)`, `eye(3)` | `ones(&device, (2, 3))?`, `linspace(&device, 0.0f32, 1.0, 5)?`, `eye(&device, 3)?` |
//! | `array([1, 2])`, `zeros_like(x)`, `full_like(x, 7)` | [`GpuArray::from_vec`]`(&device, vec![1, 2])?`, `x.zeros_like()?`, `x.full_like(7)?` |
//! | `empty`, `empty_like` | `unsafe { `[`GpuArray::empty`]`(&device, (2, 3))? }`, `unsafe { x.empty_like()? }`: each element is written before it is read |
//! | `concatenate((x, y), axis=1)`, `stack`, `hstack`, `vstack` | [`concatenate`]`(Axis(1), [&x, &y])?`, [`stack`], [`hstack`], [`vstack`] |
//! | `split(x, 3)`, `array_split(x, 3)` | `x.split(Axis(0), 3)?`, `x.array_split(Axis(0), 3)?` |
//! | `split(x, [2, 5])` | `x.split_at_indices(Axis(0), &[2, 5])?` |
//! | `meshgrid(x, y)` | [`meshgrid`]`([&x, &y], MeshIndex::XY)?`, as expressions |
//! | `tile`, `repeat`, `pad`, `roll`, `flip`, `diff(x, n)` | [`tile`](expression::tile)`(&x, 2, Axis(0)).eval()?` and its like, [`diff_n`](expression::diff_n) |
//! | `z.real`, `z.conj()`, `abs(z)`, `angle(z)` | `z.real().eval()?`, `z.conj()`, `z.abs()`, `z.arg()` of [`Complex`] elements |
//! | `exp(z)`, `sqrt(z)`, `2.0 * z` of complex numbers | `z.exp()`, `z.sqrt()`, `2.0 * &z` |
//! | `frexp(x)`, `modf(x)`, `ldexp(x, n)`, `copysign`, `nextafter` | `x.frexp()` and `x.modf()` give two expressions; `x.ldexp(&n)`, `x.copysign(&y)` |
//! | `scipy.special.erf`, `gammaln`, `gamma`, `j0`, `jn(n, x)` | `x.erf()`, `x.log_gamma()`, `x.gamma()`, `x.j0()`, `x.jn(n)` |
//! | `x.astype(float32)`, `isnan(x)` | `x.cast::<f32>().eval()?`, `x.is_nan().eval()?` |
//! | `x.astype(float16)`, `x.astype(ml_dtypes.bfloat16)` | `x.cast::<`[`f16`](struct@f16)`>().eval()?`, `x.cast::<`[`bf16`](struct@bf16)`>().eval()?` |
//! | `x[1, 2]`, `x[1, 2] = 7` | `x.slice(s![1, 2])?.get()?`, `x.slice_mut(s![1, 2])?.fill(7.0)?` |
//! | `x[1:, ::2]`, `x[:, 1] = 0` | `x.slice(s![1.., ..;2])?`, `x.slice_mut(s![.., 1])?.fill(0.0)?` |
//! | `x[mask] = 0`, `copyto(x, y, where=mask)` | `x.assign_where(&mask, 0.0)?`, `x.assign_where(&mask, &y)?` |
//! | `put(x, i, v)`, `x.flat[i] = v` | `x.put(&i, &v)?`, `x.put(&i, 0.0)?`: flat indices; the last of several values stays |
//! | `add.at(x, i, v)`, `maximum.at`, `x[mask] = v` | in `gpu-algos`: `x.add_at(&i, &v)?`, `x.maximum_at(&i, &v)?`, `x.assign_selected(&mask, &v)?` |
//! | `diagonal(x, 1)`, `diag(v, 1)`, `eye(2, 3, 1)` | `x.diagonal_of(1, Axis(0), Axis(1))?`, [`diag`](expression::diag)`(&v, 1)`, [`eye_of`](expression::eye_of)`(2, 3, 1)` |
//! | `outer(x, y)`, `tril(a, -1)` | [`outer`](expression::outer)`(&x, &y)`, [`tril`](expression::tril)`(&a, -1)` |
//! | `x.view(uint32)` | `x.view_as::<u32>()?`, `x.view_as_mut::<u32>()?` |
//! | `as_strided(x, (n - 2, 3), …)` | `x.as_strided((n - 2, 3), &[1, 1])?`, checked, strides in elements |
//! | `x.T`, `x.reshape(3, -1)`, `x.ravel()` | `x.t()`, `x.reshape((3, INFER))?`, `x.to_standard_layout()?.into_shape(INFER)?` |
//! | `where(x > 0, x, y)`, `x[i]` with integers | [`where_`](expression::where_)`(x.gt(0.0), &x, &y).eval()?`, [`take`](expression::take) |
//! | `x[i, :]`, `take(x, i, axis=1)`, `take_along_axis` | [`take_axis`](expression::take_axis)`(&x, &i, Axis(0), Outside::Wrap).eval()?`, [`take_along_axis`](expression::take_along_axis) |
//! | `x.copy()`, `y[...] = x` | `x.try_clone()?`, `y.assign(&x)?` |
//! | `x.sum(axis=0)`, `cumsum`, `x[mask]` | in `gpu-algos`: `x.sum().axis(Axis(0)).eval()?`, `x.cumsum().eval()?`, `x.select(&mask).eval()?` |
//! | `sqrt(x.sum(axis=0))` | in `gpu-algos`: `x.sum().axis(Axis(0)).sqrt()` |
//! | `sort`, `argsort`, `unique`, `percentile`, `histogram`, `fft` | not here; the end of `NUMPY.md` names a way round each |
//! | `x @ y`, `einsum("ij,kj->ik", x, y)`, `kron(x, y)` | in `gpu-algos`: `x.matmul(&y).eval()?`, `einsum("ij,kj->ik", [&x, &y])?`, `kron(&x, &y)?` |
//!
//! # Features
//! | | |
//! |---|---|
//! | `approx` | `==`, `AbsDiffEq`, `RelativeEq` and `UlpsEq` for arrays and views beside each other, and on either side of ndarray's, whose own feature it turns on |
//! | `npy`, `npz` | `GpuArray::read_npy` and `write_npy` of every element type; `NpzReader` and `NpzWriter` of archives, compressed ones too |
//! | `serde` | `Serialize` for arrays, in ndarray's form, whose own feature it turns on: `Deserialize` is that of the host copy |
//!
//! Memory from and to other libraries (DLPack, CUDA's array interface) needs none: [`exchange`].
//!
//! # Errors of several crates
//! A program that uses several of these crates returns `Box<dyn std::error::Error>` from `main`. In a function that returns one crate's `Result`,
//! `?` turns errors of the crates below into its own: those of `gpu-driver` into an [`ArrayError`], both of these into the error of `gpu-algos`, and
//! all three into that of `gpu-sparse`.
//!
//! # In a crate of your own
//! On a machine without the CUDA toolkit the build script of `cust`, below these crates, asks for a folder with a `lib64`; nothing in it is used:
//! `CUDA_LIBRARY_PATH=/usr cargo build`, or the same variable under `[env]` in `.cargo/config.toml`.
//!
//! Debug builds run the emulated device about five times slower unless two of its crates are optimised in `Cargo.toml`, as
//! [`gpu_driver::emulated`] shows.

#![deny(unsafe_code)]

mod allocate;
#[cfg(feature = "approx")]
mod approx;
mod array;
mod array_mut;
mod backend;
mod chunks;
mod concatenate;
mod create;
mod dense;
mod dtype;
mod element;
mod error;
pub mod exchange;
pub mod expression;
mod kernel_argument;
mod layout;
mod meshgrid;
mod methods;
#[cfg(feature = "npy")]
mod npy;
mod pending;
mod pinned;
mod put;
pub mod reference;
mod registry;
#[cfg(feature = "serde")]
mod serialize;
mod shape;
mod threads;
mod transfer;
mod view;
mod warm;

pub use gpu_driver;
pub use half::{self, bf16, f16};
pub use ndarray;
#[cfg(feature = "npy")]
pub use ndarray_npy;
pub use num_complex::{self, Complex};

pub use array::{GpuArray, GpuArray1, GpuArray2, GpuArray3, GpuArrayD};
pub use chunks::{Chunks, ChunksMut};
pub use concatenate::{concatenate, hstack, stack, vstack};
pub use dtype::DType;
pub use element::{Bits, ComplexNumber, Element, Float, Inexact, Integer, Number, Numeric, Promote, promote};
pub use error::{ArrayError, Result};
pub use expression::{ArrayMut, PartsMut};
pub use meshgrid::meshgrid;
#[cfg(feature = "npy")]
pub use npy::NpyElement;
#[cfg(feature = "npz")]
pub use npy::npz::{NpzReader, NpzWriter};
pub use pinned::{PendingArray, PinnedArray};
pub use registry::KERNELS;
pub use shape::INFER;
pub use threads::{is_to_be_had, start_threads};
pub use view::{GpuView, GpuViewMut};
pub use warm::warm;
