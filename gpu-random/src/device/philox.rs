//! Launches of `philox.cu`.
#![expect(unsafe_code, reason = "one block per kernel launch")]

use gpu_driver::DeviceSliceMut;

use super::{
    constants::{PHILOX_BLOCKS, PHILOX_THREADS},
    entries::{KERNELS, PhiloxFill, PhiloxFillAny},
    table::{FillContext, Parameters},
};
use crate::{
    PhiloxRng, Result,
    distribution::Distribution,
    engine::{FillRequest, Rules, Seed},
    turns::StreamPosition,
};

/// Blocks of words that a block of threads makes.
const BLOCKS: u64 = (PHILOX_THREADS * PHILOX_BLOCKS) as u64;

/// There is no state.
#[derive(Default)]
pub(crate) struct DeviceStates;

/// Fills `out`.
pub(crate) fn fill<D: Distribution>(
    request: FillRequest<'_, PhiloxRng>,
    distribution: D,
    out: DeviceSliceMut<'_, D::Value>,
) -> Result<()> {
    let FillRequest { seed, turns, call, .. } = request;
    let queue = out.home().clone();
    let n = out.len() as u64;
    let begins_at = u64::from(call.skip) * size_of::<D::Value>() as u64;
    let whole = u32::from(out.as_raw().wrapping_sub(begins_at) % 16 == 0);
    let grid = (call.turns * u64::from(call.draws)).div_ceil(BLOCKS) as u32;
    // A fill without tables need not ask whether it is captured.
    let context = (!distribution.table().is_empty()).then(|| FillContext::new(&queue)).transpose()?;
    let without = || Ok(Parameters::of(&distribution));
    let parameters = context.as_ref().map_or_else(without, |context| context.parameters(&distribution))?;
    let [a, b, c] = parameters.values;
    if let (Seed::One(seed), Some((below, others, split))) = (seed, in_curand_order(turns)) {
        let kernel = KERNELS.kernel::<PhiloxFill<D>>(queue.device(), &())?;
        let arguments = (out.output(), n, *seed, call.cursor, call.skip, whole, below, others, split, a, b, c);
        // SAFETY: `out` has n values, to which the kernel keeps, and is aligned where `whole` says so.
        unsafe { kernel.launch(grid, arguments, &queue)? };
        return Ok(());
    }
    let context = context.map_or_else(|| FillContext::new(&queue), Ok)?;
    let (one, each, seeds): (_, _, &[u32]) = match seed {
        Seed::One(seed) => (*seed, 0, &[]),
        Seed::Each(seeds) => (0, 1, seeds),
    };
    let pieces = turns.pieces().iter().flat_map(|piece| [piece.from.into(), piece.draws as u64]);
    let (seeds, pieces) = (context.table(seeds)?, context.table(&pieces.collect::<Vec<u64>>())?);
    let kernel = KERNELS.kernel::<PhiloxFillAny<D>>(queue.device(), &())?;
    let count = turns.pieces().len() as u32;
    let where_to = (turns.generators(), call.cursor, call.skip, whole);
    let arguments = (
        out.output(),
        n,
        one,
        context.read(&seeds)?.input(),
        each,
        where_to.0,
        where_to.1,
        where_to.2,
        where_to.3,
        context.read(&pieces)?.input(),
        count,
        a,
        b,
        c,
    );
    // SAFETY: `out` has n values, to which the kernel keeps, and is aligned where `whole` says so; there are `count` pairs in `pieces`, the first
    // from generator 0 on, and a seed for each generator where `each` says so.
    unsafe { kernel.launch(grid, arguments, &queue)? };
    Ok(())
}

/// The blocks that generators below a bound, and from there on, have made, where the stream is in cuRAND's order and that is all there is
/// to know.
fn in_curand_order(turns: &StreamPosition) -> Option<(u64, u64, u32)> {
    if turns.generators() != PhiloxRng::GENERATORS {
        return None;
    }
    match *turns.pieces() {
        [all] => Some((0, all.draws as u64, 0)),
        [below, others] => Some((below.draws as u64, others.draws as u64, others.from)),
        _ => None,
    }
}
