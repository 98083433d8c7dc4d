//! cuSPARSE: products with compressed rows by both algorithms, and with sliced ELL, slices of 32 rows.
#![expect(unsafe_code, reason = "calls of cuSPARSE")]

use std::{ffi::c_void, mem::MaybeUninit};

use cudarc::cusparse::sys::{self, cusparseSpMVAlg_t as Algorithm};
use gpu_driver::{CurrentGuard, DevicePod, DeviceVec};
use gpu_sparse::{CsrMatrix, Scalar};

use super::library::{self, Library};
use crate::{
    data,
    harness::{Gpu, Harness, Outcome},
    sparse::{Input, Operation, check_product},
};

static LIBRARY: Library = Library {
    name: "cusparse",
    is_present: sys::is_culib_present,
    opened: sys::culib,
    functions: &[
        "cusparseCreate",
        "cusparseDestroy",
        "cusparseGetVersion",
        "cusparseSetStream",
        "cusparseCreateCsr",
        "cusparseCreateSlicedEll",
        "cusparseDestroySpMat",
        "cusparseCreateDnVec",
        "cusparseDestroyDnVec",
        "cusparseSpMV_bufferSize",
        "cusparseSpMV_preprocess",
        "cusparseSpMV",
    ],
};

const SLICE: usize = 32;

/// Products on the device.
pub(super) fn products<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    let Some(gpu) = harness.gpu() else { return };
    if !input.case().operations.contains(&Operation::Spmv) {
        return;
    }
    match LIBRARY.ready(gpu.device()).and_then(|()| Handle::new(gpu)).and_then(|handle| handle.version()) {
        Ok(version) => harness.version("cusparse", &version),
        Err(reason) => return harness.gap("cusparse", None, &reason.to_string()),
    }
    let (alg1, alg2) = (Algorithm::CUSPARSE_SPMV_CSR_ALG1, Algorithm::CUSPARSE_SPMV_CSR_ALG2);
    for (by, algorithm) in [("cusparse-alg1", alg1), ("cusparse-alg2", alg2)] {
        harness
            .figure("spmv", data::dtype::<T>(), &input.case().name, by)
            .work_of(|| {
                let a = input.matrix()?;
                input.work_of(Operation::Spmv, (a.nnz() * (size_of::<T>() + 4) + 4 * (a.rows() + 1)) as u64)
            })
            .on_gpu(
                |gpu| Product::new(gpu, input, Stored::rows(gpu, input.matrix()?)?, algorithm),
                Product::run,
                |product, ()| Ok(check_product(input.matrix()?, &input.x()?, &product.y.to_vec()?)),
            );
    }
    harness
        .figure("spmv", data::dtype::<T>(), &input.case().name, "cusparse-sell32")
        .work_of(|| {
            let (starts, rows) = (slice_starts(input.matrix()?), input.matrix()?.rows());
            let places = starts.last().copied().unwrap_or(0) as usize;
            input.work_of(Operation::Spmv, (places * (size_of::<T>() + 4) + 4 * (rows.div_ceil(SLICE) + 1)) as u64)
        })
        .on_gpu(
            |gpu| {
                let stored = Stored::slices(gpu, input.matrix()?)?;
                Product::new(gpu, input, stored, Algorithm::CUSPARSE_SPMV_SELL_ALG1)
            },
            Product::run,
            |product, ()| Ok(check_product(input.matrix()?, &input.x()?, &product.y.to_vec()?)),
        );
}

fn ok(call: &str, status: sys::cusparseStatus_t) -> Outcome {
    library::check(call, status, sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS)
}

/// The value that `make` writes to its argument, when it succeeds.
fn made<V>(call: &str, make: impl FnOnce(*mut V) -> sys::cusparseStatus_t) -> Outcome<V> {
    let mut value = MaybeUninit::uninit();
    ok(call, make(value.as_mut_ptr()))?;
    // SAFETY: every call that succeeds has written it.
    Ok(unsafe { value.assume_init() })
}

fn data_type<T: Scalar>() -> sys::cudaDataType {
    if size_of::<T>() == 8 { sys::cudaDataType::CUDA_R_64F } else { sys::cudaDataType::CUDA_R_32F }
}

fn address<T: DevicePod>(buffer: &DeviceVec<T>) -> *mut c_void {
    buffer.as_raw() as *mut c_void
}

