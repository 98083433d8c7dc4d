//! Kernels that go through tiles of values, which are scans and selections: the order of the walk, the layout of operands, grids and parameters.

pub(crate) mod axes;
pub(crate) mod layout;
pub(crate) mod policy;
