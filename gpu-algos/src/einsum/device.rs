//! The steps of an einsum on a GPU.

use std::marker::PhantomData;

use gpu_array::{
    ArrayError, GpuArray, GpuView,
    expression::{Expr, IntoExpr, checked_len},
    gpu_driver::Stream,
};
use ndarray::{Axis, IxDyn};

use super::{
    element::EinsumElement,
    plan::{self, Contract, EinsumPlan, Evaluator, Matrices, Product},
    subscripts::Subscripts,
};
use crate::{Result, common::launch, matmul::RequestedPrecision, reduce::own_sum};

/// An array that is given, or one that a step has made.
enum Factor<'a, T: EinsumElement> {
    Given(GpuView<'a, T, IxDyn>),
    Made(GpuArray<T, IxDyn>),
}

impl<T: EinsumElement> Factor<'_, T> {
    fn view(&self) -> GpuView<'_, T, IxDyn> {
        match self {
            Self::Given(view) => view.clone(),
            Self::Made(array) => array.view(),
        }
    }
}

pub(super) fn einsum<T: EinsumElement>(
    subscripts: &str,
    operands: Vec<GpuView<'_, T, IxDyn>>,
    precision: RequestedPrecision,
) -> Result<GpuArray<T, IxDyn>> {
    let shapes: Vec<&[usize]> = operands.iter().map(GpuView::shape).collect();
    let plan = EinsumPlan::new(&Subscripts::new(subscripts, &shapes)?, &shapes);
    let views = operands.iter().zip(&plan.views).map(|(operand, axes)| Ok(Factor::Given(diagonals(operand, axes)?)));
    let views = views.collect::<Result<Vec<_>>>()?;
    match plan::run(&Steps { precision, operands: PhantomData }, &plan, views)? {
        Factor::Given(view) => Ok(view.to_standard_layout()?),
        Factor::Made(array) => Ok(array),
    }
}

/// The view whose axes are these diagonals, without the axes of length 1 that are in none.
fn diagonals<'a, T: EinsumElement>(
    operand: &GpuView<'a, T, IxDyn>,
    axes: &[Vec<usize>],
) -> Result<GpuView<'a, T, IxDyn>> {
    let mut view = operand.clone();
    // The axes of the operand that each axis of the view is.
    let mut left: Vec<usize> = (0..operand.ndim()).collect();
    for axis in (0..operand.ndim()).rev().filter(|axis| !axes.iter().flatten().any(|other| other == axis)) {
        view = view.index_axis(Axis(axis), 0)?;
        left.remove(axis);
    }
    let place = |left: &[usize], axis: usize| left.iter().position(|&other| other == axis).unwrap_or_default();
    for diagonal in axes {
        for &other in &diagonal[1..] {
            let (a, b) = (place(&left, diagonal[0]), place(&left, other));
            view = view.diagonal_of(0, Axis(a), Axis(b))?;
            left.retain(|&axis| axis != diagonal[0] && axis != other);
            left.push(diagonal[0]);
        }
    }
    let order: Vec<usize> = axes.iter().map(|diagonal| place(&left, diagonal[0])).collect();
    Ok(view.permuted_axes(order)?)
}

struct Steps<'a, T> {
    precision: RequestedPrecision,
    operands: PhantomData<&'a T>,
}

impl<'a, T: EinsumElement> Evaluator for Steps<'a, T> {
    type Array = Factor<'a, T>;

    fn sum(&self, array: &Self::Array, axes: &[usize]) -> Result<Self::Array> {
        let axes: Vec<Axis> = axes.iter().copied().map(Axis).collect();
        Ok(Factor::Made(own_sum(&array.view().into_expr()).axes(&axes).eval()?))
    }

    fn product(&self, factors: &[Self::Array], of: &Product) -> Result<Self::Array> {
        let views: Vec<_> = factors.iter().map(Factor::view).collect();
        Ok(Factor::Made(product(&views, of)?))
    }

    fn contract(&self, factors: &[Self::Array], of: &Contract) -> Result<Self::Array> {
        Ok(Factor::Made(contract([&factors[0].view(), &factors[1].view()], of, self.precision)?))
    }
}

