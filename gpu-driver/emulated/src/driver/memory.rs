//! Memory: allocation, copies, memsets.

use super::{NULL, pointer, store, store_if_wanted, table};
use std::ffi::{c_int, c_uint, c_void};

use crate::{
    code::{ALREADY_REGISTERED, INVALID_VALUE, NOT_REGISTERED, Outcome},
    kinds::Call,
    memory::MemoryKind,
    state::{DriverState, MEMORY_BYTES, call},
    work::Op,
};

table![
    cuMemGetInfo_v2,
    cuMemAlloc_v2,
    cuMemAllocPitch_v2,
    cuMemFree_v2,
    cuMemGetAddressRange_v2,
    cuMemHostAlloc,
    cuMemAllocHost_v2,
    cuMemFreeHost,
    cuMemHostGetDevicePointer_v2,
    cuMemHostGetFlags,
    cuMemHostRegister_v2,
    cuMemHostUnregister,
    cuMemAllocManaged,
    cuMemPrefetchAsync,
    cuMemAdvise,
    cuMemAllocAsync,
    cuMemAllocFromPoolAsync,
    cuMemFreeAsync,
    cuMemcpy,
    cuMemcpyAsync,
    cuMemcpyHtoD_v2,
    cuMemcpyHtoDAsync_v2,
    cuMemcpyDtoH_v2,
    cuMemcpyDtoHAsync_v2,
    cuMemcpyDtoD_v2,
    cuMemcpyDtoDAsync_v2,
    cuMemcpyPeer,
    cuMemcpyPeerAsync,
    cuMemsetD8_v2,
    cuMemsetD16_v2,
    cuMemsetD32_v2,
    cuMemsetD8Async,
    cuMemsetD16Async,
    cuMemsetD32Async,
];

type Address = u64;

unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    call(|state| {
        let context = state.current()?;
        let device = state.context(context)?.device;
        // SAFETY: the caller passes places for the answers; so below.
        unsafe {
            store(free, MEMORY_BYTES.saturating_sub(state.used(device) as usize))?;
            store(total, MEMORY_BYTES)
        }
    })
}

unsafe extern "C" fn cuMemAlloc_v2(address: *mut Address, bytes: usize) -> c_int {
    call(|state| {
        let context = state.current()?;
        let made = state.allocate(context, bytes, MemoryKind::Device)?;
        // SAFETY: see above.
        unsafe { store(address, made as Address) }
    })
}

unsafe extern "C" fn cuMemAllocPitch_v2(
    address: *mut Address,
    pitch: *mut usize,
    width: usize,
    height: usize,
    _element: c_uint,
) -> c_int {
    call(|state| {
        let context = state.current()?;
        let row = width.checked_next_multiple_of(512).ok_or(INVALID_VALUE)?;
        let made = state.allocate(context, row.checked_mul(height).ok_or(INVALID_VALUE)?, MemoryKind::Device)?;
        // SAFETY: see above.
        unsafe {
            store(address, made as Address)?;
            store(pitch, row)
        }
    })
}

/// Releases an allocation. Device memory goes when all work of the context that allocated it has run; CUDA promises no such wait for pinned
/// memory, so queued work that uses it is a fault.
pub(super) fn free(state: &mut DriverState, address: usize, expected: MemoryKind) -> Outcome {
    state.current()?;
    let (bytes, pool, kind) = state.allocation_at(address)?;
    let context = state.memory.find(address).map(|found| found.context).ok_or(INVALID_VALUE)?;
    if kind != expected {
        return Err(INVALID_VALUE);
    }
    state.count(context, Call::Release)?;
    if kind == MemoryKind::Device {
        state.drain(context)?;
        state.uncount(context, bytes, pool);
    }
    state.managed.remove(&address);
    state.memory.release(address);
    Ok(())
}

unsafe extern "C" fn cuMemFree_v2(address: Address) -> c_int {
    call(|state| if address == 0 { Ok(()) } else { free(state, address as usize, MemoryKind::Device) })
}

