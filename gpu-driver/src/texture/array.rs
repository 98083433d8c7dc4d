//! CUDA arrays: memory in an order that only the driver knows.

use std::{any::Any, ffi::c_void, fmt, marker::PhantomData, panic::Location, ptr::null_mut, sync::Arc};

use gpu_driver_core::{
    copies::{Copy3d, DEVICE, HOST, Side3d},
    texels::ArrayDescriptor,
};

use super::{ArrayShape, Channel, wrong};
use crate::{
    CudaCode, Device, DeviceSlice, DeviceSliceMut, DeviceVec, DriverError, Pitched, Result, Stream,
    context::Current,
    memory::{ordered_with, same_len},
    raw::all::CUarray,
    sys,
};

/// The memory of an array, which its drop frees at once, unless it is another library's.
pub(crate) struct ArrayMemory {
    device: Device,
    pub(super) raw: CUarray,
    owner: ArrayOwner,
}

/// The owner of an array's memory.
pub(crate) enum ArrayOwner {
    This,
    /// All levels of mipmaps, of which this is one.
    Mipmaps(#[expect(dead_code, reason = "it is kept")] Arc<dyn Any + Send + Sync>),
    /// OpenGL, which gets it back in an order of its own.
    #[cfg(feature = "gl")]
    OpenGl,
}

// SAFETY: a handle that the driver accepts from any thread.
unsafe impl Send for ArrayMemory {}
// SAFETY: as above.
unsafe impl Sync for ArrayMemory {}

impl Drop for ArrayMemory {
    fn drop(&mut self) {
        if !matches!(self.owner, ArrayOwner::This) {
            return;
        }
        self.device.0.trace.forget(self.raw as u64);
        // SAFETY: made in `CudaArray::uninitialized`, destroyed once, when no work uses it.
        self.device.0.in_drop("a CUDA array", "cuArrayDestroy", || unsafe { sys::cuArrayDestroy(self.raw) });
    }
}

/// An owned array of elements in an order that only the driver knows: lines, planes, volumes, layers or cubes of up to four channels.
///
/// It has a home stream as a [`DeviceVec`]: copies are ordered with it, and launches with a [`Texture`](crate::Texture) or [`Surface`](crate::Surface) of
/// the array are ordered with it too. Host and device memory hold the values in C order: layers, rows, columns, channels.
///
/// ```no_run
/// use gpu_driver::{ArrayShape, CudaArray, Device, HostOut, LaunchConfig, Sampling, Texture};
/// let device = Device::first()?;
/// let stream = device.stream();
/// let picture = CudaArray::from_slice(&stream, ArrayShape::plane(2, 2), &[0.0f32, 1.0, 2.0, 3.0])?;
/// let texture = Texture::of_array(&picture, Sampling::new().linear())?;
/// let text = "extern \"C\" __global__ void middle(cudaTextureObject_t picture, float *y) { *y = tex2D<float>(picture, 1, 1); }";
/// let mut y = [0.0f32];
/// // SAFETY: one thread writes one element.
/// unsafe { device.compile(text)?.function("middle")?.launch(LaunchConfig::new(1, 1), (&texture, HostOut(&mut y)), &stream)? };
/// assert_eq!(y, [1.5]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
///
/// # Cost
/// Allocation is in no stream's order. The drop waits for the home stream; within a capture the graph keeps the array.
#[doc(alias("Array", "cuArrayCreate", "cuArray3DCreate", "cudaMallocArray", "ArrayObject"))]
pub struct CudaArray<T: Channel> {
    pub(super) memory: Arc<ArrayMemory>,
    pub(super) shape: ArrayShape,
    home: Stream,
    _values: PhantomData<T>,
}

impl<T: Channel> CudaArray<T> {
    /// An array whose values are whatever the memory held.
    ///
    /// # Errors
    /// `Length` for a shape that the device has no array of, `TooLarge`, `OutOfMemory`, `InCapture`, `DeviceLost`.
    ///
    /// # Safety
    /// As for [`DeviceVec::uninitialized`]: the caller writes every value before it is read.
    #[track_caller]
    pub unsafe fn uninitialized(home: &Stream, shape: ArrayShape) -> Result<Self> {
        const CALL: &str = "cuArray3DCreate";
        let device = home.device();
        shape.check::<T>("CudaArray", device)?;
        let current = device.enter()?;
        let _uncaptured = home.uncaptured("CudaArray::uninitialized", &current)?;
        let (descriptor, mut raw) = (shape.descriptor::<T>(), null_mut());
        let at: *const ArrayDescriptor = &descriptor;
        // SAFETY: the structure is that of the driver, and both pointers are valid for the call.
        let code = unsafe { sys::cuArray3DCreate_v2(&mut raw, at.cast()) };
        device.check(CALL, code).map_err(|error| match error {
            DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. } => {
                DriverError::OutOfMemory { requested_bytes: shape.values() * size_of::<T>(), free_bytes: None }
            }
            other => other,
        })?;
        let memory = Arc::new(ArrayMemory { device: device.clone(), raw, owner: ArrayOwner::This });
        device.0.trace.record(raw as u64, "CudaArray", shape.values() * size_of::<T>(), Location::caller());
        Ok(Self { memory, shape, home: home.clone(), _values: PhantomData })
    }

