//! Memory of new arrays, which a kernel or a copy fills.
#![expect(unsafe_code, reason = "memory that the next kernel or copy fills before anyone reads it")]

use gpu_driver::{DevicePod, DeviceVec, Stream};

use crate::Result;

/// Allocates memory without initialising it. The next kernel or copy writes every element.
#[track_caller]
pub(crate) fn allocate<T: DevicePod>(stream: &Stream, len: usize) -> Result<DeviceVec<T>> {
    // SAFETY: it is the output of an expression, which has a value for each element, or of joined or copied arrays, which have one; if a launch
    // or a copy fails it is dropped unread.
    Ok(unsafe { DeviceVec::uninitialized(stream, len)? })
}
