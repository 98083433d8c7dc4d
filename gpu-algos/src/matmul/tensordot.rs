//! Sums of products over pairs of axes: NumPy's `tensordot`, as one matrix product.

use std::cmp::Reverse;

use gpu_array::{ArrayError, GpuArray, GpuView, GpuViewMut, expression::checked_len};
use ndarray::{ArrayViewD, Dimension, Ix2, IxDyn};

use super::{element::MatmulElement, methods::Matmul, precision::RequestedPrecision, product::MatrixProduct};
use crate::{AlgoError, Result};

/// The pairs of axes over which [`tensordot`] sums: NumPy's argument `axes`.
///
/// A number n stands for the last n axes of a and the first n of b, in order. Two lists name axes of a and of b; axis `i` of the one
/// belongs to axis `i` of the other.
///
/// ```
/// use gpu_algos::matmul::SummedAxes;
/// assert_eq!(SummedAxes::from(2), SummedAxes::Count(2));
/// assert_eq!(SummedAxes::from(([0, 2], [1, 0])), SummedAxes::Pairs(vec![0, 2], vec![1, 0]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummedAxes {
    /// The last axes of a and the first of b.
    Count(usize),
    /// Axes of a, and the axes of b that belong to them.
    Pairs(Vec<usize>, Vec<usize>),
}

impl From<usize> for SummedAxes {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl<const N: usize> From<([usize; N], [usize; N])> for SummedAxes {
    fn from((a, b): ([usize; N], [usize; N])) -> Self {
        Self::Pairs(a.into(), b.into())
    }
}

impl From<(&[usize], &[usize])> for SummedAxes {
    fn from((a, b): (&[usize], &[usize])) -> Self {
        Self::Pairs(a.into(), b.into())
    }
}

/// The axes of two arrays, parted into those that are summed in pairs and those of the result.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    /// Axes of a and of b that are summed, in pairs.
    summed: [Vec<usize>; 2],
    /// The other axes of a and of b.
    free: [Vec<usize>; 2],
    lengths: [Vec<usize>; 2],
}

impl Contraction {
    /// # Errors
    /// Those of [`tensordot`] for axes.
    pub(crate) fn new(op: &'static str, a: &[usize], b: &[usize], axes: SummedAxes) -> Result<Self> {
        let is_axis = |axis: usize, ndim: usize| {
            if axis < ndim { Ok(()) } else { Err(ArrayError::Axis { op, axis, ndim }) }
        };
        let (on_a, on_b) = match axes {
            SummedAxes::Count(0) => (Vec::new(), Vec::new()),
            SummedAxes::Count(count) => {
                is_axis(count - 1, a.len())?;
                is_axis(count - 1, b.len())?;
                ((a.len() - count..a.len()).collect(), (0..count).collect())
            }
            SummedAxes::Pairs(on_a, on_b) => (on_a, on_b),
        };
        if on_a.len() != on_b.len() {
            return Err(AlgoError::AxisPairs { op, left: on_a.len(), right: on_b.len() });
        }
        for (axes, shape) in [(&on_a, a), (&on_b, b)] {
            for (i, &axis) in axes.iter().enumerate() {
                is_axis(axis, shape.len())?;
                if axes[..i].contains(&axis) {
                    return Err(AlgoError::RepeatedAxis { op, axis });
                }
            }
        }
        if let Some((&left_axis, &right_axis)) = on_a.iter().zip(&on_b).find(|&(&i, &j)| a[i] != b[j]) {
            return Err(AlgoError::AxisLengths { op, left_axis, left: a.to_vec(), right_axis, right: b.to_vec() });
        }
        let free = |shape: &[usize], summed: &[usize]| (0..shape.len()).filter(|axis| !summed.contains(axis)).collect();
        let free = [free(a, &on_a), free(b, &on_b)];
        Ok(Self { summed: [on_a, on_b], free, lengths: [a.to_vec(), b.to_vec()] })
    }

    /// The axes of two arrays on the host, and both with their axes in the order of the matrix product.
    ///
    /// # Errors
    /// Those of [`Contraction::new`]; `TooLarge` for a result that no array can have.
    pub(crate) fn on_host<'a, 'b, T>(
        a: ArrayViewD<'a, T>,
        b: ArrayViewD<'b, T>,
        axes: SummedAxes,
    ) -> Result<(Self, ArrayViewD<'a, T>, ArrayViewD<'b, T>)> {
        let contraction = Self::new("tensordot", a.shape(), b.shape(), axes)?;
        let shape = contraction.result();
        if checked_len(&shape).is_err() {
            return Err(AlgoError::TooLarge { op: "tensordot", shape });
        }
        let (a, b) = (a.permuted_axes(contraction.left_order()), b.permuted_axes(contraction.right_order()));
        Ok((contraction, a, b))
    }

