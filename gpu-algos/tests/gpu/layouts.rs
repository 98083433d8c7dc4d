//! Arrays on a device in the layouts that the test helpers make.

use gpu_algos::gpu_array::{self, Element, GpuArray, GpuView};
use ndarray::{ArrayD, IxDyn};
use testkit::{Layout, Rng};

/// The view of an array of the shape [`Layout::base`].
pub fn of_gpu<'a, T: Element>(
    layout: &Layout,
    base: &'a GpuArray<T, IxDyn>,
) -> gpu_array::Result<GpuView<'a, T, IxDyn>> {
    let view = base.view().permuted_axes(layout.axes())?.slice(&layout.slices()[..])?;
    match layout.broadcast() {
        Some(shape) => view.broadcast(IxDyn(shape)),
        None => Ok(view),
    }
}

/// An array of the shape [`Layout::base`], of random elements.
pub fn base<T>(layout: &Layout, rng: &mut Rng, mut element: impl FnMut(&mut Rng) -> T) -> ArrayD<T> {
    ArrayD::from_shape_simple_fn(IxDyn(&layout.base), || element(rng))
}
