//! CUDA arrays with mipmaps: the same picture in ever smaller sizes.

use std::{ffi::c_void, fmt, panic::Location, ptr::null_mut, sync::Arc};

use gpu_driver_core::texels::ArrayDescriptor;

use super::{ArrayShape, Channel, CudaArray, array::ArrayOwner, wrong};
use crate::{CudaCode, Device, DriverError, Result, Stream, raw::all::CUmipmappedArray, sys};

/// The memory of all levels, which its drop frees at once.
struct MipmapMemory {
    device: Device,
    raw: CUmipmappedArray,
}

// SAFETY: a handle that the driver accepts from any thread.
unsafe impl Send for MipmapMemory {}
// SAFETY: as above.
unsafe impl Sync for MipmapMemory {}

impl Drop for MipmapMemory {
    fn drop(&mut self) {
        self.device.0.trace.forget(self.raw as u64);
        // SAFETY: made in `MipmappedArray::zeros`, destroyed once, when no work uses it.
        let destroy = || unsafe { sys::cuMipmappedArrayDestroy(self.raw) };
        self.device.0.in_drop("a mipmapped array", "cuMipmappedArrayDestroy", destroy);
    }
}

/// An array with mipmaps: level 0 has the shape, and each further one half of the lengths of the level before, rounded down, but one element at least.
/// Layers and faces are the same at each level.
///
/// A [`CudaArray`] leads to each level, for copies, surfaces and textures of that level alone; [`Texture::of_mipmaps`](crate::Texture::of_mipmaps) reads all.
///
/// ```no_run
/// use gpu_driver::{ArrayShape, Device, HostOut, LaunchConfig, MipmappedArray, Sampling, Texture};
/// let device = Device::first()?;
/// let stream = device.stream();
/// let mut picture = MipmappedArray::<f32>::zeros(&stream, ArrayShape::plane(2, 2), 2)?;
/// picture.level_mut(0)?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0])?;
/// picture.level_mut(1)?.copy_from_slice(&[2.5])?;
/// let texture = Texture::of_mipmaps(&picture, Sampling::new().linear_between_mipmaps())?;
/// let text = "extern \"C\" __global__ void read(cudaTextureObject_t t, float *y) { *y = tex2DLod<float>(t, 0, 0, 0.5f); }";
/// let mut y = [0.0f32];
/// // SAFETY: one thread writes one element.
/// unsafe { device.compile(text)?.function("read")?.launch(LaunchConfig::new(1, 1), (&texture, HostOut(&mut y)), &stream)? };
/// assert_eq!(y, [1.75]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
///
/// # Cost
/// As for [`CudaArray`]; all levels of a picture take a third more memory than the first.
#[doc(alias("cuMipmappedArrayCreate", "cudaMallocMipmappedArray"))]
pub struct MipmappedArray<T: Channel> {
    memory: Arc<MipmapMemory>,
    levels: Vec<CudaArray<T>>,
    shape: ArrayShape,
    home: Stream,
}

impl<T: Channel> MipmappedArray<T> {
    /// An array of zeros with so many levels, the first of which has the shape.
    ///
    /// # Errors
    /// `Length` unless there are 1 to [`ArrayShape::most_levels`] levels, and for shapes with gathers; else those of [`CudaArray::zeros`].
    #[track_caller]
    pub fn zeros(home: &Stream, shape: ArrayShape, levels: u32) -> Result<Self> {
        const OP: &str = "MipmappedArray::zeros";
        let device = home.device();
        shape.check::<T>(OP, device)?;
        if shape.gathers() || !(1..=shape.most_levels()).contains(&levels) {
            let expected = format!("1 to {} levels, without gathers", shape.most_levels());
            return wrong(OP, expected, format!("{levels} of {shape} elements"));
        }
        let (descriptor, mut raw) = (shape.descriptor::<T>(), null_mut());
        {
            let current = device.enter()?;
            home.not_captured(OP, &current)?;
            let at: *const ArrayDescriptor = &descriptor;
            // SAFETY: the structure is that of the driver, and both pointers are valid for the call.
            let code = unsafe { sys::cuMipmappedArrayCreate(&mut raw, at.cast(), levels) };
            device.check("cuMipmappedArrayCreate", code).map_err(|error| match error {
                DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. } => {
                    let first = shape.values() * size_of::<T>();
                    DriverError::OutOfMemory { requested_bytes: first + first / 3, free_bytes: None }
                }
                other => other,
            })?;
        }
        let memory = Arc::new(MipmapMemory { device: device.clone(), raw });
        // From here on Drop frees the memory.
        let mut made = Self { memory, levels: Vec::new(), shape, home: home.clone() };
        for level in 0..levels {
            let array = made.array(OP, level)?;
            made.levels.push(array);
        }
        let bytes: usize = made.levels.iter().map(|level| level.shape().values() * size_of::<T>()).sum();
        device.0.trace.record(raw as u64, "MipmappedArray", bytes, Location::caller());
        made.levels.iter_mut().try_for_each(CudaArray::clear)?;
        Ok(made)
    }

    /// The driver's array of a level.
    fn array(&self, op: &'static str, level: u32) -> Result<CudaArray<T>> {
        let (device, mut raw) = (self.home.device(), null_mut());
        {
            let _current = device.enter()?;
            // SAFETY: the pointer is valid for the call, the array is there.
            let code = unsafe { sys::cuMipmappedArrayGetLevel(&mut raw, self.memory.raw, level) };
            device.check("cuMipmappedArrayGetLevel", code)?;
        }
        // SAFETY: the level keeps the memory of all, and nothing else leads to its elements.
        unsafe { CudaArray::lent(op, &self.home, raw, ArrayOwner::Mipmaps(self.memory.clone())) }
            .map(|(array, _)| array)
    }

    /// The shape of the first level.
    pub fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// Number of levels.
    pub fn levels(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The stream that orders the array's work.
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The array of a level, to read.
    ///
    /// # Errors
    /// `Length` for a level that is not there.
    #[doc(alias = "cuMipmappedArrayGetLevel")]
    pub fn level(&self, level: u32) -> Result<&CudaArray<T>> {
        let found = self.levels.get(level as usize);
        found.map_or_else(|| no_level("MipmappedArray::level", self.levels(), level), Ok)
    }

    /// The array of a level, to write.
    ///
    /// # Errors
    /// `Length` for a level that is not there.
    pub fn level_mut(&mut self, level: u32) -> Result<&mut CudaArray<T>> {
        let count = self.levels();
        let found = self.levels.get_mut(level as usize);
        found.map_or_else(|| no_level("MipmappedArray::level_mut", count, level), Ok)
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> *mut c_void {
        self.memory.raw.cast()
    }

    pub(super) fn memory(&self) -> Arc<dyn std::any::Any + Send + Sync> {
        self.memory.clone()
    }
}

fn no_level<R>(op: &'static str, count: u32, level: u32) -> Result<R> {
    wrong(op, format!("a level below {count}"), level.to_string())
}

impl<T: Channel> Drop for MipmappedArray<T> {
    fn drop(&mut self) {
        self.home.release_in_order("a mipmapped array", self.memory.clone());
    }
}

impl<T: Channel> fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, levels, device) = (T::CUDA_NAME, self.levels(), self.home.device().ordinal());
        write!(f, "MipmappedArray<{name}>({}, {levels} levels, device {device})", self.shape)
    }
}
