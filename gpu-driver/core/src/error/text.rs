//! Parts of messages.

use crate::codes::CudaCode;

pub(super) fn free_text(free: &Option<usize>) -> String {
    free.map(|free| format!(", {free} are free")).unwrap_or_default()
}

pub(super) fn lost_text(code: CudaCode, report: &Option<String>) -> String {
    const CONTEXT_IS_DESTROYED: CudaCode = CudaCode(709);
    match report {
        Some(report) => report.clone(),
        None if code == CONTEXT_IS_DESTROYED => {
            "Other code of this process reset or destroyed the device's primary context while it was in use.".to_owned()
        }
        None => "Restart the process; set GPU_SYNC=1 to learn which kernel faulted.".to_owned(),
    }
}

pub(super) fn kernel_text(kernel: &Option<String>) -> String {
    kernel.as_ref().map(|kernel| format!(", in kernel `{kernel}`")).unwrap_or_default()
}

/// The remedy for a failure that a program's mistake explains, or nothing.
pub(super) fn call_text(call: &str, code: CudaCode) -> &'static str {
    const INVALID_HANDLE: i32 = 400;
    const NOT_READY: i32 = 600;
    const ALREADY_REGISTERED: i32 = 712;
    match (call, code.0) {
        ("cuEventElapsedTime", INVALID_HANDLE) => {
            ". Both events must have been recorded (Stream::record), and neither made by Event::untimed"
        }
        ("cuEventElapsedTime", NOT_READY) => ". Wait for the later event first (Event::synchronize)",
        ("cuMemHostRegister", ALREADY_REGISTERED) => {
            ". A page is registered once: take memory with pages of its own (AlignedVec, at a multiple of 4096 bytes)"
        }
        _ => "",
    }
}

/// The limit of every GPU that a launch does not keep, or another remedy.
pub(super) fn launch_text([gx, gy, gz]: [u32; 3], [x, y, z]: [u32; 3], code: CudaCode) -> String {
    const OUT_OF_RESOURCES: CudaCode = CudaCode(701);
    const COOPERATIVE_LAUNCH_TOO_LARGE: CudaCode = CudaCode(720);
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    if gx == 0 || gy == 0 || gz == 0 || threads == 0 {
        return ". A grid and a block have at least 1 along each axis; work without elements needs no launch"
            .to_owned();
    }
    if threads > 1024 || z > 64 {
        return format!(". A block has at most 1024 threads ({threads} were asked for), and at most 64 along z");
    }
    if gx > i32::MAX as u32 || gy > 65_535 || gz > 65_535 {
        return ". A grid has at most 2147483647 blocks along x and 65535 along y and z: let x take the longest axis"
            .to_owned();
    }
    if code == OUT_OF_RESOURCES {
        return ". Smaller blocks, or `__launch_bounds__(threads)` on the kernel, let each thread have the registers that it needs".to_owned();
    }
    if code == COOPERATIVE_LAUNCH_TOO_LARGE {
        return ". The blocks of a cooperative launch run all at once: a multiprocessor holds Function::max_active_blocks of them".to_owned();
    }
    String::new()
}
