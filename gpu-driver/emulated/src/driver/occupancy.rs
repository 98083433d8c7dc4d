//! Numbers of blocks that fit a multiprocessor side by side.

use std::ffi::{c_int, c_uint, c_void};

use super::{
    device::{MOST_SHARED_BYTES, MULTIPROCESSORS},
    module::function,
    store, table,
};
use crate::{
    code::{INVALID_VALUE, OUT_OF_RESOURCES, Outcome},
    state::call,
};

table![
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    cuOccupancyMaxPotentialBlockSize,
    cuOccupancyAvailableDynamicSMemPerBlock,
];

/// Blocks that fit a multiprocessor side by side, by threads and shared memory.
pub(super) fn resident(block: c_int, shared_bytes: usize) -> Outcome<c_int> {
    const THREADS: c_int = 2048;
    const SHARED: usize = 228 * 1024;
    const RESERVED: usize = 1024;
    if !(1..=1024).contains(&block) {
        return Err(INVALID_VALUE);
    }
    if shared_bytes > MOST_SHARED_BYTES as usize {
        return Ok(0);
    }
    let threads = THREADS / (block.max(1) as u32).next_multiple_of(32) as c_int;
    Ok(threads.min((SHARED / (shared_bytes + RESERVED)) as c_int).min(32))
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    handle: *mut c_void,
    block: c_int,
    shared_bytes: usize,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        // SAFETY: see above.
        unsafe { store(blocks, resident(block, shared_bytes)?) }
    })
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    handle: *mut c_void,
    block: c_int,
    shared_bytes: usize,
    _flags: c_uint,
) -> c_int {
    // SAFETY: passed on.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, block, shared_bytes) }
}

unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    min_grid: *mut c_int,
    block: *mut c_int,
    handle: *mut c_void,
    _shared_of_block: *mut c_void,
    shared_bytes: usize,
    limit: c_int,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        let most = state.most_threads(handle as usize)? as c_int;
        let most = if limit > 0 { most.min(limit) } else { most };
        let fits = resident(most, shared_bytes)?;
        if fits == 0 {
            return Err(OUT_OF_RESOURCES);
        }
        // SAFETY: see above.
        unsafe {
            store(min_grid, fits * MULTIPROCESSORS)?;
            store(block, most)
        }
    })
}

unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    handle: *mut c_void,
    blocks: c_int,
    _block: c_int,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        let share = 228 * 1024 / usize::try_from(blocks).unwrap_or(0).max(1);
        // SAFETY: see above.
        unsafe { store(bytes, share.saturating_sub(1024).min(MOST_SHARED_BYTES as usize)) }
    })
}