/// The library's state, with the device's context current as long as it is used.
struct Handle {
    raw: sys::cusparseHandle_t,
    _current: CurrentGuard,
}

impl Handle {
    fn new(gpu: &Gpu) -> Outcome<Self> {
        let current = gpu.device().make_current()?;
        // SAFETY: the pointer is valid for the call.
        let raw = made("cusparseCreate", |handle| unsafe { sys::cusparseCreate(handle) })?;
        let handle = Self { raw, _current: current };
        // SAFETY: both are alive; the stream lives as long as the process's device.
        ok("cusparseSetStream", unsafe { sys::cusparseSetStream(raw, gpu.stream().as_raw().cast()) })?;
        Ok(handle)
    }

    fn version(&self) -> Outcome<String> {
        // SAFETY: the handle is alive, the pointer valid for the call.
        let version = made("cusparseGetVersion", |to| unsafe { sys::cusparseGetVersion(self.raw, to) })?;
        Ok(format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { sys::cusparseDestroy(self.raw) };
    }
}

/// A matrix in device memory, and its descriptor.
struct Stored<T: Scalar> {
    raw: sys::cusparseSpMatDescr_t,
    _starts: DeviceVec<i32>,
    _columns: DeviceVec<i32>,
    _values: DeviceVec<T>,
}

impl<T: Scalar> Stored<T> {
    fn rows(gpu: &Gpu, a: &CsrMatrix<T>) -> Outcome<Self> {
        let starts = a.row_starts().iter().map(|&start| i32::try_from(start)).collect::<Result<Vec<_>, _>>()?;
        let columns = a.columns().iter().map(|&column| i32::try_from(column)).collect::<Result<Vec<_>, _>>()?;
        let starts = DeviceVec::from_slice(gpu.stream(), &starts)?;
        let columns = DeviceVec::from_slice(gpu.stream(), &columns)?;
        let values = DeviceVec::from_slice(gpu.stream(), a.values())?;
        let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
        // SAFETY: the arrays have the lengths and types that are named, and live as long as the descriptor.
        let raw = made("cusparseCreateCsr", |to| unsafe {
            sys::cusparseCreateCsr(
                to,
                a.rows() as i64,
                a.cols() as i64,
                a.nnz() as i64,
                address(&starts),
                address(&columns),
                address(&values),
                index,
                index,
                sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                data_type::<T>(),
            )
        })?;
        Ok(Self { raw, _starts: starts, _columns: columns, _values: values })
    }

