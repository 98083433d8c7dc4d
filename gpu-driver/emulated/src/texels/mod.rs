//! CUDA arrays, textures and surfaces: the places of their elements, and the values that kernels read.

use std::collections::HashMap;

use gpu_driver_core::texels::{
    ArrayDescriptor, ResourceDescriptor, TextureDescriptor, array_flag, format, texture_flag,
};

mod sample;

pub(crate) use sample::{Coordinates, LEAST_TEXTURE_ALIGNMENT, Refusal, TEXTURE_PITCH_ALIGNMENT};

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Unsigned(usize),
    Signed(usize),
    Half,
    Float,
}

impl Channel {
    /// The type behind the driver's number; None for formats that are not emulated.
    pub(crate) fn of(number: u32) -> Option<Self> {
        Some(match number {
            format::UNSIGNED_INT8 => Self::Unsigned(1),
            format::UNSIGNED_INT16 => Self::Unsigned(2),
            format::UNSIGNED_INT32 => Self::Unsigned(4),
            format::SIGNED_INT8 => Self::Signed(1),
            format::SIGNED_INT16 => Self::Signed(2),
            format::SIGNED_INT32 => Self::Signed(4),
            format::HALF => Self::Half,
            format::FLOAT => Self::Float,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::Half => 2,
            Self::Float => 4,
        }
    }
}

/// The form of a texture or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TexelForm {
    /// Memory without a form of its own, read by whole numbers.
    Memory,
    Line,
    Plane,
    Volume,
    LayeredLine,
    LayeredPlane,
    Cubemap,
    LayeredCubemap,
}

/// Elements in memory, at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texels {
    pub(crate) form: TexelForm,
    pub(crate) start: usize,
    pub(crate) channel: Channel,
    pub(crate) channels: usize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Layers of a volume, layers of a layered form, or faces.
    pub(crate) layers: usize,
    /// Bytes from a row to the next.
    pub(crate) pitch: usize,
    /// Whether kernels may gather from it.
    pub(crate) gathers: bool,
}

impl Texels {
    pub(crate) fn element_bytes(&self) -> usize {
        self.channel.bytes() * self.channels
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.columns * self.element_bytes()
    }

    /// Bytes from a layer to the next.
    pub(crate) fn layer_bytes(&self) -> usize {
        self.pitch * self.rows
    }

    /// The address of an element that is there.
    pub(crate) fn address(&self, column: usize, row: usize, layer: usize) -> usize {
        self.start + layer * self.layer_bytes() + row * self.pitch + column * self.element_bytes()
    }

    /// The array that a descriptor asks for, at address 0, and its bytes; None where the descriptor breaks a rule.
    pub(crate) fn of_descriptor(descriptor: &ArrayDescriptor) -> Option<(Self, usize)> {
        let ArrayDescriptor { width, height, depth, format, channels, flags } = *descriptor;
        let known = array_flag::LAYERED | array_flag::SURFACE | array_flag::CUBEMAP | array_flag::GATHER;
        let (is_layered, is_cubemap) = (flags & array_flag::LAYERED != 0, flags & array_flag::CUBEMAP != 0);
        let form = match (is_layered, is_cubemap) {
            (false, false) if height == 0 && depth == 0 => TexelForm::Line,
            (false, false) if depth == 0 => TexelForm::Plane,
            (false, false) if height > 0 => TexelForm::Volume,
            (true, false) if height == 0 && depth > 0 => TexelForm::LayeredLine,
            (true, false) if depth > 0 => TexelForm::LayeredPlane,
            (false, true) if width == height && depth == 6 => TexelForm::Cubemap,
            (true, true) if width == height && depth > 0 && depth.is_multiple_of(6) => TexelForm::LayeredCubemap,
            _ => return None,
        };
        let [most_columns, most_rows, most_layers] = form.most();
        let (rows, layers) = (height.max(1), depth.max(1));
        // `MAXIMUM_SURFACE1D_WIDTH`.
        let is_surface = flags & array_flag::SURFACE != 0 && form == TexelForm::Line;
        let most_columns = if is_surface { MOST_OF_LAYER } else { most_columns };
        let fits = (1..=most_columns).contains(&width) && rows <= most_rows && layers <= most_layers;
        if !fits || !matches!(channels, 1 | 2 | 4) || flags & !known != 0 {
            return None;
        }
        let (channel, channels) = (Channel::of(format)?, channels as usize);
        let pitch = width * channel.bytes() * channels;
        let gathers = flags & array_flag::GATHER != 0;
        if gathers && form != TexelForm::Plane {
            return None;
        }
        let texels = Self { form, start: 0, channel, channels, columns: width, rows, layers, pitch, gathers };
        Some((texels, pitch.checked_mul(rows)?.checked_mul(layers)?))
    }
}

impl TexelForm {
    /// The most columns, rows and layers of an array, as an H200 has them.
    fn most(self) -> [usize; 3] {
        match self {
            Self::Memory | Self::Line => [MOST_COLUMNS, 1, 1],
            Self::Plane => [MOST_COLUMNS, MOST_ROWS, 1],
            Self::Volume => [MOST_OF_VOLUME; 3],
            Self::LayeredLine => [MOST_OF_LAYER, 1, MOST_LAYERS],
            Self::LayeredPlane => [MOST_OF_LAYER, MOST_OF_LAYER, MOST_LAYERS],
            Self::Cubemap => [MOST_OF_LAYER, MOST_OF_LAYER, 6],
            Self::LayeredCubemap => [MOST_OF_LAYER, MOST_OF_LAYER, MOST_FACES],
        }
    }

