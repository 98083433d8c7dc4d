//! Pinned buffers that a context keeps for later use.

use std::{ptr::NonNull, sync::Mutex};

use gpu_driver_core::lock;

/// Small buffers that are not in use. The driver takes most of a millisecond to lock or unlock memory while the device works, longer than
/// many a piece of work whose outcome a few bytes bring back.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<Free>>);

/// Memory of [`Kept::LARGEST`] bytes that nothing refers to.
struct Free(NonNull<u8>);

// SAFETY: owned memory that nobody else knows of.
unsafe impl Send for Free {}

impl Kept {
    /// Bytes up to which buffers are kept: a page.
    pub(crate) const LARGEST: usize = 4096;
    /// Most buffers to keep.
    const MOST: usize = 64;

    pub(crate) fn take(&self, bytes: usize) -> Option<NonNull<u8>> {
        if bytes > Self::LARGEST {
            return None;
        }
        lock(&self.0).pop().map(|free| free.0)
    }

    /// False when the buffer is to be freed.
    pub(crate) fn keep(&self, bytes: usize, buffer: NonNull<u8>) -> bool {
        let mut kept = lock(&self.0);
        let room = bytes <= Self::LARGEST && kept.len() < Self::MOST;
        if room {
            kept.push(Free(buffer));
        }
        room
    }

    /// All that is kept, to be freed.
    pub(crate) fn empty(&self) -> Vec<NonNull<u8>> {
        std::mem::take(&mut *lock(&self.0)).into_iter().map(|free| free.0).collect()
    }
}
