//! Facts of addresses: the kind of memory that they lead to, and the allocation.

use std::ffi::{c_int, c_void};

use crate::{Device, Result, raw::CUdeviceptr, sys};

/// The kind of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory that the driver does not know: of the host and not pinned, or none.
    Unknown,
    /// Pinned or registered memory of the host.
    Host,
    /// Memory of a device.
    Device,
    /// Managed memory.
    Managed,
}

/// The driver's knowledge of an address; [`Device::pointer_facts`] gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerFacts {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// Number of the device with which it was allocated or registered.
    pub ordinal: Option<usize>,
    /// First address of its allocation; 0 where it is unknown.
    pub start: CUdeviceptr,
    /// Bytes of its allocation; 0 where they are unknown.
    pub bytes: usize,
}

impl Device {
    /// The driver's knowledge of an address: of device memory, or of the host's. Any number may be asked for; nothing is read there.
    ///
    /// # Errors
    /// `DeviceLost`, and the driver's error.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, DeviceVec, MemoryKind};
    /// let device = Device::first()?;
    /// let x = DeviceVec::<f32>::zeros(&device.stream(), 100)?;
    /// assert_eq!(device.pointer_facts(x.as_raw())?.kind, MemoryKind::Device);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("pointer_attribute", "cuPointerGetAttribute", "cuPointerGetAttributes"))]
    pub fn pointer_facts(&self, address: CUdeviceptr) -> Result<PointerFacts> {
        const MEMORY_TYPE: c_int = 2;
        const IS_MANAGED: c_int = 8;
        const DEVICE_ORDINAL: c_int = 9;
        const RANGE_START_ADDR: c_int = 11;
        const RANGE_SIZE: c_int = 12;
        let mut attributes = [MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL, RANGE_START_ADDR, RANGE_SIZE];
        // Answers are of one to eight bytes; the rest stays zero.
        let mut answers = [0u64; 5];
        let mut places = answers.each_mut().map(|answer| std::ptr::from_mut(answer).cast::<c_void>());
        let _current = self.enter()?;
        let (count, numbers, places) = (attributes.len() as u32, attributes.as_mut_ptr(), places.as_mut_ptr());
        // SAFETY: both lists have that many entries, and each place has room for the longest answer.
        let code = unsafe { sys::cuPointerGetAttributes(count, numbers, places, address) };
        self.check("cuPointerGetAttributes", code)?;
        let [memory_type, is_managed, ordinal, start, bytes] = answers;
        let kind = match (is_managed as u8, memory_type as u32) {
            (0, 1) => MemoryKind::Host,
            (0, 2) => MemoryKind::Device,
            (0, _) => MemoryKind::Unknown,
            _ => MemoryKind::Managed,
        };
        // A negative number stands for no device.
        let ordinal = usize::try_from(ordinal as u32 as i32).ok().filter(|_| kind != MemoryKind::Unknown);
        Ok(PointerFacts { kind, ordinal, start, bytes: bytes as usize })
    }
}