    /// The name of the function that reads such a texture.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "tex1Dfetch",
            Self::Line => "tex1D",
            Self::Plane => "tex2D",
            Self::Volume => "tex3D",
            Self::LayeredLine => "tex1DLayered",
            Self::LayeredPlane => "tex2DLayered",
            Self::Cubemap => "texCubemap",
            Self::LayeredCubemap => "texCubemapLayered",
        }
    }

    /// The form of the number in `abi.h`.
    pub(crate) fn of(number: u32) -> Option<Self> {
        const ALL: [TexelForm; 8] = [
            TexelForm::Memory,
            TexelForm::Line,
            TexelForm::Plane,
            TexelForm::Volume,
            TexelForm::LayeredLine,
            TexelForm::LayeredPlane,
            TexelForm::Cubemap,
            TexelForm::LayeredCubemap,
        ];
        ALL.get(number as usize).copied()
    }
}

/// `MAXIMUM_TEXTURE1D_WIDTH`, and that of two dimensions.
pub(crate) const MOST_COLUMNS: usize = 131_072;
/// `MAXIMUM_TEXTURE2D_HEIGHT`.
pub(crate) const MOST_ROWS: usize = 65_536;
/// `MAXIMUM_TEXTURE3D_WIDTH`, `HEIGHT` and `DEPTH`.
pub(crate) const MOST_OF_VOLUME: usize = 16_384;
/// `MAXIMUM_TEXTURE2D_LAYERED_WIDTH` and `HEIGHT`, those of one dimension and of cubes.
pub(crate) const MOST_OF_LAYER: usize = 32_768;
/// `MAXIMUM_TEXTURE2D_LAYERED_LAYERS`.
pub(crate) const MOST_LAYERS: usize = 2048;
/// `MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS`.
pub(crate) const MOST_FACES: usize = 2046;
/// `MAXIMUM_TEXTURE1D_LINEAR_WIDTH`.
pub(crate) const MOST_OF_MEMORY: usize = 1 << 28;
/// `MAXIMUM_TEXTURE2D_LINEAR_WIDTH`.
pub(crate) const MOST_PITCHED_COLUMNS: usize = 131_072;
/// `MAXIMUM_TEXTURE2D_LINEAR_HEIGHT`.
pub(crate) const MOST_PITCHED_ROWS: usize = 65_000;
/// `MAXIMUM_TEXTURE2D_LINEAR_PITCH`.
pub(crate) const MOST_PITCH: usize = 2_097_120;

/// A CUDA array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CudaArray {
    pub(crate) context: usize,
    pub(crate) descriptor: ArrayDescriptor,
    pub(crate) texels: Texels,
    pub(crate) bytes: usize,
}

/// A mipmapped CUDA array: the handles of its levels' arrays, which share its memory.
#[derive(Clone, Debug)]
pub(crate) struct Mipmaps {
    pub(crate) context: usize,
    pub(crate) levels: Vec<usize>,
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

/// The levels that a texture reads at a level of detail, and the weight of the second.
pub(crate) fn levels(descriptor: &TextureDescriptor, count: usize, detail: f32) -> ([usize; 2], f32) {
    let last = count.saturating_sub(1);
    let [least, most] = [descriptor.least_mipmap, descriptor.most_mipmap].map(|end| end.clamp(0.0, last as f32));
    let place = (detail + descriptor.mipmap_bias).clamp(least.min(most), most);
    let place = if place.is_nan() { least } else { place };
    if descriptor.is_linear_between_mipmaps == 0 {
        // The nearest one.
        return ([(place + 0.5).floor() as usize; 2].map(|level| level.min(last)), 0.0);
    }
    let first = place.floor();
    ([first as usize, (first as usize + 1).min(last)], ((place - first) * 256.0).round() / 256.0)
}

/// A texture object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texture {
    pub(crate) context: usize,
    pub(crate) resource: ResourceDescriptor,
    pub(crate) descriptor: TextureDescriptor,
    pub(crate) texels: Texels,
}

impl Texture {
    /// Whether values are floats.
    pub(crate) fn gives_floats(&self) -> bool {
        match self.texels.channel {
            Channel::Half | Channel::Float => true,
            Channel::Unsigned(bytes) | Channel::Signed(bytes) => {
                bytes < 4 && self.descriptor.flags & texture_flag::READ_AS_INTEGER == 0
            }
        }
    }
}

/// A surface object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surface {
    pub(crate) context: usize,
    pub(crate) resource: ResourceDescriptor,
    pub(crate) texels: Texels,
}

/// All of them, by their handles.
#[derive(Debug, Default)]
pub(crate) struct TexelObjects {
    pub(crate) arrays: HashMap<usize, CudaArray>,
    pub(crate) mipmaps: HashMap<usize, Mipmaps>,
    pub(crate) textures: HashMap<u64, Texture>,
    pub(crate) surfaces: HashMap<u64, Surface>,
}

impl TexelObjects {
    pub(crate) fn forget_context(&mut self, context: usize) {
        self.arrays.retain(|_, array| array.context != context);
        self.mipmaps.retain(|_, mipmaps| mipmaps.context != context);
        self.textures.retain(|_, texture| texture.context != context);
        self.surfaces.retain(|_, surface| surface.context != context);
    }
}
