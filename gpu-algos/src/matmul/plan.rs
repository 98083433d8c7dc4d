//! The one decision of a product: the kernel, its template arguments and the grid.

use gpu_array::DType;

use super::{
    boxes::BoxedOperands,
    grid::MatmulGrid,
    policy::{MOST_SKINNY_COLUMNS, MatmulPolicy, MatmulTuning, skinny_tiles},
    problem::MatmulProblem,
    stack::StackPolicy,
    tensor_cores::copy_time,
    tile::{BOXES, COMPLEX_BOXES},
    warps::WarpPlan,
};
use crate::{AlgoError, Result, common::launch::DeviceLimits};

/// The chosen kernel and its launch.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a plan is used where it is made, once for each product")]
pub(super) enum MatmulPlan {
    /// A block computes several small matrices.
    Stack(StackPolicy),
    /// A warp computes a tile.
    Warps(WarpPlan),
    /// A block computes a tile, or a part of one.
    Tiles(TilePlan),
}

/// The kernel whose blocks compute tiles, and its grid.
#[derive(Clone, Debug)]
pub(super) struct TilePlan {
    pub(super) policy: MatmulPolicy,
    /// The operands of a kernel that copies boxes.
    pub(super) boxed: Option<BoxedOperands>,
    pub(super) grid: MatmulGrid,
    /// The problem as the kernel computes it, where that is the transposed one, which has few columns.
    transposed: Option<MatmulProblem>,
    /// The estimated time, in multiplications of a multiprocessor.
    time: u128,
}

impl MatmulPlan {
    /// The estimated time, in multiplications of a multiprocessor; None where no other kernel is considered.
    pub(super) fn time(&self) -> Option<u128> {
        match self {
            Self::Stack(_) => None,
            Self::Warps(plan) => Some(plan.time),
            Self::Tiles(plan) => Some(plan.time),
        }
    }
}

/// Fewer terms of a result than this are not worth copies of both factors.
const MANY_TERMS: usize = 4096;

/// Copies of more bytes are not made: they could be more than the device has.
const MOST_COPIED: usize = 1 << 30;

/// The estimated time of a product of numbers of 16 or 8 bits in 32 bits on CUDA cores, with a launch that copies each matrix, in multiplications of a
/// multiprocessor. Infinite but for few results of many terms, for which tensor cores have a block or a few.
pub(super) fn time_in_words(problem: &MatmulProblem, device: &DeviceLimits) -> f64 {
    const TILE: usize = 64;
    let tiles = [problem.n.div_ceil(TILE), problem.matrices()]
        .into_iter()
        .fold(problem.m.div_ceil(TILE), usize::saturating_mul);
    let dtype = if problem.dtype.is_half() { DType::F32 } else { DType::U32 };
    let elements = |rows: usize, columns: usize| problem.matrices().saturating_mul(rows).saturating_mul(columns);
    let (a, b) = (elements(problem.m, problem.k), elements(problem.k, problem.n));
    let copied = a.saturating_add(b).saturating_mul(dtype.bytes());
    if problem.k < MANY_TERMS || tiles >= device.multiprocessors || copied > MOST_COPIED {
        return f64::INFINITY;
    }
    let words = MatmulProblem { dtype, ..problem.clone() };
    let plan = choose("matmul", &words, Wanted::default(), device).ok();
    let Some(time) = plan.and_then(|plan| plan.time()) else { return f64::INFINITY };
    let of_element = dtype.bytes() + problem.dtype.bytes();
    let copies = [a, b, elements(problem.m, problem.n)];
    let copies = copies.map(|elements| copy_time(elements.saturating_mul(of_element), device.multiprocessors));
    time as f64 + copies.iter().sum::<f64>()
}

/// Requirements of a product that decide between kernels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// An epilogue, which only tiles of blocks have.
    pub(super) epilogue: bool,
    /// Tiles of blocks also where another kernel is expected to be faster.
    pub(super) tiles: bool,
}

