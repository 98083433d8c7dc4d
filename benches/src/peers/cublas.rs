//! cuBLAS, in its default mathematics: products of dense matrices, dot products, norms.
#![expect(unsafe_code, reason = "calls of cuBLAS")]

use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
};

use cudarc::cublas::sys;
use gpu_array::{Complex, Float, GpuArray, bf16, f16};
use gpu_driver::{CurrentGuard, Device, DevicePod, DeviceVec, Stream};
use gpu_sparse::Scalar;
use ndarray::{Array2, Ix2};

use super::library::{self, Library};
use crate::{
    algos::{self, Arithmetic, Product},
    data,
    harness::{Gpu, Harness, Outcome},
};

static LIBRARY: Library = Library {
    name: "cublas",
    is_present: sys::is_culib_present,
    opened: sys::culib,
    functions: &[
        "cublasCreate_v2",
        "cublasDestroy_v2",
        "cublasGetVersion_v2",
        "cublasSetStream_v2",
        "cublasSetPointerMode_v2",
        "cublasSgemm_v2",
        "cublasDgemm_v2",
        "cublasSgetrfBatched",
        "cublasDgetrfBatched",
        "cublasSgetrsBatched",
        "cublasDgetrsBatched",
        "cublasGemmEx",
        "cublasSgemmStridedBatched",
        "cublasDgemmStridedBatched",
        "cublasSgemv_v2",
        "cublasDgemv_v2",
        "cublasSdot_v2",
        "cublasDdot_v2",
        "cublasSnrm2_v2",
        "cublasDnrm2_v2",
    ],
};

/// Opens the library, once per process.
pub(super) fn ready(device: &Device) -> Outcome {
    LIBRARY.ready(device)
}

/// Everything on the device.
pub(super) fn figures(harness: &mut Harness) {
    let Some(gpu) = harness.gpu() else { return };
    match ready(gpu.device()).and_then(|()| Handle::new(gpu)).and_then(|handle| handle.version()) {
        Ok(version) => harness.version("cublas", &version),
        Err(reason) => return harness.gap("cublas", None, &reason.to_string()),
    }
    products::<f32>(harness);
    products::<f64>(harness);
    halves::<f16>(harness, "f16", Arithmetic::F16);
    halves::<bf16>(harness, "bf16", Arithmetic::Bf16);
    bytes(harness);
    complex::<f32>(harness, "c64");
    complex::<f64>(harness, "c128");
    let [own, tf32, of_f16, of_bf16] = Product::layers(harness.set());
    layer::<f32>(harness, "f32", own);
    layer::<f32>(harness, "f32", tf32);
    layer::<f16>(harness, "f16", of_f16);
    layer::<bf16>(harness, "bf16", of_bf16);
    // And a vector that a launch takes longer than.
    let short = harness.set().pick(None, None, Some(1 << 14));
    for n in short.into_iter().chain(algos::lengths::<f32>(harness)) {
        sums::<f32>(harness, n);
    }
    for n in short.into_iter().chain(algos::lengths::<f64>(harness)) {
        sums::<f64>(harness, n);
    }
}

fn products<T: Blas>(harness: &mut Harness) {
    for product in Product::cases(harness.set(), size_of::<T>()) {
        let (operation, case) = (product.operation(), product.name());
        harness.figure(operation, data::dtype::<T>(), case, "cublas").work(product.work::<T>()).on_gpu(
            |gpu| {
                let ([a, b], stream) = (product.factors::<T>(), gpu.stream());
                let (a, b) = (DeviceVec::from_slice(stream, &a)?, DeviceVec::from_slice(stream, &b)?);
                let c = DeviceVec::<T>::zeros(stream, product.matrices * product.m * product.n)?;
                Ok((a, b, c, Handle::new(gpu)?))
            },
            |(a, b, c, handle)| match product.operation() {
                "gemv" => T::gemv(handle, &product, a, b, c),
                "gemm-tf32" => mixed(handle, &product, [a.as_raw(), b.as_raw(), c.as_raw()]),
                _ => T::gemm(handle, &product, a, b, c),
            },
            |(_, _, c, _), ()| Ok(product.check(&c.to_vec()?)),
        );
    }
}

