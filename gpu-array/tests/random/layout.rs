//! Views of arrays on a device, of the layouts that the test helpers make.

use gpu_array::{Element, GpuView, GpuViewMut, Result};
use ndarray::IxDyn;
use testkit::Layout;

/// The view of an array of the shape [`Layout::base`].
pub fn of_gpu<'a, T: Element>(layout: &Layout, array: GpuView<'a, T, IxDyn>) -> Result<GpuView<'a, T, IxDyn>> {
    let view = array.permuted_axes(layout.axes())?.slice(&layout.slices()[..])?;
    match layout.broadcast() {
        Some(shape) => view.broadcast(IxDyn(shape)),
        None => Ok(view),
    }
}

/// Calls `write` with the view of an array, to write; nothing is broadcast.
pub fn with_gpu_mut<T: Element>(
    layout: &Layout,
    array: &mut GpuViewMut<'_, T, IxDyn>,
    write: impl FnOnce(&mut GpuViewMut<'_, T, IxDyn>) -> Result<()>,
) -> Result<()> {
    write(&mut array.permuted_axes_mut(layout.axes())?.slice_mut(&layout.slices()[..])?)
}
