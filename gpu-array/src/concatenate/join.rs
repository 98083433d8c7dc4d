//! The arrays of one number of axes, one after the other.

use gpu_driver::Stream;
use ndarray::{Array, Axis, Dimension, IxDyn, Slice};

use super::{
    JoinPart,
    axes::{JoinAxes, memory_order},
    launch, plan,
    policy::{JoinPolicy, TRANSPOSED_ELEMENTS},
};
use crate::{
    ArrayError, Element, GpuArray, Result,
    allocate::allocate,
    expression::{Expr, Host, device::MAX_AXES, graph::Leaf, job},
    layout::{Layout, checked_len},
    shape::{Shape, Strides},
};

/// The shortest axes that are worth a tile in shared memory.
const SHORTEST_TILED: usize = 16;

/// An array that is joined with others on a device.
struct JoinedArray<'s, 'a, T: Element, D: Dimension> {
    expr: &'s Expr<'a, T, D>,
    leaf: &'s Leaf<'a>,
    home: &'s Stream,
    layout: Layout<IxDyn>,
}

impl<'s, 'a, T: Element, D: Dimension> JoinedArray<'s, 'a, T, D> {
    /// The array, if its elements can be read now.
    fn of(op: &'static str, expr: &'s Expr<'a, T, D>) -> Result<Self> {
        let leaf = expr.value.as_array(op)?;
        leaf.memory.check()?;
        let home = leaf.memory.home().ok_or(ArrayError::NoHome)?;
        Ok(Self { expr, leaf, home, layout: leaf.layout().0 })
    }

    /// Checks that a launch can read its elements beside those of the first one.
    fn check_device(&self, first: &Self) -> Result<()> {
        if first.home.device() == self.home.device() {
            return Ok(());
        }
        let (left_device, right_device) = (first.home.device().ordinal(), self.home.device().ordinal());
        let (left, right) = (format!("{:?}", first.expr), format!("{:?}", self.expr));
        Err(ArrayError::Devices { left, left_device, right, right_device })
    }
}

