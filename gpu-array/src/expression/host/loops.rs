//! The loops over a chunk. Each is compiled for each operation and type, and vectorised where the operation allows it.

/// A value of a step over a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoopOperand<'a, T> {
    Each(&'a [T]),
    Same(T),
}
use LoopOperand::{Each, Same};

impl<T: Copy> LoopOperand<'_, T> {
    /// The value at a place of the chunk.
    pub(super) fn at(&self, i: usize) -> T {
        match self {
            Each(values) => values[i],
            Same(value) => *value,
        }
    }

    pub(super) fn copy_to(&self, out: &mut [T]) {
        match self {
            Each(values) => out.copy_from_slice(values),
            Same(value) => out.fill(*value),
        }
    }
}

pub(super) fn unary<T: Copy, U: Copy>(a: LoopOperand<'_, T>, out: &mut [U], f: impl Fn(T) -> U) {
    match a {
        Each(a) => out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(a)),
        Same(a) => out.fill(f(a)),
    }
}

/// For operations of which a processor does several at once.
pub(super) fn binary<T: Copy, U: Copy>(
    a: LoopOperand<'_, T>,
    b: LoopOperand<'_, T>,
    out: &mut [U],
    f: impl Fn(T, T) -> U,
) {
    match (a, b) {
        (Each(a), Each(b)) => out.iter_mut().zip(a).zip(b).for_each(|((out, &a), &b)| *out = f(a, b)),
        (Each(a), Same(b)) => out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(a, b)),
        (Same(a), Each(b)) => out.iter_mut().zip(b).for_each(|(out, &b)| *out = f(a, b)),
        (Same(a), Same(b)) => out.fill(f(a, b)),
    }
}

/// [`binary`] of values times factors. A factor of 1 changes nothing: one loop for products on either side or both.
pub(super) fn scaled<T: num_traits::Float>(
    (a, factor_a): (LoopOperand<'_, T>, T),
    (b, factor_b): (LoopOperand<'_, T>, T),
    out: &mut [T],
    f: impl Fn(T, T) -> T,
) {
    let f = |a: T, b: T| f(a * factor_a, b * factor_b);
    binary(a, b, out, f);
}

/// For operations beside which a branch for each element does not count; less code.
pub(super) fn binary_slow<T: Copy, U: Copy>(
    a: LoopOperand<'_, T>,
    b: LoopOperand<'_, T>,
    out: &mut [U],
    f: impl Fn(T, T) -> U,
) {
    match (a, b) {
        (Same(a), Same(b)) => out.fill(f(a, b)),
        _ => out.iter_mut().enumerate().for_each(|(i, out)| *out = f(a.at(i), b.at(i))),
    }
}

pub(super) fn ternary<T: Copy>(operands: [LoopOperand<'_, T>; 3], out: &mut [T], f: impl Fn(T, T, T) -> T) {
    let [a, b, c] = operands;
    out.iter_mut().enumerate().for_each(|(i, out)| *out = f(a.at(i), b.at(i), c.at(i)));
}

pub(super) fn select<T: Copy>(
    condition: LoopOperand<'_, bool>,
    a: LoopOperand<'_, T>,
    b: LoopOperand<'_, T>,
    out: &mut [T],
) {
    let choose = |condition: bool, a: T, b: T| if condition { a } else { b };
    match (condition, a, b) {
        (Same(condition), _, _) => if condition { a } else { b }.copy_to(out),
        (Each(c), Each(a), Each(b)) => {
            out.iter_mut().zip(c).zip(a).zip(b).for_each(|(((out, &c), &a), &b)| *out = choose(c, a, b));
        }
        (Each(c), Each(a), Same(b)) => out.iter_mut().zip(c).zip(a).for_each(|((out, &c), &a)| *out = choose(c, a, b)),
        (Each(c), Same(a), Each(b)) => out.iter_mut().zip(c).zip(b).for_each(|((out, &c), &b)| *out = choose(c, a, b)),
        (Each(c), Same(a), Same(b)) => out.iter_mut().zip(c).for_each(|(out, &c)| *out = choose(c, a, b)),
    }
}
