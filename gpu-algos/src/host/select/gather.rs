//! Elements that are selected, side by side: counts of blocks, where each block begins, then the blocks.

use ndarray::{Array1, CowArray, Dimension};
use rayon::prelude::*;

use super::super::parallel::{self, REDUCED_AT_ONCE, ready};

/// The elements of an array in standard layout.
pub(super) fn elements<'v, T, D: Dimension>(array: &'v CowArray<'_, T, D>) -> &'v [T] {
    array.as_slice().expect("standard layout is one slice")
}

/// Whether each of `n` is selected, asked once.
pub(super) fn flags(n: usize, keep: impl Fn(usize) -> bool + Sync) -> Vec<bool> {
    let mut flags = vec![false; n];
    parallel::fill(&mut flags, REDUCED_AT_ONCE, &|first, flags| {
        flags.iter_mut().enumerate().for_each(|(i, flag)| *flag = keep(first + i));
    });
    flags
}

/// `value(i)` for each `i` that is selected, in order.
pub(super) fn selected<R: Copy + Send + Sync>(flags: &[bool], value: impl Fn(usize) -> R + Sync) -> Array1<R> {
    let counts = counts(flags);
    let mut out = room(counts.iter().sum(), &value);
    write::<R, true>(flags, &counts, &value, &mut out);
    out.into()
}

/// The selected ones, then the others, both in order; and how many are selected.
pub(super) fn parted<R: Copy + Send + Sync>(flags: &[bool], value: impl Fn(usize) -> R + Sync) -> (Array1<R>, usize) {
    let counts = counts(flags);
    let selected = counts.iter().sum();
    let mut out = room(flags.len(), &value);
    let (to_kept, to_others) = out.split_at_mut(selected);
    write::<R, true>(flags, &counts, &value, to_kept);
    let blocks = flags.chunks(REDUCED_AT_ONCE);
    let others: Vec<usize> = blocks.zip(&counts).map(|(flags, selected)| flags.len() - selected).collect();
    write::<R, false>(flags, &others, &value, to_others);
    (out.into(), selected)
}

/// How many of each block are selected.
fn counts(flags: &[bool]) -> Vec<usize> {
    // Few enough for a count in a byte, of which a vector has many.
    const FEW: usize = 128;
    let count = |flags: &[bool]| usize::from(flags.iter().fold(0_u8, |count, &flag| count + u8::from(flag)));
    ready();
    flags.par_chunks(REDUCED_AT_ONCE).map(|block| block.chunks(FEW).map(count).sum()).collect()
}

/// Memory for `n` results, which all threads are the first to touch.
pub(super) fn room<R: Copy + Send + Sync>(n: usize, value: &(impl Fn(usize) -> R + Sync)) -> Vec<R> {
    ready();
    if n == 0 { Vec::new() } else { rayon::iter::repeat_n(value(0), n).collect() }
}

/// Writes those whose flag is `WANTED`; `counts` says how many there are in each block.
fn write<R: Copy + Send + Sync, const WANTED: bool>(
    flags: &[bool],
    counts: &[usize],
    value: &(impl Fn(usize) -> R + Sync),
    mut out: &mut [R],
) {
    let mut parts = Vec::with_capacity(counts.len());
    for &count in counts {
        let (part, behind) = out.split_at_mut(count);
        parts.push(part);
        out = behind;
    }
    parallel::each(parts, &|block, part: &mut [R]| {
        let first = block * REDUCED_AT_ONCE;
        let flags = &flags[first..flags.len().min(first + REDUCED_AT_ONCE)];
        if !part.is_empty() {
            write_block(flags, WANTED, |i| value(first + i), part);
        }
    });
}

/// No branch depends on a flag: each value is written, and the next one over it unless it is wanted.
fn write_block<R: Copy>(flags: &[bool], wanted: bool, value: impl Fn(usize) -> R, mut out: &mut [R]) {
    const AT_ONCE: usize = 256;
    let mut buffer = [out[0]; AT_ONCE];
    for (chunk, flags) in flags.chunks(AT_ONCE).enumerate() {
        let mut n = 0;
        for (i, &flag) in flags.iter().enumerate() {
            buffer[n] = value(chunk * AT_ONCE + i);
            n += usize::from(flag == wanted);
        }
        let (part, behind) = out.split_at_mut(n);
        part.copy_from_slice(&buffer[..n]);
        out = behind;
    }
}
