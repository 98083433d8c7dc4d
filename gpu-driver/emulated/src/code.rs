//! Result codes of the driver, and results with a code for error.

/// A result code as the error of a call.
pub(crate) type Outcome<T = ()> = Result<T, i32>;

pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NOT_INITIALIZED: i32 = 3;
pub(crate) const INVALID_DEVICE: i32 = 101;
pub(crate) const INVALID_IMAGE: i32 = 200;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const ALREADY_MAPPED: i32 = 208;
pub(crate) const NOT_MAPPED: i32 = 211;
pub(crate) const NOT_MAPPED_AS_ARRAY: i32 = 212;
pub(crate) const NOT_MAPPED_AS_POINTER: i32 = 213;
pub(crate) const INVALID_GRAPHICS_CONTEXT: i32 = 219;
pub(crate) const FILE_NOT_FOUND: i32 = 301;
pub(crate) const OPERATING_SYSTEM: i32 = 304;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const NOT_READY: i32 = 600;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
pub(crate) const OUT_OF_RESOURCES: i32 = 701;
pub(crate) const LAUNCH_TIMEOUT: i32 = 702;
pub(crate) const CONTEXT_IS_DESTROYED: i32 = 709;
pub(crate) const ASSERT: i32 = 710;
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;
pub(crate) const PEER_ACCESS_NOT_ENABLED: i32 = 705;
pub(crate) const ALREADY_REGISTERED: i32 = 712;
pub(crate) const NOT_REGISTERED: i32 = 713;
/// A kernel's stack overflowed.
pub(crate) const LOCAL_MEMORY: i32 = 714;
pub(crate) const ILLEGAL_INSTRUCTION: i32 = 715;
pub(crate) const MISALIGNED: i32 = 716;
pub(crate) const LAUNCH_FAILED: i32 = 719;
pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: i32 = 720;
pub(crate) const NOT_PERMITTED: i32 = 800;
pub(crate) const NOT_SUPPORTED: i32 = 801;
pub(crate) const CAPTURE_UNSUPPORTED: i32 = 900;
pub(crate) const CAPTURE_INVALIDATED: i32 = 901;
pub(crate) const CAPTURE_UNMATCHED: i32 = 903;
pub(crate) const CAPTURE_UNJOINED: i32 = 904;
pub(crate) const CAPTURED_EVENT: i32 = 907;
pub(crate) const UPDATE_FAILURE: i32 = 910;
pub(crate) const UNKNOWN: i32 = 999;
