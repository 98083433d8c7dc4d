//! The driver itself, and its devices.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{store, table};
use crate::{
    code::{INVALID_DEVICE, INVALID_VALUE, NOT_INITIALIZED},
    state::{DriverState, MEMORY_BYTES, call},
    texels,
};

table![
    cuProfilerStart,
    cuProfilerStop,
    cuInit,
    cuDriverGetVersion,
    cuDeviceGet,
    cuDeviceGetCount,
    cuDeviceGetName,
    cuDeviceGetUuid,
    cuDeviceGetUuid_v2,
    cuDeviceTotalMem_v2,
    cuDeviceGetAttribute,
    cuDeviceComputeCapability,
    cuDeviceGetDefaultMemPool,
    cuDeviceGetMemPool,
    cuDeviceCanAccessPeer,
    cuDeviceGetPCIBusId,
    cuDeviceGetByPCIBusId,
];

unsafe extern "C" fn cuInit(flags: c_uint) -> c_int {
    call(|state| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        state.initialised = true;
        Ok(())
    })
}

/// A call that needs cuInit before.
pub(super) fn after_init(work: impl FnOnce(&mut DriverState) -> Result<(), c_int>) -> c_int {
    call(|state| if state.initialised { work(state) } else { Err(NOT_INITIALIZED) })
}

unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    call(|state| {
        let driver = state.machine.driver;
        // SAFETY: the caller passes a place for the answer; so below.
        unsafe { store(version, (driver.major * 1000 + driver.minor * 10) as c_int) }
    })
}

unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    after_init(|state| {
        state.device(ordinal)?;
        // SAFETY: see above.
        unsafe { store(device, ordinal) }
    })
}

unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    // SAFETY: see above.
    after_init(|state| unsafe { store(count, state.machine.devices as c_int) })
}

unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int) -> c_int {
    after_init(|state| {
        state.device(device)?;
        let text = format!("emulated device (sm_{})\0", state.machine.arch());
        let room = usize::try_from(bytes).unwrap_or(0);
        if name.is_null() || room == 0 {
            return Err(INVALID_VALUE);
        }
        let length = text.len().min(room);
        // SAFETY: the caller's buffer has `room` bytes; the last is ended with NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), length);
            name.add(length - 1).write(0);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)? as u8;
        let mut bytes = *b"gpu-emulated-000";
        bytes[15] = device;
        // SAFETY: see above.
        unsafe { store(uuid, bytes) }
    })
}

unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { cuDeviceGetUuid(uuid, device) }
}

unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> c_int {
    after_init(|state| {
        state.device(device)?;
        // SAFETY: see above.
        unsafe { store(bytes, MEMORY_BYTES) }
    })
}

unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    after_init(|state| {
        state.device(device)?;
        let (major, minor) = state.machine.compute_capability;
        let answer = match attribute {
            75 => major as c_int,
            76 => minor as c_int,
            other => texel_attribute(other).or_else(|| attribute_of(other)).ok_or(INVALID_VALUE)?,
        };
        // SAFETY: see above.
        unsafe { store(value, answer) }
    })
}

/// Attributes as an H200 has them where kernels or launches depend on them; 0 for features that are not emulated.
fn attribute_of(attribute: c_int) -> Option<c_int> {
    Some(match attribute {
        1 => 1024,                                       // MAX_THREADS_PER_BLOCK
        2 | 3 => 1024,                                   // MAX_BLOCK_DIM_X, Y
        4 => 64,                                         // MAX_BLOCK_DIM_Z
        5 => c_int::MAX,                                 // MAX_GRID_DIM_X
        6 | 7 => 65_535,                                 // MAX_GRID_DIM_Y, Z
        8 => 48 * 1024,                                  // MAX_SHARED_MEMORY_PER_BLOCK
        9 => 65_536,                                     // TOTAL_CONSTANT_MEMORY
        10 => 32,                                        // WARP_SIZE
        11 => c_int::MAX,                                // MAX_PITCH
        12 | 82 => 65_536,                               // MAX_REGISTERS_PER_BLOCK, PER_MULTIPROCESSOR
        13 => 1_980_000,                                 // CLOCK_RATE in kHz
        14 => 512,                                       // TEXTURE_ALIGNMENT
        16 => MULTIPROCESSORS,                           // MULTIPROCESSOR_COUNT
        15 | 19 | 31 | 32 | 41 | 78 | 79 | 80 | 83 => 1, // GPU_OVERLAP, CAN_MAP_HOST_MEMORY, CONCURRENT_KERNELS, …
        36 => 3_201_000,                                 // MEMORY_CLOCK_RATE in kHz
        37 => 6_144,                                     // GLOBAL_MEMORY_BUS_WIDTH
        38 => 62_914_560,                                // L2_CACHE_SIZE
        39 => 2048,                                      // MAX_THREADS_PER_MULTIPROCESSOR
        40 => 3,                                         // ASYNC_ENGINE_COUNT
        81 => 228 * 1024,                                // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        87 => 2,                                         // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
        89 | 90 | 91 | 95 | 115 => 1, // CONCURRENT_MANAGED_ACCESS, COMPUTE_PREEMPTION, HOST_POINTER, COOPERATIVE_LAUNCH, MEMORY_POOLS
        97 => MOST_SHARED_BYTES as c_int, // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        106 => 32,                    // MAX_BLOCKS_PER_MULTIPROCESSOR
        111 => 1024,                  // RESERVED_SHARED_MEMORY_PER_BLOCK
        other if (1..=150).contains(&other) => 0,
        _ => return None,
    })
}

