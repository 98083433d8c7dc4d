//! The facts that a device tells, its limits, and the choice of a device.

use std::ffi::CString;

use gpu_driver_core::environment;

use super::Attribute;
use crate::{
    Device, DriverError, Result,
    context::{OF_LAUNCHES, attribute_of, attribute_value, device_of, name_of, pci_bus_id_of, plain, uuid_of},
    sys,
};

/// A limit of a device's context that programs may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of the stack of each thread.
    StackBytes = 0,
    /// Bytes of the buffer that holds the output of `printf` until the device is waited for.
    PrintfBytes = 1,
    /// Bytes of the heap of `malloc` in kernels.
    MallocHeapBytes = 2,
    /// Launches of kernels by kernels that may be waiting.
    PendingLaunches = 4,
    /// The granularity of fetches into the second cache, a hint.
    L2FetchBytes = 5,
    /// Bytes of the second cache that may be set aside for data that stays.
    PersistingL2Bytes = 6,
}

/// The use that a kernel makes of the memory that the first cache and shared memory share: a hint to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheConfig {
    /// The driver chooses.
    #[default]
    None = 0,
    /// More shared memory.
    Shared = 1,
    /// A larger cache.
    L1 = 2,
    /// Both alike.
    Equal = 3,
}

impl Device {
    /// Number of streaming multiprocessors.
    ///
    /// # Errors
    /// The driver's error.
    pub fn multiprocessors(&self) -> Result<u32> {
        self.attribute(Attribute::MULTIPROCESSOR_COUNT)
    }

    /// A device attribute by its name (`Attribute::WARP_SIZE`) or its `CUdevice_attribute` number. A negative value reads 0.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_VALUE` for a number that the driver does not know.
    pub fn attribute(&self, attribute: impl Into<Attribute>) -> Result<u32> {
        let Attribute(attribute) = attribute.into();
        match OF_LAUNCHES.iter().position(|&one| one == attribute) {
            Some(at) => Ok(self.0.of_launches[at]),
            None => attribute_of(self.0.device, attribute),
        }
    }

