//! Host memory of any alignment, pinned or not.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

use super::{ALIGNMENT, MemorySource, PinnedVec, lock_pages, record, unlock_pages};
use crate::{Device, DevicePod, DriverError, Result, pod::byte_len};

/// A host buffer whose address is a multiple of a number of one's choice: for files that are read past the system's cache, vector instructions, or pinned
/// pages that nothing else shares ([`PinnedVec::register_aligned`]). Behaves as a slice.
///
/// ```
/// use gpu_driver::AlignedVec;
/// let mut x = AlignedVec::<f32>::zeros(1000, 4096)?;
/// x[3] = 1.5;
/// assert_eq!((x.as_ptr() as usize % 4096, x.len(), x[3]), (0, 1000, 1.5));
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("aligned_empty", "aligned_zeros", "posix_memalign"))]
pub struct AlignedVec<T: DevicePod> {
    memory: AlignedMemory,
    len: usize,
    _elements: std::marker::PhantomData<T>,
}

/// Zeroed memory, which its drop frees. Dangling where it has no bytes.
#[derive(Debug)]
pub(super) struct AlignedMemory {
    data: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns plain memory.
unsafe impl Send for AlignedMemory {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedMemory {}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated with that layout, freed once.
            unsafe { dealloc(self.data.as_ptr(), self.layout) };
        }
    }
}

impl<T: DevicePod> AlignedVec<T> {
    /// A buffer of zero bytes at a multiple of `alignment` bytes.
    ///
    /// # Errors
    /// `Length` for an alignment that is no power of two; `TooLarge` where the system has no such memory.
    pub fn zeros(len: usize, alignment: usize) -> Result<Self> {
        if !alignment.is_power_of_two() {
            let (expected, got) = ("an alignment that is a power of two".to_owned(), alignment.to_string());
            return Err(DriverError::Length { op: "AlignedVec::zeros", expected, got });
        }
        let too_large = || DriverError::TooLarge { elements: len, element_bytes: size_of::<T>() };
        let alignment = alignment.max(align_of::<T>());
        let layout = Layout::from_size_align(byte_len::<T>(len)?, alignment).map_err(|_| too_large())?;
        let data = match layout.size() {
            // An address that is aligned, and that nobody reads.
            0 => NonNull::new(std::ptr::without_provenance_mut(alignment)),
            // SAFETY: the size is not zero.
            _ => NonNull::new(unsafe { alloc_zeroed(layout) }),
        };
        let memory = AlignedMemory { data: data.ok_or_else(too_large)?, layout };
        Ok(Self { memory, len, _elements: std::marker::PhantomData })
    }

    /// A buffer with a copy of `source` at a multiple of `alignment` bytes.
    ///
    /// # Errors
    /// Those of [`AlignedVec::zeros`].
    pub fn from_slice(source: &[T], alignment: usize) -> Result<Self> {
        let mut buffer = Self::zeros(source.len(), alignment)?;
        buffer.copy_from_slice(source);
        Ok(buffer)
    }

    /// The alignment: the number that was asked for, or that of the type if it is larger.
    pub fn alignment(&self) -> usize {
        self.memory.layout.align()
    }
}

impl<T: DevicePod> Deref for AlignedVec<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements, all bytes of which were written; the address is aligned.
        unsafe { std::slice::from_raw_parts(self.memory.data.as_ptr().cast(), self.len) }
    }
}

impl<T: DevicePod> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.data.as_ptr().cast(), self.len) }
    }
}

impl<T: DevicePod> fmt::Debug for AlignedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedVec<{}>(len {}, alignment {})", T::CUDA_NAME, self.len, self.alignment())
    }
}

impl<T: DevicePod> PinnedVec<T> {
    /// The memory of an aligned buffer, pinned where it lies: nothing is copied. [`PinnedVec::into_aligned`] gives the buffer back.
    ///
    /// Memory that begins at a page, and is a multiple of pages, shares none of them with other memory, which could not be pinned on its own then.
    ///
    /// # Cost
    /// That of [`PinnedVec::register`].
    ///
    /// # Errors
    /// Those of [`PinnedVec::register`]. The buffer is dropped then.
    ///
    /// ```no_run
    /// use gpu_driver::{AlignedVec, Device, DeviceVec, PinnedVec};
    /// let device = Device::first()?;
    /// let mut x = DeviceVec::<f32>::zeros(&device.stream(), 1024)?;
    /// let host = PinnedVec::register_aligned(&device, AlignedVec::zeros(1024, 4096)?)?;
    /// let host: AlignedVec<f32> = x.download(host)?.wait()?.into_aligned()?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("register_host_memory", "cuMemHostRegister"))]
    #[track_caller]
    pub fn register_aligned(device: &Device, host: AlignedVec<T>) -> Result<Self> {
        let bytes = size_of_val(&*host);
        if bytes == 0 {
            return Self::zeros(device, host.len());
        }
        let AlignedVec { memory, len, .. } = host;
        let data = memory.data.cast();
        let current = device.enter()?;
        // SAFETY: that memory has so many bytes, which stay until they are no longer registered.
        unsafe { lock_pages(device, memory.data, bytes, &current)? };
        record(device, data, bytes);
        Ok(Self { data, len, device: device.clone(), origin: MemorySource::Aligned(Some(memory)) })
    }

    /// The elements as an aligned buffer: of one that was registered ([`PinnedVec::register_aligned`]) the buffer that it came from, of another one a copy at
    /// a multiple of 4096 bytes.
    ///
    /// # Errors
    /// Those of [`PinnedVec::into_vec`]; `TooLarge` where the system has no memory for a copy.
    pub fn into_aligned(mut self) -> Result<AlignedVec<T>> {
        let MemorySource::Aligned(memory) = &mut self.origin else { return AlignedVec::from_slice(&self, ALIGNMENT) };
        // Always there: only this function and the drop take it.
        let Some(memory) = memory.take() else { return AlignedVec::zeros(0, ALIGNMENT) };
        let memory = std::mem::ManuallyDrop::new(memory);
        let len = std::mem::take(&mut self.len);
        self.device.0.trace.forget(self.data.as_ptr() as u64);
        let current = self.device.enter()?;
        // SAFETY: registered before. Where it stays so, it is leaked.
        unsafe { unlock_pages(&self.device, memory.data, &current)? };
        let memory = std::mem::ManuallyDrop::into_inner(memory);
        Ok(AlignedVec { memory, len, _elements: std::marker::PhantomData })
    }
}
