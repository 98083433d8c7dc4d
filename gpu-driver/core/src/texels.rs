//! The structures of CUDA arrays, textures and surfaces, which the driver takes by address.

use std::ffi::c_uint;

/// Flags of a [`ArrayDescriptor`].
pub mod array_flag {
    /// `CUDA_ARRAY3D_LAYERED`: the depth counts layers.
    pub const LAYERED: u32 = 1;
    /// `CUDA_ARRAY3D_SURFACE_LDST`: kernels may write through surfaces.
    pub const SURFACE: u32 = 2;
    /// `CUDA_ARRAY3D_CUBEMAP`: the depth counts faces, six for each cube.
    pub const CUBEMAP: u32 = 4;
    /// `CUDA_ARRAY3D_TEXTURE_GATHER`.
    pub const GATHER: u32 = 8;
}

/// Formats of a channel: `CUarray_format`.
#[allow(missing_docs, reason = "the names of cuda.h")]
pub mod format {
    pub const UNSIGNED_INT8: u32 = 0x01;
    pub const UNSIGNED_INT16: u32 = 0x02;
    pub const UNSIGNED_INT32: u32 = 0x03;
    pub const SIGNED_INT8: u32 = 0x08;
    pub const SIGNED_INT16: u32 = 0x09;
    pub const SIGNED_INT32: u32 = 0x0a;
    pub const HALF: u32 = 0x10;
    pub const FLOAT: u32 = 0x20;
}

/// Address modes of a [`TextureDescriptor`]: `CUaddress_mode`.
#[allow(missing_docs, reason = "the names of cuda.h")]
pub mod address_mode {
    pub const WRAP: u32 = 0;
    pub const CLAMP: u32 = 1;
    pub const MIRROR: u32 = 2;
    pub const BORDER: u32 = 3;
}

/// Flags of a [`TextureDescriptor`].
pub mod texture_flag {
    /// `CU_TRSF_READ_AS_INTEGER`: integers of 8 and 16 bits stay integers.
    pub const READ_AS_INTEGER: u32 = 1;
    /// `CU_TRSF_NORMALIZED_COORDINATES`: coordinates from 0 to 1 span the texture.
    pub const NORMALIZED_COORDINATES: u32 = 2;
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct ArrayDescriptor2d {
    pub width: usize,
    pub height: usize,
    pub format: c_uint,
    pub channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: c_uint,
    pub channels: c_uint,
    pub flags: c_uint,
}

/// Kinds of a [`ResourceDescriptor`]: `CUresourcetype`.
pub mod resource_kind {
    /// A CUDA array.
    pub const ARRAY: u32 = 0;
    /// A mipmapped CUDA array.
    pub const MIPMAPPED_ARRAY: u32 = 1;
    /// Memory of one row.
    pub const LINEAR: u32 = 2;
    /// Memory of rows at equal distances.
    pub const PITCHED: u32 = 3;
}

/// `CUDA_RESOURCE_DESC`, whose union has the fields of pitched memory here: those of the other kinds are the first ones of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ResourceDescriptor {
    /// See [`resource_kind`].
    pub kind: c_uint,
    /// The handle of an array, or the address of memory.
    pub place: u64,
    /// See [`mod@format`].
    pub format: c_uint,
    /// Channels of an element.
    pub channels: c_uint,
    /// Elements of a row of pitched memory; bytes of linear memory.
    pub width: usize,
    /// Rows of pitched memory.
    pub height: usize,
    /// Bytes from a row of pitched memory to the next.
    pub pitch: usize,
    /// The rest of the union.
    pub reserved: [u64; 11],
    /// Always 0.
    pub flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct TextureDescriptor {
    pub address_modes: [c_uint; 3],
    pub is_linear: c_uint,
    pub flags: c_uint,
    pub max_anisotropy: c_uint,
    pub is_linear_between_mipmaps: c_uint,
    pub mipmap_bias: f32,
    pub least_mipmap: f32,
    pub most_mipmap: f32,
    pub border: [f32; 4],
    pub reserved: [i32; 12],
}

const _: () = assert!(size_of::<ArrayDescriptor2d>() == 24 && size_of::<ArrayDescriptor>() == 40, "cuda.h's layouts");
const _: () =
    assert!(size_of::<ResourceDescriptor>() == 144 && size_of::<TextureDescriptor>() == 104, "cuda.h's layouts");
