//! Variables of this crate whose values are words.

use gpu_driver_core::environment::parse;

use crate::Result;

/// Whether `GPU_SYNC` asks to wait after each launch.
///
/// # Errors
/// `Setting` for anything but 0 and 1.
pub(crate) fn waits_after_launches() -> Result<bool> {
    parse("GPU_SYNC", "0 or 1", "0", |value| match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    })
}
