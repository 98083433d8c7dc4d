//! The functions of one small matrix, whose rows lie one after another in a slice.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

use ndarray::ArrayView2;

use crate::linalg::{LinalgElement, Triangle};

/// The elements of a matrix of any layout.
pub(super) fn row_by_row<T: LinalgElement>(a: ArrayView2<'_, T>) -> Vec<T> {
    a.iter().copied().collect()
}

/// Copies right-hand sides to the place of the solution.
pub(super) fn copy_sides<T: LinalgElement>(b: Option<ArrayView2<'_, T>>, x: &mut [T]) {
    if let Some(b) = b {
        x.iter_mut().zip(b.iter()).for_each(|(x, &b)| *x = b);
    }
}

/// Subtracts a multiple of `other` from `row`.
fn subtract<T: LinalgElement>(row: &mut [T], factor: T, other: &[T]) {
    row.iter_mut().zip(other).for_each(|(x, &y)| *x = *x - factor * y);
}

/// Solves `t x = b` in place of b, which has so many columns.
pub(super) fn substitute<T: LinalgElement>(t: &[T], b: &mut [T], columns: usize, triangle: Triangle) {
    if columns == 0 {
        return;
    }
    let n = b.len() / columns;
    for step in 0..n {
        let k = if triangle.is_lower() { step } else { n - 1 - step };
        let (before, rest) = b.split_at_mut(k * columns);
        let (x, after) = rest.split_at_mut(columns);
        if !triangle.is_unit() {
            x.iter_mut().for_each(|x| *x = *x / t[k * n + k]);
        }
        let (left, first) = if triangle.is_lower() { (after, k + 1) } else { (before, 0) };
        for (row, i) in left.chunks_mut(columns).zip(first..) {
            subtract(row, t[i * n + k], x);
        }
    }
}

/// Exchanges two rows.
fn exchange<T>(rows: &mut [T], columns: usize, k: usize, row: usize) {
    if row > k {
        let (before, rest) = rows.split_at_mut(row * columns);
        before[k * columns..(k + 1) * columns].swap_with_slice(&mut rest[..columns]);
    }
}

/// Replaces a by its packed factors, and writes the row that each row was exchanged with. Returns the number of the first pivot that is 0.
pub(super) fn eliminate<T: LinalgElement>(a: &mut [T], pivots: &mut [i32]) -> Option<usize> {
    let n = pivots.len();
    let mut first_zero = None;
    for k in 0..n {
        let size = |i: usize| if a[i * n + k].is_nan() { T::infinity() } else { a[i * n + k].abs() };
        let row = (k + 1..n).fold(k, |row, i| if size(i) > size(row) { i } else { row });
        pivots[k] = row as i32;
        exchange(a, n, k, row);
        let (above, below) = a.split_at_mut((k + 1) * n);
        let own = &above[k * n..];
        if own[k] == T::ZERO {
            first_zero = first_zero.or(Some(k));
            continue;
        }
        for row in below.chunks_mut(n) {
            row[k] = row[k] / own[k];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &own[k + 1..]);
        }
    }
    first_zero
}

/// Solves `a x = b` in place of b, which has so many columns. Returns the number of the first pivot that is 0.
pub(super) fn solve_in_place<T: LinalgElement>(a: ArrayView2<'_, T>, b: &mut [T], columns: usize) -> Option<usize> {
    let (mut lu, mut pivots) = (row_by_row(a), vec![0; a.nrows()]);
    if let Some(zero) = eliminate(&mut lu, &mut pivots) {
        return Some(zero);
    }
    pivots.iter().enumerate().for_each(|(k, &row)| exchange(b, columns, k, row as usize));
    substitute(&lu, b, columns, Triangle::UnitLower);
    substitute(&lu, b, columns, Triangle::Upper);
    None
}

/// Writes the lower factor, row by row. Returns the number of the first pivot that is not above 0.
pub(super) fn factorize_symmetric<T: LinalgElement>(a: ArrayView2<'_, T>, l: &mut [T]) -> Option<usize> {
    let n = a.nrows();
    let dot = |x: &[T], y: &[T]| x.iter().zip(y).fold(T::ZERO, |sum, (&x, &y)| sum + x * y);
    for i in 0..n {
        let (before, row) = l.split_at_mut(i * n);
        for (j, other) in before.chunks(n).enumerate() {
            row[j] = (a[[i, j]] - dot(&row[..j], other)) / other[j];
        }
        let rest = a[[i, i]] - dot(&row[..i], &row[..i]);
        if rest.is_nan() || rest <= T::ZERO {
            return Some(i);
        }
        row[i] = rest.sqrt();
    }
    None
}

