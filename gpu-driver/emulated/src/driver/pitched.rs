//! Copies and memsets of rows that lie at equal distances, of two and three dimensions.

use std::{
    ffi::{c_int, c_uint, c_void},
    sync::Arc,
};

use gpu_driver_core::copies::{ARRAY, Copy2d, Copy3d, DEVICE, HOST, Side3d, UNIFIED};

use super::{NULL, array, table};
use crate::{
    code::{INVALID_VALUE, Outcome},
    kinds::Call,
    state::{DriverState, call},
    work::{BoxRows, Op, Spread},
};

table![
    cuMemcpy2D_v2,
    cuMemcpy2DUnaligned_v2,
    cuMemcpy2DAsync_v2,
    cuMemcpy3D_v2,
    cuMemcpy3DAsync_v2,
    cuMemsetD2D8_v2,
    cuMemsetD2D16_v2,
    cuMemsetD2D32_v2,
    cuMemsetD2D8Async,
    cuMemsetD2D16Async,
    cuMemsetD2D32Async,
];

/// The rows of one side, and whether they lie on the host.
fn side(state: &DriverState, side: &Side3d, copy: &Copy3d) -> Outcome<(Spread, bool)> {
    let (address, on_host) = match side.memory_type {
        HOST => (side.host as usize, true),
        DEVICE => (side.device as usize, false),
        UNIFIED => (side.device as usize, !state.is_device(side.device as usize)),
        ARRAY => {
            let texels = array::side(state, side, copy)?;
            let start = texels.address(0, side.y, side.z) + side.x_bytes;
            return Ok((Spread { start, pitch: texels.pitch, layer: texels.layer_bytes() }, false));
        }
        _ => return Err(INVALID_VALUE),
    };
    // No pitch stands for rows that touch, no height for layers that do.
    let pitch = if side.pitch == 0 { side.x_bytes + copy.width_bytes } else { side.pitch };
    let height = if side.height == 0 { copy.height } else { side.height };
    let layer = pitch.checked_mul(height).ok_or(INVALID_VALUE)?;
    let fits =
        side.x_bytes.checked_add(copy.width_bytes).is_some_and(|end| end <= pitch || copy.height * copy.depth <= 1)
            && (copy.depth <= 1 || side.y.checked_add(copy.height).is_some_and(|end| end <= height));
    if address == 0 || !fits {
        return Err(INVALID_VALUE);
    }
    let skipped = side.z.checked_mul(layer).zip(side.y.checked_mul(pitch)).and_then(|(z, y)| z.checked_add(y));
    let start = skipped.and_then(|skipped| address.checked_add(skipped)?.checked_add(side.x_bytes));
    Ok((Spread { start: start.ok_or(INVALID_VALUE)?, pitch, layer }, on_host))
}

/// Copies the rows of a box.
pub(super) fn copy_rows(state: &mut DriverState, copy: &Copy3d, stream: *mut c_void, waits: bool) -> Outcome {
    let stream = state.stream(stream)?;
    let context = state.stream_state(stream)?.context;
    state.count(context, Call::Copy)?;
    if copy.width_bytes == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(());
    }
    let ((mut from, from_host), (to, to_host)) = (side(state, &copy.from, copy)?, side(state, &copy.to, copy)?);
    let rows = BoxRows { width: copy.width_bytes, height: copy.height, depth: copy.depth };
    for (spread, on_host) in [(from, from_host), (to, to_host)] {
        let bytes = rows.extent(spread).ok_or(INVALID_VALUE)?;
        if !on_host {
            state.expect_device(spread.start, bytes)?;
        }
    }
    let captured = state.stream_state(stream)?.capture.is_some();
    let reads_pageable = from_host && !state.is_pinned(from.start);
    let writes_pageable = to_host && !state.is_pinned(to.start);
    let mut data = None;
    if reads_pageable && !writes_pageable && !captured {
        let mut packed = Vec::with_capacity(rows.width * rows.height * rows.depth);
        for at in rows.starts(from) {
            // SAFETY: the caller of the copy vouches for its host memory.
            packed.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, rows.width) });
        }
        let packed: Arc<[u8]> = packed.into();
        from = Spread { start: packed.as_ptr() as usize, pitch: rows.width, layer: rows.width * rows.height };
        data = Some(packed);
    }
    if waits {
        state.not_captured(stream)?;
    }
    state.enqueue(stream, Op::CopyRows { to, from, rows, data })?;
    if waits || (writes_pageable && !captured) { state.finish_stream(stream) } else { Ok(()) }
}