fn sums<T: Blas>(harness: &mut Harness, n: usize) {
    let vector = move |gpu: &Gpu, from: usize| -> Outcome<DeviceVec<T>> {
        Ok(DeviceVec::from_slice(gpu.stream(), &data::uniform_from::<T>(from, n))?)
    };
    harness.figure("dot", data::dtype::<T>(), n, "cublas").work(algos::dot_work::<T>(n)).on_gpu(
        |gpu| Ok((vector(gpu, 0)?, vector(gpu, n)?, DeviceVec::<T>::zeros(gpu.stream(), 1)?, Handle::new(gpu)?)),
        |(x, y, result, handle)| T::dot(handle, x, y, result),
        |(_, _, result, _), ()| {
            let (x, y) = (data::uniform::<T>(n), data::uniform_from::<T>(n, n));
            Ok(algos::check_dot(&x, &y, Scalar::to_f64(result.to_vec()?[0])))
        },
    );
    harness.figure("norm2", data::dtype::<T>(), n, "cublas").work(algos::norm_work::<T>(n)).on_gpu(
        |gpu| Ok((vector(gpu, 0)?, DeviceVec::<T>::zeros(gpu.stream(), 1)?, Handle::new(gpu)?)),
        |(x, result, handle)| T::norm2(handle, x, result),
        |(_, result, _), ()| Ok(algos::check_norm(&data::uniform::<T>(n), Scalar::to_f64(result.to_vec()?[0]))),
    );
}

fn ok(call: &str, status: sys::cublasStatus_t) -> Outcome {
    library::check(call, status, sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS)
}

/// The operation that makes a matrix of so many rows and columns of one that lies by columns, and the length of its columns in memory.
fn seen(is_transposed: bool, rows: c_int, columns: c_int) -> (sys::cublasOperation_t, c_int) {
    match is_transposed {
        true => (sys::cublasOperation_t::CUBLAS_OP_T, columns),
        false => (sys::cublasOperation_t::CUBLAS_OP_N, rows),
    }
}

/// Products of numbers of 16 bits.
fn halves<T: Float + DevicePod + Into<f64>>(harness: &mut Harness, dtype: &'static str, arithmetic: Arithmetic) {
    for product in Product::half_cases(harness.set(), arithmetic) {
        let (operation, case) = (product.operation(), product.name());
        harness.figure(operation, dtype, case, "cublas").work(product.work::<T>()).on_gpu(
            |gpu| {
                let stream = gpu.stream();
                let on_device = |factor: Vec<f32>| -> Outcome<DeviceVec<T>> {
                    let factor: Vec<T> = factor.into_iter().map(|value| T::rounded_from_f64(value.into())).collect();
                    Ok(DeviceVec::from_slice(stream, &factor)?)
                };
                let [a, b] = product.factors::<f32>().map(on_device);
                let c = DeviceVec::<T>::zeros(stream, product.matrices * product.m * product.n)?;
                Ok((a?, b?, c, Handle::new(gpu)?))
            },
            |(a, b, c, handle)| mixed(handle, &product, [a.as_raw(), b.as_raw(), c.as_raw()]),
            |(_, _, c, _), ()| {
                let c: Vec<f32> = c.to_vec()?.into_iter().map(|value| Into::<f64>::into(value) as f32).collect();
                Ok(product.check(&c))
            },
        );
    }
}

/// Products of i8 with results of i32.
fn bytes(harness: &mut Harness) {
    for product in Product::half_cases(harness.set(), Arithmetic::I8) {
        harness.figure(product.operation(), "i8", product.name(), "cublas").work(product.work::<i8>()).on_gpu(
            |gpu| {
                let ([a, b], stream) = (product.bytes(), gpu.stream());
                let (a, b) = (DeviceVec::from_slice(stream, &a)?, DeviceVec::from_slice(stream, &b)?);
                Ok((a, b, DeviceVec::<i32>::zeros(stream, product.m * product.n)?, Handle::new(gpu)?))
            },
            |(a, b, c, handle)| mixed(handle, &product, [a.as_raw(), b.as_raw(), c.as_raw()]),
            |(_, _, c, _), ()| Ok(product.check_sums(&c.to_vec()?)),
        );
    }
}

