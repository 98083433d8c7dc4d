//! Arrays from and to ndarray.

use gpu_driver::{DeviceVec, Stream};
use ndarray::{Array, ArrayView, ArrayViewMut, CowArray, Dimension, ShapeBuilder};

use crate::{ArrayError, Element, GpuArray, GpuView, GpuViewMut, Result, dense, expression::job, layout::Layout};

/// A copy on the device, in Fortran order where the source is, else in C order.
#[track_caller]
pub(crate) fn from_ndarray<T: Element, D: Dimension>(
    home: &Stream,
    source: ArrayView<'_, T, D>,
) -> Result<GpuArray<T, D>> {
    let fortran = !source.is_standard_layout() && source.t().is_standard_layout();
    let layout = Layout::of(source.raw_dim().set_f(fortran))?;
    let ordered = in_order(&source, fortran);
    let stored = T::to_storage_slice(ordered.as_slice().unwrap_or_default());
    Ok(GpuArray::from_parts(DeviceVec::from_slice(home, &stored)?, layout))
}

pub(crate) fn copy_from_ndarray<T: Element, D: Dimension>(
    mut target: GpuViewMut<'_, T, D>,
    source: ArrayView<'_, T, D>,
) -> Result<()> {
    same_shape("copy_from_ndarray", target.shape(), source.shape())?;
    if !target.is_contiguous() {
        let staged = from_ndarray(target.stream(), source)?;
        return job::assign(&target, &staged.to_expr().value);
    }
    let ordered = in_order(&source, !target.is_standard_layout());
    let stored = T::to_storage_slice(ordered.as_slice().unwrap_or_default());
    target.covering_mut()?.copy_from_slice(&stored)?;
    target.note_overwritten();
    Ok(())
}

pub(crate) fn to_ndarray<T: Element, D: Dimension>(view: &GpuView<'_, T, D>) -> Result<Array<T, D>> {
    if !view.is_contiguous() {
        return to_ndarray(&dense::to_dense(view)?.view());
    }
    let elements = T::from_storage_vec(view.covering()?.to_vec()?);
    let shape = view.raw_dim().set_f(!view.is_standard_layout());
    let got = elements.len();
    let wrong = |_| ArrayError::Length { shape: view.shape().to_vec(), expected: view.len(), got };
    // The part has one element per place of the shape, so this holds.
    Array::from_shape_vec(shape, elements).map_err(wrong)
}

pub(crate) fn copy_to_ndarray<T: Element, D: Dimension>(
    view: &GpuView<'_, T, D>,
    mut target: ArrayViewMut<'_, T, D>,
) -> Result<()> {
    same_shape("copy_to_ndarray", target.shape(), view.shape())?;
    if !view.is_contiguous() {
        return copy_to_ndarray(&dense::to_dense(view)?.view(), target);
    }
    let part = view.covering()?;
    let mut ordered = if view.is_standard_layout() { target.view_mut() } else { target.view_mut().reversed_axes() };
    match ordered.as_slice_mut().and_then(T::as_storage_mut) {
        Some(elements) => part.copy_to_slice(elements)?,
        None => target.assign(&to_ndarray(view)?),
    }
    Ok(())
}

/// The elements in C order, or with axes reversed so that their C order is the Fortran order of the source.
fn in_order<'a, T: Element, D: Dimension>(source: &'a ArrayView<'_, T, D>, fortran: bool) -> CowArray<'a, T, D> {
    let standard = |view: ArrayView<'a, T, D>| {
        if view.is_standard_layout() { view.into() } else { view.as_standard_layout().into_owned().into() }
    };
    standard(if fortran { source.t() } else { source.view() })
}

pub(crate) fn same_shape(op: &'static str, expected: &[usize], got: &[usize]) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(ArrayError::Shape { op, expected: expected.to_vec(), got: got.to_vec() })
}
