//! From the axes of a reduction to a launch: the kernel, the threads and blocks of a result, the params.

use std::mem::offset_of;

use gpu_array::{
    DType,
    expression::{AxisParams, CONSTANT, LeafParams, LoweredLeaf, MAX_AXES, PACKED, STRIDED, divisor, pack_bytes},
    gpu_driver::LaunchConfig,
};
use smallvec::SmallVec;

use super::{
    axes::{Axes, Axis, Leaves},
    operator::Operator,
    params::{COUNTER_BYTES, ReduceHead, ReduceParams},
    policy::{Algorithm, Policy},
    source::ValueSource,
};
use crate::{
    AlgoError, Result,
    launch::{Launch, MOST_BLOCKS, SLOTS_BEHIND, ScratchNeed, Words},
};

/// Counters in the stream's scratch memory.
const COUNTERS: usize = COUNTER_BYTES / size_of::<u32>();

/// Index in [`Launch::params`] of the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(ReduceHead, scratch) / size_of::<u64>();

/// The numbers that kernels receive; see `Words of a reduction` in `reduce.cuh`.
struct Shape {
    results: usize,
    count: usize,
    blocks_per_result: usize,
    packs: usize,
    log_threads: u32,
    row_packs: usize,
    peel: usize,
    groups: usize,
    states_of_block: usize,
}

/// The launch of a reduction into elements at `targets`; None if there is no result.
#[expect(clippy::too_many_arguments, reason = "what is reduced, how, to where: each of its own kind")]
pub(crate) fn plan(
    source: &impl ValueSource,
    leaves: &Leaves<'_>,
    axes: &Axes,
    operator: &Operator,
    policy: &Policy,
    targets: &[u64],
    count: usize,
    wanted_threads: usize,
) -> Result<Option<Launch>> {
    let mut axes = axes.clone();
    let results: usize = axes.outer.iter().map(|axis| axis.length).product();
    if results == 0 {
        return Ok(None);
    }
    for list in [&axes.outer, &axes.reduced] {
        if list.len() > MAX_AXES {
            return Err(AlgoError::TooManyAxes { op: "a reduction", limit: MAX_AXES, got: list.len() });
        }
    }
    let one = || Axis { length: 1, outer: false, steps: SmallVec::from_elem(0, 1 + axes.leaf_offsets.len()) };
    if !axes.along_outer && axes.reduced.is_empty() {
        axes.reduced.push(one());
    }
    let bases = bases(leaves, &axes);
    let shape = if axes.along_outer {
        columns(&axes, policy, results, count, wanted_threads)
    } else {
        rows(leaves, &axes, policy, results, count, wanted_threads, &bases)
    };
    let blocks = shape.groups.checked_mul(shape.blocks_per_result).filter(|&blocks| blocks <= MOST_BLOCKS);
    let too_large = || AlgoError::TooLarge { op: "a reduction", shape: source.shape().to_vec() };
    let blocks = blocks.ok_or_else(too_large)?;
    // Kernels that find an index count a thread's turns in 32 bits.
    let walked = if axes.along_outer { count } else { shape.packs };
    if operator.wants_places() && walked / shape.blocks_per_result > u32::MAX as usize {
        return Err(too_large());
    }
    let config = LaunchConfig { grid: (blocks as u32).into(), block: policy.block().into(), shared_bytes: 0 };
    let state_bytes = operator.state_bytes().next_multiple_of(8);
    let scratch = match (shape.blocks_per_result, axes.along_outer, shape.groups) {
        (1, ..) => ScratchNeed::None,
        // Eight bytes for each four of a state.
        (blocks_per_result, false, 1) => ScratchNeed::Cleared((blocks_per_result + SLOTS_BEHIND) * 2 * state_bytes),
        _ => ScratchNeed::Counted(blocks * shape.states_of_block * state_bytes),
    };
    let params = params(source, leaves, &axes, &shape, operator, policy, targets, &bases);
    Ok(Some(Launch { params, scratch_word: SCRATCH_WORD, scratch, config }))
}

