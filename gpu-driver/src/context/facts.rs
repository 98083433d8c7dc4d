//! Questions to the driver that need no context.

use std::ffi::c_int;

use crate::raw::CUdevice;

use super::plain;
use crate::{CudaVersion, Result, sys};

/// See [`Device::driver_version`](crate::Device::driver_version).
pub(crate) fn driver_version() -> Result<CudaVersion> {
    sys::loader::state()?;
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    plain("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok(CudaVersion { major: version / 1000, minor: version % 1000 / 10 })
}

/// The value of an attribute.
pub(crate) fn attribute_value(device: CUdevice, attribute: i32) -> Result<i32> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the call; the driver checks the number.
    plain("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(value)
}

/// The value of an attribute, 0 for negative ones.
pub(crate) fn attribute_of(device: CUdevice, attribute: i32) -> Result<u32> {
    Ok(u32::try_from(attribute_value(device, attribute)?).unwrap_or(0))
}

pub(crate) fn device_of(ordinal: usize) -> Result<CUdevice> {
    let mut device = 0;
    let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
    // SAFETY: the pointer is valid for the call.
    plain("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, number) })?;
    Ok(device)
}

pub(crate) fn name_of(device: CUdevice) -> Result<String> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer has the length that is passed; the driver ends the text with NUL.
    plain("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device) })?;
    Ok(text_of(&name))
}

pub(crate) fn pci_bus_id_of(device: CUdevice) -> Result<String> {
    let mut id = [0u8; 32];
    // SAFETY: the buffer has the length that is passed; the driver ends the text with NUL.
    let code = unsafe { sys::cuDeviceGetPCIBusId(id.as_mut_ptr().cast(), id.len() as c_int, device) };
    plain("cuDeviceGetPCIBusId", code)?;
    Ok(text_of(&id))
}

pub(crate) fn uuid_of(device: CUdevice) -> Result<[u8; 16]> {
    let mut uuid = [0u8; 16];
    // SAFETY: the pointer is valid for the call; the structure has 16 bytes.
    plain("cuDeviceGetUuid", unsafe { sys::cuDeviceGetUuid(uuid.as_mut_ptr().cast(), device) })?;
    Ok(uuid)
}

/// A text that ends in NUL, or with the buffer.
fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
