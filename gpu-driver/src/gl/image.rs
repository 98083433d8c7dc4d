//! Images of OpenGL: textures and render buffers.

use std::{fmt, marker::PhantomData, mem, ptr::null_mut};

use super::{GlAccess, registration::Registration};
use crate::{Channel, CudaArray, Device, Result, Stream, sys, texture::ArrayOwner};

const WHAT: &str = "an OpenGL image";
/// `CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST`.
const SURFACES: u32 = 4;

/// A texture or render buffer of OpenGL, which kernels use through textures and surfaces while it is mapped. `T` is the type of its channels: `u8` for
/// `GL_RGBA8`, `f32` for `GL_R32F`; images of three channels, and of packed or compressed formats, have no array.
///
/// It is neither Send nor Sync, as OpenGL's context is current to one thread.
///
/// ```no_run
/// use gpu_driver::{Device, GlAccess, GlImage, LaunchConfig, Surface};
/// # let name = 1u32; // of glGenTextures
/// # const SOURCE: &str = "extern \"C\" __global__ void paint(cudaSurfaceObject_t s) { \
/// #     surf2Dwrite(make_uchar4(255, 0, 0, 255), s, threadIdx.x * 4, blockIdx.x); }";
/// const TEXTURE_2D: u32 = 0x0de1;
/// let device = Device::new(Device::gl_ordinals()?[0])?;
/// let (stream, paint) = (device.stream(), device.compile(SOURCE)?.function("paint")?);
/// // SAFETY: a texture of 32 x 32 elements of GL_RGBA8 of the current context, which outlives the registration.
/// let mut picture = unsafe { GlImage::<u8>::register_for_surfaces(&device, name, TEXTURE_2D, GlAccess::WriteDiscard)? };
/// let mapped = picture.map(&stream)?;
/// let mut surface = Surface::of_array(mapped.array())?;
/// // SAFETY: 32 x 32 threads write an element each.
/// unsafe { paint.launch(LaunchConfig::new(32, 32), (&mut surface,), &stream)? };
/// drop(surface); // before the image goes back to OpenGL
/// mapped.unmap()?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
///
/// # Cost
/// As for [`GlBuffer`](crate::GlBuffer).
#[doc(alias("RegisteredImage", "cuGraphicsGLRegisterImage"))]
pub struct GlImage<T: Channel> {
    resource: Registration,
    _values: PhantomData<T>,
}

impl<T: Channel> GlImage<T> {
    /// Registers the image of that name (of `glGenTextures` or `glGenRenderbuffers`) and target, such as `GL_TEXTURE_2D`, for textures and copies.
    ///
    /// # Errors
    /// Those of [`GlBuffer::register`](crate::GlBuffer::register); `Cuda` with `INVALID_VALUE` for a format that CUDA does not have.
    ///
    /// # Safety
    /// As for [`GlBuffer::register`](crate::GlBuffer::register), with the image in the place of the buffer.
    pub unsafe fn register(device: &Device, name: u32, target: u32, access: GlAccess) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::register_with(device, [name, target], 0, access) }
    }

    /// [`GlImage::register`] for kernels that use surfaces of the image, too.
    ///
    /// # Errors
    /// Those of [`GlImage::register`].
    ///
    /// # Safety
    /// As for [`GlImage::register`].
    pub unsafe fn register_for_surfaces(device: &Device, name: u32, target: u32, access: GlAccess) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::register_with(device, [name, target], SURFACES, access) }
    }

    /// # Safety
    /// As for [`GlImage::register`].
    unsafe fn register_with(device: &Device, [name, target]: [u32; 2], flags: u32, access: GlAccess) -> Result<Self> {
        // SAFETY: the pointer is valid for the call, the object is there, as the caller promises.
        let register = |raw| unsafe { sys::cuGraphicsGLRegisterImage(raw, name, target, flags) };
        let resource = Registration::register(device, WHAT, access, "cuGraphicsGLRegisterImage", register)?;
        Ok(Self { resource, _values: PhantomData })
    }

    /// The use that kernels make of it.
    pub fn access(&self) -> GlAccess {
        self.resource.access
    }

    /// Sets the use that kernels make of it in later mappings.
    ///
    /// # Errors
    /// `DeviceLost`; the driver's error.
    pub fn set_access(&mut self, access: GlAccess) -> Result<()> {
        self.resource.set_access(access)
    }

    /// Lends the image to kernels, until the guard is dropped. Work of `stream` comes after OpenGL's earlier commands; the stream is the home of the array.
    ///
    /// # Errors
    /// `WrongDevice` for a stream of another device; `InCapture`; `Length` where the image's channels are not of the type `T`, and while textures, surfaces
    /// or graphs of an earlier mapping are left; `Cuda` with `ALREADY_MAPPED` where another registration has mapped it; `DeviceLost`; else the driver's error.
    #[doc(alias("RegisteredMapping", "cuGraphicsSubResourceGetMappedArray"))]
    pub fn map<'a>(&'a mut self, stream: &Stream) -> Result<MappedGlImage<'a, T>> {
        self.map_part(stream, 0, 0)
    }

    /// [`GlImage::map`] of one face of a cubemap (from 0, in the order +x, -x, +y, -y, +z, -z) or one part of an array of images, at a level of its mipmaps.
    ///
    /// # Errors
    /// Those of [`GlImage::map`]; `Cuda` with `INVALID_VALUE` for a face or level that is not there.
    pub fn map_part<'a>(&'a mut self, stream: &Stream, face: u32, level: u32) -> Result<MappedGlImage<'a, T>> {
        const OP: &str = "GlImage::map";
        self.resource.map(OP, stream)?;
        // Where the rest fails, the mapping ends.
        let array = self.mapped_array(OP, stream, face, level).inspect_err(|_| _ = self.resource.unmap_in_drop())?;
        Ok(MappedGlImage { image: self, array: Some(array) })
    }

    fn mapped_array(&mut self, op: &'static str, stream: &Stream, face: u32, level: u32) -> Result<CudaArray<T>> {
        let resource = &mut self.resource;
        let mut raw = null_mut();
        {
            let _current = resource.device.0.enter_quietly()?;
            // SAFETY: the pointer is valid for the call, the object is mapped.
            let code = unsafe { sys::cuGraphicsSubResourceGetMappedArray(&mut raw, resource.raw, face, level) };
            resource.device.check("cuGraphicsSubResourceGetMappedArray", code)?;
        }
        // SAFETY: OpenGL's array, which the resource keeps mapped as long as others share it.
        let (array, memory) = unsafe { CudaArray::lent(op, stream, raw, ArrayOwner::OpenGl)? };
        resource.lent = Some(memory);
        Ok(array)
    }
}