/// The limits of arrays, textures and surfaces.
fn texel_attribute(attribute: c_int) -> Option<c_int> {
    let value = match attribute {
        21 | 22 | 56 => texels::MOST_COLUMNS, // MAXIMUM_TEXTURE1D_WIDTH, TEXTURE2D_WIDTH, SURFACE2D_WIDTH
        23 | 57 => texels::MOST_ROWS,         // MAXIMUM_TEXTURE2D_HEIGHT, SURFACE2D_HEIGHT
        24..=26 | 58..=60 => texels::MOST_OF_VOLUME, // MAXIMUM_TEXTURE3D_WIDTH, HEIGHT, DEPTH; those of surfaces
        47..=49 => texels::MOST_OF_VOLUME,    // MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, HEIGHT, DEPTH
        27 | 28 | 42 | 45 | 46 | 52 | 53 => texels::MOST_OF_LAYER, // layered and gathered ones, and cubes
        55 | 61 | 63 | 64 | 66 | 67 => texels::MOST_OF_LAYER, // MAXIMUM_SURFACE1D_WIDTH; layered surfaces and cubes
        29 | 43 | 62 | 65 => texels::MOST_LAYERS, // MAXIMUM_TEXTURE2D_LAYERED_LAYERS, TEXTURE1D, SURFACE1D, SURFACE2D
        54 | 68 => texels::MOST_FACES,        // MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, SURFACECUBEMAP
        30 => texels::LEAST_TEXTURE_ALIGNMENT, // SURFACE_ALIGNMENT
        51 => texels::TEXTURE_PITCH_ALIGNMENT,
        69 => texels::MOST_OF_MEMORY,       // MAXIMUM_TEXTURE1D_LINEAR_WIDTH
        70 => texels::MOST_PITCHED_COLUMNS, // MAXIMUM_TEXTURE2D_LINEAR_WIDTH
        71 => texels::MOST_PITCHED_ROWS,    // MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
        72 => texels::MOST_PITCH,           // MAXIMUM_TEXTURE2D_LINEAR_PITCH
        _ => return None,
    };
    c_int::try_from(value).ok()
}

/// Few, so that as many blocks as occupancy promises really run side by side.
pub(super) const MULTIPROCESSORS: c_int = 4;

/// Shared memory that a block may have when its kernel asks for it.
pub(super) const MOST_SHARED_BYTES: u32 = 227 * 1024;

unsafe extern "C" fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) -> c_int {
    after_init(|state| {
        state.device(device)?;
        let (most, least) = state.machine.compute_capability;
        // SAFETY: see above.
        unsafe {
            store(major, most as c_int)?;
            store(minor, least as c_int)
        }
    })
}

unsafe extern "C" fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) -> c_int {
    after_init(|state| {
        let device = state.device(device)?;
        // SAFETY: see above.
        unsafe { store(pool, super::pointer(state.default_pools[device])) }
    })
}

unsafe extern "C" fn cuDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) -> c_int {
    // SAFETY: passed on; the current pool cannot be set to another.
    unsafe { cuDeviceGetDefaultMemPool(pool, device) }
}

unsafe extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> c_int {
    after_init(|state| {
        state.device(device)?;
        state.device(peer)?;
        // All memory is the process's; a device number may have several contexts here.
        // SAFETY: see above.
        unsafe { store(can, 1) }
    })
}

/// A place that no card has: domain ffff.
fn pci_bus_id(device: usize) -> String {
    format!("ffff:{device:02x}:00.0")
}

unsafe extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, bytes: c_int, device: c_int) -> c_int {
    after_init(|state| {
        let text = pci_bus_id(state.device(device)?) + "\0";
        if id.is_null() || usize::try_from(bytes).is_ok_and(|room| room < text.len()) || bytes < 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's buffer has `bytes` bytes, which the text does not exceed.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), id.cast(), text.len()) };
        Ok(())
    })
}

unsafe extern "C" fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) -> c_int {
    after_init(|state| {
        if id.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a text that ends in NUL, as the driver's documentation asks.
        let wanted = unsafe { CStr::from_ptr(id) }.to_string_lossy().to_lowercase();
        let found = (0..state.machine.devices).position(|device| pci_bus_id(device) == wanted);
        let found = found.ok_or(INVALID_DEVICE)?;
        // SAFETY: the caller passes a place for the answer.
        unsafe { store(device, found as c_int) }
    })
}

/// There is no profiler to tell.
unsafe extern "C" fn cuProfilerStart() -> c_int {
    call(|state| state.current().map(drop))
}

unsafe extern "C" fn cuProfilerStop() -> c_int {
    call(|state| state.current().map(drop))
}