    fn slices(gpu: &Gpu, a: &CsrMatrix<T>) -> Outcome<Self> {
        let starts = slice_starts(a);
        let places = starts.last().copied().unwrap_or(0) as usize;
        if places > 3 * a.nnz() + SLICE * SLICE {
            return Err("padded to more than three times its entries".into());
        }
        let offsets = starts.iter().map(|&start| i32::try_from(start)).collect::<Result<Vec<_>, _>>()?;
        // Column by column within a slice; -1 where a row has ended.
        let (mut columns, mut values) = (vec![-1_i32; places], vec![T::zero(); places]);
        for row in 0..a.rows() {
            let (row_columns, row_values) = a.row(row).unwrap_or_default();
            for (k, (&column, &value)) in row_columns.iter().zip(row_values).enumerate() {
                let place = starts[row / SLICE] as usize + k * SLICE + row % SLICE;
                columns[place] = i32::try_from(column)?;
                values[place] = value;
            }
        }
        let starts = DeviceVec::from_slice(gpu.stream(), &offsets)?;
        let columns = DeviceVec::from_slice(gpu.stream(), &columns)?;
        let values = DeviceVec::from_slice(gpu.stream(), &values)?;
        let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
        // SAFETY: as in `rows`.
        let raw = made("cusparseCreateSlicedEll", |to| unsafe {
            sys::cusparseCreateSlicedEll(
                to,
                a.rows() as i64,
                a.cols() as i64,
                a.nnz() as i64,
                places as i64,
                SLICE as i64,
                address(&starts),
                address(&columns),
                address(&values),
                index,
                index,
                sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                data_type::<T>(),
            )
        })?;
        Ok(Self { raw, _starts: starts, _columns: columns, _values: values })
    }
}

impl<T: Scalar> Drop for Stored<T> {
    fn drop(&mut self) {
        // SAFETY: made with the descriptor, destroyed once.
        unsafe { sys::cusparseDestroySpMat(self.raw.cast_const()) };
    }
}

/// The starts of slices, in places: each is as wide as its longest row.
fn slice_starts<T: Scalar>(a: &CsrMatrix<T>) -> Vec<u64> {
    let lengths: Vec<u64> = a.row_starts().windows(2).map(|row| row[1] - row[0]).collect();
    let widths = lengths.chunks(SLICE).map(|slice| slice.iter().copied().max().unwrap_or(0) * SLICE as u64);
    let mut starts = vec![0];
    for width in widths {
        starts.push(starts.last().copied().unwrap_or(0) + width);
    }
    starts
}

/// A vector's descriptor.
struct Vector(sys::cusparseDnVecDescr_t);

impl Vector {
    fn new<T: Scalar>(buffer: &DeviceVec<T>) -> Outcome<Self> {
        // SAFETY: the buffer has that many elements of that type, and lives beside the descriptor.
        Ok(Self(made("cusparseCreateDnVec", |to| unsafe {
            sys::cusparseCreateDnVec(to, buffer.len() as i64, address(buffer), data_type::<T>())
        })?))
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { sys::cusparseDestroyDnVec(self.0.cast_const()) };
    }
}

/// `y = A x`, ready to run. Descriptors go before the buffers that they describe, the handle last.
struct Product<T: Scalar> {
    of_x: Vector,
    of_y: Vector,
    a: Stored<T>,
    scratch: DeviceVec<u8>,
    _x: DeviceVec<T>,
    y: DeviceVec<T>,
    algorithm: Algorithm,
    handle: Handle,
}

impl<T: Scalar> Product<T> {
    /// With the buffer that the library asks for, and its analysis done.
    fn new(gpu: &Gpu, input: &Input<'_, T>, a: Stored<T>, algorithm: Algorithm) -> Outcome<Self> {
        let handle = Handle::new(gpu)?;
        let (x, y) = (DeviceVec::from_slice(gpu.stream(), &input.x()?)?, input.b()?);
        let y = DeviceVec::from_slice(gpu.stream(), &y)?;
        let (of_x, of_y) = (Vector::new(&x)?, Vector::new(&y)?);
        let scratch = DeviceVec::zeros(gpu.stream(), 0)?;
        let mut product = Self { of_x, of_y, a, scratch, _x: x, y, algorithm, handle };
        let (one, zero) = (T::one(), T::zero());
        // SAFETY: everything that is handed over is alive, and described as it is.
        let bytes = made("cusparseSpMV_bufferSize", |to| unsafe {
            sys::cusparseSpMV_bufferSize(
                product.handle.raw,
                sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE,
                (&raw const one).cast(),
                product.a.raw.cast_const(),
                product.of_x.0.cast_const(),
                (&raw const zero).cast(),
                product.of_y.0,
                data_type::<T>(),
                algorithm,
                to,
            )
        })?;
        product.scratch = DeviceVec::zeros(gpu.stream(), bytes.max(1))?;
        if algorithm != Algorithm::CUSPARSE_SPMV_SELL_ALG1 {
            gpu.prepare(|| product.call("cusparseSpMV_preprocess", sys::cusparseSpMV_preprocess))?;
        }
        Ok(product)
    }

    fn run(&mut self) -> Outcome {
        self.call("cusparseSpMV", sys::cusparseSpMV)
    }

    /// Calls one of the two functions that take everything.
    fn call(&self, name: &str, function: SpMv) -> Outcome {
        let (one, zero) = (T::one(), T::zero());
        // SAFETY: everything that is handed over is alive and described as it is, the buffer as large as the library asked for.
        ok(name, unsafe {
            function(
                self.handle.raw,
                sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE,
                (&raw const one).cast(),
                self.a.raw.cast_const(),
                self.of_x.0.cast_const(),
                (&raw const zero).cast(),
                self.of_y.0,
                data_type::<T>(),
                self.algorithm,
                address(&self.scratch),
            )
        })
    }
}

type SpMv = unsafe fn(
    sys::cusparseHandle_t,
    sys::cusparseOperation_t,
    *const c_void,
    sys::cusparseConstSpMatDescr_t,
    sys::cusparseConstDnVecDescr_t,
    *const c_void,
    sys::cusparseDnVecDescr_t,
    sys::cudaDataType,
    Algorithm,
    *mut c_void,
) -> sys::cusparseStatus_t;
