//! Device memory that textures read: one row, or rows at equal distances.

use gpu_driver_core::texels::{ResourceDescriptor, resource_kind};

use super::{Channel, wrong};
use crate::{Attribute, Device, DeviceVec, Pitched, Result};

/// Elements of `channels` values in one row.
pub(super) fn line<T: Channel>(op: &'static str, memory: &DeviceVec<T>, channels: u32) -> Result<ResourceDescriptor> {
    let elements = elements(op, memory.len(), channels)?;
    let most = memory.device().attribute(Attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH)? as usize;
    if !(1..=most).contains(&elements) {
        return wrong(op, format!("1 to {most} elements"), elements.to_string());
    }
    let width = memory.len() * size_of::<T>();
    resource::<T>(op, resource_kind::LINEAR, memory, 0, ResourceDescriptor { channels, width, ..Default::default() })
}

/// Elements of `channels` values in the rows of a box.
pub(super) fn plane<T: Channel>(
    op: &'static str,
    memory: &DeviceVec<T>,
    place: Pitched,
    channels: u32,
) -> Result<ResourceDescriptor> {
    place.check(op, memory.len())?;
    if place.layers != 1 {
        return wrong(op, "a box of one layer", place.layers.to_string());
    }
    let (width, height, pitch) = (elements(op, place.columns, channels)?, place.rows, place.pitch * size_of::<T>());
    let most = |attribute| memory.device().attribute(attribute).map(|most| most as usize);
    let columns = most(Attribute::MAXIMUM_TEXTURE2D_LINEAR_WIDTH)?;
    let rows = most(Attribute::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)?;
    let bytes = most(Attribute::MAXIMUM_TEXTURE2D_LINEAR_PITCH)?;
    if !(1..=columns).contains(&width) || !(1..=rows).contains(&height) {
        return wrong(op, format!("1 to {rows} rows of 1 to {columns} elements"), format!("{height} rows of {width}"));
    }
    let step = most(Attribute::TEXTURE_PITCH_ALIGNMENT)?.max(1);
    if !pitch.is_multiple_of(step) || pitch > bytes {
        let expected =
            format!("a pitch that {step} bytes divide, of at most {bytes} bytes (`DeviceVec::pitched` has one)");
        return wrong(op, expected, format!("{pitch} bytes"));
    }
    let extent = ResourceDescriptor { channels, width, height, pitch, ..Default::default() };
    resource::<T>(op, resource_kind::PITCHED, memory, place.start, extent)
}

fn elements(op: &'static str, values: usize, channels: u32) -> Result<usize> {
    if !matches!(channels, 1 | 2 | 4) {
        return wrong(op, "1, 2 or 4 channels", channels.to_string());
    }
    if !values.is_multiple_of(channels as usize) {
        return wrong(op, format!("whole elements of {channels} channels"), format!("{values} values"));
    }
    Ok(values / channels as usize)
}

/// The descriptor of memory from an element on.
fn resource<T: Channel>(
    op: &'static str,
    kind: u32,
    memory: &DeviceVec<T>,
    start: usize,
    extent: ResourceDescriptor,
) -> Result<ResourceDescriptor> {
    let place = memory.as_raw() + (start * size_of::<T>()) as u64;
    let alignment = alignment(memory.device())?;
    if !place.is_multiple_of(alignment) {
        return wrong(op, format!("an address that {alignment} divides"), format!("{place:#x}"));
    }
    Ok(ResourceDescriptor { kind, place, format: T::FORMAT, ..extent })
}

fn alignment(device: &Device) -> Result<u64> {
    Ok(u64::from(device.attribute(Attribute::TEXTURE_ALIGNMENT)?.max(1)))
}
