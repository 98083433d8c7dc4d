//! cuBLAS, in its default mathematics: products of dense matrices, dot products, norms.
#![expect(unsafe_code, reason = "calls of cuBLAS")]

use std::{ffi::c_int, mem::MaybeUninit};

use cudarc::cublas::sys;
use gpu_driver::{CurrentGuard, DeviceVec};
use gpu_sparse::Scalar;
use rayon::prelude::*;

use super::library::{self, Library};
use crate::{
    algos, data,
    harness::{Check, Gpu, Harness, Outcome, Work},
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
        "cublasSdot_v2",
        "cublasDdot_v2",
        "cublasSnrm2_v2",
        "cublasDnrm2_v2",
    ],
};

/// Everything on the device.
pub(super) fn figures(harness: &mut Harness) {
    let Some(gpu) = harness.gpu() else { return };
    match LIBRARY.ready(gpu).and_then(|()| Handle::new(gpu)).and_then(|handle| handle.version()) {
        Ok(version) => harness.version("cublas", &version),
        Err(reason) => return harness.gap("cublas", None, &reason.to_string()),
    }
    for &n in harness.set().pick(&[64][..], &[512], &[512, 4096]) {
        gemm::<f32>(harness, n);
        gemm::<f64>(harness, n);
    }
    // And a vector that a launch takes longer than.
    let short = harness.set().pick(None, None, Some(1 << 14));
    for n in short.into_iter().chain(algos::lengths::<f32>(harness)) {
        sums::<f32>(harness, n);
    }
    for n in short.into_iter().chain(algos::lengths::<f64>(harness)) {
        sums::<f64>(harness, n);
    }
}

fn gemm<T: Blas>(harness: &mut Harness, n: usize) {
    harness.figure("gemm", data::dtype::<T>(), n, "cublas").work(Work::computes(2 * (n as u64).pow(3))).on_gpu(
        |gpu| {
            let (handle, a, b) = (Handle::new(gpu)?, data::uniform::<T>(n * n), data::uniform_from(n * n, n * n));
            let (on_a, on_b) = (DeviceVec::from_slice(gpu.stream(), &a)?, DeviceVec::from_slice(gpu.stream(), &b)?);
            Ok((on_a, on_b, DeviceVec::<T>::zeros(gpu.stream(), n * n)?, handle))
        },
        |(a, b, c, handle)| T::gemm(handle, n, a, b, c),
        |(_, _, c, _), ()| Ok(check_gemm(n, &c.to_vec()?)),
    );
}

/// Three columns of `C = A B`, stored by columns, relative to `|A| |B|`.
fn check_gemm<T: Scalar>(n: usize, c: &[T]) -> Check {
    let (a, b) = (data::uniform::<T>(n * n), data::uniform_from::<T>(n * n, n * n));
    let error = [0, n / 2, n - 1].into_par_iter().map(|j| {
        let (mut sums, mut sizes) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..n {
            let b_kj = Scalar::to_f64(b[k + j * n]);
            for (i, &a_ik) in a[k * n..(k + 1) * n].iter().enumerate() {
                let term = Scalar::to_f64(a_ik) * b_kj;
                sums[i] += term;
                sizes[i] += term.abs();
            }
        }
        let got = &c[j * n..(j + 1) * n];
        let errors = got.iter().zip(sums).zip(sizes).map(|((&c, sum), size)| (Scalar::to_f64(c) - sum).abs() / size);
        errors.fold(0.0, Check::larger)
    });
    let error = error.reduce(|| 0.0, Check::larger);
    Check::within(error, 4.0 * (n as f64).sqrt() * Scalar::to_f64(T::epsilon()))
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

/// The library's state, which leaves scalar results on the device.
struct Handle {
    raw: sys::cublasHandle_t,
    _current: CurrentGuard,
}

impl Handle {
    fn new(gpu: &Gpu) -> Outcome<Self> {
        let current = gpu.device().make_current()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for the call.
        ok("cublasCreate", unsafe { sys::cublasCreate_v2(raw.as_mut_ptr()) })?;
        // SAFETY: written by the call that succeeded.
        let handle = Self { raw: unsafe { raw.assume_init() }, _current: current };
        // SAFETY: both are alive.
        ok("cublasSetStream", unsafe { sys::cublasSetStream_v2(handle.raw, gpu.stream().as_raw().cast()) })?;
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
    fn gemm(handle: &Handle, n: usize, a: &DeviceVec<Self>, b: &DeviceVec<Self>, c: &mut DeviceVec<Self>) -> Outcome;
    fn dot(handle: &Handle, x: &DeviceVec<Self>, y: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome;
    fn norm2(handle: &Handle, x: &DeviceVec<Self>, result: &mut DeviceVec<Self>) -> Outcome;
}

macro_rules! blas {
    ($T:ty, $gemm:ident, $dot:ident, $norm2:ident) => {
        impl Blas for $T {
            fn gemm(
                handle: &Handle,
                n: usize,
                a: &DeviceVec<Self>,
                b: &DeviceVec<Self>,
                c: &mut DeviceVec<Self>,
            ) -> Outcome {
                let (rows, one, zero) = (c_int::try_from(n)?, 1.0, 0.0);
                let plain = sys::cublasOperation_t::CUBLAS_OP_N;
                let (a, b, c) = (a.as_raw() as *const Self, b.as_raw() as *const Self, c.as_raw() as *mut Self);
                // SAFETY: three square matrices of n rows on the device; the factors are read before the call returns.
                ok(stringify!($gemm), unsafe {
                    sys::$gemm(handle.raw, plain, plain, rows, rows, rows, &one, a, rows, b, rows, &zero, c, rows)
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

blas!(f32, cublasSgemm_v2, cublasSdot_v2, cublasSnrm2_v2);
blas!(f64, cublasDgemm_v2, cublasDdot_v2, cublasDnrm2_v2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_matrices_are_checked() {
        let n = 8;
        let (a, b) = (data::uniform::<f64>(n * n), data::uniform_from::<f64>(n * n, n * n));
        let entry = |i: usize, j: usize| (0..n).map(|k| a[i + k * n] * b[k + j * n]).sum::<f64>();
        let mut c: Vec<f64> = (0..n * n).map(|at| entry(at % n, at / n)).collect();
        assert!(check_gemm(n, &c).is_right());
        c[(n - 1) * n + 3] += 1e-6;
        assert!(!check_gemm(n, &c).is_right());
    }
}