    /// Sorts the pairs by the strides of the larger array, the largest first, so that axes that can be joined are neighbours.
    fn sort_pairs(&mut self, strides: [&[isize]; 2]) {
        let elements = self.lengths.each_ref().map(|lengths| lengths.iter().product::<usize>());
        let larger = usize::from(elements[1] > elements[0]);
        let mut pairs: Vec<_> = self.summed[0].iter().copied().zip(self.summed[1].iter().copied()).collect();
        pairs.sort_by_key(|&(i, j)| Reverse(strides[larger][[i, j][larger]].unsigned_abs()));
        let (on_a, on_b) = pairs.into_iter().unzip();
        self.summed = [on_a, on_b];
    }

    /// The order of the axes of a: those of the result, then those that are summed.
    pub(crate) fn left_order(&self) -> Vec<usize> {
        [&self.free[0][..], &self.summed[0]].concat()
    }

    /// The order of the axes of b: those that are summed, then those of the result.
    pub(crate) fn right_order(&self) -> Vec<usize> {
        [&self.summed[1][..], &self.free[1]].concat()
    }

    fn lengths_of(&self, operand: usize, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|&axis| self.lengths[operand][axis]).collect()
    }

    /// Lengths of the axes of the result that a has, of those that are summed, and of the axes of the result that b has.
    pub(crate) fn parts(&self) -> [Vec<usize>; 3] {
        [self.lengths_of(0, &self.free[0]), self.lengths_of(0, &self.summed[0]), self.lengths_of(1, &self.free[1])]
    }

    /// The shape of the result.
    pub(crate) fn result(&self) -> Vec<usize> {
        let [rows, _, columns] = self.parts();
        [rows, columns].concat()
    }

    /// Rows, terms and columns of the matrix product.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        self.parts().map(|lengths| lengths.iter().product())
    }
}

/// The sums of products of elements of a and b over pairs of axes: NumPy's `tensordot(a, b, axes)`. Does not wait.
///
/// With the axes of a sorted into free ones i and summed ones k, and those of b into summed ones k and free ones j, the result is
/// `c[i.., j..] = sum a[i.., k..] b[k.., j..]` over all k. `tensordot(a, b, 1)` of matrices is their product, and `tensordot(a, b, 0)` has the
/// products of all pairs of elements, the outer product.
///
/// # Shapes
/// The free axes of a, then those of b, each in their order. Any number of axes; paired axes have one length, and none is broadcast. Without free axes
/// the result is a scalar, without axes. Over no elements the sums are 0.
///
/// # Element types
/// [`MatmulElement`], the same on both sides, with the arithmetic and the rounding of [`Matmul`], of which k is the number of terms: the product of the
/// lengths of summed axes.
///
/// # Determinism
/// As [`Matmul`]. The strides of the larger array choose the order of the summed axes, and so the order of additions.
///
/// # Cost
/// One matrix product. An array is read where it is if its free axes can be joined into one, and its summed axes too, as those of contiguous arrays
/// whose summed axes are the first or the last, and of their transposes. Otherwise it is copied first, by one launch into an array of its size.
///
/// # Errors
/// `Array` with `Axis` for an axis that an array does not have, and for a number of axes beyond those of an array; `RepeatedAxis`; `AxisPairs` for lists of
/// two lengths; `AxisLengths` for a pair of axes of two lengths; and those of [`MatrixProduct::eval`](super::MatrixProduct::eval).
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::tensordot};
///
/// let device = Device::first()?;
/// let a = GpuArray::<f32, _>::full(&device, (3, 4, 5), 1.0)?;
/// let b = GpuArray::<f32, _>::full(&device, (4, 3, 2), 0.5)?;
/// let c = tensordot(&a, &b, ([1, 0], [0, 1]))?; // sums of 12 products
/// assert_eq!(c.shape(), [5, 2]);
/// assert!(c.to_ndarray()?.iter().all(|&sum| sum == 6.0));
/// assert_eq!(tensordot(&a, &b, 0)?.shape(), [3, 4, 5, 4, 3, 2]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("contraction", "outer"))]
pub fn tensordot<'a, 'b, T, D, E>(
    a: impl Into<GpuView<'a, T, D>>,
    b: impl Into<GpuView<'b, T, E>>,
    axes: impl Into<SummedAxes>,
) -> Result<GpuArray<T, IxDyn>>
where
    T: MatmulElement,
    D: Dimension + 'a,
    E: Dimension + 'b,
{
    with_product(a.into().into_dyn(), b.into().into_dyn(), axes.into(), |contraction, product| {
        Ok(product.eval()?.into_shape(contraction.result())?)
    })
}

