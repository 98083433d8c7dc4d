//! Contexts.

use std::ffi::{c_int, c_uint, c_void};

use super::{device::after_init, pointer, store, store_if_wanted, table};
use crate::{
    code::{
        CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED,
    },
    state::{call, with_stack},
};

table![
    cuDevicePrimaryCtxRetain,
    cuDevicePrimaryCtxRelease_v2,
    cuDevicePrimaryCtxSetFlags_v2,
    cuDevicePrimaryCtxGetState,
    cuDevicePrimaryCtxReset_v2,
    cuCtxCreate_v2,
    cuCtxDestroy_v2,
    cuCtxPushCurrent_v2,
    cuCtxPopCurrent_v2,
    cuCtxSetCurrent,
    cuCtxGetCurrent,
    cuCtxGetDevice,
    cuCtxGetFlags,
    cuCtxSynchronize,
    cuCtxSetLimit,
    cuCtxGetLimit,
    cuCtxGetCacheConfig,
    cuCtxSetCacheConfig,
    cuCtxGetSharedMemConfig,
    cuCtxSetSharedMemConfig,
    cuCtxGetApiVersion,
    cuCtxGetStreamPriorityRange,
    cuCtxResetPersistingL2Cache,
    cuCtxEnablePeerAccess,
    cuCtxDisablePeerAccess,
];

unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        let mut primary = state.primary[device];
        // Unlike on a real device a fault does not end the process: the next to ask gets a new context.
        let lost = primary.context != 0 && state.usable(primary.context).is_err();
        if primary.context == 0 || lost {
            let settings = state.machine.defaults.clone();
            primary.context = state.create_context(device, settings, primary.flags);
            primary.retains = 0;
        }
        primary.retains += 1;
        state.primary[device] = primary;
        // SAFETY: the caller passes a place for the answer; so below.
        unsafe { store(context, pointer(primary.context)) }
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        let primary = state.primary[device];
        if primary.retains == 0 {
            return Err(INVALID_CONTEXT);
        }
        state.primary[device].retains -= 1;
        if primary.retains == 1 {
            state.primary[device].context = 0;
            state.destroy_context(primary.context);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        state.primary[device].flags = flags;
        Ok(())
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) -> c_int {
    after_init(|state| {
        let primary = state.primary[state.device(device)?];
        // SAFETY: see above.
        unsafe {
            store(flags, primary.flags)?;
            store(active, (primary.context != 0).into())
        }
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        let context = std::mem::take(&mut state.primary[device].context);
        state.primary[device].retains = 0;
        if context != 0 {
            state.destroy_context(context);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuCtxCreate_v2(context: *mut *mut c_void, flags: c_uint, device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        let settings = state.machine.defaults.clone();
        let made = state.create_context(device, settings, flags);
        with_stack(|stack| stack.push(made));
        // SAFETY: see above.
        unsafe { store(context, pointer(made)) }
    })
}

unsafe extern "C" fn cuCtxDestroy_v2(context: *mut c_void) -> c_int {
    after_init(|state| {
        let context = context as usize;
        if !state.contexts.contains_key(&context) {
            return Err(INVALID_CONTEXT);
        }
        state.destroy_context(context);
        with_stack(|stack| stack.retain(|&other| other != context));
        Ok(())
    })
}

unsafe extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> c_int {
    after_init(|state| {
        let context = context as usize;
        if !state.contexts.contains_key(&context) {
            return Err(INVALID_CONTEXT);
        }
        with_stack(|stack| stack.push(context));
        Ok(())
    })
}

unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> c_int {
    after_init(|_| {
        let popped = with_stack(Vec::pop).ok_or(INVALID_CONTEXT)?;
        // SAFETY: see above.
        unsafe { store_if_wanted(context, pointer(popped)) };
        Ok(())
    })
}

unsafe extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> c_int {
    after_init(|state| {
        let context = context as usize;
        if context != 0 && !state.contexts.contains_key(&context) {
            return Err(CONTEXT_IS_DESTROYED);
        }
        with_stack(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    })
}

unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_int {
    after_init(|_| {
        let current = with_stack(|stack| stack.last().copied()).unwrap_or(0);
        // SAFETY: see above.
        unsafe { store(context, pointer(current)) }
    })
}

unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> c_int {
    call(|state| {
        let context = state.current()?;
        // SAFETY: see above.
        unsafe { store(device, state.context(context)?.device as c_int) }
    })
}

unsafe extern "C" fn cuCtxGetFlags(flags: *mut c_uint) -> c_int {
    call(|state| {
        let context = state.current()?;
        // SAFETY: see above.
        unsafe { store(flags, state.context(context)?.flags) }
    })
}

unsafe extern "C" fn cuCtxSynchronize() -> c_int {
    call(|state| {
        let context = state.current()?;
        let streams: Vec<usize> = state.streams.iter().filter(|(_, s)| s.context == context).map(|(&h, _)| h).collect();
        streams.into_iter().try_for_each(|stream| state.not_captured(stream))?;
        state.drain(context)
    })
}

unsafe extern "C" fn cuCtxSetLimit(_limit: c_int, _value: usize) -> c_int {
    // Stacks, heaps and printf buffers of kernels are the host's: there is nothing to limit.
    call(|state| state.current().map(drop))
}

unsafe extern "C" fn cuCtxGetLimit(value: *mut usize, limit: c_int) -> c_int {
    call(|state| {
        state.current()?;
        let answer = match limit {
            0 => 1024,    // stack of a thread
            1 => 1 << 20, // printf buffer
            2 => 8 << 20, // device heap
            3..=7 => 0,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: see above.
        unsafe { store(value, answer) }
    })
}

unsafe extern "C" fn cuCtxGetCacheConfig(config: *mut c_int) -> c_int {
    // SAFETY: see above.
    call(|state| state.current().and_then(|_| unsafe { store(config, 0) }))
}

unsafe extern "C" fn cuCtxEnablePeerAccess(peer: *mut c_void, flags: c_uint) -> c_int {
    call(|state| {
        let (context, peer) = (state.current()?, peer as usize);
        state.usable(peer)?;
        if flags != 0 || peer == context {
            return Err(INVALID_VALUE);
        }
        if state.memory.allow_peer(context, peer) { Ok(()) } else { Err(PEER_ACCESS_ALREADY_ENABLED) }
    })
}

unsafe extern "C" fn cuCtxDisablePeerAccess(peer: *mut c_void) -> c_int {
    call(|state| {
        let context = state.current()?;
        state.drain(context)?;
        if state.memory.refuse_peer(context, peer as usize) { Ok(()) } else { Err(PEER_ACCESS_NOT_ENABLED) }
    })
}

unsafe extern "C" fn cuCtxSetCacheConfig(_config: c_int) -> c_int {
    call(|state| state.current().map(drop))
}

unsafe extern "C" fn cuCtxGetSharedMemConfig(config: *mut c_int) -> c_int {
    const FOUR_BYTE_BANKS: c_int = 1;
    // SAFETY: see above.
    call(|state| state.current().and_then(|_| unsafe { store(config, FOUR_BYTE_BANKS) }))
}

unsafe extern "C" fn cuCtxSetSharedMemConfig(_config: c_int) -> c_int {
    call(|state| state.current().map(drop))
}

unsafe extern "C" fn cuCtxGetApiVersion(_context: *mut c_void, version: *mut c_uint) -> c_int {
    // SAFETY: see above.
    call(|state| unsafe { store(version, state.machine.driver.major * 1000 + state.machine.driver.minor * 10) })
}

unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    call(|state| {
        state.current()?;
        // SAFETY: see above.
        unsafe {
            store_if_wanted(least, 0);
            store_if_wanted(greatest, -5);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuCtxResetPersistingL2Cache() -> c_int {
    call(|state| state.current().map(drop))
}
