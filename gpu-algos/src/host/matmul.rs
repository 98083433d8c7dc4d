//! Matrix products, and sums of products over pairs of axes, on all threads.

use gpu_array::{
    Element,
    expression::{checked_len, host},
};
use ndarray::{
    Array, ArrayD, ArrayView, ArrayView2, ArrayViewD, ArrayViewMut2, CowArray, Dimension, IxDyn, indices, s,
};
use rayon::prelude::*;

use super::parallel::ready;
use crate::{
    AlgoError, Result,
    matmul::{ByteElement, Contraction, MatmulDim, MatmulElement, MatmulShape, SummedAxes},
    reference::matmul::{in_shape, matrix_at},
};

/// Rows of a result that a thread computes at once, whatever the number of threads.
const ROWS: usize = 64;

/// NumPy's `a @ b` for vectors, matrices and stacks of matrices of any layout.
///
/// Floats are multiplied by ndarray's matrix product and added in their own type, f16 and bf16 in f32 with one rounding at the end; integers wrap.
///
/// # Determinism
/// Bitwise the same for any number of threads.
///
/// # Cost
/// 2 m n k operations for each matrix. Blocks of 64 rows of all results are computed by all threads.
///
/// # Errors
/// `NoAxes`, `InnerLength`, `Stacks`, as [`Matmul::matmul`](crate::Matmul::matmul); `TooLarge`.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(host::matmul(&a, a.t())?, array![[5.0, 11.0], [11.0, 25.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn matmul<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<T, D::Product>>
where
    T: MatmulElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    multiply_by(a.into().into_dyn(), b.into().into_dyn(), T::multiply)
}

/// The products of two stacks of matrices, each block of rows of a result by a function that writes into zeros.
pub(super) fn multiply_by<T: Element, K: Dimension>(
    a: ArrayViewD<'_, T>,
    b: ArrayViewD<'_, T>,
    multiply: fn(ArrayView2<'_, T>, ArrayView2<'_, T>, ArrayViewMut2<'_, T>),
) -> Result<Array<T, K>> {
    let (shape, a, b) = MatmulShape::on_host(a, b)?;
    let MatmulShape { m, n, .. } = shape;
    let elements = checked_len(&shape.result())?;
    let mut c = Vec::new();
    if c.try_reserve_exact(elements).is_err() {
        return Err(AlgoError::TooLarge { op: "matmul", shape: shape.result().to_vec() });
    }
    c.resize(elements, T::ZERO);
    if c.is_empty() {
        return in_shape(&shape, c);
    }
    let places: Vec<IxDyn> = indices(IxDyn(&shape.batch)).into_iter().collect();
    ready();
    let matrices = places.par_iter().zip(c.par_chunks_mut(m * n));
    let blocks = matrices.flat_map(|(at, c)| {
        let (a, b) = (matrix_at(&a, at.slice()), matrix_at(&b, at.slice()));
        c.par_chunks_mut(ROWS * n).enumerate().map(move |(block, c)| (a, b, block * ROWS, c))
    });
    blocks.for_each(|(a, b, first, c)| {
        let rows = c.len() / n;
        if let Ok(c) = ArrayViewMut2::from_shape((rows, n), c) {
            multiply(a.slice(s![first..first + rows, ..]), b, c);
        }
    });
    in_shape(&shape, c)
}

/// The product of matrices of i8 or u8 in i32, which wraps modulo 2^32: [`matmul()`] of both as arrays of i32.
///
/// # Cost
/// That of [`matmul()`], and a copy of each factor, on one thread, of four bytes for each element.
///
/// # Errors
/// Those of [`matmul()`]; `TooLarge` also where there is no memory for the copies.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// let a = array![[127i8, -128], [1, 2]];
/// assert_eq!(host::matmul_i32(&a, a.t())?, array![[32513, -129], [-129, 5]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn matmul_i32<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<i32, D::Product>>
where
    T: ByteElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let a: Array<i32, _> = copied("matmul_i32", &a.into(), Into::into)?;
    matmul(&a, &copied("matmul_i32", &b.into(), Into::into)?)
}

/// NumPy's `tensordot`: the sums of products of elements of a and b over pairs of axes, for arrays of any layout.
///
/// The arrays become matrices, and the result is that of [`matmul()`]: floats are added in their own type, and integers wrap.
///
/// # Determinism
/// Bitwise the same for any number of threads.
///
/// # Cost
/// One matrix product. An array whose axes of the result, or summed axes, cannot be joined is copied first, on one thread.
///
/// # Errors
/// `Axis` (in `Array`), `RepeatedAxis`, `AxisPairs`, `AxisLengths`, as [`tensordot`](crate::matmul::tensordot) on a GPU; `TooLarge`.
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![10.0, 1.0]);
/// assert_eq!(host::tensordot(&a, &b, ([0], [0]))?, array![13.0, 24.0].into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn tensordot<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
    axes: impl Into<SummedAxes>,
) -> Result<ArrayD<T>>
where
    T: MatmulElement,
    D: Dimension,
    E: Dimension,
{
    let (contraction, a, b) = Contraction::on_host(a.into().into_dyn(), b.into().into_dyn(), axes.into())?;
    let [m, k, n] = contraction.sizes();
    let product = matmul(&reshaped("tensordot", &a, &[m, k])?, &reshaped("tensordot", &b, &[k, n])?)?;
    let result = product.into_shape_with_order(contraction.result());
    Ok(result.unwrap_or_else(|_| unreachable!("the result has the product's elements")))
}