    /// An array that is part of another object, which it keeps, and its memory, which others share as long as it has more than two owners.
    ///
    /// # Errors
    /// `Length` where it has channels of another type or number; else the driver's error.
    ///
    /// # Safety
    /// The array is there, and nobody else uses it, as long as the array's memory has owners.
    pub(crate) unsafe fn lent(
        op: &'static str,
        home: &Stream,
        raw: CUarray,
        owner: ArrayOwner,
    ) -> Result<(Self, Arc<ArrayMemory>)> {
        let (device, mut descriptor) = (home.device(), ArrayDescriptor::default());
        {
            let _current = device.0.enter_quietly()?;
            let at: *mut ArrayDescriptor = &mut descriptor;
            // SAFETY: the structure is that of the driver, and the array is there.
            device.check("cuArray3DGetDescriptor", unsafe { sys::cuArray3DGetDescriptor_v2(at.cast(), raw) })?;
        }
        let shape = ArrayShape::of_descriptor::<T>(op, &descriptor)?;
        let memory = Arc::new(ArrayMemory { device: device.clone(), raw, owner });
        Ok((Self { memory: memory.clone(), shape, home: home.clone(), _values: PhantomData }, memory))
    }

    /// An array of zeros.
    ///
    /// # Cost
    /// One copy for each layer, of zeros in device memory, as the driver fills no arrays.
    ///
    /// # Errors
    /// Those of [`CudaArray::uninitialized`].
    #[track_caller]
    pub fn zeros(home: &Stream, shape: ArrayShape) -> Result<Self> {
        // SAFETY: every value is written next.
        let mut array = unsafe { Self::uninitialized(home, shape)? };
        array.clear()?;
        Ok(array)
    }

    /// Overwrites all elements with zeros of device memory, layer by layer.
    pub(super) fn clear(&mut self) -> Result<()> {
        let layer = self.layer();
        let zeros = DeviceVec::<T>::zeros(&self.home, layer.len())?;
        (0..self.shape.layers()).try_for_each(|z| self.copy_box_from([z, 0, 0], zeros.as_slice(), layer))
    }

    /// An array with a copy of `host`. Returns when `host` has been read.
    ///
    /// # Errors
    /// Those of [`CudaArray::uninitialized`] and [`CudaArray::copy_from_slice`].
    #[track_caller]
    pub fn from_slice(home: &Stream, shape: ArrayShape, host: &[T]) -> Result<Self> {
        same_len("CudaArray::from_slice", shape.values(), host.len())?;
        // SAFETY: every value is written next.
        let mut array = unsafe { Self::uninitialized(home, shape)? };
        array.copy_from_slice(host)?;
        Ok(array)
    }

