//! How a texture is read: the description that CUDA calls a texture descriptor.

use gpu_driver_core::texels::{TextureDescriptor, address_mode, texture_flag};

use super::{Channel, wrong};
use crate::Result;

/// The value at a coordinate beyond the border of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum AddressMode {
    /// The texture repeats. Normalized coordinates only.
    Wrap = address_mode::WRAP,
    /// The value at the border.
    Clamp = address_mode::CLAMP,
    /// The texture repeats, every second time in reverse. Normalized coordinates only.
    Mirror = address_mode::MIRROR,
    /// The border's value, zeros unless [`Sampling::border`] says another.
    Border = address_mode::BORDER,
}

/// How a [`Texture`](crate::Texture) is read: filter, address modes, coordinates, type of the values.
///
/// The linear filter weighs the two, four or eight elements around a place; element i stands at i + 0.5. The weights are multiples of 1/256, so a
/// value is off by up to 1/256 of the difference of two neighbours along each axis. GPUs may round filtered integers to one of their steps.
///
/// ```
/// use gpu_driver::{AddressMode, Sampling};
/// let tiled = Sampling::new().linear().normalized_coordinates().address(AddressMode::Wrap);
/// # let _ = tiled;
/// ```
#[doc(alias("CUDA_TEXTURE_DESC", "cudaTextureDesc", "set_filter_mode", "set_address_mode", "set_flags"))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    modes: [AddressMode; 3],
    is_linear: bool,
    has_normalized_coordinates: bool,
    has_normalized_values: bool,
    border: [f32; 4],
    is_linear_between_mipmaps: bool,
    mipmap_bias: f32,
    mipmaps: [f32; 2],
}

impl Sampling {
    /// Elements as they are: no filter, coordinates that count elements, and the border's elements beyond it.
    pub const fn new() -> Self {
        Self {
            modes: [AddressMode::Clamp; 3],
            is_linear: false,
            has_normalized_coordinates: false,
            has_normalized_values: false,
            border: [0.0; 4],
            is_linear_between_mipmaps: false,
            mipmap_bias: 0.0,
            mipmaps: [0.0, f32::MAX],
        }
    }

    /// Interpolates between elements. For floats, and integers with [`Sampling::normalized_values`].
    #[must_use]
    pub const fn linear(self) -> Self {
        Self { is_linear: true, ..self }
    }

    /// Sets the address mode of all axes.
    #[must_use]
    pub const fn address(self, mode: AddressMode) -> Self {
        Self { modes: [mode; 3], ..self }
    }

    /// Sets the address mode of each axis: x (columns), y (rows), z (layers of a volume). Those of axes that an array has not are without effect.
    #[must_use]
    pub const fn address_each(self, modes: [AddressMode; 3]) -> Self {
        Self { modes, ..self }
    }

    /// Coordinates from 0 to 1 span the texture, instead of those from 0 to its length.
    #[must_use]
    pub const fn normalized_coordinates(self) -> Self {
        Self { has_normalized_coordinates: true, ..self }
    }

    /// Integers of 8 and 16 bits are read as floats: unsigned ones from 0 to 1, signed ones from -1 to 1.
    #[doc(alias = "cudaReadModeNormalizedFloat")]
    #[must_use]
    pub const fn normalized_values(self) -> Self {
        Self { has_normalized_values: true, ..self }
    }

    /// Sets the value of [`AddressMode::Border`] for textures of floats, for each channel.
    #[must_use]
    pub const fn border(self, value: [f32; 4]) -> Self {
        Self { border: value, ..self }
    }

    /// Interpolates between the two levels of mipmaps around a level of detail, instead of reading the nearest one. For types as of [`Sampling::linear`].
    #[doc(alias("mipmapFilterMode", "cudaFilterModeLinear"))]
    #[must_use]
    pub const fn linear_between_mipmaps(self) -> Self {
        Self { is_linear_between_mipmaps: true, ..self }
    }

    /// Adds to each level of detail that a kernel asks for.
    #[must_use]
    pub const fn mipmap_bias(self, bias: f32) -> Self {
        Self { mipmap_bias: bias, ..self }
    }

    /// Limits the level of detail, bias included; 0 is the whole array.
    #[doc(alias("minMipmapLevelClamp", "maxMipmapLevelClamp"))]
    #[must_use]
    pub const fn mipmaps(self, least: f32, most: f32) -> Self {
        Self { mipmaps: [least, most], ..self }
    }

    /// Refuses levels that are no range.
    pub(super) fn check_levels(&self, op: &'static str) -> Result<()> {
        let [least, most] = self.mipmaps;
        if least <= most && !self.mipmap_bias.is_nan() {
            return Ok(());
        }
        wrong(
            op,
            "levels of detail in rising order, and a bias",
            format!("{least} to {most}, bias {}", self.mipmap_bias),
        )
    }

    /// The sampling of an array with so many levels.
    pub(super) fn of_levels(self, levels: u32) -> Self {
        let last = levels.saturating_sub(1) as f32;
        Self { mipmaps: self.mipmaps.map(|level| level.clamp(0.0, last)), ..self }
    }

    /// The sampling of an array of so many axes. A GPU looks at the modes of all three: with a border along rows that a line has not, its linear
    /// filter takes half of each value from the border (H200).
    pub(super) fn of_axes(self, axes: usize) -> Self {
        let mut modes = self.modes;
        modes[axes..].fill(AddressMode::Clamp);
        Self { modes, ..self }
    }

    /// Refuses combinations that the driver refuses, or changes in silence.
    pub(super) fn check<T: Channel>(&self, op: &'static str) -> Result<()> {
        use gpu_driver_core::texels::format::{FLOAT, HALF};
        let is_float = matches!(T::FORMAT, FLOAT | HALF);
        if self.has_normalized_values && (is_float || size_of::<T>() > 2) {
            return wrong(op, "integers of 8 or 16 bits for normalized values", T::CUDA_NAME);
        }
        if (self.is_linear || self.is_linear_between_mipmaps) && !is_float && !self.has_normalized_values {
            return wrong(op, "floats or normalized values for the linear filter", T::CUDA_NAME);
        }
        if self.has_period() && !self.has_normalized_coordinates {
            let got = format!("{:?} with coordinates that count elements", self.modes);
            return wrong(op, "normalized coordinates for the address modes Wrap and Mirror", got);
        }
        Ok(())
    }

    /// Whether it is more than a read of elements by their number.
    pub(super) fn filters(&self) -> bool {
        self.is_linear || self.has_normalized_coordinates || self.has_period()
    }

    fn has_period(&self) -> bool {
        self.modes.iter().any(|mode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror))
    }

    pub(super) fn descriptor(&self) -> TextureDescriptor {
        let flags = if self.has_normalized_values { 0 } else { texture_flag::READ_AS_INTEGER }
            | if self.has_normalized_coordinates { texture_flag::NORMALIZED_COORDINATES } else { 0 };
        TextureDescriptor {
            address_modes: self.modes.map(|mode| mode as u32),
            is_linear: self.is_linear.into(),
            flags,
            border: self.border,
            is_linear_between_mipmaps: self.is_linear_between_mipmaps.into(),
            mipmap_bias: self.mipmap_bias,
            least_mipmap: self.mipmaps[0],
            most_mipmap: self.mipmaps[1],
            ..TextureDescriptor::default()
        }
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::new()
    }
}
