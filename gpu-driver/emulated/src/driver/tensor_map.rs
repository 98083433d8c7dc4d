//! Tensor maps: the boxes of tensors that kernels copy into shared memory.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::table;
use crate::{
    code::{INVALID_VALUE, NOT_SUPPORTED},
    state::call,
};

table![cuTensorMapEncodeTiled];

/// A map as `copy_box_by_thread` of `tensor_copy.cuh` reads it.
#[repr(C, align(64))]
struct BoxCopy {
    address: u64,
    lengths: [u64; 3],
    strides: [u64; 2],
    box_lengths: [u64; 3],
    element_bytes: u64,
    swizzle_bytes: u64,
    unused: [u64; 5],
}

const _: () = assert!(size_of::<BoxCopy>() == 128, "CUtensorMap");

/// Bytes of an element by `CUtensorMapDataType`.
const ELEMENT_BYTES: [u64; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];

/// Bytes of swizzled rows by `CUtensorMapSwizzle`; those of 32 bytes are not emulated.
const SWIZZLE_BYTES: [u64; 4] = [0, 32, 64, 128];

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut c_void,
    element: c_int,
    rank: c_uint,
    address: *mut c_void,
    lengths: *const c_ulonglong,
    strides: *const c_ulonglong,
    box_lengths: *const c_uint,
    steps: *const c_uint,
    interleave: c_int,
    swizzle: c_int,
    _promotion: c_int,
    fill: c_int,
) -> c_int {
    call(|_| {
        let pointers = [lengths.cast::<c_void>(), strides.cast(), box_lengths.cast(), steps.cast()];
        if map.is_null() || !(map as usize).is_multiple_of(64) || pointers.iter().any(|pointer| pointer.is_null()) {
            return Err(INVALID_VALUE);
        }
        if rank != 3 || interleave != 0 || fill != 0 || swizzle == 1 {
            return Err(NOT_SUPPORTED);
        }
        let at = |number: c_int| usize::try_from(number).unwrap_or(usize::MAX);
        let element_bytes = *ELEMENT_BYTES.get(at(element)).ok_or(INVALID_VALUE)?;
        let swizzle_bytes = *SWIZZLE_BYTES.get(at(swizzle)).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller passes as many numbers as the rank says, one stride fewer.
        let (lengths, strides, box_lengths, steps) = unsafe {
            (
                *lengths.cast::<[u64; 3]>(),
                *strides.cast::<[u64; 2]>(),
                *box_lengths.cast::<[u32; 3]>(),
                *steps.cast::<[u32; 3]>(),
            )
        };
        let row_bytes = u64::from(box_lengths[0]) * element_bytes;
        let is_right = (address as u64).is_multiple_of(16)
            && lengths.iter().all(|&length| (1..=1 << 32).contains(&length))
            && strides.iter().all(|&stride| stride.is_multiple_of(16) && stride < 1 << 40)
            && box_lengths.iter().all(|&length| (1..=256).contains(&length))
            && steps == [1; 3]
            && row_bytes.is_multiple_of(16)
            && (swizzle_bytes == 0 || row_bytes <= swizzle_bytes);
        if !is_right {
            return Err(INVALID_VALUE);
        }
        let made = BoxCopy {
            address: address as u64,
            lengths,
            strides,
            box_lengths: box_lengths.map(u64::from),
            element_bytes,
            swizzle_bytes,
            unused: [0; 5],
        };
        // SAFETY: not null, aligned, and 128 bytes as the driver's documentation asks.
        unsafe { map.cast::<BoxCopy>().write(made) };
        Ok(())
    })
}