    /// The shape.
    pub fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// The stream that orders the array's work.
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.home.device()
    }

    /// Overwrites the array with `host`. Returns when `host` has been read.
    ///
    /// # Errors
    /// `Length` unless there are [`ArrayShape::values`] elements; `InCapture`; `DeviceLost`.
    #[doc(alias("memcpy_htoa", "cuMemcpyHtoA"))]
    pub fn copy_from_slice(&mut self, host: &[T]) -> Result<()> {
        same_len("CudaArray::copy_from_slice", self.shape.values(), host.len())?;
        self.copy_box_from_slice([0; 3], host, self.whole())
    }

    /// Overwrites `host` with the array, after waiting for the home stream.
    ///
    /// # Errors
    /// Those of [`CudaArray::copy_from_slice`].
    #[doc(alias("memcpy_atoh", "cuMemcpyAtoH"))]
    pub fn copy_to_slice(&self, host: &mut [T]) -> Result<()> {
        same_len("CudaArray::copy_to_slice", self.shape.values(), host.len())?;
        self.copy_box_to_slice([0; 3], host, self.whole())
    }

    /// The values on the host, after waiting for the home stream.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut host = Vec::with_capacity(self.shape.values());
        // SAFETY: any bits are a value of T, and all are written where the copy succeeds.
        unsafe {
            self.copy_box_to([0; 3], HostBox { start: host.as_mut_ptr(), place: self.whole() })?;
            host.set_len(self.shape.values());
        }
        Ok(host)
    }

    /// Overwrites the array with device memory. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// `Length` unless there are [`ArrayShape::values`] elements; `WrongDevice`; `DeviceLost`.
    #[doc(alias("memcpy_dtoa", "gpuarray_to_array", "cuMemcpyDtoA"))]
    pub fn copy_from(&mut self, source: DeviceSlice<'_, T>) -> Result<()> {
        same_len("CudaArray::copy_from", self.shape.values(), source.len())?;
        self.copy_box_from([0; 3], source, self.whole())
    }

    /// Overwrites device memory with the array. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// Those of [`CudaArray::copy_from`].
    #[doc(alias("memcpy_atod", "cuMemcpyAtoD"))]
    pub fn copy_to(&self, target: &mut DeviceSliceMut<'_, T>) -> Result<()> {
        same_len("CudaArray::copy_to", self.shape.values(), target.len())?;
        self.copy_box_to_device([0; 3], target, self.whole())
    }

    /// Copies the box `from` of `host` to the array, from the element `[layer, row, column]` on. The columns of the box count values, so that those of
    /// an element with four channels are four. Returns when `host` has been read.
    ///
    /// # Errors
    /// `Length` where the box leaves `host` or the array, has rows that overlap, or parts an element; `InCapture`; `DeviceLost`.
    pub fn copy_box_from_slice(&mut self, start: [usize; 3], host: &[T], from: Pitched) -> Result<()> {
        const OP: &str = "CudaArray::copy_box_from_slice";
        from.check(OP, host.len())?;
        self.check_box(OP, start, &from)?;
        let current = self.device().enter()?;
        let _uncaptured = self.home.uncaptured(OP, &current)?;
        let host = from.side::<T>(HOST, host.as_ptr() as u64);
        // SAFETY: both boxes were checked. The wait below ends the copy before `host` can change.
        unsafe { self.copy(&self.home, &from, host, self.side(start), &current)? };
        self.home.synchronize_entered(&current)
    }

    /// Copies a box of the array, from the element `[layer, row, column]` on, to the box `to` of `host`, after waiting for the home stream.
    ///
    /// # Errors
    /// Those of [`CudaArray::copy_box_from_slice`].
    pub fn copy_box_to_slice(&self, start: [usize; 3], host: &mut [T], to: Pitched) -> Result<()> {
        to.check("CudaArray::copy_box_to_slice", host.len())?;
        // SAFETY: the box lies within the slice.
        unsafe { self.copy_box_to(start, HostBox { start: host.as_mut_ptr(), place: to }) }
    }

    /// # Safety
    /// The box lies within memory that may be written.
    unsafe fn copy_box_to(&self, start: [usize; 3], to: HostBox<T>) -> Result<()> {
        const OP: &str = "CudaArray::copy_box_to_slice";
        self.check_box(OP, start, &to.place)?;
        let current = self.device().enter()?;
        let _uncaptured = self.home.uncaptured(OP, &current)?;
        let host = to.place.side::<T>(HOST, to.start as u64);
        // SAFETY: both boxes were checked, and the copy ends before this function returns.
        unsafe { self.copy(&self.home, &to.place, self.side(start), host, &current)? };
        self.home.synchronize_entered(&current)
    }

    /// Copies the box `from` of device memory to the array, from the element `[layer, row, column]` on. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// Those of [`CudaArray::copy_box_from_slice`] but `InCapture`: a graph can hold the copy, as long as the array lives; `WrongDevice`.
    pub fn copy_box_from(&mut self, start: [usize; 3], source: DeviceSlice<'_, T>, from: Pitched) -> Result<()> {
        const OP: &str = "CudaArray::copy_box_from";
        from.check(OP, source.len())?;
        self.check_box(OP, start, &from)?;
        ordered_with(OP, &self.home, source.home(), from.is_empty(), |home, current| {
            home.retain_in_graph(&self.memory)?;
            let side = from.side::<T>(DEVICE, source.as_raw());
            // SAFETY: both boxes were checked.
            unsafe { self.copy(home, &from, side, self.side(start), current) }
        })
    }

    /// Copies a box of the array, from the element `[layer, row, column]` on, to the box `to` of device memory. Returns at once; ordered with both home
    /// streams.
    ///
    /// # Errors
    /// Those of [`CudaArray::copy_box_from`].
    pub fn copy_box_to_device(&self, start: [usize; 3], target: &mut DeviceSliceMut<'_, T>, to: Pitched) -> Result<()> {
        const OP: &str = "CudaArray::copy_box_to_device";
        to.check(OP, target.len())?;
        self.check_box(OP, start, &to)?;
        ordered_with(OP, target.home(), &self.home, to.is_empty(), |home, current| {
            home.retain_in_graph(&self.memory)?;
            let side = to.side::<T>(DEVICE, target.as_raw());
            // SAFETY: both boxes were checked.
            unsafe { self.copy(home, &to, self.side(start), side, current) }
        })
    }

    /// Overwrites the array with another one of the same shape. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// `Length` unless the shapes are the same; `WrongDevice`; `DeviceLost`.
    #[doc(alias("memcpy_atoa", "cuMemcpyAtoA"))]
    pub fn copy_from_array(&mut self, source: &Self) -> Result<()> {
        const OP: &str = "CudaArray::copy_from_array";
        let axes = |shape: &ArrayShape| (shape.layers(), shape.rows(), shape.columns(), shape.channels());
        if axes(&self.shape) != axes(&source.shape) {
            let text = |of: &Self| format!("{} elements of {} channels", of.shape, of.shape.channels());
            return wrong(OP, text(self), text(source));
        }
        let whole = self.whole();
        ordered_with(OP, &self.home, &source.home, false, |home, current| {
            home.retain_in_graph(&self.memory)?;
            home.retain_in_graph(&source.memory)?;
            // SAFETY: both arrays have the shape, and are two, as one is borrowed mutably.
            unsafe { self.copy(home, &whole, source.side([0; 3]), self.side([0; 3]), current) }
        })
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> *mut c_void {
        self.memory.raw.cast()
    }

    fn row_values(&self) -> usize {
        self.shape.columns() * self.shape.channels() as usize
    }

    fn layer(&self) -> Pitched {
        Pitched::plane(self.shape.rows(), self.row_values())
    }

    fn whole(&self) -> Pitched {
        Pitched::volume(self.shape.layers(), self.shape.rows(), self.row_values())
    }

    fn check_box(&self, op: &'static str, [layer, row, column]: [usize; 3], place: &Pitched) -> Result<()> {
        let channels = self.shape.channels() as usize;
        if !place.columns.is_multiple_of(channels) {
            return wrong(
                op,
                format!("a box of whole elements of {channels} channels"),
                format!("{} values", place.columns),
            );
        }
        let size = [place.layers, place.rows, place.columns / channels];
        let all = [self.shape.layers(), self.shape.rows(), self.shape.columns()];
        let within =
            |((start, size), all): ((usize, usize), usize)| start.checked_add(size).is_some_and(|end| end <= all);
        if [layer, row, column].into_iter().zip(size).zip(all).all(within) {
            return Ok(());
        }
        let got = format!("{} x {} x {} elements from ({layer}, {row}, {column}) on", size[0], size[1], size[2]);
        wrong(op, format!("a box within {} elements", self.shape), got)
    }

    fn side(&self, [layer, row, column]: [usize; 3]) -> Side3d {
        let element_bytes = self.shape.channels() as usize * size_of::<T>();
        Side3d::of_array(self.memory.raw.cast(), column * element_bytes, row, layer)
    }

    /// Enqueues the copy of a box; nothing for one without elements.
    ///
    /// # Safety
    /// Both boxes lie within memory that stays until the copy has run.
    unsafe fn copy(&self, home: &Stream, shape: &Pitched, from: Side3d, to: Side3d, _current: &Current) -> Result<()> {
        if shape.is_empty() {
            return Ok(());
        }
        let width_bytes = shape.columns * size_of::<T>();
        let parameters = Copy3d { from, to, width_bytes, height: shape.rows, depth: shape.layers };
        // SAFETY: the structure is that of the driver; the rest as the caller promises.
        let code = unsafe { sys::cuMemcpy3DAsync_v2((&raw const parameters).cast(), home.as_raw()) };
        home.device().check("cuMemcpy3DAsync", code)
    }
}

/// A box of memory of the host.
struct HostBox<T> {
    start: *mut T,
    place: Pitched,
}

impl<T: Channel> Drop for CudaArray<T> {
    fn drop(&mut self) {
        #[cfg(feature = "gl")]
        if matches!(self.memory.owner, ArrayOwner::OpenGl) {
            return;
        }
        self.home.release_in_order("a CUDA array", self.memory.clone());
    }
}

impl<T: Channel> fmt::Debug for CudaArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, shape, device) = (T::CUDA_NAME, self.shape, self.device().ordinal());
        write!(f, "CudaArray<{name}>({shape}, channels {}, device {device})", shape.channels())
    }
}