/// A product, and an expression of our own that adds a row and has no negative values, in a second pass over the result.
fn layer<T: Float + Into<f64>>(harness: &mut Harness, dtype: &'static str, product: Product) {
    harness.figure(product.layer_operation(), dtype, product.name(), "cublas").work(product.work::<T>()).on_gpu(
        |gpu| {
            let array = |shape: [usize; 2], values: Vec<f32>| -> Outcome<GpuArray<T, Ix2>> {
                let values = values.into_iter().map(|value| T::rounded_from_f64(value.into())).collect();
                Ok(GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec(shape, values)?)?)
            };
            let (Product { m, k, n, .. }, [a, b]) = (product, product.factors::<f32>());
            let c = GpuArray::<T, _>::zeros(gpu.stream(), (m, n))?;
            Ok((array([m, k], a)?, array([k, n], b)?, array([1, n], product.bias())?, c, Handle::new(gpu)?))
        },
        |(a, b, bias, c, handle)| {
            let address = |array: &GpuArray<T, Ix2>| array.as_device_vec().as_raw();
            mixed(handle, &product, [address(a), address(b), address(c)])?;
            Ok(c.update(|c| (c + &*bias).maximum(T::ZERO))?)
        },
        |(.., c, _), ()| {
            let c = c.as_device_vec().to_vec()?.into_iter().map(|value| Into::<f64>::into(value) as f32);
            Ok(product.check_layer(&c.collect::<Vec<f32>>()))
        },
    );
}