impl<T: Channel> fmt::Debug for GlImage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Registration { device, access, .. } = &self.resource;
        write!(f, "GlImage<{}>({access:?}, device {})", T::CUDA_NAME, device.ordinal())
    }
}

/// A mapped image of OpenGL: an array for textures, surfaces and copies. The drop gives the image back to OpenGL, in the order of the stream; a failure
/// there is the error of the next call on the device.
///
/// Textures, surfaces and graphs of the array go before the guard. Where one is left, the drop fails with `Length`, and the image stays mapped until the next
/// mapping or its own drop; where one is left then, the image stays registered for good.
#[must_use = "its drop gives the image back to OpenGL"]
pub struct MappedGlImage<'a, T: Channel> {
    image: &'a mut GlImage<T>,
    /// None once it is unmapped.
    array: Option<CudaArray<T>>,
}

impl<T: Channel> MappedGlImage<'_, T> {
    /// The image's elements, for textures, surfaces and copies. Nothing writes them where the access is [`GlAccess::ReadOnly`].
    pub fn array(&self) -> &CudaArray<T> {
        self.array.as_ref().expect("it is taken with the guard alone")
    }

    /// The image's elements, to copy to them.
    ///
    /// # Errors
    /// `Length` where the access is [`GlAccess::ReadOnly`].
    pub fn array_mut(&mut self) -> Result<&mut CudaArray<T>> {
        self.image.resource.access.check_writes("MappedGlImage::array_mut")?;
        Ok(self.array.as_mut().expect("it is taken with the guard alone"))
    }

    /// Gives the image back to OpenGL, as the drop does, and returns the error.
    ///
    /// # Errors
    /// `Length` where a texture, surface or graph of the array is left; `InCapture`; `DeviceLost`; the driver's error. The image stays mapped then, until the
    /// next mapping or its own drop.
    pub fn unmap(self) -> Result<()> {
        // Without the drop, which would try once more.
        let mut guard = mem::ManuallyDrop::new(self);
        drop(guard.array.take());
        guard.image.resource.unmap("MappedGlImage::unmap")
    }
}

impl<T: Channel> Drop for MappedGlImage<'_, T> {
    fn drop(&mut self) {
        drop(self.array.take());
        self.image.resource.unmap_in_drop();
    }
}

impl<T: Channel> fmt::Debug for MappedGlImage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MappedGlImage").field(&self.array).finish()
    }
}
