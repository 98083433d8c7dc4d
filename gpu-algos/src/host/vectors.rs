//! Dot products and norms of vectors, and the functions that a fused pass of another crate calls on a block of one.
//!
//! Elements are f32 or f64 (anything that converts to f64 exactly); products and sums are carried in f64.
//! Arrays are cut into blocks of [`BLOCK`] elements, whatever the number of threads, and the blocks' results are
//! added in order.

use ndarray::{ArrayView, Dimension};
use rayon::prelude::*;

use super::parallel::ready;
use crate::{
    Result,
    common::shape::same_shape,
    operators::{checks::check_lengths, vector_units::with_vectors},
};

/// Elements per block: 32 KiB of f64, so that a block just written is still in the cache when it is summed.
pub const BLOCK: usize = 4096;

/// Sums carried side by side within a block: enough to keep the vector units busy.
const LANES: usize = 8;

/// `x . y`, accumulated in f64 (also for f32, whose products are exact there).
///
/// Determinism: bitwise the same for any number of threads. Cost: one pass over both arrays, 8 bytes of scratch per [`BLOCK`].
/// The error is at most about `(BLOCK / 8 + n / BLOCK) * 1.1e-16 * |x| . |y|`.
///
/// # Errors
/// `Length` when the arrays differ in length.
///
/// ```
/// assert_eq!(gpu_algos::host::dot(&[1.0, 2.0], &[3.0, 4.0])?, 11.0);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn dot<T: Copy + Into<f64> + Sync>(x: &[T], y: &[T]) -> Result<f64> {
    check_lengths("dot", x.len(), y.len())?;
    Ok(match x.len() <= BLOCK {
        true => dot_block(x, y),
        false => ordered_sum(x.par_chunks(BLOCK).zip(y.par_chunks(BLOCK)).map(|(x, y)| dot_block(x, y))),
    })
}

/// `sum x[i] * y[i]` over all positions of two arrays of one shape and any layouts: [`dot`] of their elements in C order.
///
/// Cost: one pass over both; a copy first of an array whose elements are not side by side in C order.
///
/// # Errors
/// `Shape` when the arrays differ in shape.
///
/// ```
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(gpu_algos::host::vdot(&x, x.t())?, 1.0 + 6.0 + 6.0 + 16.0);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn vdot<'a, 'b, T: Copy + Into<f64> + Sync + 'a + 'b, D: Dimension>(
    x: impl Into<ArrayView<'a, T, D>>,
    y: impl Into<ArrayView<'b, T, D>>,
) -> Result<f64> {
    let (x, y) = (x.into(), y.into());
    same_shape("vdot", x.shape(), y.shape())?;
    let (x, y) = (x.as_standard_layout(), y.as_standard_layout());
    match (x.as_slice(), y.as_slice()) {
        (Some(x), Some(y)) => dot(x, y),
        _ => unreachable!("standard layout is one slice"),
    }
}

