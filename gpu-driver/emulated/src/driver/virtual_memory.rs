//! Virtual memory. Reserved addresses have memory at once, all of it, that nobody may access. Parts that are mapped and given access may be, until they are
//! unmapped, which waits for no work: a kernel that comes later faults.

use std::ffi::{c_int, c_ulonglong, c_void};

use super::{device::after_init, memory::free, store, table};
use crate::{
    code::{INVALID_VALUE, Outcome},
    kinds::Call,
    memory::MemoryKind,
    state::{DriverState, call},
};

table![
    cuMemGetAllocationGranularity,
    cuMemAddressReserve,
    cuMemAddressFree,
    cuMemCreate,
    cuMemRelease,
    cuMemMap,
    cuMemUnmap,
    cuMemSetAccess,
];

/// Bytes of a unit of memory: fewer than a GPU's, so that small arrays have several.
const GRANULARITY: usize = 4096;

unsafe extern "C" fn cuMemGetAllocationGranularity(bytes: *mut usize, props: *const c_void, _option: c_int) -> c_int {
    after_init(|_| {
        if props.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes places for the answers; so below.
        unsafe { store(bytes, GRANULARITY) }
    })
}

/// Sizes are whole units.
fn whole(bytes: usize) -> Outcome {
    if bytes > 0 && bytes.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(INVALID_VALUE) }
}

unsafe extern "C" fn cuMemAddressReserve(
    address: *mut u64,
    bytes: usize,
    _alignment: usize,
    _wish: u64,
    _flags: c_ulonglong,
) -> c_int {
    call(|state| {
        whole(bytes)?;
        let context = state.current()?;
        let made = state.allocate(context, bytes, MemoryKind::Device)?;
        state.reserved.insert(made, bytes);
        state.memory.set_reserved(made);
        // SAFETY: see above.
        unsafe { store(address, made as u64) }
    })
}

unsafe extern "C" fn cuMemAddressFree(address: u64, bytes: usize) -> c_int {
    call(|state| {
        let start = address as usize;
        let is_mapped = state.mapped.keys().any(|at| (start..start.saturating_add(bytes)).contains(at));
        if is_mapped || state.reserved.get(&start) != Some(&bytes) {
            return Err(INVALID_VALUE);
        }
        free(state, start, MemoryKind::Device)?;
        state.reserved.remove(&start);
        Ok(())
    })
}

unsafe extern "C" fn cuMemCreate(handle: *mut u64, bytes: usize, props: *const c_void, _flags: c_ulonglong) -> c_int {
    call(|state| {
        whole(bytes)?;
        if props.is_null() {
            return Err(INVALID_VALUE);
        }
        let context = state.current()?;
        state.count(context, Call::Allocation)?;
        let made = state.handle();
        state.created.insert(made, bytes);
        // SAFETY: see above.
        unsafe { store(handle, made as u64) }
    })
}

unsafe extern "C" fn cuMemRelease(handle: u64) -> c_int {
    call(|state| state.created.remove(&(handle as usize)).map(drop).ok_or(INVALID_VALUE))
}

/// Checks that a range lies in reserved addresses.
fn expect_reserved(state: &DriverState, address: usize, bytes: usize) -> Outcome {
    whole(bytes)?;
    let start = state.memory.find(address).map(|found| found.start).ok_or(INVALID_VALUE)?;
    let reserved = *state.reserved.get(&start).ok_or(INVALID_VALUE)?;
    if (address - start).checked_add(bytes).is_some_and(|end| end <= reserved) { Ok(()) } else { Err(INVALID_VALUE) }
}

unsafe extern "C" fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, _flags: c_ulonglong) -> c_int {
    call(|state| {
        let start = address as usize;
        expect_reserved(state, start, bytes)?;
        let overlaps = state.mapped.iter().any(|(&at, &size)| at < start + bytes && start < at + size);
        if overlaps || offset != 0 || state.created.get(&(handle as usize)) != Some(&bytes) {
            return Err(INVALID_VALUE);
        }
        let context = state.current()?;
        state.count(context, Call::Allocation)?;
        state.mapped.insert(start, bytes);
        Ok(())
    })
}

unsafe extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> c_int {
    call(|state| {
        if state.mapped.get(&(address as usize)) != Some(&bytes) {
            return Err(INVALID_VALUE);
        }
        state.mapped.remove(&(address as usize));
        state.memory.set_accessible(address as usize..address as usize + bytes, false);
        Ok(())
    })
}

unsafe extern "C" fn cuMemSetAccess(address: u64, bytes: usize, list: *const c_void, count: usize) -> c_int {
    call(|state| {
        let known = state.mapped.get(&(address as usize)) == Some(&bytes);
        if !known || list.is_null() || count == 0 {
            return Err(INVALID_VALUE);
        }
        let context = state.current()?;
        state.count(context, Call::Allocation)?;
        state.memory.set_accessible(address as usize..address as usize + bytes, true);
        Ok(())
    })
}