/// Products of complex numbers.
fn complex<T: Scalar>(harness: &mut Harness, dtype: &'static str)
where
    Complex<T>: DevicePod,
{
    for product in Product::complex_cases(harness.set()) {
        harness.figure(product.operation(), dtype, product.name(), "cublas").work(product.complex_work()).on_gpu(
            |gpu| {
                let ([a, b], stream) = (product.complex_factors::<T>(), gpu.stream());
                let (a, b) = (DeviceVec::from_slice(stream, &a)?, DeviceVec::from_slice(stream, &b)?);
                Ok((a, b, DeviceVec::<Complex<T>>::zeros(stream, product.m * product.n)?, Handle::new(gpu)?))
            },
            |(a, b, c, handle)| {
                let types = if size_of::<T>() == 4 { Types::C64 } else { Types::C128 };
                multiply(handle, &product, [a.as_raw(), b.as_raw(), c.as_raw()], types)
            },
            |(_, _, c, _), ()| Ok(product.check_complex(&c.to_vec()?)),
        );
    }
}

/// The types of a product, and 1 in the type of its sums.
struct Types {
    factors: sys::cudaDataType_t,
    result: sys::cudaDataType_t,
    compute: sys::cublasComputeType_t,
    one: [u64; 2],
}

impl Types {
    const C64: Self = Self {
        factors: sys::cudaDataType_t::CUDA_C_32F,
        result: sys::cudaDataType_t::CUDA_C_32F,
        compute: sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
        one: [1.0f32.to_bits() as u64, 0],
    };
    const C128: Self = Self {
        factors: sys::cudaDataType_t::CUDA_C_64F,
        result: sys::cudaDataType_t::CUDA_C_64F,
        compute: sys::cublasComputeType_t::CUBLAS_COMPUTE_64F,
        one: [1.0f64.to_bits(), 0],
    };

    /// The types of real numbers in an arithmetic, with sums of f32, or of i32 for elements of i8.
    fn of(arithmetic: Arithmetic) -> Self {
        use sys::{cublasComputeType_t::*, cudaDataType_t::*};
        let (factors, result, compute) = match arithmetic {
            Arithmetic::F16 => (CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
            Arithmetic::Bf16 => (CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F),
            Arithmetic::Tf32 => (CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32),
            Arithmetic::I8 => {
                return Self { factors: CUDA_R_8I, result: CUDA_R_32I, compute: CUBLAS_COMPUTE_32I, one: [1, 0] };
            }
            Arithmetic::Own | Arithmetic::Emulated => (CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
        };
        Self { factors, result, compute, one: [1.0f32.to_bits().into(), 0] }
    }
}

/// The product of matrices at these addresses, a, b and c, in the product's arithmetic.
fn mixed(handle: &Handle, product: &Product, addresses: [u64; 3]) -> Outcome {
    multiply(handle, product, addresses, Types::of(product.arithmetic))
}

/// The product of matrices at these addresses, a, b and c, or of stacks of them.
fn multiply(handle: &Handle, product: &Product, [a, b, c]: [u64; 3], types: Types) -> Outcome {
    let zero = [0u64; 2];
    let [m, k, n, matrices] = [product.m, product.k, product.n, product.matrices].map(c_int::try_from);
    let (m, k, n, matrices) = (m?, k?, n?, matrices?);
    // Matrices in C order are transposed ones by columns: c' = b' a'.
    let (left, left_length) = seen(product.is_right_transposed, n, k);
    let (right, right_length) = seen(product.is_left_transposed, k, m);
    let [of_a, of_b, of_c] = [(m, k), (k, n), (m, n)].map(|(rows, columns)| i64::from(rows) * i64::from(columns));
    let (one, zero) = ((&raw const types.one).cast(), (&raw const zero).cast());
    let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
    let (algorithm, Types { factors, result, compute, .. }) = (sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT, types);
    // SAFETY: three matrices, or stacks of them, of these shapes and those types on the device; the factors are read before the call returns.
    #[rustfmt::skip]
    let (call, status) = unsafe {
        match matrices {
            1 => ("cublasGemmEx", sys::cublasGemmEx(
                handle.raw, left, right, n, m, k, one, b, factors, left_length, a, factors, right_length, zero, c, result, n, compute,
                algorithm,
            )),
            _ => ("cublasGemmStridedBatchedEx", sys::cublasGemmStridedBatchedEx(
                handle.raw, left, right, n, m, k, one, b, factors, left_length, of_b, a, factors, right_length, of_a, zero, c, result,
                n, of_c, matrices, compute, algorithm,
            )),
        }
    };
    ok(call, status)
}

/// The library's state, which leaves scalar results on the device.
pub(super) struct Handle {
    pub(super) raw: sys::cublasHandle_t,
    _current: CurrentGuard,
}

impl Handle {
    pub(super) fn new(gpu: &Gpu) -> Outcome<Self> {
        Self::on(gpu.stream())
    }

    pub(super) fn on(stream: &Stream) -> Outcome<Self> {
        let current = stream.device().make_current()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for the call.
        ok("cublasCreate", unsafe { sys::cublasCreate_v2(raw.as_mut_ptr()) })?;
        // SAFETY: written by the call that succeeded.
        let handle = Self { raw: unsafe { raw.assume_init() }, _current: current };
        // SAFETY: both are alive.
        ok("cublasSetStream", unsafe { sys::cublasSetStream_v2(handle.raw, stream.as_raw().cast()) })?;
        Ok(handle)
    }

    fn version(&self) -> Outcome<String> {
        let mut version = 0;
        // SAFETY: the handle is alive, the pointer valid for the call.
        ok("cublasGetVersion", unsafe { sys::cublasGetVersion_v2(self.raw, &mut version) })?;
        Ok(format!("{}.{}.{}", version / 10000, version / 100 % 100, version % 100))
    }

    fn results_on_device(&self) -> Outcome {
        let mode = sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        // SAFETY: the handle is alive.
        ok("cublasSetPointerMode", unsafe { sys::cublasSetPointerMode_v2(self.raw, mode) })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { sys::cublasDestroy_v2(self.raw) };
    }
}

/// The functions of one element type.
trait Blas: Scalar {
    fn gemm(
        handle: &Handle,
        product: &Product,
        a: &DeviceVec<Self>,
        b: &DeviceVec<Self>,
        c: &mut DeviceVec<Self>,
    ) -> Outcome;
    fn gemv(
        handle: &Handle,
        product: &Product,
        a: &DeviceVec<Self>,
        x: &DeviceVec<Self>,
        y: &mut DeviceVec<Self>,
    ) -> Outcome;
    fn dot(handle: &Handle, x: &DeviceVec<Self>, y: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome;
    fn norm2(handle: &Handle, x: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome;
}

macro_rules! blas {
    ($T:ty, $gemm:ident, $batched:ident, $gemv:ident, $dot:ident, $norm2:ident) => {
        impl Blas for $T {
            fn gemm(
                handle: &Handle,
                product: &Product,
                a: &DeviceVec<Self>,
                b: &DeviceVec<Self>,
                c: &mut DeviceVec<Self>,
            ) -> Outcome {
                let (one, zero) = (1.0, 0.0);
                let [m, k, n] = [product.m, product.k, product.n].map(c_int::try_from);
                let (m, k, n) = (m?, k?, n?);
                // Matrices in C order are transposed ones by columns: c' = b' a'.
                let (left, left_length) = seen(product.is_right_transposed, n, k);
                let (right, right_length) = seen(product.is_left_transposed, k, m);
                let (a, b, c) = (a.as_raw() as *const Self, b.as_raw() as *const Self, c.as_raw() as *mut Self);
                if product.matrices == 1 {
                    // SAFETY: three matrices of these shapes on the device; the factors are read before the call returns.
                    return ok(stringify!($gemm), unsafe {
                        sys::$gemm(handle.raw, left, right, n, m, k, &one, b, left_length, a, right_length, &zero, c, n)
                    });
                }
                let (of_a, of_b, of_c) =
                    (i64::from(m) * i64::from(k), i64::from(k) * i64::from(n), i64::from(m) * i64::from(n));
                let matrices = c_int::try_from(product.matrices)?;
                // SAFETY: as above, for stacks.
                ok(stringify!($batched), unsafe {
                    sys::$batched(
                        handle.raw,
                        left,
                        right,
                        n,
                        m,
                        k,
                        &one,
                        b,
                        left_length,
                        of_b,
                        a,
                        right_length,
                        of_a,
                        &zero,
                        c,
                        n,
                        of_c,
                        matrices,
                    )
                })
            }

            fn gemv(
                handle: &Handle,
                product: &Product,
                a: &DeviceVec<Self>,
                x: &DeviceVec<Self>,
                y: &mut DeviceVec<Self>,
            ) -> Outcome {
                let (one, zero) = (1.0, 0.0);
                let (m, k) = (c_int::try_from(product.m)?, c_int::try_from(product.k)?);
                let (a, x, y) = (a.as_raw() as *const Self, x.as_raw() as *const Self, y.as_raw() as *mut Self);
                let plain = product.is_left_transposed;
                let (rows, columns) = if plain { (m, k) } else { (k, m) };
                let (operation, _) = seen(!plain, rows, columns);
                // SAFETY: a matrix and two vectors of these shapes on the device; the factors are read before the call returns.
                ok(stringify!($gemv), unsafe {
                    sys::$gemv(handle.raw, operation, rows, columns, &one, a, rows, x, 1, &zero, y, 1)
                })
            }

            fn dot(handle: &Handle, x: &DeviceVec<Self>, y: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome {
                handle.results_on_device()?;
                let n = c_int::try_from(x.len().min(y.len()))?;
                let (x, y, to) = (x.as_raw() as *const Self, y.as_raw() as *const Self, result.as_raw() as *mut Self);
                // SAFETY: vectors of n elements and a result of one, on the device.
                ok(stringify!($dot), unsafe { sys::$dot(handle.raw, n, x, 1, y, 1, to) })
            }

            fn norm2(handle: &Handle, x: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome {
                handle.results_on_device()?;
                let n = c_int::try_from(x.len())?;
                let (x, to) = (x.as_raw() as *const Self, result.as_raw() as *mut Self);
                // SAFETY: a vector of n elements and a result of one, on the device.
                ok(stringify!($norm2), unsafe { sys::$norm2(handle.raw, n, x, 1, to) })
            }
        }
    };
}

blas!(f32, cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemv_v2, cublasSdot_v2, cublasSnrm2_v2);
blas!(f64, cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemv_v2, cublasDdot_v2, cublasDnrm2_v2);
