//! Linear algebra of stacks of small matrices on the host, a matrix a thread.
//!
//! The functions have the names, the shapes, the limits and the errors of those on a device ([`linalg`](crate::linalg)), for arrays of any layout.
//! They compute in their own type; results are near those of [`reference::linalg`](crate::reference::linalg), and have the same bits for any number of
//! threads.
//!
//! ```
//! use gpu_algos::host::linalg;
//! use ndarray::array;
//!
//! let a = array![[[4.0, 2.0], [2.0, 10.0]], [[1.0, 2.0], [2.0, 4.0]]];
//! assert_eq!(linalg::det(&a)?, array![36.0, 0.0]);
//! let error = linalg::solve(&a, &array![6.0, 12.0]).unwrap_err();
//! assert_eq!(error.to_string(), "solve: the matrix at [1] of the stack is singular: pivot 1 is 0");
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```

mod in_place;

use gpu_array::Number;
use ndarray::{Array, ArrayView, ArrayView2, Dimension};
use rayon::prelude::*;

use self::in_place::{
    copy_sides, eliminate, factorize_by_reflections, factorize_symmetric, log_of_product, product, row_by_row,
    solve_in_place, substitute,
};
use super::parallel::ready;
use crate::{
    AlgoError, Result,
    linalg::{LinalgElement, LinalgFunction, Triangle},
    matmul::MatmulDim,
    reference::linalg::{HostStack, Pivots},
};

/// The solution x of `a x = b` for triangular matrices, as [`linalg::solve_triangular`](crate::linalg::solve_triangular).
///
/// # Cost
/// n^2 operations for each right-hand side.
///
/// # Errors
/// `Singular`; `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `InnerLength`, `Stacks`, `TooLarge`.
pub fn solve_triangular<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
    triangle: Triangle,
) -> Result<Array<T, D::Product>>
where
    T: LinalgElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let function = LinalgFunction::SolveTriangular(triangle);
    let stack = HostStack::new(function, a.into().into_dyn(), Some(b.into().into_dyn()))?;
    let columns = stack.shape.columns;
    let (x, _) = each(&stack, |a, b, x: &mut [T], _: &mut [i32]| {
        let (n, a) = (a.nrows(), row_by_row(a));
        copy_sides(b, x);
        if let Some(zero) = a.iter().step_by(n + 1).position(|&x| x == T::ZERO).filter(|_| !triangle.is_unit()) {
            return Some(zero);
        }
        substitute(&a, x, columns, triangle);
        None
    })?;
    stack.first(x)
}

/// The solution x of `a x = b`, as [`linalg::solve`](crate::linalg::solve).
///
/// # Cost
/// 2/3 n^3 operations for a matrix and 2 n^2 for each right-hand side.
///
/// # Errors
/// `Singular`; `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `InnerLength`, `Stacks`, `TooLarge`.
pub fn solve<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<T, D::Product>>
where
    T: LinalgElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let stack = HostStack::new(LinalgFunction::Solve, a.into().into_dyn(), Some(b.into().into_dyn()))?;
    let columns = stack.shape.columns;
    let (x, _) = each(&stack, |a, b, x: &mut [T], _: &mut [i32]| {
        copy_sides(b, x);
        solve_in_place(a, x, columns)
    })?;
    stack.first(x)
}

/// The lower triangular l with `a = l l^T`, as [`linalg::cholesky`](crate::linalg::cholesky).
///
/// # Cost
/// n^3 / 3 operations for a matrix.
///
/// # Errors
/// `NotPositiveDefinite`; `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `TooLarge`.
pub fn cholesky<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<Array<T, D>> {
    let stack = HostStack::new(LinalgFunction::Cholesky, a.into().into_dyn(), None)?;
    let (l, _) = each(&stack, |a, _, l: &mut [T], _: &mut [i32]| factorize_symmetric(a, l))?;
    stack.first(l)
}

/// The inverse matrices, as [`linalg::inv`](crate::linalg::inv).
///
/// # Cost
/// 8/3 n^3 operations for a matrix.
///
/// # Errors
/// `Singular`; `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `TooLarge`.
pub fn inv<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<Array<T, D>> {
    let stack = HostStack::new(LinalgFunction::Inverse, a.into().into_dyn(), None)?;
    let (x, _) = each(&stack, |a, _, x: &mut [T], _: &mut [i32]| {
        let n = a.nrows();
        x.iter_mut().step_by(n + 1).for_each(|x| *x = T::one());
        solve_in_place(a, x, n)
    })?;
    stack.first(x)
}

