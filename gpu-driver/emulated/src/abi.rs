//! The Rust side of `cuda/abi.h`: the interface of a kernel module and the emulated driver. Change both together.

use std::ffi::{c_char, c_float, c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

/// Version of the interface; a module of another version is refused.
pub(super) const VERSION: c_uint = 3;

/// The symbol that every module exports.
pub(super) const MODULE_SYMBOL: &[u8] = b"gpu_emulated_module\0";

/// A kind of access.
pub(super) mod access {
    pub(crate) const WRITE: u32 = 1;
    pub(crate) const ATOMIC: u32 = 2;
    /// With a read or a write.
    pub(crate) const VOLATILE: u32 = 4;
}

/// The kinds of result that a barrier makes of the threads' predicates.
pub(super) mod barrier {
    pub(crate) const COUNT: u32 = 1;
    pub(crate) const AND: u32 = 2;
    pub(crate) const OR: u32 = 3;
}

/// A warp-wide operation.
pub(super) mod warp {
    pub(crate) const SHUFFLE: u32 = 1;
    pub(crate) const SHUFFLE_UP: u32 = 2;
    pub(crate) const SHUFFLE_DOWN: u32 = 3;
    pub(crate) const SHUFFLE_XOR: u32 = 4;
    pub(crate) const BALLOT: u32 = 5;
    pub(crate) const ALL: u32 = 6;
    pub(crate) const ANY: u32 = 7;
    pub(crate) const MATCH_ANY: u32 = 8;
    pub(crate) const MATCH_ALL: u32 = 9;
    pub(crate) const REDUCE_ADD: u32 = 10;
    pub(crate) const REDUCE_MIN: u32 = 11;
    pub(crate) const REDUCE_MAX: u32 = 12;
    pub(crate) const REDUCE_MIN_SIGNED: u32 = 13;
    pub(crate) const REDUCE_MAX_SIGNED: u32 = 14;
    pub(crate) const REDUCE_AND: u32 = 15;
    pub(crate) const REDUCE_OR: u32 = 16;
    pub(crate) const REDUCE_XOR: u32 = 17;
}

/// Reads of textures, and accesses of surfaces.
pub(super) mod texels {
    /// The bits of [`super::Runtime::texture`]'s `wanted` that count channels.
    pub(crate) const CHANNELS: u32 = 7;
    /// The kernel wants floats.
    pub(crate) const FLOATS: u32 = 8;
    /// The kernel gathers the last of the channels that it wants.
    pub(crate) const GATHER: u32 = 16;
    const SURFACE_MODE: u32 = 16;
    /// Reads beyond a surface give zero, and writes do nothing.
    pub(crate) const ZERO: u32 = SURFACE_MODE;
    /// Accesses beyond a surface are those at its border.
    pub(crate) const CLAMP: u32 = 2 * SURFACE_MODE;
}

/// The clock of [`Runtime::clock`] that counts nanoseconds; the other counts cycles.
pub(super) const GLOBAL_TIMER: u32 = 1;

/// The functions that a module calls. All of them run on the stack of the emulated thread.
#[repr(C)]
pub(super) struct Runtime {
    pub(super) access: unsafe extern "C" fn(*const c_void, c_ulong, c_uint, *const c_void),
    pub(super) atomic: unsafe extern "C" fn(*const c_void, c_ulong, *const c_char, c_uint),
    pub(super) barrier: unsafe extern "C" fn(c_uint, c_int, *const c_char, *const c_char, c_uint) -> c_int,
    pub(super) warp: unsafe extern "C" fn(
        c_uint,
        c_uint,
        c_ulonglong,
        c_uint,
        c_uint,
        *const c_char,
        *const c_char,
        c_uint,
    ) -> c_ulonglong,
    pub(super) active_mask: unsafe extern "C" fn(*const c_char, c_uint) -> c_uint,
    pub(super) shared_static:
        unsafe extern "C" fn(*mut c_uint, c_ulong, c_ulong, *const c_char, *const c_char, c_uint) -> *mut c_void,
    pub(super) shared_dynamic: unsafe extern "C" fn() -> *mut c_void,
    pub(super) shared_dynamic_bytes: unsafe extern "C" fn() -> c_uint,
    pub(super) fence: unsafe extern "C" fn(c_uint, *const c_char, c_uint),
    pub(super) clock: unsafe extern "C" fn(c_uint) -> c_ulonglong,
    pub(super) nanosleep: unsafe extern "C" fn(c_uint),
    pub(super) grid_dependency_wait: unsafe extern "C" fn(),
    pub(super) tick: unsafe extern "C" fn(*const c_void),
    pub(super) enter: unsafe extern "C" fn(c_uint, c_uint),
    pub(super) trap: unsafe extern "C" fn(*const c_char, c_uint) -> !,
    pub(super) assert_failed: unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, c_uint) -> !,
    pub(super) undefined: unsafe extern "C" fn(*const c_char, *const c_char, c_uint, c_uint, *const c_void) -> !,
    pub(super) misaligned:
        unsafe extern "C" fn(*const c_void, c_ulong, c_uint, *const c_char, *const c_char, c_uint) -> !,
    pub(super) print: unsafe extern "C" fn(*const c_char, c_ulong),
    pub(super) texture: unsafe extern "C" fn(
        c_ulonglong,
        c_uint,
        c_float,
        c_float,
        c_float,
        c_int,
        c_float,
        c_uint,
        *mut c_uint,
        *const c_char,
        *const c_char,
        c_uint,
    ),
    pub(super) surface: unsafe extern "C" fn(
        c_ulonglong,
        c_uint,
        c_int,
        c_int,
        c_int,
        c_uint,
        *mut c_void,
        c_uint,
        *const c_char,
        *const c_char,
        c_uint,
    ),
}

/// One kernel of a module.
#[repr(C)]
pub(super) struct AbiKernel {
    pub(super) name: *const c_char,
    pub(super) run: unsafe extern "C" fn(*mut *mut c_void),
    pub(super) sizes: *const c_ulong,
    pub(super) count: c_uint,
}

/// A built-in variable such as `threadIdx`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) x: c_uint,
    pub(super) y: c_uint,
    pub(super) z: c_uint,
}

impl std::fmt::Display for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// A module's description of itself.
#[repr(C)]
pub(super) struct AbiModule {
    pub(super) version: c_uint,
    pub(super) kernels_enter: c_uint,
    pub(super) runtime: *mut *const Runtime,
    pub(super) thread: *mut Index,
    pub(super) block: *mut Index,
    pub(super) block_size: *mut Index,
    pub(super) grid_size: *mut Index,
    pub(super) budget: *mut c_long,
    pub(super) kernels: *const AbiKernel,
    pub(super) kernel_count: c_uint,
}