unsafe extern "C" fn cuMemGetAddressRange_v2(start: *mut Address, bytes: *mut usize, address: Address) -> c_int {
    call(|state| {
        state.current()?;
        state.expect_device(address as usize, 1)?;
        let found = state.memory.find(address as usize).ok_or(INVALID_VALUE)?;
        // SAFETY: see above.
        unsafe {
            store_if_wanted(start, found.start as Address);
            store_if_wanted(bytes, found.bytes);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    call(|state| {
        let context = state.current()?;
        let made = state.allocate(context, bytes, MemoryKind::Pinned)?;
        // SAFETY: see above.
        unsafe { store(address, pointer(made)) }
    })
}

unsafe extern "C" fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { cuMemHostAlloc(address, bytes, 0) }
}

unsafe extern "C" fn cuMemFreeHost(address: *mut c_void) -> c_int {
    call(|state| free(state, address as usize, MemoryKind::Pinned))
}

unsafe extern "C" fn cuMemHostGetDevicePointer_v2(address: *mut Address, host: *mut c_void, _flags: c_uint) -> c_int {
    call(|state| {
        state.current()?;
        if !state.is_pinned(host as usize) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: see above.
        unsafe { store(address, host as Address) }
    })
}

unsafe extern "C" fn cuMemHostGetFlags(flags: *mut c_uint, host: *mut c_void) -> c_int {
    call(|state| {
        if !state.is_pinned(host as usize) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: see above.
        unsafe { store(flags, 0) }
    })
}

unsafe extern "C" fn cuMemHostRegister_v2(host: *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    call(|state| {
        state.current()?;
        if host.is_null() || bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let range = host as usize..(host as usize).saturating_add(bytes);
        if state.registered.iter().any(|other| other.start < range.end && range.start < other.end) {
            return Err(ALREADY_REGISTERED);
        }
        state.registered.push(range);
        Ok(())
    })
}

unsafe extern "C" fn cuMemHostUnregister(host: *mut c_void) -> c_int {
    call(|state| {
        let context = state.current()?;
        state.drain(context)?;
        let at = state.registered.iter().position(|range| range.start == host as usize).ok_or(NOT_REGISTERED)?;
        state.registered.swap_remove(at);
        Ok(())
    })
}

unsafe extern "C" fn cuMemAllocManaged(address: *mut Address, bytes: usize, _flags: c_uint) -> c_int {
    call(|state| {
        let context = state.current()?;
        // The host may touch it as it likes; memory of kind `Device` allows that here as well.
        let made = state.allocate(context, bytes, MemoryKind::Device)?;
        state.managed.insert(made);
        // SAFETY: see above.
        unsafe { store(address, made as Address) }
    })
}

/// Checks a part of managed memory, and the place that it is to go to: a device, or -1 for the host.
fn expect_managed(state: &DriverState, address: Address, bytes: usize, place: c_int) -> Outcome {
    let address = address as usize;
    if place != -1 {
        state.device(place)?;
    }
    let start = state.memory.find(address).map(|found| found.start).ok_or(INVALID_VALUE)?;
    if bytes == 0 || !state.managed.contains(&start) {
        return Err(INVALID_VALUE);
    }
    state.expect_device(address, bytes)
}

unsafe extern "C" fn cuMemPrefetchAsync(address: Address, bytes: usize, place: c_int, stream: *mut c_void) -> c_int {
    call(|state| {
        state.stream(stream)?;
        expect_managed(state, address, bytes, place)
    })
}

unsafe extern "C" fn cuMemAdvise(address: Address, bytes: usize, advice: c_int, place: c_int) -> c_int {
    call(|state| {
        state.current()?;
        if !(1..=6).contains(&advice) {
            return Err(INVALID_VALUE);
        }
        expect_managed(state, address, bytes, place)
    })
}

unsafe extern "C" fn cuMemAllocAsync(address: *mut Address, bytes: usize, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let context = state.stream_state(stream)?.context;
        let device = state.context(context)?.device;
        let made = state.allocate_ordered(stream, bytes, state.default_pools[device])?;
        // SAFETY: see above.
        unsafe { store(address, made as Address) }
    })
}

unsafe extern "C" fn cuMemAllocFromPoolAsync(
    address: *mut Address,
    bytes: usize,
    pool: *mut c_void,
    stream: *mut c_void,
) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let made = state.allocate_ordered(stream, bytes, pool as usize)?;
        // SAFETY: see above.
        unsafe { store(address, made as Address) }
    })
}

unsafe extern "C" fn cuMemFreeAsync(address: Address, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let context = state.stream_state(stream)?.context;
        let (bytes, pool, _) = state.allocation_at(address as usize)?;
        state.count(context, Call::Release)?;
        state.enqueue(stream, Op::Release(address as usize))?;
        state.memory.mark_freed(address as usize);
        state.uncount(context, bytes, pool);
        Ok(())
    })
}

/// The address at which a copy reads or writes.
#[derive(Clone, Copy)]
enum End {
    Device(usize),
    Host(usize),
}

/// Any copy: as CUDA has it, pageable host memory is read before the call returns and written before it returns, pinned
/// memory when the copy runs.
fn copy(state: &mut DriverState, to: End, from: End, bytes: usize, stream: *mut c_void, waits: bool) -> Outcome {
    let stream = state.stream(stream)?;
    let context = state.stream_state(stream)?.context;
    state.count(context, Call::Copy)?;
    if bytes == 0 {
        return Ok(());
    }
    for end in [to, from] {
        match end {
            End::Device(address) => state.expect_device(address, bytes)?,
            End::Host(0) => return Err(INVALID_VALUE),
            End::Host(_) => {}
        }
    }
    let captured = state.stream_state(stream)?.capture.is_some();
    let pageable = |end| matches!(end, End::Host(address) if !state.is_pinned(address));
    let (reads_pageable, writes_pageable) = (pageable(from), pageable(to));
    let (End::Device(to) | End::Host(to)) = to;
    let (End::Device(from) | End::Host(from)) = from;
    let op = if reads_pageable && !writes_pageable && !captured {
        // SAFETY: the caller of the copy vouches for its host memory.
        let data = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
        Op::Write { to, data: data.into() }
    } else {
        Op::Copy { to, from, bytes }
    };
    if waits {
        state.not_captured(stream)?;
    }
    state.enqueue(stream, op)?;
    if waits || (writes_pageable && !captured) { state.finish_stream(stream) } else { Ok(()) }
}

