//! Texture objects.

use std::{any::Any, ffi::c_void, fmt, sync::Arc};

use gpu_driver_core::texels::{ResourceDescriptor, resource_kind};

use super::{Channel, CudaArray, MipmappedArray, Sampling, memory, wrong};
use crate::{Argument, Device, DeviceVec, Pitched, Result, Stream, sys};

/// The driver's object, and the memory that it leads to. The drop destroys both at once.
struct TextureObject {
    device: Device,
    raw: u64,
    _memory: Arc<dyn Any + Send + Sync>,
}

impl Drop for TextureObject {
    fn drop(&mut self) {
        // SAFETY: made in `Texture::new`, destroyed once, when no work uses it.
        self.device.0.in_drop("a texture", "cuTexObjectDestroy", || unsafe { sys::cuTexObjectDestroy(self.raw) });
    }
}

/// A texture object: a way for kernels to read a [`CudaArray`] or device memory by coordinates, with a filter and rules for places beyond the border.
///
/// `&texture` is an argument of a launch, for a parameter of the type `cudaTextureObject_t`, which the functions of CUDA C++ read: `tex1D`, `tex2D`,
/// `tex3D`, `tex2Dgather` ([`ArrayShape::for_gathers`](crate::ArrayShape::for_gathers)), `tex1DLayered`, `tex2DLayered`, `texCubemap`, `texCubemapLayered`,
/// by the shape of the array; `tex2D` for a box and `tex1Dfetch` for a row of
/// device memory. They return `float`, or the type of the channels where these are integers, and its vector types of two and four.
///
/// The texture keeps the memory, and a graph that a launch is captured for keeps the texture. The array may be copied to and written meanwhile; kernels
/// that are launched later see that. Values are undefined while a kernel writes elements that it also reads through a texture.
///
/// # Cost
/// The drop waits for the home stream of the memory; within a capture the graph keeps the texture.
///
/// ```no_run
/// use gpu_driver::{AddressMode, Device, DeviceVec, Pitched, Sampling, Texture};
/// let stream = Device::first()?.stream();
/// let (mut rows, place) = DeviceVec::<u8>::pitched(&stream, 480, 640)?;
/// rows.as_mut_slice().copy_box_from_slice(place, &[0; 480 * 640], Pitched::plane(480, 640))?;
/// let smooth = Sampling::new().linear().normalized_values().address(AddressMode::Border);
/// let texture = Texture::of_plane(rows, place, 1, smooth)?; // keeps the rows
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("TextureReference", "cuTexObjectCreate", "cudaTextureObject_t", "bind_array_to_texref"))]
pub struct Texture {
    object: Arc<TextureObject>,
    home: Stream,
}

impl Texture {
    /// A texture of an array.
    ///
    /// Cubemaps take directions. At the edges of a face the linear filter takes neighbours by the address mode, not from the next face.
    ///
    /// # Errors
    /// `Length` where filter, coordinates and address modes do not go with the type or with each other ([`Sampling`], [`AddressMode`](crate::AddressMode));
    /// `DeviceLost`; the driver's error.
    pub fn of_array<T: Channel>(array: &CudaArray<T>, sampling: Sampling) -> Result<Self> {
        const OP: &str = "Texture::of_array";
        // Directions have no other coordinates.
        let sampling = if array.shape.is_cubemap() { sampling.normalized_coordinates() } else { sampling };
        let sampling = sampling.of_axes(array.shape.filtered_axes());
        let place = array.as_raw() as u64;
        let resource = ResourceDescriptor { kind: resource_kind::ARRAY, place, ..ResourceDescriptor::default() };
        Self::new::<T>(OP, array.home(), &resource, sampling, array.memory.clone())
    }

    /// A texture of all levels of a mipmapped array, for `tex1DLod`, `tex2DLod`, `tex3DLod` and their like for layers and cubes, which take the level of
    /// detail: 0 for the whole array, 1 for that of half the lengths. Coordinates go from 0 to 1 ([`Sampling::normalized_coordinates`]), as the
    /// driver has no others for mipmaps.
    ///
    /// # Errors
    /// `Length` for levels that [`Sampling::mipmaps`] or [`Sampling::mipmap_bias`] gives as NaN, or in falling order; else those of [`Texture::of_array`].
    pub fn of_mipmaps<T: Channel>(mipmaps: &MipmappedArray<T>, sampling: Sampling) -> Result<Self> {
        const OP: &str = "Texture::of_mipmaps";
        sampling.check_levels(OP)?;
        let sampling = sampling.normalized_coordinates().of_levels(mipmaps.levels());
        let sampling = sampling.of_axes(mipmaps.shape().filtered_axes());
        let place = mipmaps.as_raw() as u64;
        let kind = resource_kind::MIPMAPPED_ARRAY;
        let resource = ResourceDescriptor { kind, place, ..ResourceDescriptor::default() };
        Self::new::<T>(OP, mipmaps.home(), &resource, sampling, mipmaps.memory())
    }

