//! Objects that stand for those of OpenGL: a program declares them through [`Control`](crate::Control), and the driver's calls register and map them.
//!
//! There is no OpenGL behind them. An object's contents lie on the host; a mapping is fresh memory with a copy of them, which the end of the mapping
//! copies back. So a kernel that uses a mapping too late touches memory that is gone.

use std::collections::HashMap;

use gpu_driver_core::texels::ArrayDescriptor;

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
