//! The definition of sums of products by labels of axes.

use gpu_array::expression::checked_len;
use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Axis, Dimension, IntoDimension, IxDyn, indices};

use crate::{
    Result,
    common::shape::dim_of,
    einsum::{
        EinsumElement, EinsumOperands,
        products::{kronecker, of_last_axes},
        subscripts::{Label, Subscripts},
    },
    operators::Accumulator,
};

/// NumPy's `einsum`: for each index of the labels of the result, the products of all operands' elements, added over the other labels in the order in which
/// these first stand.
///
/// Sums and products of floats are carried in f64 and rounded once; integers wrap in the type of the elements.
///
/// # Errors
/// `Subscripts`, `SubscriptOperands`, `SubscriptAxes`, `LabelLength`, as [`einsum`](fn@crate::einsum::einsum) on a GPU; `Array` with `TooLarge`.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let a = array![[1, 2], [3, 4]];
/// assert_eq!(reference::einsum("ij,kj->ik", [&a, &a])?, array![[5, 11], [11, 25]].into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn einsum<'a, T: EinsumElement>(
    subscripts: &str,
    operands: impl EinsumOperands<ArrayViewD<'a, T>>,
) -> Result<ArrayD<T>> {
    let operands = operands.into_views();
    let shapes: Vec<&[usize]> = operands.iter().map(ArrayViewD::shape).collect();
    let subscripts = Subscripts::new(subscripts, &shapes)?;
    let mut labels = subscripts.output.clone();
    for &label in subscripts.operands.iter().flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    checked_len(&subscripts.shape())?;
    let lengths: Vec<usize> = labels.iter().map(|&label| subscripts.length(label)).collect();
    let (output, summed) = lengths.split_at(subscripts.output.len());
    // The element of an operand: index 0 of an axis of length 1, which is broadcast.
    let element = |operand: usize, at: &[usize]| {
        let index = |(label, &length): (&Label, &usize)| {
            let place = labels.iter().position(|other| other == label).unwrap_or_default();
            if length == 1 { 0 } else { at[place] }
        };
        let index: Vec<usize> = subscripts.operands[operand].iter().zip(shapes[operand]).map(index).collect();
        operands[operand][&index[..]].accumulated()
    };
    let mut result = Vec::new();
    for at in indices(IxDyn(output)) {
        let mut sum = T::Accumulator::ZERO;
        for summed in indices(IxDyn(summed)) {
            let at = [at.slice(), summed.slice()].concat();
            let factors = (0..operands.len()).map(|operand| element(operand, &at));
            // Not from ONE on, by which infinite complex numbers get a NaN.
            sum = sum.plus(factors.reduce(Accumulator::times).unwrap_or(T::Accumulator::ONE));
        }
        result.push(T::narrowed(T::rounded(sum)));
    }
    Ok(Array::from_shape_vec(output, result).unwrap_or_else(|_| unreachable!("a value for each place")))
}

/// NumPy's `kron`: `c[i..] = a[i / p ..] * b[i % p ..]` along each axis, whose length in b is p.
///
/// # Errors
/// `Array` with `TooLarge`.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// assert_eq!(reference::kron(&array![1, 10], &array![1, 2, 3])?, array![1, 2, 3, 10, 20, 30]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn kron<'a, 'b, T: EinsumElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, D>>,
) -> Result<Array<T, D>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    let (_, shape) = kronecker(a.shape(), b.shape())?;
    // Missing axes are axes of length 1 in front.
    let with_all = |array: ArrayViewD<'_, T>| {
        (array.ndim()..shape.len()).fold(array.to_owned(), |array, _| array.insert_axis(Axis(0)))
    };
    let (a, b) = (with_all(a), with_all(b));
    let element = |at: D| {
        let places = at.slice().iter().zip(b.shape());
        let (block, within): (Vec<usize>, Vec<usize>) = places.map(|(&i, &length)| (i / length, i % length)).unzip();
        T::narrowed(T::rounded(a[&block[..]].accumulated().times(b[&within[..]].accumulated())))
    };
    Ok(Array::from_shape_fn(dim_of::<D>("kron", &shape)?, |at| element(at.into_dimension())))
}

/// NumPy's `inner`: `sum a[i.., k] * b[j.., k]` over the last axes, or the multiples of an array by a value without axes.
///
/// # Errors
/// `AxisLengths`; `Array` with `TooLarge`.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// assert_eq!(reference::inner(&array![[1, 2], [3, 4]], &array![1, -1])?, array![-1, -1].into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn inner<'a, 'b, T: EinsumElement, D: Dimension, E: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<ArrayD<T>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    of_last_axes(a.shape(), b.shape())?;
    let has_axes = a.ndim().min(b.ndim()) > 0;
    let rows = |array: &ArrayViewD<'_, T>| -> Vec<Vec<T>> {
        match has_axes {
            true => array.rows().into_iter().map(|row| row.to_vec()).collect(),
            false => array.iter().map(|&value| vec![value]).collect(),
        }
    };
    let free = |array: &ArrayViewD<'_, T>| array.shape()[..array.ndim() - usize::from(has_axes)].to_vec();
    let shape = [free(&a), free(&b)].concat();
    checked_len(&shape)?;
    let mut result = Vec::new();
    let (rows, columns) = (rows(&a), rows(&b));
    for (x, y) in rows.iter().flat_map(|x| columns.iter().map(move |y| (x, y))) {
        let products = x.iter().zip(y).map(|(x, y)| x.accumulated().times(y.accumulated()));
        result.push(T::narrowed(T::rounded(products.fold(T::Accumulator::ZERO, Accumulator::plus))));
    }
    Ok(Array::from_shape_vec(shape, result).unwrap_or_else(|_| unreachable!("a value for each place")))
}
