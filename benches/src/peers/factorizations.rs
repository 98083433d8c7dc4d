//! Stacks of small matrices by cuBLAS (elimination with pivots, then substitution) and cuSOLVER (Cholesky).
//!
//! Both overwrite the matrices. Each call factors the matrices that the call before has left, which takes as long, and saves the copy that a caller
//! who needs them afterwards would make. Neither has Q for stacks, so there is no peer of `qr`.
#![expect(unsafe_code, reason = "calls of cuBLAS and cuSOLVER")]

use std::{ffi::c_int, mem::MaybeUninit};

use cudarc::{
    cublas::sys as blas,
    cusolver::sys::{self, cublasFillMode_t::CUBLAS_FILL_MODE_UPPER, cusolverStatus_t::CUSOLVER_STATUS_SUCCESS},
};
use gpu_algos::linalg::LinalgElement;
use gpu_array::GpuArray;
use gpu_driver::{CurrentGuard, DeviceVec};
use gpu_sparse::Scalar;
use ndarray::{Array3, Ix3};

use super::{
    cublas::{self, Handle},
    library::{self, Library},
};
use crate::{
    harness::{Gpu, Harness, Outcome},
    primitives::Systems,
};

static SOLVER: Library = Library {
    name: "cusolver",
    is_present: sys::is_culib_present,
    opened: sys::culib,
    functions: &[
        "cusolverDnCreate",
        "cusolverDnDestroy",
        "cusolverDnSetStream",
        "cusolverDnSpotrfBatched",
        "cusolverDnDpotrfBatched",
        "cusolverGetVersion",
    ],
};

/// Everything on the device.
pub(super) fn figures(harness: &mut Harness) {
    let Some(gpu) = harness.gpu() else { return };
    let device = gpu.device().clone();
    // Without cuBLAS there is a gap already, of its products.
    if cublas::ready(&device).is_ok() {
        solves::<f32>(harness);
        solves::<f64>(harness);
    }
    match SOLVER.ready(&device).and_then(|()| version()) {
        Ok(version) => harness.version("cusolver", &version),
        Err(reason) => return harness.gap("cusolver", None, &reason.to_string()),
    }
    choleskys::<f32>(harness);
    choleskys::<f64>(harness);
}

fn version() -> Outcome<String> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    ok("cusolverGetVersion", unsafe { sys::cusolverGetVersion(&mut version) })?;
    Ok(format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100))
}

/// A stack of systems whose matrices and right-hand sides are overwritten.
struct Stack<T: LinalgElement> {
    systems: Systems<T>,
    /// The address of each matrix, and of each right-hand side.
    of_a: DeviceVec<u64>,
    of_b: DeviceVec<u64>,
    info: DeviceVec<c_int>,
    n: c_int,
    matrices: c_int,
}

impl<T: LinalgElement + Scalar> Stack<T> {
    fn of(gpu: &Gpu, n: usize, matrices: usize) -> Outcome<Self> {
        let systems = Systems::<T>::of(gpu, n, matrices)?;
        let addresses = |array: &GpuArray<T, Ix3>, elements: usize| {
            let first = array.as_device_vec().as_raw();
            let all = (0..matrices).map(|matrix| first + (matrix * elements * size_of::<T>()) as u64);
            DeviceVec::from_slice(gpu.stream(), &all.collect::<Vec<_>>())
        };
        let (of_a, of_b) = (addresses(&systems.a, n * n)?, addresses(&systems.b, n)?);
        let info = DeviceVec::zeros(gpu.stream(), matrices)?;
        Ok(Self { systems, of_a, of_b, info, n: n.try_into()?, matrices: matrices.try_into()? })
    }
}

fn solves<T: Batched>(harness: &mut Harness) {
    for case in Systems::<T>::cases(harness.set()) {
        let (n, matrices) = case.lengths;
        harness.figure("solve-batched", case.dtype, case.name, "cublas").work(case.solve).on_gpu(
            |gpu| {
                let (stack, handle) = (Stack::<T>::of(gpu, n, matrices)?, Handle::new(gpu)?);
                Ok((stack, DeviceVec::<c_int>::zeros(gpu.stream(), n * matrices)?, handle))
            },
            |(stack, pivots, handle)| T::solve(handle, stack, pivots),
            |(Stack { systems, .. }, ..), ()| {
                let sides = Array3::from_elem((matrices, n, 1), T::from_f64(1.0));
                Ok(systems.check(&systems.host, &systems.b.to_ndarray()?, &sides))
            },
        );
    }
}

