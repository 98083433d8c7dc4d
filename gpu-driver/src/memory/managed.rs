//! Managed memory, which the host and devices reach at the same address.

use std::{fmt, panic::Location, ptr::NonNull};

use super::{ALIGNMENT, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::{
    Attribute, CudaCode, Device, DevicePod, DriverError, Result, Stream, pod::byte_len, raw::CUdeviceptr, sys,
};

/// The driver's number for the host, where it asks for a device.
const HOST: i32 = -1;

/// A buffer of `len` elements in managed memory: host and device reach it at one address, and its pages move to the side that uses them.
///
/// It has a home stream as a [`DeviceVec`]. The host sees it as a slice, after a wait for that stream, so a kernel that was launched before has written it.
/// ```no_run
/// use gpu_driver::{Device, LaunchConfig, ManagedVec};
/// let device = Device::first()?;
/// let stream = device.stream();
/// let mut x = ManagedVec::<f32>::zeros(&stream, 2)?;
/// x.host_mut()?.copy_from_slice(&[1.0, 2.0]);
/// let double = device.compile("extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }")?.function("twice")?;
/// x.prefetch_to_device()?;
/// // SAFETY: two threads change the two elements.
/// unsafe { double.launch(LaunchConfig::new(1, 2), (x.as_mut_slice().in_out(),), &stream)? };
/// assert_eq!(x.host()?, [2.0, 4.0]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("managed_empty", "cuMemAllocManaged", "UnifiedBuffer"))]
pub struct ManagedVec<T: DevicePod> {
    /// Never given out whole: the host reads its elements.
    memory: DeviceVec<T>,
}

/// The use of managed memory that a program expects; the driver places pages by it. It changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Advice {
    /// Pages are read far more than written: each side keeps a copy.
    ReadMostly = 1,
    /// No longer [`Advice::ReadMostly`].
    NotReadMostly = 2,
    /// Pages stay on the device where they can.
    PreferDevice = 3,
    /// No longer [`Advice::PreferDevice`] or [`Advice::PreferHost`].
    NoPreference = 4,
    /// The device keeps pages mapped, wherever they lie.
    AccessedByDevice = 5,
    /// No longer [`Advice::AccessedByDevice`].
    NotAccessedByDevice = 6,
    /// Pages stay on the host where they can.
    PreferHost = 7,
}

impl Advice {
    /// The driver's number of the advice, and whether it is about the host.
    fn raw(self) -> (i32, bool) {
        match self {
            Self::PreferHost => (Self::PreferDevice as i32, true),
            other => (other as i32, false),
        }
    }
}

/// Managed memory, which its drop frees.
struct Owned {
    device: Device,
    address: CUdeviceptr,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.device.0.trace.forget(self.address);
        // SAFETY: allocated in `zeros`, freed once, when no work uses it.
        self.device.0.in_drop("managed memory", "cuMemFree", || unsafe { sys::cuMemFree_v2(self.address) });
    }
}

