//! Shapes of CUDA arrays, and the types of their channels.

use std::fmt;

use gpu_driver_core::texels::{ArrayDescriptor, array_flag, format};

use super::wrong;
use crate::{Attribute, Device, DevicePod, DriverError, Result};

/// A type of the channels of a CUDA array or texture: integers of 8, 16 and 32 bits, `f32`, and `f16` of the crate `half`.
pub trait Channel: DevicePod + sealed::IsChannel {
    /// The driver's number of the format.
    #[doc(hidden)]
    const FORMAT: u32;
}

mod sealed {
    pub trait IsChannel {}
}

macro_rules! channels {
    ($($type:ty => $format:ident,)*) => {$(
        impl sealed::IsChannel for $type {}
        impl Channel for $type {
            const FORMAT: u32 = format::$format;
        }
    )*};
}

channels! {
    u8 => UNSIGNED_INT8,
    u16 => UNSIGNED_INT16,
    u32 => UNSIGNED_INT32,
    i8 => SIGNED_INT8,
    i16 => SIGNED_INT16,
    i32 => SIGNED_INT32,
    f32 => FLOAT,
}
#[cfg(feature = "half")]
channels! { half::f16 => HALF, }

/// The arrangement of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arrangement {
    Line,
    Plane,
    Volume,
    LayeredLine,
    LayeredPlane,
    Cubemap,
    LayeredCubemap,
}

/// The shape of a [`CudaArray`](crate::CudaArray): its axes, the channels of an element, and whether kernels may write it.
///
/// ```
/// use gpu_driver::ArrayShape;
/// let picture = ArrayShape::plane(480, 640).with_channels(4).for_surfaces();
/// assert_eq!(picture.values(), 480 * 640 * 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    form: Arrangement,
    layers: usize,
    rows: usize,
    columns: usize,
    channels: u32,
    has_surfaces: bool,
    gathers: bool,
}

impl ArrayShape {
    const fn new(form: Arrangement, layers: usize, rows: usize, columns: usize) -> Self {
        Self { form, layers, rows, columns, channels: 1, has_surfaces: false, gathers: false }
    }

    /// One row, for `tex1D`.
    pub const fn line(columns: usize) -> Self {
        Self::new(Arrangement::Line, 1, 1, columns)
    }

    /// Rows of columns, for `tex2D`.
    pub const fn plane(rows: usize, columns: usize) -> Self {
        Self::new(Arrangement::Plane, 1, rows, columns)
    }

    /// Layers of rows of columns, filtered along all three, for `tex3D`.
    pub const fn volume(layers: usize, rows: usize, columns: usize) -> Self {
        Self::new(Arrangement::Volume, layers, rows, columns)
    }

    /// Lines with a number each, for `tex1DLayered`.
    pub const fn layered_line(layers: usize, columns: usize) -> Self {
        Self::new(Arrangement::LayeredLine, layers, 1, columns)
    }

    /// Planes with a number each, for `tex2DLayered`.
    pub const fn layered_plane(layers: usize, rows: usize, columns: usize) -> Self {
        Self::new(Arrangement::LayeredPlane, layers, rows, columns)
    }

    /// The six faces of a cube, for `texCubemap`: layers in the order +x, -x, +y, -y, +z, -z.
    pub const fn cubemap(edge: usize) -> Self {
        Self::new(Arrangement::Cubemap, 6, edge, edge)
    }

    /// Cubes with a number each, for `texCubemapLayered`: six layers of each cube, one cube behind the other.
    pub const fn layered_cubemap(cubes: usize, edge: usize) -> Self {
        Self::new(Arrangement::LayeredCubemap, cubes.saturating_mul(6), edge, edge)
    }

    /// Sets the channels of an element: 1 (as from the start), 2 or 4. They are neighbours in memory, as the members of `float4` are.
    #[must_use]
    pub const fn with_channels(self, channels: u32) -> Self {
        Self { channels, ..self }
    }

