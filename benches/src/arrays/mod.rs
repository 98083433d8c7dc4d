//! Fused expressions, copies between layouts, and the cost of an expression to the host.
//!
//! A case is a length, or the side of a square matrix or cube. Results go into arrays that are there, but for cases that end in `-eval`,
//! and joined arrays.

mod answers;
mod computing;
mod host;
mod input;
mod moving;
mod overhead;

pub(crate) use answers::{near, rounding};
pub(crate) use computing::elements;
pub(crate) use host::{lengths, lincomb, wave};
pub(crate) use input::{Input, Pair, Random};

use crate::harness::Harness;

/// Figures on a device, and of the evaluator on the host.
pub fn figures(harness: &mut Harness) {
    {
        let large = harness.set().pick(64, 1024, 16384);
        let longest = Input::new(large * large);
        computing::figures(harness, &longest);
        moving::figures(harness, large, &longest);
    }
    overhead::figures(harness);
    host::figures(harness);
}