impl<T: DevicePod> ManagedVec<T> {
    /// A buffer of zero bytes.
    ///
    /// # Cost
    /// Allocation and release wait for the home stream, as they are in no stream's order.
    ///
    /// # Errors
    /// `OutOfMemory`, `TooLarge`, `InCapture`, `DeviceLost`; `Cuda` with `NOT_SUPPORTED` where host and device cannot use the memory at the same time
    /// ([`Attribute::CONCURRENT_MANAGED_ACCESS`]: Windows, and GPUs before Pascal).
    #[track_caller]
    pub fn zeros(home: &Stream, len: usize) -> Result<Self> {
        const CALL: &str = "cuMemAllocManaged";
        const GLOBAL: u32 = 1;
        const { assert!(align_of::<T>() <= ALIGNMENT, "managed memory is aligned to 256 bytes, which this type exceeds") };
        let (device, bytes) = (home.device(), byte_len::<T>(len)?);
        if device.attribute(Attribute::CONCURRENT_MANAGED_ACCESS)? == 0 {
            return Err(DriverError::Cuda { call: CALL, code: CudaCode(801) });
        }
        if bytes == 0 {
            return Ok(Self { memory: DeviceVec::zeros(home, len)? });
        }
        let mut address = 0;
        {
            let current = device.enter()?;
            home.not_captured("ManagedVec::zeros", &current)?;
            // SAFETY: the pointer is valid for the call.
            let code = unsafe { sys::cuMemAllocManaged(&mut address, bytes, GLOBAL) };
            device.check(CALL, code).map_err(|error| match error {
                DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. } => {
                    DriverError::OutOfMemory { requested_bytes: bytes, free_bytes: None }
                }
                other => other,
            })?;
        }
        device.0.trace.record(address, "ManagedVec", bytes, Location::caller());
        let owner = Owned { device: device.clone(), address };
        // SAFETY: so many elements, which the owner frees, and which nobody else knows of.
        let mut memory = unsafe { DeviceVec::from_foreign(home, address, len, None, owner)? };
        memory.set_zero()?;
        Ok(Self { memory })
    }

    /// A buffer with a copy of `source`.
    ///
    /// # Errors
    /// Those of [`ManagedVec::zeros`].
    #[track_caller]
    pub fn from_slice(home: &Stream, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeros(home, source.len())?;
        buffer.host_mut()?.copy_from_slice(source);
        Ok(buffer)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The buffer as device memory, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.memory.as_slice()
    }

    /// The buffer as device memory, to write.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.memory.as_mut_slice()
    }

    /// The elements, after a wait for the home stream. Kernels may read them meanwhile.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn host(&self) -> Result<&[T]> {
        self.wait("ManagedVec::host")?;
        // SAFETY: so many elements, at an address of the host; all work that writes them has run, and later work needs a mutable borrow.
        Ok(unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.len()) })
    }

    /// The elements, to write, after a wait for the home stream.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        self.wait("ManagedVec::host_mut")?;
        // SAFETY: as in `host`; later work needs a borrow.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start().as_ptr(), self.len()) })
    }

    /// Moves the pages to the device, in the home stream's order, so that its kernels do not wait for one after another. Returns at once.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn prefetch_to_device(&self) -> Result<()> {
        self.prefetch(self.memory.device().0.device)
    }

    /// Moves the pages to the host, in the home stream's order. Returns at once.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn prefetch_to_host(&self) -> Result<()> {
        self.prefetch(HOST)
    }

    /// Tells the driver the use that is expected.
    ///
    /// # Errors
    /// `DeviceLost`, and the driver's error.
    #[doc(alias = "cuMemAdvise")]
    pub fn advise(&self, advice: Advice) -> Result<()> {
        if self.bytes() == 0 {
            return Ok(());
        }
        let device = self.memory.device();
        let _current = device.enter()?;
        let (advice, of_host) = advice.raw();
        let place = if of_host { HOST } else { device.0.device };
        // SAFETY: managed memory of that many bytes.
        let code = unsafe { sys::cuMemAdvise(self.memory.as_raw(), self.bytes(), advice, place) };
        device.check("cuMemAdvise", code)
    }

    fn prefetch(&self, place: i32) -> Result<()> {
        let (device, home) = (self.memory.device(), self.memory.home());
        let current = device.enter()?;
        let _uncaptured = home.uncaptured("ManagedVec::prefetch", &current)?;
        if self.bytes() == 0 {
            return Ok(());
        }
        // SAFETY: managed memory of that many bytes; the stream is alive.
        let code = unsafe { sys::cuMemPrefetchAsync(self.memory.as_raw(), self.bytes(), place, home.as_raw()) };
        device.check("cuMemPrefetchAsync", code)
    }

    fn wait(&self, op: &'static str) -> Result<()> {
        let home = self.memory.home();
        let current = home.device().enter()?;
        let _uncaptured = home.uncaptured(op, &current)?;
        home.synchronize_entered(&current)
    }

    fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    fn start(&self) -> NonNull<T> {
        if self.bytes() == 0 {
            return NonNull::dangling();
        }
        NonNull::new(self.memory.as_raw() as *mut T).unwrap_or(NonNull::dangling())
    }
}

impl<T: DevicePod> fmt::Debug for ManagedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManagedVec<{}>(len {})", T::CUDA_NAME, self.len())
    }
}