/// The broadcast product of arrays.
pub(super) fn product<T: EinsumElement>(
    factors: &[GpuView<'_, T, IxDyn>],
    Product { axes, shape, .. }: &Product,
) -> Result<GpuArray<T, IxDyn>> {
    let views = factors.iter().zip(axes).map(|(view, axes)| spread(view, axes, shape.len()));
    let views = views.collect::<Result<Vec<_>>>()?;
    let values = views.iter().map(|view| -> Expr<'_, T, IxDyn> { view.into_expr() });
    let (Some(value), Some(first)) = (values.reduce(|value, factor| value * factor), views.first()) else {
        unreachable!("products have factors")
    };
    let mut result = allocate(first.stream(), shape)?;
    result.assign(value)?;
    Ok(result)
}

/// The stack of matrix products of two arrays.
pub(super) fn contract<T: EinsumElement>(
    [a, b]: [&GpuView<'_, T, IxDyn>; 2],
    contract: &Contract,
    precision: RequestedPrecision,
) -> Result<GpuArray<T, IxDyn>> {
    let Matrices { orders, shapes, joined, result: natural } =
        contract.matrices([a.shape(), b.shape()], [a.strides(), b.strides()]);
    let [in_a, in_b] = orders;
    let (a, b) = (a.permuted_axes(in_a)?, b.permuted_axes(in_b)?);
    let (own_a, own_b) = (copy_unless_joined(&a, &shapes[0])?, copy_unless_joined(&b, &shapes[1])?);
    let order = &contract.order;
    let shape: Vec<usize> = order.iter().map(|&axis| natural[axis]).collect();
    let mut result = allocate(a.stream(), &shape)?;
    let a = own_a.as_ref().map_or_else(|| a.clone(), GpuArray::view).reshape(&shapes[0][..])?;
    let b = own_b.as_ref().map_or_else(|| b.clone(), GpuArray::view).reshape(&shapes[1][..])?;
    // The axes of the matrices within the result.
    let inverse: Vec<usize> =
        (0..order.len()).filter_map(|axis| order.iter().position(|&other| other == axis)).collect();
    if let Ok(target) = result.permuted_axes_mut(inverse)?.reshape_mut(&joined[..]) {
        T::multiply(a, b, target, precision)?;
        return Ok(result);
    }
    let mut matrices = allocate(a.stream(), &joined)?;
    T::multiply(a, b, matrices.view_mut(), precision)?;
    result.assign(matrices.reshape(&natural[..])?.permuted_axes(&order[..])?)?;
    Ok(result)
}

/// Memory for a result, whose shape may be beyond any array's if operands are broadcast.
fn allocate<T: EinsumElement>(stream: &Stream, shape: &[usize]) -> Result<GpuArray<T, IxDyn>> {
    checked_len(shape)?;
    launch::allocate(stream, IxDyn(shape))
}

/// The view with its axes in the places `axes` of `ndim` axes, and axes of length 1 in the others.
fn spread<'a, T: EinsumElement>(
    view: &GpuView<'a, T, IxDyn>,
    axes: &[usize],
    ndim: usize,
) -> Result<GpuView<'a, T, IxDyn>> {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&axis| axes[axis]);
    let mut view = view.permuted_axes(order)?;
    for axis in (0..ndim).filter(|axis| !axes.contains(axis)) {
        view = view.insert_axis(Axis(axis))?;
    }
    Ok(view)
}

/// A copy in C order of an array whose strides do not allow the view in a shape; None if they do.
fn copy_unless_joined<T: EinsumElement>(
    array: &GpuView<'_, T, IxDyn>,
    shape: &[usize],
) -> Result<Option<GpuArray<T, IxDyn>>> {
    match array.reshape(shape) {
        Ok(_) => Ok(None),
        Err(ArrayError::ReshapeNeedsCopy { .. }) => Ok(Some(array.to_standard_layout()?)),
        Err(error) => Err(error.into()),
    }
}