/// The arrays one after the other along an axis, on the device of the first.
#[track_caller]
pub(crate) fn join<T: Element, D: Dimension>(
    op: &'static str,
    axis: Axis,
    arrays: &[Expr<'_, T, D>],
) -> Result<GpuArray<T, D>> {
    let sources = arrays.iter().map(|expr| JoinedArray::of(op, expr)).collect::<Result<Vec<_>>>()?;
    let shape = joined_shape(op, axis, sources.iter().map(|source| &source.leaf.shape[..]))?;
    let first = &sources[0];
    sources.iter().try_for_each(|source| source.check_device(first))?;
    let only_fortran = |source: &JoinedArray<'_, '_, T, D>| source.layout.is_f_contiguous();
    let fortran = sources.iter().all(only_fortran) && !sources.iter().all(|source| source.layout.is_c_contiguous());
    let dim = IxDyn(&shape);
    let layout = if fortran { Layout::f(dim)? } else { Layout::c(dim)? }.into_dimensionality()?;
    let mut result = GpuArray::from_parts(allocate(first.home, layout.len())?, layout);
    copy_all(&mut result, axis.0, fortran, &sources)?;
    Ok(result)
}

/// The arrays one after the other along an axis, on the host.
pub(crate) fn join_on_host<T: Element, D: Dimension>(
    op: &'static str,
    axis: Axis,
    arrays: &[Expr<'_, T, D, Host>],
) -> Result<Array<T, D>> {
    let leaves = arrays.iter().map(|expr| expr.value.as_array(op)).collect::<Result<Vec<_>>>()?;
    let shape = joined_shape(op, axis, leaves.iter().map(|leaf| &leaf.shape[..]))?;
    let mut result = job::new_host_array(&shape, IxDyn(&shape))?;
    let mut start = 0;
    for leaf in leaves {
        let end = start + leaf.shape[axis.0];
        // An array without elements has no view.
        if let Some(view) = leaf.host_array::<T>() {
            result.slice_axis_mut(axis, Slice::from(start..end)).assign(&view);
        }
        start = end;
    }
    let other = |_| ArrayError::Ndim { op, expected: D::NDIM.unwrap_or_default(), got: shape.len() };
    result.into_dimensionality().map_err(other)
}

/// The shape of the result.
fn joined_shape<'s>(
    op: &'static str,
    axis: Axis,
    mut shapes: impl Iterator<Item = &'s [usize]> + Clone,
) -> Result<Shape> {
    let all = shapes.clone();
    let Some(first) = shapes.next() else { return Err(ArrayError::NoArrays { op }) };
    if axis.0 >= first.len() {
        return Err(ArrayError::Axis { op, axis: axis.0, ndim: first.len() });
    }
    let mut shape = Shape::from_slice(first);
    shape[axis.0] = 0;
    for (number, got) in all.enumerate() {
        let fits = |(other, (a, b)): (usize, (&usize, &usize))| other == axis.0 || a == b;
        if first.len() != got.len() || !first.iter().zip(got).enumerate().all(fits) {
            let (expected, got) = (first.to_vec(), got.to_vec());
            return Err(ArrayError::Join { op, axis: axis.0, number, expected, got });
        }
        // A length that is too large is refused with the shape.
        shape[axis.0] = shape[axis.0].saturating_add(got[axis.0]);
    }
    checked_len(&shape)?;
    Ok(shape)
}

fn copy_all<T: Element, D: Dimension>(
    result: &mut GpuArray<T, D>,
    axis: usize,
    fortran: bool,
    sources: &[JoinedArray<'_, '_, T, D>],
) -> Result<()> {
    let order = memory_order(result.ndim(), fortran);
    let stream = result.stream().clone();
    let (shape, strides) = (Shape::from_slice(result.shape()), Strides::from_slice(result.strides()));
    let places = places(result, axis, sources);
    let (mut parts, mut apart) = (Vec::with_capacity(sources.len()), Vec::new());
    for (source, place) in sources.iter().zip(&places).filter(|(source, _)| !source.layout.is_empty()) {
        if source.layout.len() >= TRANSPOSED_ELEMENTS && crosses(&source.layout, &order) {
            apart.push((source, place));
        } else {
            parts.push(part(result, axis, source, place));
        }
    }
    let axes = JoinAxes::of(&parts, &shape, &strides, &order, axis);
    if axes.rank() > MAX_AXES {
        apart = sources.iter().zip(&places).collect();
    } else if !parts.is_empty() {
        let policy = JoinPolicy::of(size_of::<T::Storage>(), axes.rank(), parts.len());
        // A graph holds no copy from the host.
        let is_apart = policy.is_table_in_memory() && stream.is_capturing()?;
        let policy = if is_apart { policy.with_most_parts() } else { policy };
        let at_once = if policy.is_table_in_memory() { parts.len() } else { policy.parts };
        for (parts, strides) in parts.chunks(at_once).zip(axes.parts.chunks(at_once)) {
            let too_large = || ArrayError::TooLarge { shape: shape.to_vec() };
            let launch = plan::launch(parts, strides, &axes, &policy).ok_or_else(too_large)?;
            launch::enqueue(launch, &policy, &stream)?;
        }
    }
    apart
        .into_iter()
        .try_for_each(|(source, place)| job::assign(&result.view_mut().with(place.clone()), &source.expr.value))
}

/// The place of each array in the result.
fn places<T: Element, D: Dimension>(
    result: &GpuArray<T, D>,
    axis: usize,
    sources: &[JoinedArray<'_, '_, T, D>],
) -> Vec<Layout<D>> {
    let ends = sources.iter().scan(0, |end, source| {
        let start = *end;
        *end += source.leaf.shape[axis];
        Some((start, *end))
    });
    ends.map(|(start, end)| result.layout().part(axis, start, end)).collect()
}

/// The part that copies an array to its place.
fn part<'s, T: Element, D: Dimension>(
    result: &GpuArray<T, D>,
    axis: usize,
    source: &JoinedArray<'s, '_, T, D>,
    place: &Layout<D>,
) -> JoinPart<'s> {
    JoinPart {
        from: source.leaf.address(source.leaf.offset),
        to: result.data().as_raw() + (place.offset() * size_of::<T::Storage>()) as u64,
        length: source.leaf.shape[axis],
        strides: source.leaf.strides.clone(),
        home: source.home,
    }
}

/// Whether neighbours in memory lie along another axis than the innermost of the result, so that tiles in shared memory serve better.
fn crosses<D: Dimension>(layout: &Layout<D>, order: &[usize]) -> bool {
    let mut axes = order.iter().map(|&axis| (layout.shape()[axis], layout.strides()[axis])).filter(|&(len, _)| len > 1);
    let along_result = |(len, stride): (usize, isize)| len < SHORTEST_TILED || stride == 0 || stride == 1;
    let Some(inner) = axes.next() else { return false };
    !along_result(inner) && axes.any(|(len, stride)| len >= SHORTEST_TILED && stride == 1)
}
