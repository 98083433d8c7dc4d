//! Pools of memory that is allocated in the order of a stream.

use std::ffi::{c_int, c_void};

use super::{device::after_init, pointer, store, table};
use crate::{
    code::{INVALID_VALUE, Outcome},
    state::{DriverState, Pool},
};

table![
    cuMemPoolCreate,
    cuMemPoolDestroy,
    cuMemPoolSetAttribute,
    cuMemPoolGetAttribute,
    cuMemPoolTrimTo,
    cuMemPoolSetAccess,
];

/// `CUmemPoolProps`, of which the device is read.
#[repr(C)]
struct PoolProps {
    allocation_type: c_int,
    handle_types: c_int,
    location_type: c_int,
    device: c_int,
    security_attributes: *mut c_void,
    reserved: [u8; 64],
}

const _: () = assert!(size_of::<PoolProps>() == 88, "the layout of cuda.h");

unsafe extern "C" fn cuMemPoolCreate(pool: *mut *mut c_void, props: *const PoolProps) -> c_int {
    after_init(|state| {
        if props.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, so the caller's properties.
        let device = state.device(unsafe { (*props).device })?;
        let made = state.handle();
        let context = state.current().unwrap_or(0);
        state.pools.insert(made, Pool { device, context, ..Pool::default() });
        // SAFETY: see above.
        unsafe { store(pool, pointer(made)) }
    })
}

unsafe extern "C" fn cuMemPoolDestroy(pool: *mut c_void) -> c_int {
    after_init(|state| {
        let ended = live(state, pool)?;
        // Memory that is in use counts until it is released, and goes to nobody else then.
        (ended.has_ended, ended.threshold, ended.reserved) = (true, 0, ended.used);
        state.forget_ended_pool(pool as usize);
        Ok(())
    })
}

/// A pool that is not destroyed.
fn live(state: &mut DriverState, pool: *mut c_void) -> Outcome<&mut Pool> {
    state.pools.get_mut(&(pool as usize)).filter(|pool| !pool.has_ended).ok_or(INVALID_VALUE)
}

const RELEASE_THRESHOLD: c_int = 4;

unsafe extern "C" fn cuMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void) -> c_int {
    after_init(|state| {
        let pool = live(state, pool)?;
        match attribute {
            // Reuse policies: addresses are never reused early here.
            1..=3 => {}
            // SAFETY: these attributes are 64-bit counts.
            RELEASE_THRESHOLD => pool.threshold = unsafe { value.cast::<u64>().read_unaligned() },
            6 => pool.most_reserved = pool.reserved,
            8 => pool.most_used = pool.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

/// Access is that of the contexts ([`cuCtxEnablePeerAccess`](super::context)), which a program asks for as well.
unsafe extern "C" fn cuMemPoolSetAccess(pool: *mut c_void, list: *const c_void, count: usize) -> c_int {
    after_init(|state| {
        let known = live(state, pool).is_ok();
        if known && !list.is_null() && count > 0 { Ok(()) } else { Err(INVALID_VALUE) }
    })
}

unsafe extern "C" fn cuMemPoolGetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void) -> c_int {
    after_init(|state| {
        let pool = live(state, pool)?;
        let count = match attribute {
            // SAFETY: the reuse policies are integers.
            1..=3 => return unsafe { store(value.cast::<c_int>(), 0) },
            RELEASE_THRESHOLD => pool.threshold,
            5 => pool.reserved,
            6 => pool.most_reserved,
            7 => pool.used,
            8 => pool.most_used,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: these attributes are 64-bit counts.
        unsafe { store(value.cast::<u64>(), count) }
    })
}

unsafe extern "C" fn cuMemPoolTrimTo(pool: *mut c_void, keep: usize) -> c_int {
    after_init(|state| {
        let pool = live(state, pool)?;
        pool.reserved = pool.used.max(pool.reserved.min(keep as u64));
        Ok(())
    })
}
