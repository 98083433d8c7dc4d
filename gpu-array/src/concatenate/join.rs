//! The arrays of one number of axes, one after the other.

use ndarray::{Axis, Dimension};
use smallvec::SmallVec;

use super::{
    JoinPart,
    axes::{JoinAxes, memory_order},
    launch, plan,
    policy::{JoinPolicy, TRANSPOSED_ELEMENTS},
};
use crate::{
    ArrayError, Element, GpuArray, GpuView, Result,
    expression::{device, device::MAX_AXES, job},
    layout::Layout,
    pending::Pending,
    shape::Strides,
};

/// The shortest axes that are worth a tile in shared memory.
const SHORTEST_TILED: usize = 16;

/// The views one after the other along an axis.
#[track_caller]
pub(super) fn join<T: Element, D: Dimension>(
    op: &'static str,
    axis: Axis,
    views: &[GpuView<'_, T, D>],
) -> Result<GpuArray<T, D>> {
    let Some(first) = views.first() else { return Err(ArrayError::NoArrays { op }) };
    let dim = joined_dim(op, axis, first, views)?;
    views.iter().try_for_each(|view| usable(first, view))?;
    let only_fortran = |view: &GpuView<'_, T, D>| view.layout().is_f_contiguous();
    let fortran = views.iter().all(only_fortran) && !views.iter().all(GpuView::is_standard_layout);
    let layout = if fortran { Layout::f(dim)? } else { Layout::c(dim)? };
    let mut result = GpuArray::from_parts(device::allocate(first.stream(), layout.len())?, layout);
    copy_all(&mut result, axis.0, fortran, views)?;
    Ok(result)
}

/// The shape of the result.
fn joined_dim<T: Element, D: Dimension>(
    op: &'static str,
    axis: Axis,
    first: &GpuView<'_, T, D>,
    views: &[GpuView<'_, T, D>],
) -> Result<D> {
    if axis.0 >= first.ndim() {
        return Err(ArrayError::Axis { op, axis: axis.0, ndim: first.ndim() });
    }
    let mut dim = first.raw_dim();
    dim[axis.0] = 0;
    for (number, view) in views.iter().enumerate() {
        let (expected, got) = (first.shape(), view.shape());
        let fits = |(other, (a, b)): (usize, (&usize, &usize))| other == axis.0 || a == b;
        if expected.len() != got.len() || !expected.iter().zip(got).enumerate().all(fits) {
            let (expected, got) = (expected.to_vec(), got.to_vec());
            return Err(ArrayError::Join { op, axis: axis.0, number, expected, got });
        }
        // A length that is too large is refused with the shape.
        dim[axis.0] = dim[axis.0].saturating_add(got[axis.0]);
    }
    Ok(dim)
}

/// Checks that the elements of a view can be read by a launch beside those of the first one.
fn usable<T: Element, D: Dimension>(first: &GpuView<'_, T, D>, view: &GpuView<'_, T, D>) -> Result<()> {
    view.pending().map_or(Ok(()), Pending::check)?;
    view.layout().lies_within(view.data().len())?;
    if first.device() == view.device() {
        return Ok(());
    }
    let (left_device, right_device) = (first.device().ordinal(), view.device().ordinal());
    Err(ArrayError::Devices { left: format!("{first:?}"), left_device, right: format!("{view:?}"), right_device })
}

fn copy_all<T: Element, D: Dimension>(
    result: &mut GpuArray<T, D>,
    axis: usize,
    fortran: bool,
    views: &[GpuView<'_, T, D>],
) -> Result<()> {
    let order = memory_order(result.ndim(), fortran);
    let stream = result.stream().clone();
    let shape: SmallVec<[usize; 4]> = SmallVec::from_slice(result.shape());
    let strides = Strides::from_slice(result.strides());
    let places = places(result, axis, views);
    let (mut parts, mut apart) = (Vec::with_capacity(views.len()), Vec::new());
    for (view, place) in views.iter().zip(&places).filter(|(view, _)| !view.is_empty()) {
        if view.len() >= TRANSPOSED_ELEMENTS && crosses(view.layout(), &order) {
            apart.push((view, place));
        } else {
            parts.push(part(result, axis, view, place));
        }
    }
    let axes = JoinAxes::of(&parts, &shape, &strides, &order, axis);
    if axes.rank() > MAX_AXES {
        apart = views.iter().zip(&places).collect();
    } else {
        let policy = JoinPolicy::of(size_of::<T::Storage>(), axes.rank(), parts.len());
        for (parts, strides) in parts.chunks(policy.parts).zip(axes.parts.chunks(policy.parts)) {
            let too_large = || ArrayError::TooLarge { shape: shape.to_vec() };
            let launch = plan::launch(parts, strides, &axes, &policy).ok_or_else(too_large)?;
            launch::enqueue(&launch, &policy, &stream)?;
        }
    }
    apart
        .into_iter()
        .try_for_each(|(view, place)| job::assign(&result.view_mut().with(place.clone()), &view.to_expr().value))
}

/// The place of each view in the result.
fn places<T: Element, D: Dimension>(
    result: &GpuArray<T, D>,
    axis: usize,
    views: &[GpuView<'_, T, D>],
) -> Vec<Layout<D>> {
    let ends = views.iter().scan(0, |end, view| {
        let start = *end;
        *end += view.shape()[axis];
        Some((start, *end))
    });
    ends.map(|(start, end)| result.layout().part(axis, start, end)).collect()
}

/// The part that copies a view to its place.
fn part<'s, T: Element, D: Dimension>(
    result: &GpuArray<T, D>,
    axis: usize,
    view: &GpuView<'s, T, D>,
    place: &Layout<D>,
) -> JoinPart<'s> {
    let address = |start: u64, offset: usize| start + (offset * size_of::<T::Storage>()) as u64;
    JoinPart {
        from: address(view.data().as_raw(), view.layout().offset()),
        to: address(result.data().as_raw(), place.offset()),
        length: view.shape()[axis],
        strides: Strides::from_slice(view.strides()),
        home: view.data().home(),
    }
}

/// Whether neighbours in memory lie along another axis than the innermost of the result, so that tiles in shared memory serve better.
fn crosses<D: Dimension>(layout: &Layout<D>, order: &[usize]) -> bool {
    let mut axes = order.iter().map(|&axis| (layout.shape()[axis], layout.strides()[axis])).filter(|&(len, _)| len > 1);
    let along_result = |(len, stride): (usize, isize)| len < SHORTEST_TILED || stride == 0 || stride == 1;
    let Some(inner) = axes.next() else { return false };
    !along_result(inner) && axes.any(|(len, stride)| len >= SHORTEST_TILED && stride == 1)
}
