//! Launches.

use std::{
    ffi::{c_int, c_uint, c_void},
    sync::Arc,
};

use gpu_driver_core::launch::{Config, OVERLAP};

use super::{device::MULTIPROCESSORS, module::function, occupancy::resident, table};
use crate::{
    abi::Index,
    code::{COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, Outcome},
    kinds::Call,
    launch::{Order, copy_arguments},
    state::{DriverState, call},
    work::Op,
};

table![cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel,];

const MOST_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Shape of a launch, as the caller gave it.
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    cooperative: bool,
    overlaps: bool,
}

fn within(sizes: [u32; 3], most: [u32; 3]) -> bool {
    sizes.iter().zip(most).all(|(&size, most)| size > 0 && size <= most)
}

/// # Safety
/// As [`copy_arguments`].
unsafe fn launch(
    state: &mut DriverState,
    handle: *mut c_void,
    shape: Shape,
    stream: *mut c_void,
    arguments: *const *const u8,
) -> Outcome {
    let stream = state.stream(stream)?;
    let this = function(state, handle)?;
    let (context, module, kernel) = (this.context, this.module, this.kernel);
    let (most_dynamic, is_raised, name) = (this.most_dynamic_bytes, this.is_raised, this.name.clone());
    state.count(context, Call::Launch)?;
    if !within(shape.grid, MOST_GRID) || !within(shape.block, MOST_BLOCK) || shape.shared_bytes > most_dynamic {
        return Err(INVALID_VALUE);
    }
    let threads: u32 = shape.block.iter().product();
    if threads > 1024 || threads > state.most_threads(handle as usize)? {
        return Err(INVALID_VALUE);
    }
    let blocks: u64 = shape.grid.iter().map(|&size| u64::from(size)).product();
    let fit = resident(threads as c_int, shape.shared_bytes as usize)? as u64 * MULTIPROCESSORS as u64;
    if shape.cooperative && blocks > fit {
        return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    let image = state.modules.get(&module).ok_or(INVALID_HANDLE)?.image.clone();
    // SAFETY: as the caller promises.
    let values = unsafe { copy_arguments(&image, kernel, arguments)? };
    let index = |[x, y, z]: [u32; 3]| Index { x, y, z };
    let order = Order {
        module,
        grid: index(shape.grid),
        block: index(shape.block),
        dynamic_bytes: shape.shared_bytes,
        cooperative: shape.cooperative,
        overlaps: shape.overlaps,
        raised: is_raised,
        ..values.order(image, kernel, name)
    };
    state.enqueue(stream, Op::Launch(Arc::new(order)))
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    call(|state| {
        if !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let shape = Shape { grid, block, shared_bytes, cooperative: false, overlaps: false };
        // SAFETY: the caller passes the arguments as the driver's documentation asks.
        unsafe { launch(state, function, shape, stream, arguments.cast()) }
    })
}

unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    function: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    call(|state| {
        // SAFETY: the caller passes the address of a configuration, or null.
        let config = unsafe { config.as_ref() }.ok_or(INVALID_VALUE)?;
        let (first, count) = (config.attributes, config.attribute_count as usize);
        if !extra.is_null() || (first.is_null() && count > 0) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: as many attributes as the configuration says.
        let attributes = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count) } };
        if attributes.iter().any(|attribute| attribute.id != OVERLAP) {
            return Err(NOT_SUPPORTED);
        }
        let overlaps = attributes.iter().any(|attribute| attribute.value[0] as u32 != 0);
        let Config { grid, block, shared_bytes, stream, .. } = *config;
        let shape = Shape { grid, block, shared_bytes, cooperative: false, overlaps };
        // SAFETY: as in `cuLaunchKernel`.
        unsafe { launch(state, function, shape, stream, arguments.cast()) }
    })
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
) -> c_int {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let shape = Shape { grid, block, shared_bytes, cooperative: true, overlaps: false };
    // SAFETY: as in `cuLaunchKernel`.
    call(|state| unsafe { launch(state, function, shape, stream, arguments.cast()) })
}