/// Whether the kernel `all` reduces these axes: to one result, by an operator that it supports, with all leaves contiguous.
pub(crate) fn is_all(leaves: &Leaves<'_>, axes: &Axes, operator: &Operator, policy: &Policy) -> bool {
    if axes.along_outer || !axes.outer.is_empty() || axes.reduced.len() > 1 || !operator.is_for_all() {
        return false;
    }
    let Some(axis) = axes.reduced.first() else { return leaves.iter().all(|leaf| leaf.is_place) };
    let (bases, width) = (bases(leaves, axes), policy.width as usize);
    let peel = peel(leaves, axis, &bases, width);
    let packed = |number: usize, leaf: &LoweredLeaf<'_>| {
        leaf.is_place || leaf_kind(axes, number, leaf.dtype, bases[number], peel, width) == PACKED
    };
    leaves.iter().enumerate().all(|(number, leaf)| packed(number, leaf))
}

/// The address of each leaf's first element, or the first index of a leaf without memory.
fn bases(leaves: &Leaves<'_>, axes: &Axes) -> SmallVec<[u64; 4]> {
    let each = leaves.iter().zip(&axes.leaf_offsets).map(|(leaf, &offset)| {
        let step = if leaf.is_place { 1 } else { leaf.dtype.bytes() as i64 };
        leaf.address.wrapping_add_signed(offset as i64 * step)
    });
    each.collect()
}

/// The grid where threads go along a reduced axis: a block has several results, one, or a part of one.
fn rows(
    leaves: &Leaves<'_>,
    axes: &Axes,
    policy: &Policy,
    results: usize,
    count: usize,
    wanted_threads: usize,
    bases: &[u64],
) -> Shape {
    let (width, threads) = (policy.width as usize, policy.threads as usize);
    let alone = axes.reduced.len() == 1 && axes.outer.is_empty();
    let peel = if alone { peel(leaves, &axes.reduced[0], bases, width) } else { 0 };
    let row_packs = (axes.reduced[0].length + peel).div_ceil(width);
    let outer: usize = axes.reduced[1..].iter().map(|axis| axis.length).product();
    let packs = row_packs * outer;
    // Each thread of a result has at least two batches of packs, if there are enough results.
    let turns = packs.div_ceil(2 * policy.unroll as usize).max(1);
    let is_all = policy.algorithm == Algorithm::All;
    let mut of_result = if is_all { threads } else { turns.next_power_of_two().min(threads) };
    while of_result < threads && of_result < packs && results.saturating_mul(of_result) < wanted_threads {
        of_result *= 2;
    }
    let of_block = threads / of_result;
    let blocks_per_result = if of_block == 1 && results <= COUNTERS {
        let most = (wanted_threads / threads / results).max(1);
        // Two batches of one block are not worth a combination of several blocks.
        let batch = threads * policy.unroll as usize;
        if packs <= 2 * batch { 1 } else { packs.div_ceil(batch).min(most) }
    } else {
        1
    };
    Shape {
        results,
        count,
        blocks_per_result,
        packs,
        log_threads: of_result.trailing_zeros(),
        row_packs,
        peel,
        groups: results.div_ceil(of_block),
        states_of_block: 1,
    }
}

/// Elements before the first one that align the packs of the first leaf in memory.
fn peel(leaves: &Leaves<'_>, axis: &Axis, bases: &[u64], width: usize) -> usize {
    let first = leaves.iter().enumerate().find(|(number, leaf)| !leaf.is_place && axis.steps[number + 1] == 1);
    first.map_or(0, |(number, leaf)| {
        let bytes = leaf.dtype.bytes();
        (bases[number] % pack_bytes(width, bytes)) as usize / bytes
    })
}

/// The grid where threads go along an outer axis, and each walks some of the reduced indices.
fn columns(axes: &Axes, policy: &Policy, results: usize, count: usize, wanted_threads: usize) -> Shape {
    let (width, threads) = (policy.width as usize, policy.threads as usize);
    let row_packs = axes.outer[0].length.div_ceil(width);
    let outer: usize = axes.outer[1..].iter().map(|axis| axis.length).product();
    let packs = row_packs * outer;
    let mut lanes = packs.next_power_of_two().min(32);
    while lanes < threads && threads / lanes > count.max(1) && lanes < packs {
        lanes *= 2;
    }
    let (groups, walkers) = (packs.div_ceil(lanes), threads / lanes);
    let blocks_per_result = if groups <= COUNTERS {
        let most = (wanted_threads / threads / groups).max(1);
        count.div_ceil(walkers * policy.unroll as usize).clamp(1, most)
    } else {
        1
    };
    let log_threads = lanes.trailing_zeros();
    Shape {
        results,
        count,
        blocks_per_result,
        packs,
        log_threads,
        row_packs,
        peel: 0,
        groups,
        states_of_block: lanes * width,
    }
}

