//! Elements of any layout to memory without gaps.

use ndarray::{Dimension, Shape, ShapeBuilder};

use crate::{Element, GpuArray, GpuView, Result, allocate::allocate, expression::job, layout::Layout};

/// The shape of a new array like one of that layout: in Fortran order where it is in that order alone, else in C order.
pub(crate) fn shape_of<D: Dimension>(layout: &Layout<D>) -> Shape<D> {
    layout.dim().clone().set_f(layout.is_f_contiguous() && !layout.is_c_contiguous())
}

/// A new array on the same stream with the same elements, in Fortran order where these are, else in C order: a copy by the driver, or a kernel
/// where they lie otherwise.
#[track_caller]
pub(crate) fn to_dense<T: Element, D: Dimension>(view: &GpuView<'_, T, D>) -> Result<GpuArray<T, D>> {
    let layout = view.layout();
    let dense = match (layout.is_c_contiguous(), layout.is_f_contiguous()) {
        (true, _) => Layout::c(view.raw_dim())?,
        (false, true) => Layout::f(view.raw_dim())?,
        (false, false) => return view.to_expr().eval(),
    };
    Ok(GpuArray::from_parts(view.covering()?.try_clone()?, dense))
}

/// A new array on the same stream with the same elements, in C order: a copy by the driver, or a kernel where they lie otherwise.
#[track_caller]
pub(crate) fn to_standard_layout<T: Element, D: Dimension>(view: &GpuView<'_, T, D>) -> Result<GpuArray<T, D>> {
    let layout = Layout::c(view.raw_dim())?;
    if view.layout().is_c_contiguous() {
        return Ok(GpuArray::from_parts(view.covering()?.try_clone()?, layout));
    }
    let mut copy = GpuArray::from_parts(allocate(view.stream(), layout.len())?, layout);
    job::assign(&copy.view_mut(), &view.to_expr().value)?;
    Ok(copy)
}
