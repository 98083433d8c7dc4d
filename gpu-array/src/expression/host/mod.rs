//! Expressions on the CPU.
//!
//! # Definitions
//! Those of [`super::graph::Op`]; the other evaluator follows the rules here too, to the bit unless a bound is named.
//!
//! - Integers wrap (two's complement). `a // b` is `floor(a / b)` and `a % b` is `a - (a // b) * b`; both are 0 for b = 0; for b = -1 the
//!   least integer gives itself and 0.
//! - Floats, `a // b` and `a % b`, as NumPy's `divmod`: with `m = fmod(a, b)`,
//!   ```text
//!   b == 0:     a // b = a / b,   a % b = m
//!   otherwise:  q = (a - m) / b
//!               if m != 0 and (b < 0) != (m < 0):  q = q - 1,  m = m + b
//!               if m == 0:  m = copysign(0, b)
//!               a % b  = m
//!               a // b = copysign(0, a / b) if q == 0, else floor(q), and one more if q - floor(q) > 0.5
//!   ```
//! - Minimum and maximum are comparisons, as [`super::graph::Op`] writes them: of two zeros the first one, of two NaN the first one.
//! - `round` takes halves to the even integer, `sign` of either zero is +0, `fma` rounds once, nothing else is contracted.
//! - Integer powers wrap as repeated products do; for a negative exponent `1 / a^|b|` is cut towards 0, and 0 to it is 0.
//! - Casts are Rust's `as`.
//! - The functions within a bound (exp to cbrt, power, atan2, hypot) are those of Rust's standard library, so the C library's. The test
//!   `precise` holds each against a million values: `syntax/math.rs` has the bounds.
//! - The special functions (asinh to the Bessel functions) are those of the crate `libm` for f64, whose values round to f32. They keep to the bounds
//!   that their methods give.
//! - An operation that is not told for a type is an error: bit operations of floats, functions of integers, arithmetic of bool.
//!   Comparisons, minimum and maximum are defined for bool too, false before true.
//!
//! # How
//! The places are cut into chunks that the first cache holds. Step by step, one loop over the chunk writes the step's values to a register,
//! or to the output where they are wanted; threads take pieces of many chunks. No value depends on the cuts: results are the same bits
//! for any number of threads.

mod frame;
mod lane;
mod location;
mod loops;
mod plan;
mod read;
mod rows;
mod scalar;
mod table;
#[cfg(test)]
mod tests;

use frame::Frame;
use plan::{LEAST_CHUNK, Plan};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::graph::Code;
use crate::{ArrayError, Result, element::HostSliceMut, start_threads};

/// Writes the values of step `code.outputs[k]` at all places, in C order, to `outputs[k]`.
///
/// # Errors
/// `TooLarge` for more places than can be counted; `Length` unless there is an output for each of `code.outputs`, as long as there are places;
/// `Operation` for a code that is not well formed, or reads device memory; `Threads`.
pub(crate) fn evaluate(code: &Code<'_>, outputs: Vec<HostSliceMut<'_>>) -> Result<()> {
    let places = if code.shape.contains(&0) {
        Some(0)
    } else {
        code.shape.iter().try_fold(1, |n: usize, &len| n.checked_mul(len))
    };
    let places = places.ok_or_else(|| ArrayError::TooLarge { shape: code.shape.to_vec() })?;
    let fits = outputs.iter().all(|output| output.len() == places) && outputs.len() == code.outputs.len();
    if !fits {
        let got = outputs.first().map_or(0, HostSliceMut::len);
        return Err(ArrayError::Length { shape: code.shape.to_vec(), expected: places, got });
    }
    if places == 0 {
        return Ok(());
    }
    start_threads()?;
    let plan = Plan::new(code)?;
    let (chunk, threads, cost) = (plan.chunk(), rayon::current_num_threads(), plan.cost().max(1));
    if threads < 2 || places.saturating_mul(cost) < WORTH_THREADS {
        return piece(&plan, 0, outputs.into(), chunk);
    }
    let len = places.div_ceil(threads * PIECES_PER_THREAD).max(WORTH_A_PIECE / cost);
    // Whole chunks, or fewer places than a chunk where there are few.
    let len = len.next_multiple_of(if len < chunk { LEAST_CHUNK } else { chunk });
    let cut = split(outputs.into(), places, len);
    cut.into_par_iter().with_max_len(1).enumerate().try_for_each(|(i, outputs)| piece(&plan, i * len, outputs, chunk))
}

/// Operations (about 0.1 ns each) from which on waking other threads pays.
const WORTH_THREADS: usize = 1 << 18;
/// Operations of a piece, at least: so many hide the cost of handing it over.
const WORTH_A_PIECE: usize = 1 << 16;
/// Pieces for each thread: so many that threads which start late or run slower get fewer of them.
const PIECES_PER_THREAD: usize = 16;

type Outputs<'o> = SmallVec<[HostSliceMut<'o>; 2]>;

/// The outputs in pieces of `len` places.
fn split(mut outputs: Outputs<'_>, places: usize, len: usize) -> Vec<Outputs<'_>> {
    let lens = (0..places).step_by(len).map(|start| len.min(places - start));
    lens.map(|len| outputs.iter_mut().map(|output| output.take_first(len)).collect()).collect()
}

/// Computes the places from `start` on, chunk by chunk.
fn piece(plan: &Plan<'_, '_>, mut start: usize, mut outputs: Outputs<'_>, chunk: usize) -> Result<()> {
    let mut rest = outputs.first().map_or(0, HostSliceMut::len);
    let mut registers = plan.registers(chunk.min(rest));
    while rest > 0 {
        let len = chunk.min(rest);
        let mut outputs: Outputs<'_> = outputs.iter_mut().map(|output| output.take_first(len)).collect();
        plan.run(Frame { located: &plan.located, registers: &mut registers, outputs: &mut outputs, start, len })?;
        (start, rest) = (start + len, rest - len);
    }
    Ok(())
}