    /// Lets kernels write the array through a [`Surface`](crate::Surface).
    #[doc(alias("allowSurfaceBind", "CUDA_ARRAY3D_SURFACE_LDST"))]
    #[must_use]
    pub const fn for_surfaces(self) -> Self {
        Self { has_surfaces: true, ..self }
    }

    /// Lets kernels gather from a texture of the array: `tex2Dgather` gives one channel of the four elements that the linear filter would weigh. For planes.
    #[doc(alias("tex2Dgather", "CUDA_ARRAY3D_TEXTURE_GATHER"))]
    #[must_use]
    pub const fn for_gathers(self) -> Self {
        Self { gathers: true, ..self }
    }

    /// Layers; those of all cubes of a layered cubemap.
    pub const fn layers(&self) -> usize {
        self.layers
    }

    /// Rows of a layer.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Channels of an element.
    pub const fn channels(&self) -> u32 {
        self.channels
    }

    /// Whether kernels may write the array through surfaces.
    pub const fn has_surfaces(&self) -> bool {
        self.has_surfaces
    }

    /// Number of values: those of all channels of all elements.
    pub const fn values(&self) -> usize {
        let elements = self.layers.saturating_mul(self.rows).saturating_mul(self.columns);
        elements.saturating_mul(self.channels as usize)
    }

    /// Axes along which textures filter.
    pub(super) const fn filtered_axes(&self) -> usize {
        match self.form {
            Arrangement::Line | Arrangement::LayeredLine => 1,
            Arrangement::Volume => 3,
            _ => 2,
        }
    }

    pub(super) const fn is_cubemap(&self) -> bool {
        matches!(self.form, Arrangement::Cubemap | Arrangement::LayeredCubemap)
    }

    /// The descriptor that the driver takes, which has zeros for axes that are not there.
    pub(crate) fn descriptor<T: Channel>(&self) -> ArrayDescriptor {
        let is_layered =
            matches!(self.form, Arrangement::LayeredLine | Arrangement::LayeredPlane | Arrangement::LayeredCubemap);
        let flags = if is_layered { array_flag::LAYERED } else { 0 }
            | if self.is_cubemap() { array_flag::CUBEMAP } else { 0 }
            | if self.has_surfaces { array_flag::SURFACE } else { 0 }
            | if self.gathers { array_flag::GATHER } else { 0 };
        let height = if matches!(self.form, Arrangement::Line | Arrangement::LayeredLine) { 0 } else { self.rows };
        let depth = if matches!(self.form, Arrangement::Line | Arrangement::Plane) { 0 } else { self.layers };
        ArrayDescriptor { width: self.columns, height, depth, format: T::FORMAT, channels: self.channels, flags }
    }

    /// The shape of an array that another library has made.
    #[cfg(feature = "gl")]
    pub(super) fn of_descriptor<T: Channel>(op: &'static str, descriptor: &ArrayDescriptor) -> Result<Self> {
        let ArrayDescriptor { width, height, depth, format, channels, flags } = *descriptor;
        if format != T::FORMAT || !matches!(channels, 1 | 2 | 4) {
            let expected = format!("1, 2 or 4 channels of {} (format {:#x})", T::CUDA_NAME, T::FORMAT);
            return wrong(op, expected, format!("{channels} of format {format:#x}"));
        }
        let is = |flag: u32| flags & flag != 0;
        let form = match (is(array_flag::LAYERED), is(array_flag::CUBEMAP)) {
            (true, true) => Arrangement::LayeredCubemap,
            (false, true) => Arrangement::Cubemap,
            (true, false) if height == 0 => Arrangement::LayeredLine,
            (true, false) => Arrangement::LayeredPlane,
            (false, false) if depth > 0 => Arrangement::Volume,
            (false, false) if height > 0 => Arrangement::Plane,
            (false, false) => Arrangement::Line,
        };
        let (has_surfaces, gathers) = (is(array_flag::SURFACE), is(array_flag::GATHER));
        let (layers, rows) = (depth.max(1), height.max(1));
        Ok(Self { form, layers, rows, columns: width, channels, has_surfaces, gathers })
    }

