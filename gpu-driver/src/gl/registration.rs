//! A registered object of OpenGL, mapped and unmapped.

use std::{ffi::c_int, ptr::null_mut, sync::Arc};

use super::GlAccess;
use crate::{Device, DriverError, Result, Stream, raw::all::CUgraphicsResource, sys, texture::ArrayMemory};

/// An object that is registered; the drop unmaps it where a guard has not, and ends the registration.
///
/// Neither Send nor Sync: OpenGL's context is current to one thread.
///
/// ```compile_fail,E0277
/// fn is_sent<T: Send>() {}
/// is_sent::<gpu_driver::GlBuffer<f32>>();
/// ```
pub(super) struct Registration {
    pub(super) device: Device,
    pub(super) raw: CUgraphicsResource,
    pub(super) access: GlAccess,
    /// The kind of object, for errors in drops.
    object: &'static str,
    /// The stream of the last mapping.
    stream: Option<Stream>,
    is_mapped: bool,
    /// The array of the mapping, which textures and surfaces may share.
    pub(super) lent: Option<Arc<ArrayMemory>>,
}

impl Registration {
    /// Registers an object by `register`, which writes the driver's handle.
    pub(super) fn register(
        device: &Device,
        object: &'static str,
        access: GlAccess,
        call: &'static str,
        register: impl FnOnce(*mut CUgraphicsResource) -> c_int,
    ) -> Result<Self> {
        let mut raw = null_mut();
        {
            let _current = device.enter()?;
            device.check(call, register(&mut raw))?;
        }
        // From here on Drop ends the registration.
        let (device, read_write) = (device.clone(), GlAccess::ReadWrite);
        let mut made = Self { device, raw, access: read_write, object, stream: None, is_mapped: false, lent: None };
        if access != read_write {
            made.set_access(access)?;
        }
        Ok(made)
    }

    pub(super) fn set_access(&mut self, access: GlAccess) -> Result<()> {
        let _current = self.device.enter()?;
        // SAFETY: the registration is alive.
        let code = unsafe { sys::cuGraphicsResourceSetMapFlags_v2(self.raw, access.flags()) };
        self.device.check("cuGraphicsResourceSetMapFlags", code)?;
        self.access = access;
        Ok(())
    }

    /// Maps the object in the order of a stream. A mapping whose guard was leaked, or could not end it, is ended first.
    pub(super) fn map(&mut self, op: &'static str, stream: &Stream) -> Result<()> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op, expected, got });
        }
        let current = self.device.enter()?;
        stream.not_captured(op, &current)?;
        self.unmap(op)?;
        let uncaptured = stream.uncaptured(op, &current)?;
        // SAFETY: the registration is alive, and the list has one.
        let code = unsafe { sys::cuGraphicsMapResources(1, &mut self.raw, stream.as_raw()) };
        self.device.check("cuGraphicsMapResources", code)?;
        self.is_mapped = true;
        let earlier = self.stream.replace(stream.clone());
        // The last handle of the earlier stream may be this one, and its release takes the lock.
        drop(uncaptured);
        drop(earlier);
        Ok(())
    }

    /// Gives the object back to OpenGL, in the order of the stream that it was mapped on. Nothing where it is not mapped.
    pub(super) fn unmap(&mut self, op: &'static str) -> Result<()> {
        let Some(stream) = self.stream.as_ref().filter(|_| self.is_mapped) else { return Ok(()) };
        if let Some(array) = &mut self.lent
            && Arc::get_mut(array).is_none()
        {
            let (expected, users) =
                ("no texture, surface or graph that still uses the image", Arc::strong_count(array) - 1);
            return Err(DriverError::Length { op, expected: expected.to_owned(), got: users.to_string() });
        }
        // Not an older error: a mapped object must be unmapped.
        let current = self.device.0.enter_quietly()?;
        let _uncaptured = stream.uncaptured(op, &current)?;
        // SAFETY: the object is mapped, nothing on the host leads to the mapping any more, and the list has one.
        let code = unsafe { sys::cuGraphicsUnmapResources(1, &mut self.raw, stream.as_raw()) };
        self.device.check("cuGraphicsUnmapResources", code)?;
        (self.is_mapped, self.lent) = (false, None);
        Ok(())
    }

    /// [`Registration::unmap`] for a drop.
    pub(super) fn unmap_in_drop(&mut self) -> bool {
        let unmapped = self.unmap("the end of a mapping").inspect_err(|error| {
            self.device.0.report_later(self.object, error.clone());
        });
        unmapped.is_ok()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.device.0.is_lost() {
            return;
        }
        let mut is_free = self.unmap_in_drop();
        if is_free && let Some(stream) = &self.stream {
            let context = &self.device.0;
            let waited = context.enter_quietly().and_then(|current| {
                let _uncaptured = stream.uncaptured("the end of a registration", &current)?;
                stream.synchronize_entered(&current)
            });
            is_free = waited.map_err(|error| context.report_later(self.object, error)).is_ok();
        }
        if !is_free {
            // Work or textures may still use the object, which stays registered.
            return;
        }
        // SAFETY: registered in `register`, ended once, when no work uses it.
        let end = || unsafe { sys::cuGraphicsUnregisterResource(self.raw) };
        self.device.0.in_drop(self.object, "cuGraphicsUnregisterResource", end);
    }
}