/// # Safety
/// `copy` is null or points to the structure.
unsafe fn copy_2d(copy: *const Copy2d, stream: *mut c_void, waits: bool) -> c_int {
    call(|state| {
        // SAFETY: as the caller promises.
        let copy = unsafe { copy.as_ref() }.ok_or(INVALID_VALUE)?;
        let Copy2d { from, to, width_bytes, height } = *copy;
        let copy = Copy3d { from: from.into(), to: to.into(), width_bytes, height, depth: 1 };
        copy_rows(state, &copy, stream, waits)
    })
}

/// # Safety
/// As [`copy_2d`].
unsafe fn copy_3d(copy: *const Copy3d, stream: *mut c_void, waits: bool) -> c_int {
    call(|state| {
        // SAFETY: as the caller promises.
        let copy = unsafe { copy.as_ref() }.ok_or(INVALID_VALUE)?;
        copy_rows(state, copy, stream, waits)
    })
}

unsafe extern "C" fn cuMemcpy2D_v2(copy: *const Copy2d) -> c_int {
    // SAFETY: the caller passes the structure; so below.
    unsafe { copy_2d(copy, NULL, true) }
}

unsafe extern "C" fn cuMemcpy2DUnaligned_v2(copy: *const Copy2d) -> c_int {
    // SAFETY: see above.
    unsafe { copy_2d(copy, NULL, true) }
}

unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Copy2d, stream: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe { copy_2d(copy, stream, false) }
}

unsafe extern "C" fn cuMemcpy3D_v2(copy: *const Copy3d) -> c_int {
    // SAFETY: see above.
    unsafe { copy_3d(copy, NULL, true) }
}

unsafe extern "C" fn cuMemcpy3DAsync_v2(copy: *const Copy3d, stream: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe { copy_3d(copy, stream, false) }
}

/// A memset of `height` rows of `columns` values of `width` bytes.
struct Fill {
    at: u64,
    pitch: usize,
    value: u32,
    width: usize,
    columns: usize,
    height: usize,
}

impl Fill {
    fn run(self, stream: *mut c_void, waits: bool) -> c_int {
        let Self { at, pitch, value, width, columns, height } = self;
        call(|state| {
            let (stream, start) = (state.stream(stream)?, at as usize);
            let row = columns.checked_mul(width).ok_or(INVALID_VALUE)?;
            let aligned = start.is_multiple_of(width) && (height <= 1 || pitch.is_multiple_of(width));
            if !aligned || (height > 1 && pitch < row) {
                return Err(INVALID_VALUE);
            }
            if row == 0 || height == 0 {
                return Ok(());
            }
            let to = Spread { start, pitch, layer: 0 };
            let rows = BoxRows { width: row, height, depth: 1 };
            state.expect_device(start, rows.extent(to).ok_or(INVALID_VALUE)?)?;
            if waits {
                state.not_captured(stream)?;
            }
            state.enqueue(stream, Op::FillRows { to, rows, value, width })?;
            if waits { state.finish_stream(stream) } else { Ok(()) }
        })
    }
}

macro_rules! fills {
    ($($waits:ident, $ordered:ident, $value:ty;)*) => {$(
        unsafe extern "C" fn $waits(at: u64, pitch: usize, value: $value, columns: usize, height: usize) -> c_int {
            Fill { at, pitch, value: value.into(), width: size_of::<$value>(), columns, height }.run(NULL, true)
        }

        unsafe extern "C" fn $ordered(
            at: u64,
            pitch: usize,
            value: $value,
            columns: usize,
            height: usize,
            stream: *mut c_void,
        ) -> c_int {
            Fill { at, pitch, value: value.into(), width: size_of::<$value>(), columns, height }.run(stream, false)
        }
    )*};
}

fills! {
    cuMemsetD2D8_v2, cuMemsetD2D8Async, u8;
    cuMemsetD2D16_v2, cuMemsetD2D16Async, u16;
    cuMemsetD2D32_v2, cuMemsetD2D32Async, c_uint;
}
