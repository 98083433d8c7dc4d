//! Pinned buffers that a context keeps for later use.

use std::{ptr::NonNull, sync::Mutex};

use gpu_driver_core::lock;

/// Bytes of a pinned buffer that copies of pageable memory go through.
pub(crate) const STAGE_BYTES: usize = 2 << 20;
/// The most such buffers of a copy, and those that a device keeps: 64 MiB.
pub(crate) const MOST_STAGES: usize = 32;

/// Small buffers that are not in use. The driver takes most of a millisecond to lock or unlock memory while the device works, longer than
/// many a piece of work whose outcome a few bytes bring back.
pub(crate) struct Kept {
    buffers: Mutex<Vec<Free>>,
    /// Bytes up to which a buffer is kept.
    largest: usize,
    /// Most buffers to keep.
    most: usize,
}

/// Memory of the largest size that is kept, which nothing refers to.
struct Free(NonNull<u8>);

// SAFETY: owned memory that nobody else knows of.
unsafe impl Send for Free {}

impl Kept {
    /// Bytes up to which small buffers are kept: a page.
    pub(crate) const LARGEST: usize = 4096;
    /// Most small buffers to keep.
    const MOST: usize = 64;

    /// Small buffers.
    pub(crate) fn small() -> Self {
        Self::new(Self::LARGEST, Self::MOST)
    }

    pub(crate) fn new(largest: usize, most: usize) -> Self {
        Self { buffers: Mutex::default(), largest, most }
    }

    pub(crate) fn take(&self, bytes: usize) -> Option<NonNull<u8>> {
        if bytes > self.largest {
            return None;
        }
        lock(&self.buffers).pop().map(|free| free.0)
    }

    /// False when the buffer is to be freed.
    pub(crate) fn keep(&self, bytes: usize, buffer: NonNull<u8>) -> bool {
        let mut kept = lock(&self.buffers);
        let room = bytes <= self.largest && kept.len() < self.most;
        if room {
            kept.push(Free(buffer));
        }
        room
    }

    /// All that is kept, to be freed.
    pub(crate) fn empty(&self) -> Vec<NonNull<u8>> {
        std::mem::take(&mut *lock(&self.buffers)).into_iter().map(|free| free.0).collect()
    }
}
