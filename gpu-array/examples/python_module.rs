//! A library for Python: arrays of CuPy, PyTorch or anything else that knows DLPack come in, arrays of ours go out, in one process and without a copy.
//!
//! `cargo build --release --example python_module` makes `libpython_module.so`; `gpu-array/tests/gpu/python_module.py` loads it with `ctypes`, and has
//! the class of ten lines that Python needs for `__dlpack__`. Each function gives null, or -1, where it fails; [`failure`] then has the text.
#![expect(unsafe_code, reason = "functions that C calls")]

use std::{
    cell::RefCell,
    ffi::{CString, c_char},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use gpu_array::{
    GpuArray, Result,
    exchange::{DLManagedTensor, DLManagedTensorVersioned, DlPack, DlPackUnversioned, ForeignArray},
};
use gpu_driver::{Device, Stream};
use ndarray::Ix2;

thread_local! {
    static FAILURE: RefCell<CString> = RefCell::default();
}

/// The stream of all functions here, which is the device's main one.
fn stream() -> Result<&'static Stream> {
    static STREAM: OnceLock<Stream> = OnceLock::new();
    if let Some(stream) = STREAM.get() {
        return Ok(stream);
    }
    let stream = Device::first()?.stream();
    Ok(STREAM.get_or_init(|| stream))
}

/// The value, or `otherwise` with the error's text kept for [`failure`].
fn or_failure<T>(result: Result<T>, otherwise: T) -> T {
    result.unwrap_or_else(|error| {
        FAILURE.set(CString::new(error.to_string().replace('\0', " ")).unwrap_or_default());
        otherwise
    })
}

/// The text of the last error of this thread. It lives until the thread's next error.
#[unsafe(no_mangle)]
pub extern "C" fn failure() -> *const c_char {
    FAILURE.with_borrow(|text| text.as_ptr())
}

/// The handle of the stream on which arrays are ready, for `__dlpack__(stream=…)` of others; null where there is no device.
#[unsafe(no_mangle)]
pub extern "C" fn stream_handle() -> *const u8 {
    or_failure(stream().map(|stream| stream.as_raw().cast_const().cast()), null())
}

/// The number of the device; -1 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn device_number() -> i32 {
    or_failure(stream().map(|stream| stream.device().ordinal() as i32), -1)
}

/// Waits until the arrays that were given out are ready for any stream: 0, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn wait() -> i32 {
    or_failure(stream().and_then(|stream| Ok(stream.synchronize()?)).map(|()| 0), -1)
}

/// A new matrix of f32: 0, 1, 2, …, row after row; null where it fails.
#[unsafe(no_mangle)]
pub extern "C" fn range(rows: usize, columns: usize) -> *mut DLManagedTensorVersioned {
    let range = || {
        let numbers = GpuArray::arange(stream()?, 0.0f32, rows as f32 * columns as f32, 1.0)?;
        Ok(numbers.into_shape((rows, columns))?.into_dlpack()?.into_raw())
    };
    or_failure(range(), null_mut())
}

/// A new array: the matrix `tensor` of f32, times `factor`. The tensor is given up, also where it is refused.
///
/// # Safety
/// `tensor` is null, or a valid tensor of the caller's, ready on the stream of [`stream_handle`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times(tensor: *mut DLManagedTensorVersioned, factor: f32) -> *mut DLManagedTensorVersioned {
    let times = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPack::from_raw(tensor) }) else { return Ok(null_mut()) };
        // SAFETY: as the caller promises; the product is enqueued on the same stream.
        let x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack(stream()?, tensor)? };
        Ok((x.view() * factor).eval()?.into_dlpack()?.into_raw())
    };
    or_failure(times(), null_mut())
}

/// [`times`] for tensors of versions before 1.0.
///
/// # Safety
/// As of [`times`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times_unversioned(tensor: *mut DLManagedTensor, factor: f32) -> *mut DLManagedTensor {
    let times = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPackUnversioned::from_raw(tensor) }) else { return Ok(null_mut()) };
        // SAFETY: as the caller promises; the product is enqueued on the same stream.
        let x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack_unversioned(stream()?, tensor)? };
        Ok((x.view() * factor).eval()?.into_dlpack_unversioned()?.into_raw())
    };
    or_failure(times(), null_mut())
}

/// Adds `term` to each element of the matrix `tensor` of f32, in the caller's own memory: 0, or -1.
///
/// # Safety
/// As of [`times`]; nobody else uses the elements before [`wait`] has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_in_place(tensor: *mut DLManagedTensorVersioned, term: f32) -> i32 {
    let add = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPack::from_raw(tensor) }) else { return Ok(0) };
        // SAFETY: as the caller promises.
        let mut x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack(stream()?, tensor)? };
        x.view_mut()?.update(|x| x + term)?;
        Ok(0)
    };
    or_failure(add(), -1)
}

/// The element in a row and a column of the matrix `tensor` of f32; NaN where it fails.
///
/// # Safety
/// As of [`times`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn element(tensor: *mut DLManagedTensorVersioned, row: usize, column: usize) -> f32 {
    let element = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPack::from_raw(tensor) }) else { return Ok(f32::NAN) };
        // SAFETY: as the caller promises.
        let x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack(stream()?, tensor)? };
        Ok(x.view().to_ndarray()?.get((row, column)).copied().unwrap_or(f32::NAN))
    };
    or_failure(element(), f32::NAN)
}