/// One block's share of a dot product, for a fused pass to call on the elements that it has just written.
///
/// Serial, in a fixed order, eight sums side by side. Elements beyond the shorter array are left out.
pub fn dot_block<T: Copy + Into<f64>>(x: &[T], y: &[T]) -> f64 {
    with_vectors!(<T: [Copy + Into<f64>]>(x: &[T], y: &[T]) -> f64 {
        let ((x_lanes, x_tail), (y_lanes, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        let mut sums = [0.0_f64; LANES];
        for (x, y) in x_lanes.iter().zip(y_lanes) {
            for lane in 0..LANES {
                sums[lane] += x[lane].into() * y[lane].into();
            }
        }
        let mut tail = -0.0;
        for (&x, &y) in x_tail.iter().zip(y_tail) {
            tail += x.into() * y.into();
        }
        add_lanes(sums) + tail
    })
}

/// One block's share of `sum x[i] * w[i] * x[i]`, for a norm weighted by a diagonal matrix. Serial, in a fixed order.
pub fn weighted_square_block<T: Copy + Into<f64>>(x: &[T], weight: &[T]) -> f64 {
    let (x_lanes, w_lanes) = (x.chunks_exact(LANES), weight.chunks_exact(LANES));
    let square = |x: f64, w: f64| x * (w * x);
    let tail: f64 =
        x_lanes.remainder().iter().zip(w_lanes.remainder()).map(|(&x, &w)| square(x.into(), w.into())).sum();
    let mut sums = [0.0_f64; LANES];
    for (x, w) in x_lanes.zip(w_lanes) {
        for lane in 0..LANES {
            sums[lane] += square(x[lane].into(), w[lane].into());
        }
    }
    add_lanes(sums) + tail
}

/// The Euclidean norm of `x`, right for every finite input whose norm is a finite f64 (squares that would overflow or
/// underflow are computed on scaled elements).
///
/// NaN where `x` holds one, infinite where it holds an infinity and no NaN, 0 for an empty array.
/// Determinism: bitwise the same for any number of threads. Cost: one pass, three when the squares leave f64's range.
///
/// ```
/// assert!((gpu_algos::host::norm2(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
/// ```
pub fn norm2<T: Copy + Into<f64> + Sync>(x: &[T]) -> f64 {
    let square = match x.len() <= BLOCK {
        true => dot_block(x, x),
        false => ordered_sum(x.par_chunks(BLOCK).map(|x| dot_block(x, x))),
    };
    // Below this a square may have lost digits to underflow; a zero sum may hide elements below 1e-162.
    const SMALLEST_EXACT: f64 = 1e-280;
    if (SMALLEST_EXACT..=f64::MAX).contains(&square) || square.is_nan() { square.sqrt() } else { scaled_norm2(x) }
}

/// The norm of `x` with its largest element scaled to about 1.
fn scaled_norm2<T: Copy + Into<f64> + Sync>(x: &[T]) -> f64 {
    ready();
    let largest =
        x.par_chunks(BLOCK).map(|x| x.iter().fold(0.0_f64, |m, &x| m.max(x.into().abs()))).reduce(|| 0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    let unit = power_of_two_below(largest);
    let square = ordered_sum(x.par_chunks(BLOCK).map(|x| {
        let scaled = |x: T| x.into() / unit;
        x.iter().map(|&x| scaled(x) * scaled(x)).sum::<f64>()
    }));
    unit * square.sqrt()
}

/// The largest power of two not above a positive number, kept within 2^-1000 to 2^1000: division by it is exact wherever the
/// quotient is in range. 1 for everything else (zero, negative, NaN).
pub fn power_of_two_below(value: f64) -> f64 {
    if value > 0.0 { value.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

/// Adds the blocks' results from left to right, after all of them are known.
fn ordered_sum(blocks: impl IndexedParallelIterator<Item = f64>) -> f64 {
    ready();
    blocks.collect::<Vec<_>>().into_iter().sum()
}

/// Not inlined, or the compiler brings the sums into this order in every step of the loop before.
#[inline(never)]
fn add_lanes(s: [f64; LANES]) -> f64 {
    ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlgoError, reference};

    const LENGTHS: [usize; 12] = [0, 1, 2, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 17, 100_003];

    fn data(n: usize, phase: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * 0.7 + phase).sin()).collect()
    }

    #[test]
    fn all_threads_agree_with_the_definition() {
        for n in LENGTHS {
            let (x, y) = (data(n, 0.0), data(n, 1.0));
            let magnitude: f64 = x.iter().zip(&y).map(|(x, y)| (x * y).abs()).sum();
            let bound = n as f64 * f64::EPSILON * magnitude;
            let (got, want) = (dot(&x, &y).unwrap(), reference::dot(&x, &y).unwrap());
            assert!((got - want).abs() <= bound, "n = {n}: {got} for {want}");
            let (got, want) = (norm2(&x), reference::norm2(&x));
            assert!((got - want).abs() <= n as f64 * f64::EPSILON * want, "n = {n}: {got} for {want}");
            let (got, want) = (weighted_square_block(&x, &y), x.iter().zip(&y).map(|(x, w)| x * w * x).sum::<f64>());
            assert!((got - want).abs() <= bound, "n = {n}: {got} for {want}");
        }
    }

    #[test]
    fn integers_are_summed_exactly() {
        for n in LENGTHS {
            let ones = vec![1.0_f32; n];
            let ramp: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
            let want: u64 = (0..n as u64).map(|i| i % 1000).sum();
            assert_eq!(dot(&ones, &ramp).unwrap(), want as f64, "n = {n}");
        }
    }

    #[test]
    fn f32_is_accumulated_in_f64() {
        let x = vec![1e-4_f32; 1_000_000];
        assert!((dot(&x, &x).unwrap() - 1e-2).abs() < 1e-9); // f32 sums would be off by 1e-5 and more
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let (x, y) = (data(100_003, 0.0), data(100_003, 2.0));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (dot(&x, &y).unwrap().to_bits(), norm2(&x).to_bits()))
        };
        let want = run(1);
        for threads in [2, 3, 5] {
            assert_eq!(run(threads), want, "{threads} threads");
        }
    }

    #[test]
    fn norms_survive_scales_and_report_what_is_not_finite() {
        for n in [1, 100, BLOCK + 5] {
            let unit = data(n, 0.5);
            for scale in [1e300, 1e-300, 1e-310, 1e200] {
                let x: Vec<f64> = unit.iter().map(|x| x * scale).collect();
                let want = reference::norm2(&unit);
                assert!((norm2(&x) / scale / want - 1.0).abs() < 1e-12, "n = {n}, scale = {scale:e}");
            }
        }
        assert_eq!(norm2::<f64>(&[]), 0.0);
        assert_eq!(norm2(&[0.0, -0.0]), 0.0);
        assert_eq!(norm2(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert!(norm2(&[1.0, f64::NAN]).is_nan());
        assert!(norm2(&[f64::INFINITY, f64::NAN]).is_nan());
    }

    #[test]
    fn powers_of_two() {
        for (value, want) in
            [(1.0, 1.0), (0.9, 0.5), (7.9, 4.0), (1e-320, 0.5_f64.powi(1000)), (f64::INFINITY, 2_f64.powi(1000))]
        {
            assert_eq!(power_of_two_below(value), want, "{value:e}");
        }
        assert_eq!((power_of_two_below(0.0), power_of_two_below(f64::NAN)), (1.0, 1.0));
    }

    #[test]
    fn different_lengths_are_an_error() {
        let got = dot(&[1.0, 2.0], &[1.0, 2.0, 3.0]);
        assert!(matches!(got, Err(AlgoError::Length { op: "dot", left: 2, right: 3 })), "{got:?}");
        assert!(reference::dot(&[1.0], &[] as &[f64]).is_err());
    }
}