    /// Refuses shapes that the device has no array of.
    pub(super) fn check<T: Channel>(&self, op: &'static str, device: &Device) -> Result<()> {
        if !matches!(self.channels, 1 | 2 | 4) {
            return wrong(op, "1, 2 or 4 channels", self.channels.to_string());
        }
        if self.columns == 0 || self.rows == 0 || self.layers == 0 {
            return wrong(op, "an array of one element at least", self.to_string());
        }
        if self.gathers && self.form != Arrangement::Plane {
            return wrong(op, "a plane for gathers", format!("another form, {self}"));
        }
        if self.values() > isize::MAX as usize / size_of::<T>() {
            return Err(DriverError::TooLarge { elements: self.values(), element_bytes: size_of::<T>() });
        }
        let mut most = Vec::new();
        for limits in self.limits() {
            let limit = |attribute: Option<Attribute>| attribute.map_or(Ok(1), |attribute| device.attribute(attribute));
            let [layers, rows, columns] = limits;
            let [layers, rows, columns] = [limit(layers)? as usize, limit(rows)? as usize, limit(columns)? as usize];
            if self.layers <= layers && self.rows <= rows && self.columns <= columns {
                return Ok(());
            }
            most.push(format!("{layers} x {rows} x {columns}"));
        }
        wrong(op, format!("at most {} elements", most.join(" or ")), self.to_string())
    }

    /// The attributes with the most layers, rows and columns, of which one set is to fit; None for 1.
    fn limits(&self) -> Vec<[Option<Attribute>; 3]> {
        use Attribute as A;
        let textures = match self.form {
            Arrangement::Line => [None, None, Some(A::MAXIMUM_TEXTURE1D_WIDTH)],
            Arrangement::Plane if self.gathers => {
                [None, Some(A::MAXIMUM_TEXTURE2D_GATHER_HEIGHT), Some(A::MAXIMUM_TEXTURE2D_GATHER_WIDTH)]
            }
            Arrangement::Plane => [None, Some(A::MAXIMUM_TEXTURE2D_HEIGHT), Some(A::MAXIMUM_TEXTURE2D_WIDTH)],
            Arrangement::Volume => {
                [A::MAXIMUM_TEXTURE3D_DEPTH, A::MAXIMUM_TEXTURE3D_HEIGHT, A::MAXIMUM_TEXTURE3D_WIDTH].map(Some)
            }
            Arrangement::LayeredLine => {
                [Some(A::MAXIMUM_TEXTURE1D_LAYERED_LAYERS), None, Some(A::MAXIMUM_TEXTURE1D_LAYERED_WIDTH)]
            }
            Arrangement::LayeredPlane => [
                A::MAXIMUM_TEXTURE2D_LAYERED_LAYERS,
                A::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                A::MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
            ]
            .map(Some),
            // Six layers always, so their limit is that of another axis.
            Arrangement::Cubemap => [A::MAXIMUM_TEXTURECUBEMAP_WIDTH; 3].map(Some),
            Arrangement::LayeredCubemap => [
                A::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS,
                A::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                A::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
            ]
            .map(Some),
        };
        let surfaces = match self.form {
            Arrangement::Line => [None, None, Some(A::MAXIMUM_SURFACE1D_WIDTH)],
            _ => textures,
        };
        match self.form {
            _ if self.has_surfaces => vec![surfaces],
            Arrangement::Volume => vec![
                textures,
                [
                    A::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE,
                    A::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                    A::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                ]
                .map(Some),
            ],
            _ => vec![textures],
        }
    }
}

/// Layers, rows and columns.
impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.layers, self.rows, self.columns)
    }
}
