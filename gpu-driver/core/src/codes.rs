//! Names and plain descriptions of the driver's result codes, up to CUDA 13.

use std::{ffi::CStr, fmt};

/// A result code of the CUDA driver.
///
/// Kept as the plain number, so a code that is newer than this library is still reported truthfully.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaCode(pub i32);

impl CudaCode {
    /// An argument of a driver call was out of range or null.
    pub const INVALID_VALUE: Self = Self(1);
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub const OUT_OF_MEMORY: CudaCode = CudaCode(2);
    /// `CUDA_ERROR_NO_DEVICE`.
    pub const NO_DEVICE: CudaCode = CudaCode(100);
    /// `CUDA_ERROR_NOT_FOUND`.
    pub const NOT_FOUND: CudaCode = CudaCode(500);
    /// `CUDA_ERROR_NOT_READY`.
    pub const NOT_READY: CudaCode = CudaCode(600);

    /// The name that the driver's documentation uses, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub fn name(self) -> &'static str {
        name_c(self.0).to_str().unwrap_or_default()
    }

    /// One plain sentence about the code.
    pub fn description(self) -> &'static str {
        description_c(self.0).to_str().unwrap_or_default()
    }

    /// Whether the code is final: a kernel faulted, and every later CUDA call of this process will fail.
    ///
    /// Measured with driver 580: neither destroying the context nor making a new one recovers; only a new process does.
    pub fn is_fatal(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
    }
}

impl fmt::Display for CudaCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.description())
    }
}