/// The kind of a leaf along the axis that threads go along.
fn leaf_kind(axes: &Axes, leaf: usize, dtype: DType, address: u64, peel: usize, width: usize) -> u64 {
    let (along, others): (&Axis, _) = match axes.along_outer {
        true => (&axes.outer[0], axes.outer[1..].iter().chain(&axes.reduced[..])),
        false => (&axes.reduced[0], axes.reduced[1..].iter().chain(&axes.outer[..])),
    };
    let pack = pack_bytes(width, dtype.bytes());
    match along.steps[leaf + 1] {
        0 => CONSTANT,
        1 => {
            let start = address.wrapping_sub((peel * dtype.bytes()) as u64);
            let whole = |axis: &Axis| (axis.steps[leaf + 1] * dtype.bytes() as isize) % pack as isize == 0;
            let mut others = others;
            if start.is_multiple_of(pack) && others.all(whole) { PACKED } else { STRIDED }
        }
        _ => STRIDED,
    }
}

#[expect(clippy::too_many_arguments, reason = "what is reduced, how, to where: each of its own kind")]
fn params(
    source: &impl ValueSource,
    leaves: &Leaves<'_>,
    axes: &Axes,
    shape: &Shape,
    operator: &Operator,
    policy: &Policy,
    targets: &[u64],
    bases: &[u64],
) -> Words {
    let limit = i32::MAX as usize;
    let kind = |number: usize, leaf: &LoweredLeaf<'_>| match leaf.is_place {
        true => PACKED,
        false => leaf_kind(axes, number, leaf.dtype, bases[number], shape.peel, policy.width as usize),
    };
    let leaf_params: SmallVec<[LeafParams; 4]> = leaves
        .iter()
        .enumerate()
        .map(|(number, leaf)| LeafParams { address: bases[number], kind: kind(number, leaf) })
        .collect();
    let is_plain = axes.reduced.len() == 1 && leaf_params.iter().all(|leaf| leaf.kind == PACKED);
    let target =
        |(&target, dtype): (&u64, DType)| target.wrapping_add_signed(axes.result_offset as i64 * dtype.bytes() as i64);
    let mut params = Words::new();
    ReduceParams {
        head: ReduceHead {
            results: shape.results as u64,
            count: shape.count as u64,
            scratch: 0,
            packs: shape.packs as u64,
            row_packs: shape.row_packs as u64,
            row_divisor: divisor(shape.row_packs.max(1)),
            peel: shape.peel as u64,
            blocks_per_result: shape.blocks_per_result as u64,
            log_threads: shape.log_threads,
            reduced_rank: axes.reduced.len() as u32,
            outer_rank: axes.outer.len() as u32,
            is_plain: is_plain.into(),
            is_wide: (shape.packs > limit || shape.count > limit || shape.results > limit).into(),
        },
        targets: targets.iter().zip(operator.results()).map(target),
        leaves: leaf_params.iter().copied(),
        reduced: axis_params(&axes.reduced, leaves),
        outer: axis_params(&axes.outer, leaves),
        scalars: source.scalars().iter().copied(),
        extra: source.extra(),
    }
    .write(&mut params);
    params
}

fn axis_params<'a>(axes: &'a [Axis], leaves: &Leaves<'_>) -> impl Iterator<Item = AxisParams<'a>> {
    AxisParams::list(axes.iter().map(|axis| AxisParams::new(axis.length, &axis.steps)), 1 + leaves.len())
}

/// Text for a kernel's program that compares its parameters with those that are passed; `value` is the structure of the source.
pub(crate) fn check_text(source: &impl ValueSource, operator: &Operator, value: &str) -> String {
    let leaves = source.leaves().len();
    let axes = MAX_AXES * AxisParams::words(1 + leaves);
    let (scalars, extra) = (source.scalars().len().max(1), source.extra().len().max(1));
    let lists = [operator.results().len(), 2 * leaves.max(1), axes, axes, scalars, extra];
    ReduceHead::check(&format!("gpu::reduce::ReduceParams<{value}, {}>", operator.text()), lists)
}
