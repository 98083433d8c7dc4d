//! Objects that stand for those of OpenGL: a program declares them, and the driver's calls register and map them.
//!
//! There is no OpenGL behind them. An object's contents lie on the host; a mapping is fresh memory with a copy of them, which the end of the mapping
//! copies back. So a kernel that uses a mapping too late touches memory that is gone.

use std::collections::HashMap;

use gpu_driver_core::{CudaCode, texels::ArrayDescriptor};

use crate::{code::ALREADY_MAPPED, code::INVALID_VALUE, control::Control, state, texels::Texels};

/// The name of an object in its context: buffers and images have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectName {
    pub(crate) context: usize,
    pub(crate) is_image: bool,
    pub(crate) name: u32,
}

/// An object of OpenGL.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) contents: Vec<u8>,
    /// The array of an image.
    pub(crate) image: Option<ArrayDescriptor>,
}

/// The memory of an object while it is mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mapping {
    Memory(usize),
    /// The handle of an array.
    Array(usize),
}

/// An object that is registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisteredObject {
    pub(crate) object: ObjectName,
    /// Whether kernels may write an image through surfaces.
    pub(crate) has_surfaces: bool,
    pub(crate) map_flags: u32,
    pub(crate) mapping: Option<Mapping>,
}

/// All objects, and those that are registered by their handles.
#[derive(Debug, Default)]
pub(crate) struct Graphics {
    pub(crate) objects: HashMap<ObjectName, Object>,
    pub(crate) resources: HashMap<usize, RegisteredObject>,
}

impl Graphics {
    pub(crate) fn forget_context(&mut self, context: usize) {
        self.objects.retain(|name, _| name.context != context);
        self.resources.retain(|_, resource| resource.object.context != context);
    }
}

impl Control {
    /// Declares a buffer of OpenGL, or an image with an array of that description, whose elements follow each other in C order.
    ///
    /// # Errors
    /// When the context is gone. `CUDA_ERROR_INVALID_VALUE` for contents of another size than the array has.
    pub fn declare_graphics(self, name: u32, image: Option<ArrayDescriptor>, contents: &[u8]) -> Result<(), CudaCode> {
        let is_whole =
            |array: ArrayDescriptor| Texels::of_descriptor(&array).is_some_and(|(_, bytes)| bytes == contents.len());
        if !image.is_none_or(is_whole) {
            return Err(CudaCode(INVALID_VALUE));
        }
        let name = ObjectName { context: self.as_raw() as usize, is_image: image.is_some(), name };
        answer(|state| {
            state.context(name.context)?;
            state.graphics.objects.insert(name, Object { contents: contents.to_vec(), image });
            Ok(())
        })
    }

    /// The contents of an object that was declared.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that was not, `CUDA_ERROR_ALREADY_MAPPED` while it is mapped, when OpenGL must not use it.
    pub fn graphics_contents(self, name: u32, is_image: bool) -> Result<Vec<u8>, CudaCode> {
        let name = ObjectName { context: self.as_raw() as usize, is_image, name };
        answer(|state| {
            let mut resources = state.graphics.resources.values();
            if resources.any(|resource| resource.object == name && resource.mapping.is_some()) {
                return Err(ALREADY_MAPPED);
            }
            state.graphics.objects.get(&name).map(|object| object.contents.clone()).ok_or(INVALID_VALUE)
        })
    }
}

fn answer<T>(work: impl FnOnce(&mut state::DriverState) -> Result<T, i32>) -> Result<T, CudaCode> {
    state::answer(work).map_err(CudaCode)
}
