//! The one decision of a reduction: the operator, the kernel with its template arguments, and the grid.

use gpu_array::{
    expression::{LoweredLeaf, MAX_AXES},
    gpu_driver::SCRATCH_COUNTERS,
};

use super::{
    axes::Axes,
    leaves::Located,
    policy::{ReduceAlgorithm, ReducePolicy, ReduceTuning, narrowest},
};
use crate::{
    AlgoError, Result,
    common::{
        launch::{DeviceLimits, MOST_BLOCKS, Occupancy, SLOTS_BEHIND, ScratchNeed},
        operator::DeviceOperator,
    },
};

/// Counters in the stream's scratch memory.
const COUNTERS: usize = SCRATCH_COUNTERS / size_of::<u32>();

/// Threads that go along an outer axis side by side.
const LANES: usize = 32;

/// Lanes where states are large. These take long to combine, and with fewer lanes fewer blocks share a result: none over 8192 columns. Means with
/// deviations and the map behind them then take 269.1 us in place of 269.9, but sums 91.1 in place of 90.9 (H100, 8192^2 f32).
const LANES_OF_LARGE: usize = 16;

/// The name of the operation in errors.
pub(super) const OP: &str = "a reduction";

/// A reduction with at least one result.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReduceProblem<'p> {
    pub(super) shape: &'p [usize],
    pub(super) leaves: &'p [LoweredLeaf<'p>],
    pub(super) axes: &'p Axes,
    /// The operator, whose state may be wider than is needed.
    pub(super) operator: &'p DeviceOperator,
}

/// The chosen kernel, compiled, and its grid.
pub(super) struct ReducePlan<K> {
    pub(super) kernel: K,
    /// The operator with the narrowest state that suffices.
    pub(super) operator: DeviceOperator,
    pub(super) policy: ReducePolicy,
    pub(super) grid: ReduceGrid,
}

/// The division of values and results among threads and blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReduceGrid {
    pub(super) blocks: usize,
    pub(super) blocks_per_result: usize,
    /// Packs of a result, or of outer indices where threads go along an outer axis.
    pub(super) packs: usize,
    /// Packs along the axis that threads go along.
    pub(super) row_packs: usize,
    /// Threads of a result, or of a row of packs of outer indices, as a power of 2.
    pub(super) log_threads: u32,
    /// Elements before the first one that align packs.
    pub(super) peel: usize,
    pub(super) scratch: ScratchNeed,
}

/// The operator and the policy for a problem.
pub(super) fn kernel_of(problem: &ReduceProblem<'_>, tuning: &ReduceTuning) -> (DeviceOperator, ReducePolicy) {
    let axes = problem.axes;
    let operator = narrowest(problem.operator, axes.count(), axes.results(), axes.along_outer);
    let policy = ReducePolicy::of(problem.leaves, axes, &operator, tuning);
    (operator, policy)
}

/// Chooses the kernel, its template arguments and the grid.
///
/// # Errors
/// `TooManyAxes`, `TooLarge`; those of `compile`.
pub(super) fn choose<K: Occupancy>(
    problem: &ReduceProblem<'_>,
    device: &DeviceLimits,
    compile: impl FnOnce(&DeviceOperator, &ReducePolicy) -> Result<K>,
) -> Result<ReducePlan<K>> {
    let axes = problem.axes;
    let got = axes.outer.len().max(axes.reduced.len());
    if got > MAX_AXES {
        return Err(AlgoError::TooManyAxes { op: OP, limit: MAX_AXES, got });
    }
    let (operator, policy) = kernel_of(problem, ReduceTuning::of(device.arch));
    let kernel = compile(&operator, &policy)?;
    let blocks = kernel.blocks(policy.block(), 0)?.min(policy.most_blocks as usize);
    let threads = device.multiprocessors * blocks * policy.threads as usize;
    let grid = match policy.algorithm {
        ReduceAlgorithm::All | ReduceAlgorithm::Rows => row_grid(problem, &operator, &policy, threads),
        ReduceAlgorithm::Columns => column_grid(axes, &operator, &policy, threads),
    };
    let too_large = || AlgoError::TooLarge { op: OP, shape: problem.shape.to_vec() };
    let grid = grid.filter(|grid| grid.blocks <= MOST_BLOCKS).ok_or_else(too_large)?;
    // Kernels that find an index count a thread's iterations in 32 bits.
    let walked = if axes.along_outer { axes.count() } else { grid.packs };
    if operator.wants_places() && walked / grid.blocks_per_result > u32::MAX as usize {
        return Err(too_large());
    }
    Ok(ReducePlan { kernel, operator, policy, grid })
}

