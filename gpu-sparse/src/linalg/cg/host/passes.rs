//! The fused vector passes of conjugate gradients.
//!
//! Each runs over blocks of [`BLOCK`] elements, a unit that depends on nothing but this constant, so that sums have the same
//! bits on any number of threads. A block is written and, still in the cache, summed. One block runs without rayon.

use gpu_algos::host::{BLOCK, dot_block, weighted_square_block};
use rayon::prelude::*;

use crate::Scalar;

/// `r -= alpha q`; returns `r . r`. Traffic: 3n.
pub(super) fn update_residual<T: Scalar>(r: &mut [T], q: &[T], alpha: T) -> f64 {
    sum_blocks(r, |start, r| {
        subtract(r, &q[start..], alpha);
        [dot_block(r, r), 0.0]
    })[0]
}

/// `r -= alpha q`; returns `r . r` and `r . D^-1 r`. Traffic: 4n.
pub(super) fn update_residual_diagonal<T: Scalar>(r: &mut [T], q: &[T], alpha: T, inverse: &[T]) -> [f64; 2] {
    sum_blocks(r, |start, r| {
        subtract(r, &q[start..], alpha);
        [dot_block(r, r), weighted_square_block(r, &inverse[start..start + r.len()])]
    })
}

/// `r . D^-1 r`. Traffic: 2n.
pub(super) fn weighted_square<T: Scalar>(r: &mut [T], inverse: &[T]) -> f64 {
    sum_blocks(r, |start, r| [weighted_square_block(r, &inverse[start..start + r.len()]), 0.0])[0]
}

/// `x += step p`, then `p = z + beta p`. Traffic: 5n.
pub(super) fn update_solution_and_direction<T: Scalar>(x: &mut [T], p: &mut [T], z: &[T], step: T, beta: T) {
    for_blocks(x, p, |start, x, p| {
        for ((x, p), &z) in x.iter_mut().zip(p).zip(&z[start..]) {
            *x += step * *p;
            *p = z + beta * *p;
        }
    });
}

/// `x += step p`, then `p = D^-1 r + beta p`. Traffic: 6n.
pub(super) fn update_solution_and_direction_diagonal<T: Scalar>(
    x: &mut [T],
    p: &mut [T],
    (r, inverse): (&[T], &[T]),
    step: T,
    beta: T,
) {
    for_blocks(x, p, |start, x, p| {
        for (((x, p), &r), &d) in x.iter_mut().zip(p).zip(&r[start..]).zip(&inverse[start..]) {
            *x += step * *p;
            *p = d * r + beta * *p;
        }
    });
}

/// `x += step p`, for the last step. Traffic: 3n.
pub(super) fn update_solution<T: Scalar>(x: &mut [T], p: &mut [T], step: T) {
    for_blocks(x, p, |_, x, p| x.iter_mut().zip(p).for_each(|(x, p)| *x += step * *p));
}

#[inline(always)]
fn subtract<T: Scalar>(r: &mut [T], q: &[T], alpha: T) {
    r.iter_mut().zip(q).for_each(|(r, &q)| *r -= alpha * q);
}

fn for_blocks<T: Scalar>(x: &mut [T], p: &mut [T], body: impl Fn(usize, &mut [T], &mut [T]) + Sync) {
    if x.len() <= BLOCK {
        return body(0, x, p);
    }
    let blocks = x.par_chunks_mut(BLOCK).zip(p.par_chunks_mut(BLOCK));
    blocks.enumerate().for_each(|(block, (x, p))| body(block * BLOCK, x, p));
}

/// Adds the sums that `body(start, block of r)` returns, from the first block to the last.
fn sum_blocks<T: Scalar>(r: &mut [T], body: impl Fn(usize, &mut [T]) -> [f64; 2] + Sync) -> [f64; 2] {
    if r.len() <= BLOCK {
        return body(0, r);
    }
    let blocks = r.par_chunks_mut(BLOCK).enumerate();
    let partials: Vec<[f64; 2]> = blocks.map(|(block, r)| body(block * BLOCK, r)).collect();
    partials.into_iter().fold([0.0; 2], |sum, partial| [sum[0] + partial[0], sum[1] + partial[1]])
}