/// Replaces column k of the rows by its reflection: v below the diagonal, and the diagonal of r. Returns tau.
fn make_reflection<T: LinalgElement>(a: &mut [T], columns: usize, k: usize) -> T {
    let mut column: Vec<T> = a.chunks(columns).skip(k).map(|row| row[k]).collect();
    let size = |x: T| if x.is_nan() { T::infinity() } else { x.abs() };
    let scale = column.iter().fold(T::ZERO, |most, &x| if size(x) > most { size(x) } else { most });
    let scale = if scale > T::ZERO { scale } else { T::one() };
    column.iter_mut().for_each(|x| *x = *x / scale);
    let squares = column.iter().skip(1).fold(T::ZERO, |sum, &x| sum + x * x);
    if squares == T::ZERO {
        return T::ZERO;
    }
    let head = column[0];
    let norm = (head * head + squares).sqrt();
    let turned = if head < T::ZERO { norm } else { -norm };
    for (row, &part) in a.chunks_mut(columns).skip(k).zip(&column).skip(1) {
        row[k] = part / (head - turned);
    }
    a[k * columns + k] = turned * scale;
    (turned - head) / turned
}

/// Applies reflection k to the columns behind k, up to `end`.
fn reflect<T: LinalgElement>(a: &mut [T], columns: usize, k: usize, tau: T, end: usize) {
    let (own, below) = a[k * columns..].split_at_mut(columns);
    let mut sums: Vec<T> = own[k + 1..end].to_vec();
    for row in below.chunks(columns) {
        sums.iter_mut().zip(&row[k + 1..end]).for_each(|(sum, &x)| *sum = *sum + row[k] * x);
    }
    sums.iter_mut().for_each(|sum| *sum = *sum * tau);
    subtract(&mut own[k + 1..end], T::one(), &sums);
    for row in below.chunks_mut(columns) {
        let v = row[k];
        subtract(&mut row[k + 1..end], v, &sums);
    }
}

/// Writes the factors q and r, whose elements are 0 before.
pub(super) fn factorize_by_reflections<T: LinalgElement>(a: ArrayView2<'_, T>, q: &mut [T], r: &mut [T]) {
    let ((rows, columns), mut work) = (a.dim(), row_by_row(a));
    let count = rows.min(columns);
    let mut taus = vec![T::ZERO; count];
    for (k, tau) in taus.iter_mut().enumerate() {
        *tau = make_reflection(&mut work, columns, k);
        reflect(&mut work, columns, k, *tau, columns);
    }
    for i in 0..count {
        let part = i * columns + i..(i + 1) * columns;
        r[part.clone()].copy_from_slice(&work[part]);
    }
    for (k, &tau) in taus.iter().enumerate().rev() {
        reflect(&mut work, columns, k, tau, count);
        for (i, row) in work.chunks_mut(columns).enumerate() {
            row[k] = match i {
                i if i < k => T::ZERO,
                i if i == k => T::one() - tau,
                _ => -tau * row[k],
            };
        }
    }
    for (i, row) in q.chunks_mut(count.max(1)).enumerate() {
        row.copy_from_slice(&work[i * columns..i * columns + count]);
    }
}

/// The product of numbers, with a sign, whose exponent is carried beside it: it overflows or underflows only if the result does.
pub(super) fn product(numbers: impl Iterator<Item = f64>, sign: f64) -> f64 {
    let (product, exponent) = split_product(numbers, sign);
    // Two powers of two, of which the first leaves a number in the normal range: the result is rounded once.
    let first = exponent.clamp(-1000, 1000);
    product * 2f64.powi(first) * 2f64.powi((exponent - first).clamp(-1000, 1000))
}

/// The sign of such a product, 0 or NaN if it is, and the logarithm of its size.
pub(super) fn log_of_product(numbers: impl Iterator<Item = f64>, sign: f64) -> (f64, f64) {
    let (product, exponent) = split_product(numbers, sign);
    // A mantissa near 1, so that nothing cancels where the product is near 1.
    let is_small = product.abs() < FRAC_1_SQRT_2;
    let (size, exponent) = if is_small { (product.abs() * 2.0, exponent - 1) } else { (product.abs(), exponent) };
    let sign = if product == 0.0 { 0.0 } else { product.signum() };
    (sign, f64::from(exponent).mul_add(LN_2, size.ln()))
}

/// The product of numbers, with a sign, as a mantissa and a power of two.
fn split_product(numbers: impl Iterator<Item = f64>, sign: f64) -> (f64, i32) {
    numbers.fold((sign, 0), |(product, exponent), x| {
        let (mantissa, of_x) = split(x);
        let (product, of_product) = split(product * mantissa);
        (product, exponent + of_x + of_product)
    })
}

/// A number as a mantissa in [0.5, 1) in size and a power of two; 0 and numbers that are not finite stay as they are.
fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (normal, power) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(54), -54) } else { (x, 0) };
    let exponent = (normal.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    (f64::from_bits(normal.to_bits() & !(0x7ff << 52) | 1022 << 52), exponent + power)
}