/// (code, name, description), ascending by code.
const CODES: &[(i32, &CStr, &CStr)] = &[
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (
        3,
        c"CUDA_ERROR_NOT_INITIALIZED",
        c"the driver is not initialised in this process (a child of fork cannot use its parent's CUDA)",
    ),
    (4, c"CUDA_ERROR_DEINITIALIZED", c"the driver is shutting down"),
    (5, c"CUDA_ERROR_PROFILER_DISABLED", c"the profiler is disabled"),
    (6, c"CUDA_ERROR_PROFILER_NOT_INITIALIZED", c"the profiler is not initialised"),
    (7, c"CUDA_ERROR_PROFILER_ALREADY_STARTED", c"the profiler was started already"),
    (8, c"CUDA_ERROR_PROFILER_ALREADY_STOPPED", c"the profiler was stopped already"),
    (34, c"CUDA_ERROR_STUB_LIBRARY", c"the library is a link-time stub, not a driver"),
    (46, c"CUDA_ERROR_DEVICE_UNAVAILABLE", c"the device is busy or in exclusive use by another process"),
    (100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA device is visible"),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (102, c"CUDA_ERROR_DEVICE_NOT_LICENSED", c"the device lacks a licence"),
    (200, c"CUDA_ERROR_INVALID_IMAGE", c"the kernel image is invalid"),
    (201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid or destroyed context"),
    (202, c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", c"the context is already current"),
    (205, c"CUDA_ERROR_MAP_FAILED", c"mapping failed"),
    (206, c"CUDA_ERROR_UNMAP_FAILED", c"unmapping failed"),
    (207, c"CUDA_ERROR_ARRAY_IS_MAPPED", c"the array is mapped"),
    (208, c"CUDA_ERROR_ALREADY_MAPPED", c"the resource is already mapped"),
    (209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"the image holds no code for this device"),
    (210, c"CUDA_ERROR_ALREADY_ACQUIRED", c"the resource is already acquired"),
    (211, c"CUDA_ERROR_NOT_MAPPED", c"the resource is not mapped"),
    (212, c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", c"the resource is not mapped as an array"),
    (213, c"CUDA_ERROR_NOT_MAPPED_AS_POINTER", c"the resource is not mapped as a pointer"),
    (214, c"CUDA_ERROR_ECC_UNCORRECTABLE", c"uncorrectable memory (ECC) error"),
    (215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"the limit is not supported"),
    (216, c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", c"the context is in use by another thread"),
    (217, c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", c"peer access is not supported between these devices"),
    (218, c"CUDA_ERROR_INVALID_PTX", c"the PTX text is invalid"),
    (219, c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", c"invalid graphics context"),
    (220, c"CUDA_ERROR_NVLINK_UNCORRECTABLE", c"uncorrectable NVLink error"),
    (221, c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", c"the driver's PTX compiler was not found"),
    (222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"the PTX text is newer than this driver understands"),
    (223, c"CUDA_ERROR_JIT_COMPILATION_DISABLED", c"the driver's PTX compiler is disabled"),
    (224, c"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", c"the execution affinity is not supported"),
    (
        225,
        c"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
        c"the code uses cudaDeviceSynchronize on the device, which this driver does not support",
    ),
    (226, c"CUDA_ERROR_CONTAINED", c"an error was contained to the failing context"),
    (300, c"CUDA_ERROR_INVALID_SOURCE", c"invalid kernel source"),
    (301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
    (302, c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", c"a shared object's symbol was not found"),
    (303, c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", c"a shared object failed to initialise"),
    (304, c"CUDA_ERROR_OPERATING_SYSTEM", c"an operating system call failed"),
    (400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (401, c"CUDA_ERROR_ILLEGAL_STATE", c"the resource is in an illegal state"),
    (402, c"CUDA_ERROR_LOSSY_QUERY", c"the query would lose information"),
    (500, c"CUDA_ERROR_NOT_FOUND", c"the named symbol was not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"the work is not finished yet"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"a kernel accessed memory outside any allocation"),
    (701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for the launch"),
    (702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"a kernel ran longer than the driver's watchdog allows"),
    (703, c"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", c"incompatible texturing mode"),
    (704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access is already enabled"),
    (705, c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", c"peer access is not enabled"),
    (708, c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", c"the primary context is already active"),
    (709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"the context is destroyed"),
    (710, c"CUDA_ERROR_ASSERT", c"a device-side assert failed"),
    (711, c"CUDA_ERROR_TOO_MANY_PEERS", c"too many peer mappings"),
    (712, c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", c"the host memory is already pinned"),
    (713, c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", c"the host memory is not pinned"),
    (714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"the device's call stack is corrupt or overflowed"),
    (715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"a kernel executed an illegal instruction"),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"a kernel accessed memory at an address that is not aligned for its type"),
    (717, c"CUDA_ERROR_INVALID_ADDRESS_SPACE", c"a kernel used an address of the wrong address space"),
    (718, c"CUDA_ERROR_INVALID_PC", c"a kernel jumped to an invalid instruction"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED", c"a kernel failed on the device"),
    (720, c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"more blocks than a cooperative launch can hold at once"),
    (721, c"CUDA_ERROR_TENSOR_MEMORY_LEAK", c"a kernel ended without freeing its tensor memory"),
    (800, c"CUDA_ERROR_NOT_PERMITTED", c"the operation is not permitted"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"the operation is not supported by this driver or device"),
    (
        802,
        c"CUDA_ERROR_SYSTEM_NOT_READY",
        c"the system is not ready for CUDA (on NVSwitch machines: is the fabric manager running?)",
    ),
    (
        803,
        c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        c"the user-mode driver and the kernel module have different versions (reboot after a driver update)",
    ),
    (804, c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", c"forward compatibility is not supported on this device"),
    (805, c"CUDA_ERROR_MPS_CONNECTION_FAILED", c"no connection to the MPS server"),
    (806, c"CUDA_ERROR_MPS_RPC_FAILURE", c"a call to the MPS server failed"),
    (807, c"CUDA_ERROR_MPS_SERVER_NOT_READY", c"the MPS server is not ready"),
    (808, c"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", c"the MPS server has its maximum of clients"),
    (809, c"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", c"the MPS server has its maximum of connections"),
    (810, c"CUDA_ERROR_MPS_CLIENT_TERMINATED", c"the MPS client was terminated"),
    (811, c"CUDA_ERROR_CDP_NOT_SUPPORTED", c"dynamic parallelism is not supported"),
    (812, c"CUDA_ERROR_CDP_VERSION_MISMATCH", c"dynamic parallelism versions do not match"),
    (900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"the operation is not permitted while a stream is captured"),
    (901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"the stream capture was invalidated by an earlier error"),
    (902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE", c"the operation would merge two captures"),
    (903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", c"the capture was not begun on this stream"),
    (904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", c"the capture holds a stream that was not joined"),
    (905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", c"the operation would depend on work outside the capture"),
    (906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", c"the operation would wait on the legacy stream during a capture"),
    (907, c"CUDA_ERROR_CAPTURED_EVENT", c"the event was last recorded in a capture"),
    (908, c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", c"the capture was begun by another thread"),
    (909, c"CUDA_ERROR_TIMEOUT", c"the wait timed out"),
    (910, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", c"the executable graph could not be updated"),
    (911, c"CUDA_ERROR_EXTERNAL_DEVICE", c"an external device reported an error"),
    (912, c"CUDA_ERROR_INVALID_CLUSTER_SIZE", c"invalid cluster size"),
    (913, c"CUDA_ERROR_FUNCTION_NOT_LOADED", c"the function is not loaded"),
    (914, c"CUDA_ERROR_INVALID_RESOURCE_TYPE", c"invalid resource type"),
    (915, c"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", c"invalid resource configuration"),
    (916, c"CUDA_ERROR_KEY_ROTATION", c"a key rotation is under way"),
    (917, c"CUDA_ERROR_STREAM_DETACHED", c"the stream is detached"),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

fn entry(code: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    CODES.binary_search_by_key(&code, |entry| entry.0).ok().map(|at| &CODES[at])
}

/// The name of a result code; `CUDA_ERROR_UNRECOGNISED` for one that is not in the list.
pub fn name_c(code: i32) -> &'static CStr {
    entry(code).map_or(c"CUDA_ERROR_UNRECOGNISED", |entry| entry.1)
}

/// One plain sentence about a result code.
pub fn description_c(code: i32) -> &'static CStr {
    entry(code).map_or(c"a result code that this library does not know", |entry| entry.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_unknown_codes_have_a_text() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(name_c(700), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(name_c(-5), c"CUDA_ERROR_UNRECOGNISED");
    }
}
