//! Streams that a context knows but does not own.

use std::sync::Arc;

use crate::raw::CUstream;

use super::{Context, Scratch};
use crate::sys;

/// Destroys a stream that is not the main one; keeps the context until then.
pub(crate) struct OwnedStream {
    pub(crate) context: Arc<Context>,
    pub(crate) raw: CUstream,
    pub(crate) scratch: Scratch,
}

// SAFETY: the driver's stream functions may be called from any thread.
unsafe impl Send for OwnedStream {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for OwnedStream {}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        self.scratch.release(&self.context, self.raw);
        // The driver destroys the queue once its work has run.
        // SAFETY: made in `Stream::new`, destroyed once.
        let destroy = || unsafe { sys::cuStreamDestroy_v2(self.raw) };
        self.context.in_drop("a stream", "cuStreamDestroy", destroy);
    }
}