/// The determinants, as [`linalg::det`](crate::linalg::det).
///
/// # Cost
/// 2/3 n^3 operations for a matrix.
///
/// # Errors
/// `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `TooLarge`.
pub fn det<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<Array<T, <D::Smaller as Dimension>::Smaller>> {
    let stack = HostStack::new(LinalgFunction::Determinant, a.into().into_dyn(), None)?;
    let (x, _) = each(&stack, |a, _, x: &mut [T], _: &mut [i32]| {
        let (pivots, sign) = diagonal(a);
        x[0] = T::rounded_from_f64(product(pivots.into_iter(), sign));
        None
    })?;
    stack.first(x)
}

/// The signs of the determinants and the logarithms of their sizes, as [`linalg::slogdet`](crate::linalg::slogdet).
///
/// # Cost
/// 2/3 n^3 operations for a matrix.
///
/// # Errors
/// `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `TooLarge`.
#[expect(clippy::type_complexity, reason = "two arrays of the rank of the stack")]
pub fn slogdet<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<(Array<T, <D::Smaller as Dimension>::Smaller>, Array<T, <D::Smaller as Dimension>::Smaller>)> {
    let stack = HostStack::new(LinalgFunction::LogDeterminant, a.into().into_dyn(), None)?;
    let (signs, logs) = each(&stack, |a, _, signs: &mut [T], logs: &mut [T]| {
        let (pivots, sign) = diagonal(a);
        let (sign, log) = log_of_product(pivots.into_iter(), sign);
        (signs[0], logs[0]) = (T::rounded_from_f64(sign), T::rounded_from_f64(log));
        None
    })?;
    Ok((stack.first(signs)?, stack.second(logs)?))
}

/// The pivots of the elimination of a matrix, and the sign of the exchanges of rows.
fn diagonal<T: LinalgElement>(a: ArrayView2<'_, T>) -> (Vec<f64>, f64) {
    let n = a.nrows();
    let (mut lu, mut pivots) = (row_by_row(a), vec![0; n]);
    eliminate(&mut lu, &mut pivots);
    let exchanges = pivots.iter().enumerate().filter(|&(k, &row)| k as i32 != row).count();
    (lu.iter().step_by(n + 1).map(|&x| x.into()).collect(), if exchanges % 2 == 0 { 1.0 } else { -1.0 })
}

/// The packed factors of `p a = l u` and the exchanges of rows, as [`linalg::lu_factor`](crate::linalg::lu_factor).
///
/// # Cost
/// 2/3 n^3 operations for a matrix.
///
/// # Errors
/// `NoMatrices`, `NotSquare`, `MatrixTooLarge`, `TooLarge`.
pub fn lu_factor<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<(Array<T, D>, Pivots<D>)> {
    let stack = HostStack::new(LinalgFunction::LuFactor, a.into().into_dyn(), None)?;
    let (lu, pivots) = each(&stack, |a, _, lu: &mut [T], pivots: &mut [i32]| {
        a.iter().zip(lu.iter_mut()).for_each(|(&a, x)| *x = a);
        eliminate(lu, pivots);
        None
    })?;
    Ok((stack.first(lu)?, stack.second(pivots)?))
}

/// The reduced factors of `a = q r`, as [`linalg::qr`](crate::linalg::qr).
///
/// # Cost
/// 4 m n min(m, n) operations for a matrix at most.
///
/// # Errors
/// `NoMatrices`, `MatrixTooLarge`, `TooLarge`.
pub fn qr<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<(Array<T, D>, Array<T, D>)> {
    let stack = HostStack::new(LinalgFunction::Qr, a.into().into_dyn(), None)?;
    let (q, r) = each(&stack, |a, _, q: &mut [T], r: &mut [T]| {
        factorize_by_reflections(a, q, r);
        None
    })?;
    Ok((stack.first(q)?, stack.second(r)?))
}