    /// All attributes with a name that this device's driver knows, with their values.
    ///
    /// # Errors
    /// The driver's error, but for attributes that it does not know: those are left out.
    ///
    /// ```no_run
    /// for (attribute, value) in gpu_driver::Device::first()?.attributes()? {
    ///     println!("{}: {value}", attribute.name());
    /// }
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias = "get_attributes")]
    pub fn attributes(&self) -> Result<Vec<(Attribute, i32)>> {
        let mut all = Vec::new();
        for &attribute in Attribute::ALL {
            match attribute_value(self.0.device, attribute.0) {
                Ok(value) => all.push((attribute, value)),
                Err(DriverError::Cuda { code, .. }) if !code.is_fatal() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The place of the card in the machine, such as `0000:3b:00.0`: the same in every process, whatever `CUDA_VISIBLE_DEVICES` hides.
    ///
    /// # Errors
    /// The driver's error.
    pub fn pci_bus_id(&self) -> Result<String> {
        pci_bus_id_of(self.0.device)
    }

    /// The card's identity.
    ///
    /// # Errors
    /// The driver's error.
    pub fn uuid(&self) -> Result<[u8; 16]> {
        uuid_of(self.0.device)
    }

    /// Compute capability, such as (9, 0).
    pub fn compute_capability(&self) -> (u32, u32) {
        (self.arch().major, self.arch().minor)
    }

    /// Bytes of all memory of the device, used or not.
    #[doc(alias = "total_memory")]
    pub fn memory_bytes(&self) -> usize {
        self.0.memory_bytes
    }

    /// The value of a limit.
    ///
    /// # Errors
    /// The driver's error for one that the device does not have.
    #[doc(alias = "get_limit")]
    pub fn limit(&self, limit: Limit) -> Result<usize> {
        let _current = self.enter()?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("cuCtxGetLimit", unsafe { sys::cuCtxGetLimit(&mut value, limit as i32) })?;
        Ok(value)
    }

    /// Changes a limit for later launches of the whole process; the driver may round it. Waits for the device where CUDA does.
    ///
    /// # Errors
    /// The driver's error for a value that the device cannot have; `InCapture` within a capture of this thread.
    pub fn set_limit(&self, limit: Limit, value: usize) -> Result<()> {
        if self.0.captures_here() {
            return Err(DriverError::InCapture { op: "Device::set_limit" });
        }
        let _current = self.enter()?;
        // SAFETY: the driver checks the value.
        self.check("cuCtxSetLimit", unsafe { sys::cuCtxSetLimit(limit as i32, value) })
    }

    /// The preference of kernels that have none of their own ([`Function::set_cache_config`](crate::Function::set_cache_config)).
    ///
    /// # Errors
    /// The driver's error.
    pub fn cache_config(&self) -> Result<CacheConfig> {
        let _current = self.enter()?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("cuCtxGetCacheConfig", unsafe { sys::cuCtxGetCacheConfig(&mut value) })?;
        Ok(match value {
            1 => CacheConfig::Shared,
            2 => CacheConfig::L1,
            3 => CacheConfig::Equal,
            _ => CacheConfig::None,
        })
    }

    /// Changes that preference.
    ///
    /// # Errors
    /// The driver's error.
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<()> {
        let _current = self.enter()?;
        // SAFETY: the driver checks the value.
        self.check("cuCtxSetCacheConfig", unsafe { sys::cuCtxSetCacheConfig(config as i32) })
    }

    /// The device that the variable `CUDA_DEVICE` names, as PyCUDA's tools read it: by its number, by its PCI bus id, or by a part of its name. Without
    /// the variable the first device.
    ///
    /// # Errors
    /// Those of [`Device::new`], [`Device::by_pci_bus_id`] and [`Device::by_name`].
    #[doc(alias = "make_default_context")]
    pub fn from_environment() -> Result<Self> {
        let wish = environment::text("CUDA_DEVICE", "a device's number, PCI bus id or name")?;
        match wish.as_deref().map(str::trim).filter(|wish| !wish.is_empty()) {
            None => Self::first(),
            Some(wish) => match wish.parse() {
                Ok(ordinal) => Self::new(ordinal),
                Err(_) if wish.contains(':') => Self::by_pci_bus_id(wish),
                Err(_) => Self::by_name(wish),
            },
        }
    }

    /// The first device whose name has this part, in small or capital letters: `h200`.
    ///
    /// # Errors
    /// Those of [`Device::count`]; `NoSuchName` with the names that there are.
    pub fn by_name(part: &str) -> Result<Self> {
        let names = (0..Self::count()?).map(|ordinal| name_of(device_of(ordinal)?)).collect::<Result<Vec<_>>>()?;
        let has_part = |name: &String| name.to_lowercase().contains(&part.to_lowercase());
        match names.iter().position(has_part) {
            Some(ordinal) => Self::new(ordinal),
            None => Err(DriverError::NoSuchName { name: part.to_owned(), known: names }),
        }
    }

    /// The device at that place of the machine ([`Device::pci_bus_id`]).
    ///
    /// # Errors
    /// Those of [`Device::count`]; `NoSuchName` with the places of the devices that there are; `Nul`.
    pub fn by_pci_bus_id(id: &str) -> Result<Self> {
        let count = Self::count()?;
        let text = CString::new(id).map_err(|_| DriverError::Nul { text: "a PCI bus id" })?;
        let mut device = 0;
        // SAFETY: both pointers are valid for the call.
        let found = plain("cuDeviceGetByPCIBusId", unsafe { sys::cuDeviceGetByPCIBusId(&mut device, text.as_ptr()) });
        let devices = (0..count).map(device_of).collect::<Result<Vec<_>>>()?;
        match devices.iter().position(|&other| found.is_ok() && other == device) {
            Some(ordinal) => Self::new(ordinal),
            None => {
                let known = devices.into_iter().map(pci_bus_id_of).collect::<Result<Vec<_>>>()?;
                Err(DriverError::NoSuchName { name: id.to_owned(), known })
            }
        }
    }

    /// The device that has most free memory now. Makes a context on each for the question.
    ///
    /// # Errors
    /// Those of [`Device::first`] and [`Device::memory`], of the first device that cannot be asked.
    pub fn with_most_free_memory() -> Result<Self> {
        let mut most: Option<(usize, Self)> = None;
        for ordinal in 0..Self::count()? {
            let device = Self::new(ordinal)?;
            let (free, _) = device.memory()?;
            if most.as_ref().is_none_or(|(most, _)| free > *most) {
                most = Some((free, device));
            }
        }
        most.map(|(_, device)| device).ok_or(DriverError::NoDevice)
    }
}
