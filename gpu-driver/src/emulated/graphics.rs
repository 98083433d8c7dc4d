//! Objects that stand for those of OpenGL.

use super::{Emulation, answered};
use crate::{ArrayShape, Channel, Result};

impl Emulation {
    /// Declares a buffer of OpenGL with these bytes, for [`GlBuffer`](crate::GlBuffer): to test the kernels that fill it, without OpenGL.
    ///
    /// # Errors
    /// When the device's context is gone.
    ///
    /// ```
    /// use gpu_driver::{GlAccess, GlBuffer, emulated::Emulated};
    /// let Ok(device) = Emulated::new().open() else { return Ok(()) };
    /// let emulation = device.emulation().expect("it is emulated");
    /// emulation.declare_gl_buffer(1, &[0; 12])?;
    /// // SAFETY: a buffer that was declared.
    /// let mut buffer = unsafe { GlBuffer::<u32>::register(&device, 1, GlAccess::ReadWrite)? };
    /// buffer.map(&device.stream())?.as_mut_slice()?.fill(7)?;
    /// assert_eq!(emulation.gl_buffer(1)?, [7, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn declare_gl_buffer(&self, name: u32, bytes: &[u8]) -> Result<()> {
        answered(self.control().declare_graphics(name, None, bytes))
    }

    /// Declares an image of OpenGL of that shape with these bytes, in C order, for [`GlImage`](crate::GlImage).
    ///
    /// # Errors
    /// `Cuda` with `INVALID_VALUE` unless there are as many bytes as the shape has; when the device's context is gone.
    pub fn declare_gl_image<T: Channel>(&self, name: u32, shape: ArrayShape, bytes: &[u8]) -> Result<()> {
        answered(self.control().declare_graphics(name, Some(shape.descriptor::<T>()), bytes))
    }

    /// The bytes of a buffer that was declared, as OpenGL would see them.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_VALUE` for one that was not, with `ALREADY_MAPPED` while it is mapped, when OpenGL must not use it.
    pub fn gl_buffer(&self, name: u32) -> Result<Vec<u8>> {
        answered(self.control().graphics_contents(name, false))
    }

    /// The bytes of an image that was declared, as OpenGL would see them.
    ///
    /// # Errors
    /// Those of [`Emulation::gl_buffer`].
    pub fn gl_image(&self, name: u32) -> Result<Vec<u8>> {
        answered(self.control().graphics_contents(name, true))
    }
}