/// For copies that do not say where their ends are.
fn guess(state: &DriverState, address: u64) -> End {
    let address = address as usize;
    if state.is_device(address) { End::Device(address) } else { End::Host(address) }
}

unsafe extern "C" fn cuMemcpy(to: Address, from: Address, bytes: usize) -> c_int {
    call(|state| {
        let (to, from) = (guess(state, to), guess(state, from));
        copy(state, to, from, bytes, NULL, true)
    })
}

unsafe extern "C" fn cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: *mut c_void) -> c_int {
    call(|state| {
        let (to, from) = (guess(state, to), guess(state, from));
        copy(state, to, from, bytes, stream, false)
    })
}

unsafe extern "C" fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, bytes: usize) -> c_int {
    call(|state| copy(state, End::Device(to as usize), End::Host(from as usize), bytes, NULL, true))
}

unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: Address,
    from: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    call(|state| copy(state, End::Device(to as usize), End::Host(from as usize), bytes, stream, false))
}

unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, bytes: usize) -> c_int {
    call(|state| copy(state, End::Host(to as usize), End::Device(from as usize), bytes, NULL, true))
}

unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, stream: *mut c_void) -> c_int {
    call(|state| copy(state, End::Host(to as usize), End::Device(from as usize), bytes, stream, false))
}

unsafe extern "C" fn cuMemcpyDtoD_v2(to: Address, from: Address, bytes: usize) -> c_int {
    call(|state| copy(state, End::Device(to as usize), End::Device(from as usize), bytes, NULL, true))
}

unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: *mut c_void) -> c_int {
    call(|state| copy(state, End::Device(to as usize), End::Device(from as usize), bytes, stream, false))
}

/// A copy between the memories of two contexts.
fn copy_peer(to: [usize; 2], from: [usize; 2], bytes: usize, stream: *mut c_void, waits: bool) -> c_int {
    call(|state| {
        for [address, context] in [to, from] {
            state.usable(context)?;
            let found = state.memory.find(address).filter(|found| found.context == context);
            if bytes > 0 && found.is_none() {
                return Err(INVALID_VALUE);
            }
        }
        copy(state, End::Device(to[0]), End::Device(from[0]), bytes, stream, waits)
    })
}

unsafe extern "C" fn cuMemcpyPeer(
    to: Address,
    to_context: *mut c_void,
    from: Address,
    from_context: *mut c_void,
    bytes: usize,
) -> c_int {
    copy_peer([to as usize, to_context as usize], [from as usize, from_context as usize], bytes, NULL, true)
}

unsafe extern "C" fn cuMemcpyPeerAsync(
    to: Address,
    to_context: *mut c_void,
    from: Address,
    from_context: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    copy_peer([to as usize, to_context as usize], [from as usize, from_context as usize], bytes, stream, false)
}

fn fill(address: Address, value: u32, width: usize, count: usize, stream: *mut c_void, waits: bool) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let at = address as usize;
        if !at.is_multiple_of(width) {
            return Err(INVALID_VALUE);
        }
        if count == 0 {
            return Ok(());
        }
        state.expect_device(at, count.checked_mul(width).ok_or(INVALID_VALUE)?)?;
        if waits {
            state.not_captured(stream)?;
        }
        state.enqueue(stream, Op::Fill { at, value, width, count })?;
        if waits { state.finish_stream(stream) } else { Ok(()) }
    })
}

unsafe extern "C" fn cuMemsetD8_v2(address: Address, value: u8, count: usize) -> c_int {
    fill(address, value.into(), 1, count, NULL, true)
}

unsafe extern "C" fn cuMemsetD16_v2(address: Address, value: u16, count: usize) -> c_int {
    fill(address, value.into(), 2, count, NULL, true)
}

unsafe extern "C" fn cuMemsetD32_v2(address: Address, value: c_uint, count: usize) -> c_int {
    fill(address, value, 4, count, NULL, true)
}

unsafe extern "C" fn cuMemsetD8Async(address: Address, value: u8, count: usize, stream: *mut c_void) -> c_int {
    fill(address, value.into(), 1, count, stream, false)
}

unsafe extern "C" fn cuMemsetD16Async(address: Address, value: u16, count: usize, stream: *mut c_void) -> c_int {
    fill(address, value.into(), 2, count, stream, false)
}

unsafe extern "C" fn cuMemsetD32Async(address: Address, value: c_uint, count: usize, stream: *mut c_void) -> c_int {
    fill(address, value, 4, count, stream, false)
}
