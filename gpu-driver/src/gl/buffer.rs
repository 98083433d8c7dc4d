//! Buffers of OpenGL.

use std::{fmt, marker::PhantomData, mem};

use super::{GlAccess, registration::Registration};
use crate::{
    Device, DevicePod, DeviceSlice, DeviceSliceMut, DriverError, In, InOut, Out, Result, Stream, raw::CUdeviceptr, sys,
};

const WHAT: &str = "an OpenGL buffer";

/// A buffer of OpenGL, such as one of vertices, that kernels use while it is mapped.
///
/// It is neither Send nor Sync, as OpenGL's context is current to one thread.
///
/// ```no_run
/// use gpu_driver::{Device, GlAccess, GlBuffer, LaunchConfig};
/// # let name = 1u32; // of glGenBuffers
/// # const SOURCE: &str = "extern \"C\" __global__ void wave(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = sinf(threadIdx.x); }";
/// let device = Device::new(Device::gl_ordinals()?[0])?;
/// let (stream, wave) = (device.stream(), device.compile(SOURCE)?.function("wave")?);
/// // SAFETY: a buffer of the current context, which outlives the registration.
/// let mut vertices = unsafe { GlBuffer::<f32>::register(&device, name, GlAccess::WriteDiscard)? };
/// loop {
///     let mut mapped = vertices.map(&stream)?;
///     let n = mapped.len() as i32;
///     // SAFETY: each thread writes one element of n at most.
///     unsafe { wave.launch(LaunchConfig::new(1, 1024), (mapped.output()?, n), &stream)? };
///     mapped.unmap()?; // or its drop
///     // … glDrawArrays …
/// #   break;
/// }
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
///
/// # Cost
/// Registration takes milliseconds, so it is done once. A mapping takes microseconds and copies nothing; OpenGL and the stream wait for each other there. The
/// drop waits for the stream of the last mapping; within a capture of that stream it fails, and the object stays registered.
#[doc(alias("BufferObject", "RegisteredBuffer", "cuGraphicsGLRegisterBuffer", "cudaGraphicsResource"))]
pub struct GlBuffer<T: DevicePod> {
    resource: Registration,
    _elements: PhantomData<T>,
}

impl<T: DevicePod> GlBuffer<T> {
    /// Registers the buffer of that name (of `glGenBuffers`).
    ///
    /// # Errors
    /// The driver's: `Cuda` with `INVALID_VALUE` or `INVALID_HANDLE` for a name that is no buffer, with `INVALID_GRAPHICS_CONTEXT` or `OPERATING_SYSTEM`
    /// where no context is current or the device does not draw for it ([`Device::gl_ordinals`]), with `NOT_SUPPORTED` for a driver without OpenGL.
    ///
    /// # Safety
    /// - The OpenGL context of the buffer is current to this thread now, and at each call on the registration and its guards, their drops included.
    /// - The buffer is not deleted, and gets no new size or store, until the registration is dropped. OpenGL does not use it while it is mapped.
    /// - `T` is the type of the elements in the buffer: elements of other bits are values of `T` too, so this is no more than a promise of sense.
    pub unsafe fn register(device: &Device, name: u32, access: GlAccess) -> Result<Self> {
        // SAFETY: the pointer is valid for the call, the object is there, as the caller promises.
        let register = |raw| unsafe { sys::cuGraphicsGLRegisterBuffer(raw, name, 0) };
        let resource = Registration::register(device, WHAT, access, "cuGraphicsGLRegisterBuffer", register)?;
        Ok(Self { resource, _elements: PhantomData })
    }

    /// The use that kernels make of it.
    pub fn access(&self) -> GlAccess {
        self.resource.access
    }

    /// Sets the use that kernels make of it in later mappings.
    ///
    /// # Errors
    /// `DeviceLost`; the driver's error.
    #[doc(alias = "cuGraphicsResourceSetMapFlags")]
    pub fn set_access(&mut self, access: GlAccess) -> Result<()> {
        self.resource.set_access(access)
    }

