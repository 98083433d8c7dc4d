//! Sums of products by labels of axes, on all threads.

use std::marker::PhantomData;

use gpu_array::expression::{Expr, Host, checked_len, host};
use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Axis, CowArray, Dimension, IxDyn};

use super::{
    Sum,
    matmul::{multiply_by, reshaped},
    reduce_axes,
};
use crate::{
    Result,
    common::shape::dim_of,
    einsum::{
        EinsumElement, EinsumOperands,
        plan::{self, Contract, EinsumPlan, Evaluator, Matrices, Product},
        products::{Inner, kronecker, of_last_axes},
        subscripts::Subscripts,
    },
};

/// NumPy's `einsum`: sums of products of elements by labels of axes, for arrays of any layout.
///
/// Subscripts, shapes and the order of evaluation are those of [`einsum`](fn@crate::einsum::einsum) on a GPU. Sums over axes are those of
/// [`sum`](crate::host::sum), in the type of the elements, in which integers wrap; matrix products are those of [`matmul()`](crate::host::matmul()).
///
/// # Determinism
/// Bitwise the same for any number of threads.
///
/// # Cost
/// One pass for each sum and product, one matrix product for each pair of operands with a summed label. Diagonals are copied, and so are arrays whose
/// axes cannot be joined to matrices, on one thread.
///
/// # Errors
/// `Subscripts`, `SubscriptOperands`, `SubscriptAxes`, `LabelLength`; `TooLarge`, also in `Array`.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// let (a, x) = (array![[1.0, 2.0], [3.0, 4.0]], array![10.0, 1.0]);
/// assert_eq!(host::einsum("ij,j->i", (&a, &x))?, array![12.0, 34.0].into_dyn());
/// assert_eq!(host::einsum("ij->ji", [&a])?, a.t().into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn einsum<'a, T: EinsumElement>(
    subscripts: &str,
    operands: impl EinsumOperands<ArrayViewD<'a, T>>,
) -> Result<ArrayD<T>> {
    let operands = operands.into_views();
    let shapes: Vec<&[usize]> = operands.iter().map(ArrayViewD::shape).collect();
    let plan = EinsumPlan::new(&Subscripts::new(subscripts, &shapes)?, &shapes);
    checked_len(&plan.shape)?;
    let views = operands.iter().zip(&plan.views).map(|(operand, axes)| diagonals(operand, axes)).collect();
    let result = plan::run(&Steps::new(), &plan, views)?;
    Ok(result.as_standard_layout().into_owned())
}

/// NumPy's `kron`, the array of blocks `a[i] * b`, as [`kron`](crate::einsum::kron) on a GPU.
///
/// # Cost
/// One pass, which writes each element of the result once.
///
/// # Errors
/// `Array` with `TooLarge`.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// assert_eq!(host::kron(&array![1, 10], &array![1, 2, 3])?, array![1, 2, 3, 10, 20, 30]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn kron<'a, 'b, T: EinsumElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, D>>,
) -> Result<Array<T, D>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    let (product, shape) = kronecker(a.shape(), b.shape())?;
    let blocks = Steps::new().product(&[a.into(), b.into()], &product)?;
    let result = blocks.as_standard_layout().into_owned().into_shape_with_order(dim_of::<D>("kron", &shape)?);
    Ok(result.unwrap_or_else(|_| unreachable!("the result has the product's elements")))
}

/// NumPy's `inner`, the sums of products over last axes, as [`inner`](crate::einsum::inner) on a GPU.
///
/// # Determinism
/// Bitwise the same for any number of threads.
///
/// # Cost
/// One contraction, as by [`einsum`].
///
/// # Errors
/// `AxisLengths`; those of [`einsum`] for arrays.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// assert_eq!(host::inner(&array![[1.0, 2.0], [3.0, 4.0]], &array![1.0, -1.0])?, array![-1.0, -1.0].into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn inner<'a, 'b, T: EinsumElement, D: Dimension, E: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<ArrayD<T>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    let result = match of_last_axes(a.shape(), b.shape())? {
        Inner::Scaled(product) => Steps::new().product(&[a.into(), b.into()], &product)?,
        Inner::Summed(contract) => Steps::new().contract(&[a.into(), b.into()], &contract)?,
    };
    Ok(result.as_standard_layout().into_owned())
}

