//! Questions to the driver that need no context.

use std::ffi::c_int;

use cust::sys::CUdevice;

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

pub(crate) fn attribute_of(device: CUdevice, attribute: i32) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the call; the driver checks the number.
    plain("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

pub(super) fn device_of(ordinal: usize) -> Result<CUdevice> {
    let mut device = 0;
    let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
    // SAFETY: the pointer is valid for the call.
    plain("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, number) })?;
    Ok(device)
}

pub(super) fn name_of(device: CUdevice) -> Result<String> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer has the length that is passed; the driver ends the text with NUL.
    plain("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device) })?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}