/// [`tensordot()`] of f32 in a [`Precision`](super::Precision).
///
/// # Errors
/// As [`tensordot()`].
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::{Precision, tensordot_with_precision}};
///
/// let device = Device::first()?;
/// let a = GpuArray::<f32, _>::full(&device, (64, 32, 1024), 0.5)?;
/// let b = GpuArray::<f32, _>::full(&device, (1024, 512), 0.25)?;
/// let c = tensordot_with_precision(Precision::Tf32, &a, &b, 1)?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn tensordot_with_precision<'a, 'b, D, E>(
    precision: impl Into<RequestedPrecision>,
    a: impl Into<GpuView<'a, f32, D>>,
    b: impl Into<GpuView<'b, f32, E>>,
    axes: impl Into<SummedAxes>,
) -> Result<GpuArray<f32, IxDyn>>
where
    D: Dimension + 'a,
    E: Dimension + 'b,
{
    with_product(a.into().into_dyn(), b.into().into_dyn(), axes.into(), |contraction, product| {
        Ok(product.precision(precision).eval()?.into_shape(contraction.result())?)
    })
}

/// [`tensordot()`] into an existing array or view of the result's shape, with any strides. Does not wait.
///
/// # Cost
/// That of [`tensordot()`]. A target whose axes of a, or of b, cannot be joined is written by a launch more, from an array of its size.
///
/// # Errors
/// As [`tensordot()`]; `OutShape`. After an error the target is as [`MatrixProduct::write_into`] leaves it.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::tensordot_into};
/// use ndarray::s;
///
/// let device = Device::first()?;
/// let a = GpuArray::<f32, _>::full(&device, (3, 4, 5), 1.0)?;
/// let b = GpuArray::<f32, _>::full(&device, (5, 2), 0.5)?;
/// let mut c = GpuArray::<f32, _>::zeros(&device, (3, 4, 8))?;
/// tensordot_into(&a, &b, 1, c.slice_mut(s![.., .., 2..4])?)?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn tensordot_into<'a, 'b, 'c, T, D, E, K>(
    a: impl Into<GpuView<'a, T, D>>,
    b: impl Into<GpuView<'b, T, E>>,
    axes: impl Into<SummedAxes>,
    target: impl Into<GpuViewMut<'c, T, K>>,
) -> Result<()>
where
    T: MatmulElement,
    D: Dimension + 'a,
    E: Dimension + 'b,
    K: Dimension + 'c,
{
    let mut target = target.into();
    with_product(a.into().into_dyn(), b.into().into_dyn(), axes.into(), |contraction, product| {
        let (expected, [m, _, n]) = (contraction.result(), contraction.sizes());
        if target.shape() != expected {
            return Err(AlgoError::OutShape { expected, got: target.shape().to_vec() });
        }
        match target.reshape_mut([m, n]) {
            Ok(matrix) => return product.write_into(matrix),
            Err(ArrayError::ReshapeNeedsCopy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(target.assign(&product.eval()?.into_shape(target.raw_dim())?)?)
    })
}

/// Calls `run` with the product of the arrays as matrices.
fn with_product<T: MatmulElement, R>(
    a: GpuView<'_, T, IxDyn>,
    b: GpuView<'_, T, IxDyn>,
    axes: SummedAxes,
    run: impl FnOnce(&Contraction, MatrixProduct<'_, T, Ix2>) -> Result<R>,
) -> Result<R> {
    let mut contraction = Contraction::new("tensordot", a.shape(), b.shape(), axes)?;
    contraction.sort_pairs([a.strides(), b.strides()]);
    let [m, k, n] = contraction.sizes();
    let (a, b) = (a.permuted_axes(contraction.left_order())?, b.permuted_axes(contraction.right_order())?);
    let (own_a, own_b) = (copy_unless_joined(&a, [m, k])?, copy_unless_joined(&b, [k, n])?);
    let a = as_matrix(&a, own_a.as_ref(), [m, k])?;
    let b = as_matrix(&b, own_b.as_ref(), [k, n])?;
    run(&contraction, (&a).matmul(&b))
}

/// A copy in C order of an array whose strides do not allow the view as a matrix; None if they do.
fn copy_unless_joined<T: MatmulElement>(
    array: &GpuView<'_, T, IxDyn>,
    matrix: [usize; 2],
) -> Result<Option<GpuArray<T, IxDyn>>> {
    match array.reshape(matrix) {
        Ok(_) => Ok(None),
        Err(ArrayError::ReshapeNeedsCopy { .. }) => Ok(Some(array.to_standard_layout()?)),
        Err(error) => Err(error.into()),
    }
}

/// The array, or its copy, as a matrix.
fn as_matrix<'v, T: MatmulElement>(
    array: &GpuView<'v, T, IxDyn>,
    copy: Option<&'v GpuArray<T, IxDyn>>,
    matrix: [usize; 2],
) -> Result<GpuView<'v, T, Ix2>> {
    Ok(match copy {
        Some(copy) => copy.reshape(matrix)?,
        None => array.reshape(matrix)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contraction(a: &[usize], b: &[usize], axes: impl Into<SummedAxes>) -> Result<Contraction> {
        Contraction::new("tensordot", a, b, axes.into())
    }

    #[test]
    fn axes_are_parted_as_numpy_parts_them() {
        let of_pairs = contraction(&[3, 4, 5], &[4, 3, 2], ([1, 0], [0, 1])).unwrap();
        assert_eq!((of_pairs.result(), of_pairs.sizes()), (vec![5, 2], [5, 12, 2]));
        assert_eq!((of_pairs.left_order(), of_pairs.right_order()), (vec![2, 1, 0], vec![0, 1, 2]));
        let of_count = contraction(&[2, 3, 4], &[3, 4, 5], 2).unwrap();
        assert_eq!((of_count.result(), of_count.sizes()), (vec![2, 5], [2, 12, 5]));
        let of_none = contraction(&[2, 3], &[4], 0).unwrap();
        assert_eq!((of_none.result(), of_none.sizes()), (vec![2, 3, 4], [6, 1, 4]));
        assert_eq!(contraction(&[2, 3], &[2, 3], ([0, 1], [0, 1])).unwrap().result(), [0; 0]);
    }

    #[test]
    fn pairs_are_sorted_by_the_strides_of_the_larger_array() {
        let mut sorted = contraction(&[3, 4, 5], &[4, 3, 2], ([1, 0], [0, 1])).unwrap();
        sorted.sort_pairs([&[20, 5, 1], &[6, 2, 1]]);
        assert_eq!((sorted.left_order(), sorted.right_order()), (vec![2, 0, 1], vec![1, 0, 2]));
        let mut sorted = contraction(&[3, 4], &[4, 3, 9], ([0, 1], [1, 0])).unwrap();
        sorted.sort_pairs([&[4, 1], &[27, -9, 1]]);
        assert_eq!((sorted.left_order(), sorted.right_order()), (vec![1, 0], vec![0, 1, 2]));
    }

    #[test]
    fn wrong_axes_are_errors() {
        let message = |a: &[usize], b: &[usize], axes: SummedAxes| contraction(a, b, axes).unwrap_err().to_string();
        assert_eq!(message(&[2, 3], &[3], 2.into()), "tensordot: no axis 1 among 1");
        assert_eq!(message(&[2, 3], &[3], ([2], [0]).into()), "tensordot: no axis 2 among 2");
        assert_eq!(message(&[2, 2], &[2, 2], ([1, 1], [0, 1]).into()), "tensordot: axis 1 is named twice");
        let lists: (&[usize], &[usize]) = (&[0, 1], &[0]);
        assert_eq!(
            message(&[2, 2], &[2, 2], lists.into()),
            "tensordot: 2 axes of a and 1 axes of b; each axis needs one to be paired with"
        );
        assert_eq!(
            message(&[2, 3], &[4, 5], 1.into()),
            "tensordot: axis 1 of a, of shape [2, 3], and axis 0 of b, of shape [4, 5], differ in length"
        );
    }
}