/// Calls `one` for each matrix of the stack, with its part of both results, whose elements are 0. Returns these, or the error of the first matrix for
/// which `one` returns the number of a pivot.
fn each<T: LinalgElement, S: Number>(
    stack: &HostStack<'_, '_, T>,
    one: impl Fn(ArrayView2<'_, T>, Option<ArrayView2<'_, T>>, &mut [T], &mut [S]) -> Option<usize> + Sync,
) -> Result<(Vec<T>, Vec<S>)> {
    let (function, shape) = (stack.function, &stack.shape);
    let places: Vec<_> = stack.places().collect();
    let size = |axes: &[usize]| axes.iter().skip(shape.batch.len()).product::<usize>();
    let has_second = matches!(function, LinalgFunction::LuFactor | LinalgFunction::LogDeterminant | LinalgFunction::Qr);
    let sizes = [size(&shape.result), if has_second { size(&shape.second(function)) } else { 0 }];
    let (mut first, mut second) = (vec![T::ZERO; 0], vec![S::ZERO; 0]);
    // A part has an element at least, so that a matrix without elements of a result is looked at too.
    let parts = sizes.map(|size| size.max(1));
    let [first_len, second_len] = parts.map(|part| places.len().saturating_mul(part));
    if first.try_reserve_exact(first_len).is_err() || second.try_reserve_exact(second_len).is_err() {
        return Err(AlgoError::TooLarge { op: function.name(), shape: shape.result.to_vec() });
    }
    first.resize(first_len, T::ZERO);
    second.resize(second_len, S::ZERO);
    ready();
    let results = first.par_chunks_mut(parts[0]).zip(second.par_chunks_mut(parts[1]));
    let failures = places.par_iter().zip(results).enumerate().filter_map(|(matrix, (at, (first, second)))| {
        let (a, b) = stack.at(at.slice());
        one(a, b, &mut first[..sizes[0]], &mut second[..sizes[1]]).map(|pivot| (matrix, pivot))
    });
    if let Some((matrix, pivot)) = failures.min() {
        return Err(function.failure(places[matrix].slice().to_vec(), pivot));
    }
    first.truncate(places.len() * sizes[0]);
    second.truncate(places.len() * sizes[1]);
    Ok((first, second))
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;
    use testkit::Rng;

    use super::*;
    use crate::reference;

    /// Matrices with a heavy diagonal, and zeros and other small numbers beside it.
    fn matrices(rng: &mut Rng, batch: usize, n: usize) -> Array3<f64> {
        let mut a = Array3::from_shape_simple_fn((batch, n, n), || rng.below(9) as f64 - 4.0);
        a.indexed_iter_mut().filter(|((_, i, j), _)| i == j).for_each(|(_, x)| *x += 9.0 * n as f64);
        a
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let a = matrices(&mut Rng(7), 150, 9);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (inv(&a).unwrap(), qr(&a).unwrap(), det(&a).unwrap()))
        };
        assert!(run(1) == run(7));
    }

    #[test]
    fn results_are_those_of_the_definition() {
        let mut rng = Rng(8);
        let near = |got: &Array3<f64>, want: &Array3<f64>| {
            got.shape() == want.shape() && got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-11)
        };
        for n in [0, 1, 2, 7, 64] {
            let a = matrices(&mut rng, 3, n);
            let b = Array3::from_shape_simple_fn((3, n, 5), || rng.uniform());
            assert!(near(&solve(&a, &b).unwrap(), &reference::linalg::solve(&a, &b).unwrap()));
            assert!(near(&inv(&a).unwrap(), &reference::linalg::inv(&a).unwrap()));
            let (q, r) = qr(&a).unwrap();
            let (want_q, want_r) = reference::linalg::qr(&a).unwrap();
            assert!(near(&q, &want_q) && near(&r, &want_r));
            assert_eq!(lu_factor(&a).unwrap().1, reference::linalg::lu_factor(&a).unwrap().1);
        }
    }

    #[test]
    fn products_of_pivots_keep_their_range() {
        for (numbers, want) in [
            (vec![1e200, 1e200, 1e-250], 1e150),
            (vec![1e-200, 1e-200, 1e250], 1e-150),
            (vec![f64::MAX, f64::MAX], f64::INFINITY),
            (vec![5e-324, 1.0], 5e-324),
            (vec![5e-324, 0.5], 0.0),
            (vec![0.0, f64::MAX, f64::MAX], 0.0),
        ] {
            let got = product(numbers.into_iter(), -1.0);
            assert!(got == -want || (got + want).abs() < 1e-13 * want, "{got} for {want}");
        }
        assert!(product([f64::INFINITY, 0.0].into_iter(), 1.0).is_nan());
    }
}
