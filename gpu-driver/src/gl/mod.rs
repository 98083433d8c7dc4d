//! Buffers and images of OpenGL that kernels read and write (the feature `gl`).
//!
//! A program registers an object of its OpenGL context once ([`GlBuffer::register`], [`GlImage::register`]) and maps it for each use: the guard gives
//! device memory, or a [`CudaArray`](crate::CudaArray) for textures and surfaces, in the order of the stream that it was mapped on, and its drop gives the
//! object back to OpenGL. Nothing is copied. CUDA's functions for this come from the driver that is opened at run time; OpenGL itself is the program's.
//!
//! Between the two libraries `map` and the guard's drop make the order: OpenGL's earlier commands come before the stream's work, and the stream's before
//! OpenGL's later ones.

use crate::{Device, DriverError, Result, context::plain, sys};

mod buffer;
mod image;
mod registration;

pub use buffer::{GlBuffer, MappedGlBuffer};
pub use image::{GlImage, MappedGlImage};

/// The use that kernels make of a mapped object.
#[doc(alias("graphics_map_flags", "CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GlAccess {
    /// They read and write it.
    #[default]
    ReadWrite,
    /// They read it. The guard gives nothing to write.
    ReadOnly,
    /// They write all of it: its earlier contents are undefined.
    WriteDiscard,
}

impl GlAccess {
    /// The driver's flags of a mapping.
    fn flags(self) -> u32 {
        match self {
            Self::ReadWrite => 0,
            Self::ReadOnly => 1,
            Self::WriteDiscard => 2,
        }
    }

    /// Refuses to write an object that is mapped to be read.
    fn check_writes(self, op: &'static str) -> Result<()> {
        if self != Self::ReadOnly {
            return Ok(());
        }
        let (expected, got) = ("an access that writes".to_owned(), format!("{self:?}"));
        Err(DriverError::Length { op, expected, got })
    }
}

impl Device {
    /// The numbers of the devices that draw for this thread's current OpenGL context, for [`Device::new`]: only these can register its objects.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_GRAPHICS_CONTEXT`, `OPERATING_SYSTEM` or `NO_DEVICE` where no context is current, or one that no CUDA device draws for, such
    /// as a software renderer's; `NoDriver`.
    #[doc(alias("cuGLGetDevices", "cudaGLGetDevices"))]
    pub fn gl_ordinals() -> Result<Vec<usize>> {
        const MOST: usize = 64;
        const ALL: i32 = 1;
        Self::count()?;
        let (mut count, mut numbers) = (0, [0; MOST]);
        // SAFETY: both pointers are valid for the call, the list for so many numbers.
        let code = unsafe { sys::cuGLGetDevices_v2(&mut count, numbers.as_mut_ptr(), MOST as u32, ALL) };
        plain("cuGLGetDevices", code)?;
        Ok(numbers.iter().take(count as usize).filter_map(|&number| usize::try_from(number).ok()).collect())
    }
}