fn choleskys<T: Batched>(harness: &mut Harness) {
    for case in Systems::<T>::cases(harness.set()) {
        let (n, matrices) = case.lengths;
        harness.figure("cholesky-batched", case.dtype, case.name, "cusolver").work(case.cholesky).on_gpu(
            |gpu| Ok((Stack::<T>::of(gpu, n, matrices)?, Solver::new(gpu)?)),
            |(stack, solver)| T::cholesky(solver, stack),
            |(Stack { systems, .. }, _), ()| {
                // The upper half of each is left as it was.
                let mut l = systems.a.to_ndarray()?;
                l.indexed_iter_mut().filter(|((_, i, j), _)| j > i).for_each(|(_, x)| *x = T::from_f64(0.0));
                let transposed = l.view().permuted_axes([0, 2, 1]).to_owned();
                Ok(systems.check(&l, &transposed, &systems.host))
            },
        );
    }
}

fn ok(call: &str, status: sys::cusolverStatus_t) -> Outcome {
    library::check(call, status, CUSOLVER_STATUS_SUCCESS)
}

/// cuSOLVER's state.
struct Solver {
    raw: sys::cusolverDnHandle_t,
    _current: CurrentGuard,
}

impl Solver {
    fn new(gpu: &Gpu) -> Outcome<Self> {
        let current = gpu.device().make_current()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for the call.
        ok("cusolverDnCreate", unsafe { sys::cusolverDnCreate(raw.as_mut_ptr()) })?;
        // SAFETY: written by the call that succeeded.
        let solver = Self { raw: unsafe { raw.assume_init() }, _current: current };
        // SAFETY: both are alive.
        ok("cusolverDnSetStream", unsafe { sys::cusolverDnSetStream(solver.raw, gpu.stream().as_raw().cast()) })?;
        Ok(solver)
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { sys::cusolverDnDestroy(self.raw) };
    }
}

/// The functions of one element type.
trait Batched: LinalgElement + Scalar {
    /// Eliminates with pivots, and solves for one right-hand side of each matrix, which its solution takes the place of.
    fn solve(handle: &Handle, stack: &mut Stack<Self>, pivots: &mut DeviceVec<c_int>) -> Outcome;
    /// The lower factor, in C order, in place.
    fn cholesky(solver: &Solver, stack: &mut Stack<Self>) -> Outcome;
}

macro_rules! batched {
    ($T:ty, $getrf:ident, $getrs:ident, $potrf:ident) => {
        impl Batched for $T {
            fn solve(handle: &Handle, stack: &mut Stack<Self>, pivots: &mut DeviceVec<c_int>) -> Outcome {
                let (a, b) = (stack.of_a.as_raw() as *const *mut Self, stack.of_b.as_raw() as *const *mut Self);
                let (pivots, n) = (pivots.as_raw() as *mut c_int, stack.n);
                let success = blas::cublasStatus_t::CUBLAS_STATUS_SUCCESS;
                let info = stack.info.as_raw() as *mut c_int;
                // SAFETY: tables of so many matrices, pivots and statuses on the device.
                let status = unsafe { blas::$getrf(handle.raw, n, a, n, pivots, info, stack.matrices) };
                library::check(stringify!($getrf), status, success)?;
                let (plain, mut wrong) = (blas::cublasOperation_t::CUBLAS_OP_N, 0);
                // SAFETY: as above; the status of the arguments is on the host.
                let status = unsafe {
                    blas::$getrs(handle.raw, plain, n, 1, a.cast(), n, pivots, b, n, &mut wrong, stack.matrices)
                };
                library::check(stringify!($getrs), status, success)
            }

            fn cholesky(solver: &Solver, stack: &mut Stack<Self>) -> Outcome {
                let (a, info) = (stack.of_a.as_raw() as *mut *mut Self, stack.info.as_raw() as *mut c_int);
                // SAFETY: as above. The upper half by columns is the lower one in C order.
                ok(stringify!($potrf), unsafe {
                    sys::$potrf(solver.raw, CUBLAS_FILL_MODE_UPPER, stack.n, a, stack.n, info, stack.matrices)
                })
            }
        }
    };
}

batched!(f32, cublasSgetrfBatched, cublasSgetrsBatched, cusolverDnSpotrfBatched);
batched!(f64, cublasDgetrfBatched, cublasDgetrsBatched, cusolverDnDpotrfBatched);