type Factor<'a, T> = CowArray<'a, T, IxDyn>;

/// The view whose axes are these diagonals, without the axes of length 1 that are in none; a copy if a diagonal has several axes.
fn diagonals<'a, T: EinsumElement>(operand: &ArrayViewD<'a, T>, axes: &[Vec<usize>]) -> Factor<'a, T> {
    let order: Vec<usize> = axes.iter().flatten().copied().collect();
    if axes.len() == order.len() {
        let dropped = (0..operand.ndim()).filter(|axis| !order.contains(axis));
        let view = operand.clone().permuted_axes([&order[..], &dropped.collect::<Vec<_>>()].concat());
        let view = (order.len()..operand.ndim()).rev().fold(view, |view, axis| view.index_axis_move(Axis(axis), 0));
        return view.into();
    }
    let shape: Vec<usize> = axes.iter().map(|diagonal| operand.shape()[diagonal[0]]).collect();
    let mut index = vec![0; operand.ndim()];
    let element = |at: IxDyn| {
        for (place, diagonal) in axes.iter().enumerate() {
            diagonal.iter().for_each(|&axis| index[axis] = at[place]);
        }
        operand[&index[..]]
    };
    ArrayD::from_shape_fn(shape, element).into()
}

struct Steps<'a, T>(PhantomData<&'a T>);

impl<T> Steps<'_, T> {
    fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'a, T: EinsumElement> Evaluator for Steps<'a, T> {
    type Array = Factor<'a, T>;

    fn sum(&self, array: &Self::Array, axes: &[usize]) -> Result<Self::Array> {
        let axes: Vec<Axis> = axes.iter().copied().map(Axis).collect();
        Ok(reduce_axes(&Sum::<T>::new(), array.view(), &axes)?.mapv(T::narrowed).into())
    }

    fn product(&self, factors: &[Self::Array], product: &Product) -> Result<Self::Array> {
        let views = factors.iter().zip(&product.axes).map(|(factor, axes)| spread(factor, axes, product.shape.len()));
        let values = views.map(|view| -> Expr<'_, T, IxDyn, Host> { host(view) });
        let Some(value) = values.reduce(|value, factor| value * factor) else { unreachable!("products have factors") };
        Ok(value.eval()?.into())
    }

    fn contract(&self, factors: &[Self::Array], contract: &Contract) -> Result<Self::Array> {
        let (a, b) = (factors[0].view(), factors[1].view());
        let Matrices { orders, shapes, joined, result } =
            contract.matrices([a.shape(), b.shape()], [a.strides(), b.strides()]);
        checked_len(&joined)?;
        let [in_a, in_b] = orders;
        let (a, b) = (a.permuted_axes(in_a), b.permuted_axes(in_b));
        let (a, b) = (reshaped("einsum", &a, &shapes[0])?, reshaped("einsum", &b, &shapes[1])?);
        let product: ArrayD<T> = multiply_by(a.view(), b.view(), T::multiply_on_host)?;
        let product = product.into_shape_with_order(result);
        let product = product.unwrap_or_else(|_| unreachable!("the result has the product's elements"));
        Ok(product.permuted_axes(&contract.order[..]).into())
    }
}

/// The view with its axes in the places `axes` of `ndim` axes, and axes of length 1 in the others.
fn spread<'v, T>(factor: &'v Factor<'_, T>, axes: &[usize], ndim: usize) -> ArrayViewD<'v, T> {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&axis| axes[axis]);
    let view = factor.view().permuted_axes(order);
    (0..ndim).filter(|axis| !axes.contains(axis)).fold(view, |view, axis| view.insert_axis(Axis(axis)))
}