/// Bytes of a state in scratch memory.
fn state_bytes(operator: &DeviceOperator) -> usize {
    operator.state_bytes().next_multiple_of(8)
}

/// The grid where threads go along a reduced axis: a block has several results, one, or a part of one.
fn row_grid(
    problem: &ReduceProblem<'_>,
    operator: &DeviceOperator,
    policy: &ReducePolicy,
    wanted_threads: usize,
) -> Option<ReduceGrid> {
    let ReduceProblem { leaves, axes, .. } = *problem;
    let (results, width, threads) = (axes.results(), policy.vector_size as usize, policy.threads as usize);
    let alone = axes.reduced.len() == 1 && axes.outer.is_empty();
    let peel = if alone { Located::of(leaves, axes).peel(width) } else { 0 };
    let row_packs = (axes.reduced[0].length + peel).div_ceil(width);
    let outer: usize = axes.reduced[1..].iter().map(|axis| axis.length).product();
    let packs = row_packs * outer;
    // Each thread of a result has at least two batches of packs, if there are enough results.
    let batches = packs.div_ceil(2 * policy.vectors_per_thread as usize).max(1);
    let is_all = policy.algorithm == ReduceAlgorithm::All;
    let mut of_result = if is_all { threads } else { batches.next_power_of_two().min(threads) };
    while of_result < threads && of_result < packs && results.saturating_mul(of_result) < wanted_threads {
        of_result *= 2;
    }
    let of_block = threads / of_result;
    let blocks_per_result = if of_block == 1 && results <= COUNTERS {
        let most = (wanted_threads / threads / results).max(1);
        // Two batches of one block are not worth a combination of several blocks.
        let batch = threads * policy.vectors_per_thread as usize;
        if packs <= 2 * batch { 1 } else { packs.div_ceil(batch).min(most) }
    } else {
        1
    };
    let groups = results.div_ceil(of_block);
    let blocks = groups.checked_mul(blocks_per_result)?;
    let scratch = match (blocks_per_result, groups) {
        (1, _) => ScratchNeed::None,
        // Eight bytes for each four of a state.
        (_, 1) => ScratchNeed::Cleared((blocks_per_result + SLOTS_BEHIND) * 2 * state_bytes(operator)),
        _ => ScratchNeed::Counted(blocks * state_bytes(operator)),
    };
    let log_threads = of_result.trailing_zeros();
    Some(ReduceGrid { blocks, blocks_per_result, packs, row_packs, log_threads, peel, scratch })
}

/// The grid where threads go along an outer axis, and each walks some of the reduced indices.
fn column_grid(
    axes: &Axes,
    operator: &DeviceOperator,
    policy: &ReducePolicy,
    wanted_threads: usize,
) -> Option<ReduceGrid> {
    let (count, width, threads) = (axes.count(), policy.vector_size as usize, policy.threads as usize);
    let row_packs = axes.outer[0].length.div_ceil(width);
    let outer: usize = axes.outer[1..].iter().map(|axis| axis.length).product();
    let packs = row_packs * outer;
    let mut lanes = packs.next_power_of_two().min(if operator.is_large() { LANES_OF_LARGE } else { LANES });
    while lanes < threads && threads / lanes > count.max(1) && lanes < packs {
        lanes *= 2;
    }
    let (groups, walkers) = (packs.div_ceil(lanes), threads / lanes);
    let blocks_per_result = if groups <= COUNTERS {
        let most = (wanted_threads / threads / groups).max(1);
        // Threads with large states take 4 packs at least, as far as they come: more blocks are worth more than full batches.
        let batch = policy.vectors_per_thread as usize;
        let least = if operator.is_large() { batch.min(4) } else { batch };
        count.div_ceil(walkers * least).clamp(1, most)
    } else {
        1
    };
    let blocks = groups.checked_mul(blocks_per_result)?;
    let scratch = match blocks_per_result {
        1 => ScratchNeed::None,
        _ => ScratchNeed::Counted(blocks * lanes * width * state_bytes(operator)),
    };
    let log_threads = lanes.trailing_zeros();
    Some(ReduceGrid { blocks, blocks_per_result, packs, row_packs, log_threads, peel: 0, scratch })
}
