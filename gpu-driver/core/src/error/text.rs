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