/// Chooses the kernel and the grid. Small matrices of a stack have their kernel also where an epilogue is wanted, which it has not.
///
/// # Errors
/// `TooLarge`.
pub(super) fn choose(
    op: &'static str,
    problem: &MatmulProblem,
    wanted: Wanted,
    device: &DeviceLimits,
) -> Result<MatmulPlan> {
    let stack = StackPolicy::of(problem, device).filter(|_| !wanted.tiles);
    let warps = WarpPlan::of(problem, device).filter(|_| !wanted.tiles);
    match (stack, warps.filter(|_| !wanted.epilogue)) {
        (Some(policy), Some(plan)) if policy.is_of_largest() => Ok(MatmulPlan::Warps(plan)),
        (Some(policy), _) => Ok(MatmulPlan::Stack(policy)),
        (None, _) => {
            let tiles = tiles(op, problem, device)?;
            match warps.filter(|plan| plan.time < tiles.time) {
                // The sums of an expression have the bits of the product alone, which warps add in the order of k.
                Some(plan) if wanted.epilogue => {
                    Ok(MatmulPlan::Tiles(TilePlan { time: plan.time, ..tiles_in_order(op, problem, device)? }))
                }
                Some(plan) => Ok(MatmulPlan::Warps(plan)),
                None => Ok(MatmulPlan::Tiles(tiles)),
            }
        }
    }
}

/// Chooses the kernel and the grid for matrices that lie anywhere, a stack with one axis: that of small matrices, or tiles of blocks. None for fewer tiles
/// than multiprocessors with many terms, which several blocks of a product alone share.
///
/// # Errors
/// `TooLarge`.
pub(super) fn choose_listed(
    op: &'static str,
    problem: &MatmulProblem,
    device: &DeviceLimits,
) -> Result<Option<MatmulPlan>> {
    if let Some(policy) = StackPolicy::of(problem, device) {
        return Ok(Some(MatmulPlan::Stack(policy)));
    }
    let plan = tiles_in_order(op, problem, device)?;
    let is_long = problem.k >= MANY_TERMS && plan.grid.blocks < device.multiprocessors;
    Ok((!is_long).then_some(MatmulPlan::Tiles(plan)))
}

/// The plan whose sums are added in the order of k: a block has a tile to itself.
fn tiles_in_order(op: &'static str, problem: &MatmulProblem, device: &DeviceLimits) -> Result<TilePlan> {
    let tuning = MatmulTuning::of(device.arch);
    let fastest = tuning.fastest(problem, tuning.tiles(problem.dtype).iter(), |grid| grid.splits == 1, device);
    let (time, tile, grid) = fastest.ok_or_else(|| too_large(op, problem))?;
    let policy = MatmulPolicy::new(problem, tile, &grid, None);
    Ok(TilePlan { policy, boxed: None, grid, transposed: None, time })
}

fn too_large(op: &'static str, problem: &MatmulProblem) -> AlgoError {
    AlgoError::TooLarge { op, shape: vec![problem.matrices(), problem.m, problem.n] }
}

fn tiles(op: &'static str, problem: &MatmulProblem, device: &DeviceLimits) -> Result<TilePlan> {
    let (boxed, tuning) = (BoxedOperands::of(problem, device.arch), MatmulTuning::of(device.arch));
    let boxes = match &boxed {
        Some(_) if problem.dtype.is_complex() => COMPLEX_BOXES,
        Some(_) => BOXES,
        None => &[],
    };
    let tiles = boxes.iter().chain(tuning.tiles(problem.dtype)).chain(skinny_tiles(problem));
    let direct = tuning.fastest(problem, tiles, |_| true, device);
    let transposed = (problem.m <= MOST_SKINNY_COLUMNS).then(|| problem.transposed());
    let of_transposed =
        transposed.as_ref().and_then(|problem| tuning.fastest(problem, skinny_tiles(problem), |_| true, device));
    let is_transposed = match (&direct, &of_transposed) {
        (Some((direct, ..)), Some((of_transposed, ..))) => of_transposed < direct,
        _ => direct.is_none(),
    };
    let (transposed, fastest) = if is_transposed { (transposed, of_transposed) } else { (None, direct) };
    let (time, tile, grid) = fastest.ok_or_else(|| too_large(op, problem))?;
    let policy = MatmulPolicy::new(transposed.as_ref().unwrap_or(problem), tile, &grid, boxed.as_ref());
    Ok(TilePlan { policy, boxed: boxed.filter(|_| tile.is_of_boxes()), grid, transposed, time })
}

impl TilePlan {
    /// The problem as the kernel computes it.
    pub(super) fn problem<'p>(&'p self, problem: &'p MatmulProblem) -> &'p MatmulProblem {
        self.transposed.as_ref().unwrap_or(problem)
    }
}
