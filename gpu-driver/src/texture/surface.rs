//! Surface objects.

use std::{ffi::c_void, fmt, sync::Arc};

use gpu_driver_core::texels::{ResourceDescriptor, resource_kind};

use super::{Channel, CudaArray, array::ArrayMemory, wrong};
use crate::{Argument, Device, Result, Stream, sys};

/// The driver's object, and the array that it leads to. The drop destroys both at once.
struct SurfaceObject {
    device: Device,
    raw: u64,
    _memory: Arc<ArrayMemory>,
}

impl Drop for SurfaceObject {
    fn drop(&mut self) {
        // SAFETY: made in `Surface::of_array`, destroyed once, when no work uses it.
        self.device.0.in_drop("a surface", "cuSurfObjectDestroy", || unsafe { sys::cuSurfObjectDestroy(self.raw) });
    }
}

/// A surface object: a way for kernels to read and write the elements of a [`CudaArray`].
///
/// `&mut surface` is an argument of a launch, for a parameter of the type `cudaSurfaceObject_t`, which the functions of CUDA C++ take: `surf1Dread`,
/// `surf2Dwrite`, `surf3D…`, `surf1DLayered…`, `surf2DLayered…`, `surfCubemap…`, `surfCubemapLayered…`, by the shape of the array. Their first
/// coordinate counts bytes. An access beyond the array loses the device, unless the function is given another boundary mode.
///
/// The surface keeps the array, and a graph that a launch is captured for keeps the surface.
///
/// # Cost
/// The drop waits for the home stream of the array; within a capture the graph keeps the surface.
///
/// ```no_run
/// use gpu_driver::{ArrayShape, CudaArray, Device, LaunchConfig, Surface};
/// let device = Device::first()?;
/// let stream = device.stream();
/// let array = CudaArray::<f32>::zeros(&stream, ArrayShape::line(3).for_surfaces())?;
/// let mut surface = Surface::of_array(&array)?;
/// let text = "extern \"C\" __global__ void count(cudaSurfaceObject_t s) { surf1Dwrite(float(threadIdx.x), s, threadIdx.x * 4); }";
/// // SAFETY: three threads write the three elements.
/// unsafe { device.compile(text)?.function("count")?.launch(LaunchConfig::new(1, 3), (&mut surface,), &stream)? };
/// assert_eq!(array.to_vec()?, [0.0, 1.0, 2.0]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("SurfaceReference", "cuSurfObjectCreate", "cudaSurfaceObject_t"))]
pub struct Surface {
    object: Arc<SurfaceObject>,
    home: Stream,
}

impl Surface {
    /// A surface of an array whose shape has [`ArrayShape::for_surfaces`](crate::ArrayShape::for_surfaces).
    ///
    /// # Errors
    /// `Length` for other arrays; `DeviceLost`; the driver's error.
    pub fn of_array<T: Channel>(array: &CudaArray<T>) -> Result<Self> {
        if !array.shape.has_surfaces() {
            return wrong("Surface::of_array", "an array made with ArrayShape::for_surfaces", "one without");
        }
        let (home, device, mut raw) = (array.home(), array.device(), 0);
        let place = array.as_raw() as u64;
        let resource = ResourceDescriptor { kind: resource_kind::ARRAY, place, ..ResourceDescriptor::default() };
        {
            let _current = device.enter()?;
            // SAFETY: the structure is that of the driver, and the array is there.
            let code = unsafe { sys::cuSurfObjectCreate(&mut raw, (&raw const resource).cast()) };
            device.check("cuSurfObjectCreate", code)?;
        }
        let object = SurfaceObject { device: device.clone(), raw, _memory: array.memory.clone() };
        Ok(Self { object: Arc::new(object), home: home.clone() })
    }

    /// The stream that orders the array's work.
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The driver's handle, a `cudaSurfaceObject_t`, for launches with unchecked arguments.
    pub fn as_raw(&self) -> u64 {
        self.object.raw
    }
}

// SAFETY: the handle is passed as the number it is; the home orders the array behind it.
unsafe impl Argument for &mut Surface {
    fn cuda_type() -> String {
        "cudaSurfaceObject_t".to_owned()
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

impl Drop for Surface {
    fn drop(&mut self) {
        self.home.release_in_order("a surface", self.object.clone());
    }
}

impl fmt::Debug for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Surface({:#x}, device {})", self.object.raw, self.home.device().ordinal())
    }
}