    /// A texture of a row of device memory with `channels` values an element (1, 2 or 4), for `tex1Dfetch`, which reads an element by its number and gives
    /// zeros beyond the row. The memory cannot change any more while others share it.
    ///
    /// # Errors
    /// `Length` for too many elements ([`Attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH`](crate::Attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH)), and for a
    /// [`Sampling`] with a filter, normalized coordinates, or the address modes `Wrap` and `Mirror`; else those of [`Texture::of_array`].
    #[doc(alias = "set_address")]
    pub fn of_line<T: Channel>(
        memory: impl Into<Arc<DeviceVec<T>>>,
        channels: u32,
        sampling: Sampling,
    ) -> Result<Self> {
        const OP: &str = "Texture::of_line";
        let memory = memory.into();
        if sampling.filters() {
            return wrong(OP, "no filter and no normalized coordinates for a row of memory", format!("{sampling:?}"));
        }
        let resource = memory::line(OP, &memory, channels)?;
        let home = memory.home().clone();
        Self::new::<T>(OP, &home, &resource, sampling, memory)
    }

    /// A texture of a box in device memory with `channels` values an element (1, 2 or 4), for `tex2D`. The columns of the box count values.
    ///
    /// # Errors
    /// `Length` where the box leaves the memory, has more than one layer, or has rows that the device's textures cannot have: their distance is a multiple
    /// of 32 bytes, and the first starts at a multiple of 512, as in [`DeviceVec::pitched`]; else those of [`Texture::of_array`].
    #[doc(alias("set_address_2d", "matrix_to_texref"))]
    pub fn of_plane<T: Channel>(
        memory: impl Into<Arc<DeviceVec<T>>>,
        place: Pitched,
        channels: u32,
        sampling: Sampling,
    ) -> Result<Self> {
        const OP: &str = "Texture::of_plane";
        let memory = memory.into();
        let resource = memory::plane(OP, &memory, place, channels)?;
        let home = memory.home().clone();
        Self::new::<T>(OP, &home, &resource, sampling, memory)
    }

    fn new<T: Channel>(
        op: &'static str,
        home: &Stream,
        resource: &ResourceDescriptor,
        sampling: Sampling,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        sampling.check::<T>(op)?;
        let (device, descriptor, mut raw) = (home.device(), sampling.descriptor(), 0);
        {
            let _current = device.enter()?;
            let (resource, descriptor) = (std::ptr::from_ref(resource).cast(), (&raw const descriptor).cast());
            // SAFETY: the structures are those of the driver, and the memory that they name is there.
            let code = unsafe { sys::cuTexObjectCreate(&mut raw, resource, descriptor, std::ptr::null()) };
            device.check("cuTexObjectCreate", code)?;
        }
        let object = TextureObject { device: device.clone(), raw, _memory: memory };
        Ok(Self { object: Arc::new(object), home: home.clone() })
    }

    /// The stream that orders the memory's work.
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The driver's handle, a `cudaTextureObject_t`, for launches with unchecked arguments.
    pub fn as_raw(&self) -> u64 {
        self.object.raw
    }
}

// SAFETY: the handle is passed as the number it is; the home orders the memory behind it.
unsafe impl Argument for &Texture {
    fn cuda_type() -> String {
        "cudaTextureObject_t".to_owned()
    }
    fn bytes() -> Option<usize> {
        Some(size_of::<u64>())
    }
    fn value(&self) -> *const c_void {
        (&raw const self.object.raw).cast()
    }
    fn home(&self) -> Option<&Stream> {
        Some(&self.home)
    }
    fn retain(&self, stream: &Stream) -> Result<()> {
        stream.retain_in_graph(&self.object).map(drop)
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        self.home.release_in_order("a texture", self.object.clone());
    }
}

impl fmt::Debug for Texture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Texture({:#x}, device {})", self.object.raw, self.home.device().ordinal())
    }
}
