//! The context that is current on a thread during a call.

use std::{ffi::c_int, marker::PhantomData, ptr::null_mut};

use crate::raw::CUcontext;

use crate::{CudaCode, DriverError, Result, sys};

/// Keeps a context current on this thread for one call of this library.
///
/// Where another context was current it comes back at the end. Where none was, ours stays, which spares the next call a
/// switch; the context takes itself back when it is released.
#[derive(Debug)]
#[must_use]
pub(crate) struct Current {
    pushed: bool,
    /// The current context belongs to a thread, so the guard must stay on it.
    _not_send: PhantomData<*const ()>,
}

impl Current {
    pub(super) fn of(context: CUcontext) -> Result<Self> {
        let mut before = null_mut();
        // SAFETY: the pointer is valid for the call.
        plain("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut before) })?;
        if before == context {
            return Ok(Self { pushed: false, _not_send: PhantomData });
        }
        if before.is_null() {
            // Nothing to restore: leaving ours in place spares the next call a switch.
            // SAFETY: the context is retained by the caller.
            plain("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
            return Ok(Self { pushed: false, _not_send: PhantomData });
        }
        // SAFETY: the context is retained by the caller.
        plain("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(context) })?;
        Ok(Self { pushed: true, _not_send: PhantomData })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = null_mut();
            // SAFETY: the pointer is valid for the call. Fails only when the user broke the stack, who then sees it.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        }
    }
}

/// A result outside any context, where no code is tied to one device.
pub(crate) fn plain(call: &'static str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(DriverError::Cuda { call, code: CudaCode(code) }) }
}