/// The array in another shape of as many elements, or a copy of it if its strides do not allow that.
pub(super) fn reshaped<'v, T: Element>(
    op: &'static str,
    array: &'v ArrayViewD<'_, T>,
    shape: &[usize],
) -> Result<CowArray<'v, T, IxDyn>> {
    if host(array.view()).reshape(shape).is_ok() {
        return Ok(array.to_shape(shape).unwrap_or_else(|_| unreachable!("the shape has the array's elements")));
    }
    let copy = copied(op, array, |element| element)?.into_shape_with_order(shape);
    Ok(copy.unwrap_or_else(|_| unreachable!("the shape has the array's elements")).into())
}

/// A copy in C order, each element converted; a view that repeats elements may have more of them than memory holds.
fn copied<T: Copy, U, D: Dimension>(
    op: &'static str,
    array: &ArrayView<'_, T, D>,
    convert: impl Fn(T) -> U,
) -> Result<Array<U, D>> {
    let mut copy = Vec::new();
    if copy.try_reserve_exact(array.len()).is_err() {
        return Err(AlgoError::TooLarge { op, shape: array.shape().to_vec() });
    }
    copy.extend(array.iter().map(|&element| convert(element)));
    let copy = Array::from_shape_vec(array.raw_dim(), copy);
    Ok(copy.unwrap_or_else(|_| unreachable!("the copy has the array's elements")))
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn, array};
    use testkit::{Layout, Rng};

    use super::*;
    use crate::reference;

    fn random<T>(shape: &[usize], rng: &mut Rng, element: fn(&mut Rng) -> T) -> ArrayD<T> {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || element(rng))
    }

    /// Views that repeat an element have a result that no memory holds, or no array can have.
    #[test]
    fn results_beyond_memory_are_errors() {
        let one = array![1.0f64];
        for (length, n) in [(1 << 33, 1 << 33), (1 << 25, 1 << 25), (1 << 40, 0)] {
            let column = one.broadcast((length, 1)).unwrap();
            let none = ndarray::Array2::<f64>::zeros((1, 0));
            let row = if n == 0 { none.view() } else { one.broadcast((1, n)).unwrap() };
            // No memory, or no shape of an array.
            let is_told = |outcome: Result<()>| {
                matches!(outcome, Err(AlgoError::TooLarge { .. } | AlgoError::Array(_))) || n == 0 && outcome.is_ok()
            };
            assert!(is_told(matmul(column, row).map(drop)), "{length} by {n}");
            assert!(is_told(tensordot(column, row, 1).map(drop)), "{length} by {n}");
        }
        let (wide, none) = (one.broadcast((1 << 40, 1 << 20)).unwrap(), ndarray::Array2::<f64>::zeros((1 << 20, 0)));
        let none = none.broadcast((1 << 30, 1 << 20, 0)).unwrap();
        assert!(matches!(tensordot(wide, none, ([1], [1])), Err(AlgoError::TooLarge { .. })));
        // The result is small, and a copy of a factor is not.
        let (one, zero) = (array![1.0f64, 2.0], array![0.0f64]);
        let (a, b) = (one.broadcast((1 << 45, 2)).unwrap(), zero.broadcast((1 << 45, 2)).unwrap());
        assert!(matches!(tensordot(a, b, 2), Err(AlgoError::TooLarge { op: "tensordot", .. })));
        assert!(matches!(crate::host::einsum("ij,ij->", (&a, &b)), Err(AlgoError::TooLarge { op: "einsum", .. })));
        let byte = array![1u8];
        let bytes = byte.broadcast((1 << 10, 1 << 40)).unwrap();
        assert!(matches!(matmul_i32(bytes, bytes.t()), Err(AlgoError::TooLarge { op: "matmul_i32", .. })));
    }

    /// Shapes of factors: vectors, blocks of rows with one more and one less, stacks, and no elements.
    const SHAPES: [(&[usize], &[usize]); 12] = [
        (&[5], &[5]),
        (&[64, 5], &[5]),
        (&[5], &[5, 130]),
        (&[63, 17], &[17, 9]),
        (&[65, 30], &[30, 33]),
        (&[200, 3], &[3, 1]),
        (&[2, 1, 70, 6], &[3, 6, 8]),
        (&[7, 6], &[4, 6, 5]),
        (&[0, 3], &[3, 4]),
        (&[3, 0], &[0, 4]),
        (&[2, 0, 3], &[3, 4]),
        (&[0], &[0]),
    ];

    #[test]
    fn products_are_those_of_the_definition() {
        let mut rng = Rng(71);
        for (a, b) in SHAPES {
            let [x, y] = [a, b].map(|shape| random(shape, &mut rng, |rng| rng.next_u64() as i32));
            assert_eq!(matmul(&x, &y).unwrap(), reference::matmul(&x, &y).unwrap(), "{a:?} {b:?}");
            let [x, y] = [a, b].map(|shape| random(shape, &mut rng, |rng| rng.uniform() as f32 - 0.5));
            let (got, want) = (matmul(&x, &y).unwrap(), reference::matmul(&x, &y).unwrap());
            let sizes = reference::matmul(&x.mapv(f32::abs), &y.mapv(f32::abs)).unwrap();
            let bound = (x.shape()[x.ndim() - 1] as f32 + 2.0) * f32::EPSILON;
            assert_eq!(got.shape(), want.shape());
            for ((got, want), size) in got.iter().zip(&want).zip(&sizes) {
                assert!((got - want).abs() <= bound * size, "{a:?} {b:?}: got {got}, want {want}");
            }
        }
    }

    #[test]
    fn layouts_change_no_integer() {
        let mut rng = Rng(72);
        for (left, on_left) in Layout::each(&[70, 9]) {
            let x = random(&on_left.base, &mut rng, |rng| rng.next_u64() as i64);
            for (right, on_right) in Layout::each(&[9, 11]) {
                let y = random(&on_right.base, &mut rng, |rng| rng.next_u64() as i64);
                let (x, y) = (on_left.of_host(x.view()), on_right.of_host(y.view()));
                let want = reference::matmul(x.view(), y.view()).unwrap();
                assert_eq!(matmul(x, y).unwrap(), want, "{left} by {right}");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let mut rng = Rng(73);
        let [x, y] = [[3, 301, 45], [3, 45, 67]].map(|shape| random(&shape, &mut rng, |rng| rng.uniform() as f32));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| matmul(&x, &y).unwrap().mapv(f32::to_bits))
        };
        let want = run(1);
        for threads in [2, 3, 5] {
            assert!(run(threads) == want, "{threads} threads");
        }
    }

    #[test]
    fn sums_over_pairs_of_axes_are_those_of_the_definition() {
        let mut rng = Rng(74);
        let cases: [(&[usize], &[usize], SummedAxes); 7] = [
            (&[3, 4, 5], &[4, 3, 2], ([1, 0], [0, 1]).into()),
            (&[3, 4, 5], &[4, 5, 6], 2.into()),
            (&[3, 4], &[5, 2], 0.into()),
            (&[7], &[7], 1.into()),
            (&[2, 3, 4], &[4, 2, 3], ([2, 0, 1], [0, 1, 2]).into()),
            (&[2, 0, 3], &[3, 0], ([1, 2], [1, 0]).into()),
            (&[1], &[3], 0.into()),
        ];
        for (a, b, axes) in cases {
            for (left, on_left) in Layout::each(a) {
                let x = random(&on_left.base, &mut rng, |rng| rng.next_u64() as i64);
                for (right, on_right) in Layout::each(b) {
                    let y = random(&on_right.base, &mut rng, |rng| rng.next_u64() as i64);
                    let (x, y) = (on_left.of_host(x.view()), on_right.of_host(y.view()));
                    let want = reference::tensordot(x.view(), y.view(), axes.clone()).unwrap();
                    assert_eq!(tensordot(x.view(), y, axes.clone()).unwrap(), want, "{a:?} {left} by {b:?} {right}");
                }
            }
        }
        assert_eq!(tensordot(&ndarray::arr0(2), &array![3, 4], 0).unwrap(), array![6, 8].into_dyn());
        let error = tensordot(&array![1.0], &array![1.0, 2.0], 1).unwrap_err();
        assert!(matches!(error, AlgoError::AxisLengths { left_axis: 0, right_axis: 0, .. }));
    }

    #[test]
    fn nan_and_wrong_shapes_are_told() {
        let (a, b) = (array![[f32::NAN, 1.0], [0.0, 2.0]], array![[0.0, 1.0], [f32::INFINITY, 3.0]]);
        let got = matmul(&a, &b).unwrap();
        assert!(got[[0, 0]].is_nan() && got[[0, 1]].is_nan() && got[[1, 0]] == f32::INFINITY && got[[1, 1]] == 6.0);
        let error = matmul(&a, &array![1.0, 2.0, 3.0]).unwrap_err();
        assert_eq!(error.to_string(), "matmul: a has 2 columns, b has 3 rows");
    }
}
