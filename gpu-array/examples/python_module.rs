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
    ArrayError, Complex, DType, Element, GpuArray, Numeric, Result, bf16,
    exchange::{DLDataType, DLManagedTensor, DLManagedTensorVersioned, DlPack, DlPackUnversioned, ForeignArray},
    expression::{Expr, IntoExpr},
    f16,
};
use gpu_driver::{Device, Stream};
use ndarray::{Array2, Ix2};

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

/// The element types, each with its number of a matrix of counted elements, and with the sum of an element and itself.
trait Counted: Element {
    /// Element number `k`, twice that with `doubled`: k, k + k i for complex numbers, whether k is odd for `bool`, whose double is its contrary.
    fn counted(k: usize, doubled: bool) -> Self;
    fn doubled(x: Expr<'_, Self, Ix2>) -> Expr<'_, Self, Ix2>;
}

macro_rules! counted {
    ($($type:ty, |$k:ident| $value:expr;)*) => {$(
        impl Counted for $type {
            fn counted(k: usize, doubled: bool) -> Self {
                let $k = (if doubled { 2 * k } else { k }) as f32;
                $value
            }
            fn doubled(x: Expr<'_, Self, Ix2>) -> Expr<'_, Self, Ix2> {
                twice_of(x)
            }
        }
    )*};
}
counted! {
    i8, |k| k as i8; i16, |k| k as i16; i32, |k| k as i32; i64, |k| k as i64;
    u8, |k| k as u8; u16, |k| k as u16; u32, |k| k as u32; u64, |k| k as u64;
    f16, |k| f16::from_f32(k); bf16, |k| bf16::from_f32(k); f32, |k| k; f64, |k| f64::from(k);
    Complex<f32>, |k| Complex::new(k, k); Complex<f64>, |k| Complex::new(k.into(), k.into());
}

impl Counted for bool {
    fn counted(k: usize, doubled: bool) -> Self {
        (k % 2 == 1) != doubled
    }
    fn doubled(x: Expr<'_, Self, Ix2>) -> Expr<'_, Self, Ix2> {
        !x
    }
}

fn twice_of<T: Numeric>(x: Expr<'_, T, Ix2>) -> Expr<'_, T, Ix2> {
    &x + &x
}

/// Calls a function with the element type that DLPack has as that.
macro_rules! of_type {
    ($dtype:expr, $function:ident($argument:expr)) => {{
        let (dtype, argument): (DLDataType, _) = ($dtype, $argument);
        match DType::from_dlpack(dtype) {
            Some(DType::Bool) => $function::<bool>(argument),
            Some(DType::I8) => $function::<i8>(argument),
            Some(DType::I16) => $function::<i16>(argument),
            Some(DType::I32) => $function::<i32>(argument),
            Some(DType::I64) => $function::<i64>(argument),
            Some(DType::U8) => $function::<u8>(argument),
            Some(DType::U16) => $function::<u16>(argument),
            Some(DType::U32) => $function::<u32>(argument),
            Some(DType::U64) => $function::<u64>(argument),
            Some(DType::F16) => $function::<f16>(argument),
            Some(DType::BF16) => $function::<bf16>(argument),
            Some(DType::F32) => $function::<f32>(argument),
            Some(DType::F64) => $function::<f64>(argument),
            Some(DType::C64) => $function::<Complex<f32>>(argument),
            Some(DType::C128) => $function::<Complex<f64>>(argument),
            _ => {
                let (expected, got) = ("an element type of arrays".to_owned(), format!("{dtype:?}"));
                Err(ArrayError::Exchange { op: "python_module", expected, got })
            }
        }
    }};
}

fn counted_of<T: Counted>((rows, columns): (usize, usize)) -> Result<*mut DLManagedTensorVersioned> {
    let host = Array2::from_shape_fn((rows, columns), |(row, column)| T::counted(row * columns + column, false));
    Ok(GpuArray::from_ndarray(stream()?, &host)?.into_dlpack()?.into_raw())
}

fn doubled_of<T: Counted>(tensor: DlPack) -> Result<*mut DLManagedTensorVersioned> {
    // SAFETY: as the caller of `doubled` promises; the sum is enqueued on the same stream.
    let x = unsafe { ForeignArray::<T, Ix2>::from_dlpack(stream()?, tensor)? };
    Ok(T::doubled(x.view().into_expr()).eval()?.into_dlpack()?.into_raw())
}

fn is_doubled_of<T: Counted>(tensor: DlPack) -> Result<i32> {
    // SAFETY: as the caller of `is_doubled` promises.
    let got = unsafe { ForeignArray::<T, Ix2>::from_dlpack(stream()?, tensor)? }.view().to_ndarray()?;
    let columns = got.ncols();
    let is_right = |((row, column), &x): ((usize, usize), &T)| x == T::counted(row * columns + column, true);
    Ok(i32::from(got.indexed_iter().all(is_right)))
}

/// A new matrix of the type that DLPack has as `code` and `bits`: its elements are counted row after row; null where it fails.
#[unsafe(no_mangle)]
pub extern "C" fn counted(rows: usize, columns: usize, code: u8, bits: u8) -> *mut DLManagedTensorVersioned {
    let dtype = DLDataType { code, bits, lanes: 1 };
    or_failure(of_type!(dtype, counted_of((rows, columns))), null_mut())
}

/// A new array of any type: the matrix `tensor` added to itself, of `bool` its contrary. The tensor is given up, also where it is refused.
///
/// # Safety
/// As of [`times`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn doubled(tensor: *mut DLManagedTensorVersioned) -> *mut DLManagedTensorVersioned {
    let doubled = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPack::from_raw(tensor) }) else { return Ok(null_mut()) };
        of_type!(tensor.tensor().dtype, doubled_of(tensor))
    };
    or_failure(doubled(), null_mut())
}

/// Whether a matrix of any type is that of [`counted`], doubled: 0 or 1; -1 where it fails. The tensor is given up.
///
/// # Safety
/// As of [`times`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn is_doubled(tensor: *mut DLManagedTensorVersioned) -> i32 {
    let is_doubled = || {
        // SAFETY: as the caller promises.
        let Some(tensor) = (unsafe { DlPack::from_raw(tensor) }) else { return Ok(0) };
        of_type!(tensor.tensor().dtype, is_doubled_of(tensor))
    };
    or_failure(is_doubled(), -1)
}