    /// Lends the buffer to kernels, until the guard is dropped. Work of `stream` comes after OpenGL's earlier commands; the stream is the home of the slices.
    ///
    /// # Errors
    /// `WrongDevice` for a stream of another device; `InCapture`; `Length` unless the buffer's bytes are a multiple of an element's, and its address one
    /// of the type's alignment; `Cuda` with `ALREADY_MAPPED` where another registration has mapped it; `DeviceLost`; else the driver's error.
    #[doc(alias("RegisteredMapping", "cuGraphicsMapResources", "cuGraphicsResourceGetMappedPointer"))]
    pub fn map<'a>(&'a mut self, stream: &'a Stream) -> Result<MappedGlBuffer<'a, T>> {
        const OP: &str = "GlBuffer::map";
        self.resource.map(OP, stream)?;
        // From here on its drop ends the mapping.
        let mut mapped = MappedGlBuffer { buffer: self, stream, address: 0, len: 0 };
        let resource = &mapped.buffer.resource;
        let mut bytes = 0;
        {
            let _current = resource.device.0.enter_quietly()?;
            // SAFETY: the pointers are valid for the call, the object is mapped.
            let code =
                unsafe { sys::cuGraphicsResourceGetMappedPointer_v2(&mut mapped.address, &mut bytes, resource.raw) };
            resource.device.check("cuGraphicsResourceGetMappedPointer", code)?;
        }
        let wrong = |expected: String, got: String| Err(DriverError::Length { op: OP, expected, got });
        let element = size_of::<T>();
        if element == 0 || !bytes.is_multiple_of(element) {
            return wrong(format!("a multiple of {element} bytes"), format!("{bytes} bytes"));
        }
        let alignment = T::CUDA_ALIGN as CUdeviceptr;
        if !mapped.address.is_multiple_of(alignment) {
            return wrong(format!("an address that {alignment} divides"), format!("{:#x}", mapped.address));
        }
        mapped.len = bytes / element;
        Ok(mapped)
    }
}

impl<T: DevicePod> fmt::Debug for GlBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Registration { device, access, .. } = &self.resource;
        write!(f, "GlBuffer<{}>({access:?}, device {})", T::CUDA_NAME, device.ordinal())
    }
}

/// A mapped buffer of OpenGL: memory for kernels and copies. The drop gives the buffer back to OpenGL, in the order of the stream; a failure there is the
/// error of the next call on the device. A drop within a capture of the stream fails so: the buffer stays mapped until the next mapping or its own drop.
///
/// A graph that is captured with the slices is launched only while the buffer is mapped at the same address ([`MappedGlBuffer::as_raw`]).
#[must_use = "its drop gives the buffer back to OpenGL"]
pub struct MappedGlBuffer<'a, T: DevicePod> {
    buffer: &'a mut GlBuffer<T>,
    stream: &'a Stream,
    address: CUdeviceptr,
    len: usize,
}

impl<T: DevicePod> MappedGlBuffer<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream that it is mapped on.
    pub fn home(&self) -> &Stream {
        self.stream
    }

    /// All elements, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        // SAFETY: so many elements, mapped as long as the guard lives.
        unsafe { DeviceSlice::from_address(self.address, self.len, self.stream) }
    }

    /// All elements, to write.
    ///
    /// # Errors
    /// `Length` where the access is [`GlAccess::ReadOnly`].
    pub fn as_mut_slice(&mut self) -> Result<DeviceSliceMut<'_, T>> {
        self.buffer.resource.access.check_writes("MappedGlBuffer::as_mut_slice")?;
        // SAFETY: as above; the guard is borrowed mutably, so nothing else leads to the elements.
        Ok(unsafe { DeviceSliceMut::from_address(self.address, self.len, self.stream) })
    }

    /// The buffer as a kernel's input.
    pub fn input(&self) -> In<'_, T> {
        self.as_slice().input()
    }

    /// The buffer as a kernel's output.
    ///
    /// # Errors
    /// Those of [`MappedGlBuffer::as_mut_slice`].
    pub fn output(&mut self) -> Result<Out<'_, T>> {
        Ok(self.as_mut_slice()?.output())
    }

    /// The buffer as a kernel's input and output.
    ///
    /// # Errors
    /// Those of [`MappedGlBuffer::as_mut_slice`].
    pub fn in_out(&mut self) -> Result<InOut<'_, T>> {
        Ok(self.as_mut_slice()?.in_out())
    }

    /// The device address of this mapping.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// Gives the buffer back to OpenGL, as the drop does, and returns the error.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`; the driver's error. The buffer stays mapped then, until the next mapping or its own drop.
    #[doc(alias = "cuGraphicsUnmapResources")]
    pub fn unmap(self) -> Result<()> {
        // Without the drop, which would try once more.
        mem::ManuallyDrop::new(self).buffer.resource.unmap("MappedGlBuffer::unmap")
    }
}

impl<T: DevicePod> Drop for MappedGlBuffer<'_, T> {
    fn drop(&mut self) {
        self.buffer.resource.unmap_in_drop();
    }
}

impl<T: DevicePod> fmt::Debug for MappedGlBuffer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.stream.device().ordinal();
        write!(f, "MappedGlBuffer<{}>({:#x}, len {}, device {device})", T::CUDA_NAME, self.address, self.len)
    }
}
