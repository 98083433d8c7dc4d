//! Expressions on a GPU: the loop, its text, its words, its launch.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

mod axes;
mod batch;
mod lower;
mod pack_text;
mod params;
mod plan;
pub(super) mod policy;
mod step_text;
pub(super) mod text;

use gpu_driver::{KernelSpace, PARAMETER_BYTES, Program, Stream};
use smallvec::SmallVec;

pub(crate) use batch::Batch;
pub use params::{AxisEntry, CONSTANT, LeafParams, MAX_AXES, PACKED, STRIDED, divisor};
pub use plan::pack_bytes;
pub use text::{COMPLEX_HEADERS, HALF_HEADERS, HEADERS, PACKS, loop_program};

use self::{
    axes::Axes,
    plan::LaunchTarget,
    policy::{Loop, Policy},
    text::Text,
};
use super::graph::Code;
use crate::{ArrayError, Result, shape::Strides};

/// The keys of expressions' kernels.
static SPACE: KernelSpace = KernelSpace::new();

type Key = SmallVec<[u64; 64]>;

/// Computes the outputs of `code` into elements at `addresses`, all with the same strides, in the order of `stream`. Does not wait.
pub(crate) fn run(code: &Code<'_>, stream: &Stream, addresses: &[u64], strides: &Strides, offset: isize) -> Result<()> {
    let Some(mut axes) = Axes::of(code, strides, offset) else { return Ok(()) };
    code.check_kernel(stream)?;
    let target = LaunchTarget::of(code, addresses);
    let (which, policy) = plan::choose(code, &mut axes, &target, stream.device().arch());
    check_words(code, which)?;
    let mut key = Key::new();
    write_key(&mut key, code, which);
    let kernel = stream.device().generated_kernel(&SPACE, &key, || Ok(program(code, which, &policy)))?;
    let mut homes: SmallVec<[&Stream; 4]> = SmallVec::new();
    for home in code.homes() {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    plan::for_each_launch(code, &axes, which, &policy, &target, &|words, config| {
        debug_assert_eq!(words.len(), plan::words(code, which));
        // SAFETY: the words fulfil the loop's contract: `plan` made them of the axes. Every offset lies within the view that a leaf, a table or the
        // target was made from. These borrow their elements (the target exclusively) until this call returns, and their homes precede and follow the launch.
        unsafe { kernel.launch(config, words, &homes, stream)? };
        Ok(())
    })
}

/// Checks that the arguments fit into a kernel's parameters.
fn check_words(code: &Code<'_>, which: Loop) -> Result<()> {
    let got = plan::words(code, which) * size_of::<u64>();
    if got > PARAMETER_BYTES { Err(ArrayError::TooManyArguments { limit: PARAMETER_BYTES, got }) } else { Ok(()) }
}

/// Writes everything that the text of a kernel depends on.
fn write_key(key: &mut Key, code: &Code<'_>, which: Loop) {
    key.extend_from_slice(&[SPACE.word(), which.number(), which.same_along_rows()]);
    code.write_key(key);
}

fn program(code: &Code<'_>, which: Loop, policy: &Policy) -> Program {
    let mut text = Text::new();
    text.add(code, which, policy);
    text.program()
}
