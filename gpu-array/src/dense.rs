//! Elements of any layout to contiguous memory and back.

use gpu_driver::DeviceVec;
use ndarray::{ArrayView, Axis, Dimension};

use crate::{ArrayError, Element, GpuArray, GpuView, GpuViewMut, Result, layout::Layout};

/// A new array on the same stream with the same elements, in Fortran order where these are, else in C order.
pub(crate) fn to_dense<T: Element, D: Dimension>(view: &GpuView<'_, T, D>) -> Result<GpuArray<T, D>> {
    let layout = view.layout();
    if layout.is_c_contiguous() {
        return Ok(GpuArray::from_parts(view.covering()?.try_clone()?, Layout::c(view.raw_dim())?));
    }
    if layout.is_f_contiguous() {
        return Ok(GpuArray::from_parts(view.covering()?.try_clone()?, Layout::f(view.raw_dim())?));
    }
    let (stored, first) = (view.covering()?.to_vec()?, layout.span().start);
    let mut elements = Vec::new();
    // A view that is broadcast can have more elements than there is memory for.
    let too_large = |_| ArrayError::TooLarge { shape: view.shape().to_vec() };
    elements.try_reserve_exact(layout.len()).map_err(too_large)?;
    elements.extend(layout.offsets().map(|offset| stored[offset - first]));
    Ok(GpuArray::from_parts(DeviceVec::from_slice(view.stream(), &elements)?, Layout::c(view.raw_dim())?))
}

/// Overwrites the elements of `target` with those of `source`, which has its shape.
pub(crate) fn scatter<T: Element, D: Dimension>(
    mut target: GpuViewMut<'_, T, D>,
    source: ArrayView<'_, T, D>,
) -> Result<()> {
    let order = target.layout().memory_order();
    let axes: Vec<usize> = order.iter().map(|&(axis, _)| axis).collect();
    let mut source = source.into_dyn().permuted_axes(axes);
    for (i, &(_, backwards)) in order.iter().enumerate() {
        if backwards {
            source.invert_axis(Axis(i));
        }
    }
    let staged = GpuArray::from_ndarray(target.stream(), &source.as_standard_layout())?;
    let mut next = 0;
    target.for_each_run(|mut run| {
        let end = next + run.len();
        run.copy_from(staged.as_device_vec().slice(next..end)?)?;
        next = end;
        Ok(())
    })
}
