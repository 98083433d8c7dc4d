//! Products of two arrays with names of their own: Kronecker products, and inner products of last axes.

use gpu_array::{GpuArray, GpuView, expression::checked_len};
use ndarray::{Dimension, IxDyn};

use super::{
    device,
    element::EinsumElement,
    plan::{Contract, Product},
};
use crate::{AlgoError, Result, common::shape::dim_of, matmul::RequestedPrecision};

/// The Kronecker product: NumPy's `kron(a, b)`, the array of blocks `a[i] * b`. Does not wait.
///
/// `c[i, j] = a[i / p, j / q] * b[i % p, j % q]` for a matrix b of shape (p, q).
///
/// # Shapes
/// Each length of the result is the product of those of a and of b. If the ranks differ, which they can for `IxDyn`, the array with fewer axes has axes
/// of length 1 in front.
///
/// # Element types
/// [`EinsumElement`], the same for both; integers wrap.
///
/// # Determinism
/// The same bits on every device.
///
/// # Cost
/// One launch, which writes each element of the result once.
///
/// # Errors
/// `Array` with `TooLarge` and the errors of expressions; `Driver`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{einsum::kron, gpu_array::{GpuArray, gpu_driver::Device}};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1, 2]])?;
/// let b = GpuArray::from_ndarray(&device, &array![[1, 0], [0, 1]])?;
/// assert_eq!(kron(&a, &b)?.to_ndarray()?, array![[1, 0, 2, 0], [0, 1, 0, 2]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("Kronecker", "tensor product"))]
pub fn kron<'a, 'b, T: EinsumElement, D: Dimension>(
    a: impl Into<GpuView<'a, T, D>>,
    b: impl Into<GpuView<'b, T, D>>,
) -> Result<GpuArray<T, D>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    let (product, shape) = kronecker(a.shape(), b.shape())?;
    let blocks = device::product(&[a, b], &product)?;
    Ok(blocks.into_shape(dim_of::<D>("kron", &shape)?)?)
}

/// The product of two arrays with the axes of both in turn, and the shape in which it is the Kronecker product.
pub(crate) fn kronecker(a: &[usize], b: &[usize]) -> Result<(Product, Vec<usize>)> {
    let ndim = a.len().max(b.len());
    let length = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(ndim).map_or(1, |own| shape[own]);
    let shape: Vec<usize> = (0..ndim).flat_map(|axis| [length(a, axis), length(b, axis)]).collect();
    checked_len(&shape)?;
    let own = |operand: &[usize], second: usize| (ndim - operand.len()..ndim).map(|axis| 2 * axis + second).collect();
    let joined = shape.chunks(2).map(|pair| pair[0] * pair[1]).collect();
    Ok((Product { operands: vec![0, 1], axes: vec![own(a, 0), own(b, 1)], shape }, joined))
}

/// The sums of products over the last axes of two arrays: NumPy's `inner(a, b)`. Does not wait.
///
/// `c[i.., j..] = sum a[i.., k] b[j.., k]` over k. Of vectors it is their dot product, of which [`dot`](crate::Reductions::dot) gives an operand of
/// expressions; of matrices it is `a.matmul(b.t())`. Complex numbers are not conjugated.
///
/// # Shapes
/// The axes of a but the last, then those of b. The last axes have one length. A value without axes multiplies the other array.
///
/// # Element types, determinism, cost
/// As [`einsum`](fn@super::einsum), as one contraction.
///
/// # Errors
/// `AxisLengths` for last axes of two lengths; those of [`einsum`](fn@super::einsum) for arrays.
///
/// # Example
/// ```no_run
/// use gpu_algos::{einsum::inner, gpu_array::{GpuArray, gpu_driver::Device}};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1, 2], [3, 4]])?;
/// assert_eq!(inner(&a, &a)?.to_ndarray()?, array![[5, 11], [11, 25]].into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn inner<'a, 'b, T: EinsumElement, D: Dimension + 'a, E: Dimension + 'b>(
    a: impl Into<GpuView<'a, T, D>>,
    b: impl Into<GpuView<'b, T, E>>,
) -> Result<GpuArray<T, IxDyn>> {
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    match of_last_axes(a.shape(), b.shape())? {
        Inner::Scaled(product) => device::product(&[a, b], &product),
        Inner::Summed(contract) => device::contract([&a, &b], &contract, RequestedPrecision::default()),
    }
}

/// An inner product.
pub(crate) enum Inner {
    /// The other array times a value without axes.
    Scaled(Product),
    Summed(Contract),
}

/// # Errors
/// `AxisLengths`.
pub(crate) fn of_last_axes(a: &[usize], b: &[usize]) -> Result<Inner> {
    let (Some(left_axis), Some(right_axis)) = (a.len().checked_sub(1), b.len().checked_sub(1)) else {
        let axes = vec![(0..a.len()).collect(), (0..b.len()).collect()];
        return Ok(Inner::Scaled(Product { operands: vec![0, 1], axes, shape: [a, b].concat() }));
    };
    if a[left_axis] != b[right_axis] {
        return Err(AlgoError::AxisLengths { op: "inner", left_axis, left: a.to_vec(), right_axis, right: b.to_vec() });
    }
    Ok(Inner::Summed(Contract::of_pair([left_axis, right_axis])))
}
