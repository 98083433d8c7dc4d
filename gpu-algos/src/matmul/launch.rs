//! The launches of the kernels of matrix products.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use std::iter;

use gpu_array::{
    DType,
    expression::MAX_AXES,
    gpu_driver::{Device, DeviceVec, GeneratedKernel, KernelSpace, LaunchConfig, Stream},
};
use smallvec::SmallVec;

use super::{
    epilogue::{PlacedEpilogue, ProductEpilogue},
    params::{self, SCRATCH_WORD, params_of},
    plan::{MatmulPlan, TilePlan, Wanted, choose, choose_listed, time_in_words},
    policy::{MatmulPolicy, element_key},
    precision::{Precision, RequestedPrecision},
    problem::MatmulProblem,
    program,
    stack::{StackPolicy, is_narrow},
    tensor_cores::{self, Products},
    tile::PACK_BYTES,
    warps::{WarpPlan, WarpTile},
};
use crate::{
    AlgoError, Result,
    common::launch::{DeviceLimits, Launch, ScratchNeed},
};

/// Enqueues a product of numbers of 16 or 8 bits on `stream`, after the work of `homes`: a stack of small matrices in the kernel of these, others if
/// tensor cores compute them, and are expected to be faster than CUDA cores are with numbers of 32 bits, as they are but for few results of many terms;
/// false if not. Does not wait.
///
/// # Errors
/// Those of [`run`].
fn run_narrow(
    problem: &MatmulProblem,
    epilogue: Option<&ProductEpilogue<'_, '_>>,
    homes: &[&Stream],
    stream: &Stream,
) -> Result<bool> {
    if problem.batch.len() > MAX_AXES {
        return Ok(false);
    }
    if problem.is_empty() {
        return Ok(true);
    }
    let limits = DeviceLimits::of(stream.device())?;
    // Of a stack of small matrices most of a tile of tensor cores would be empty. Matrices of 33 to 64 rows or columns fill enough of one.
    if !StackPolicy::is_small(problem)
        && let Some(products) = Products::of(problem.dtype, Precision::Strict)
    {
        let strict = time_in_words(problem, &limits);
        if tensor_cores::run(problem, (products, strict), epilogue, &limits, homes, stream)? {
            return Ok(true);
        }
    }
    let Some(policy) = StackPolicy::of(problem, &limits).filter(|_| epilogue.is_none()) else { return Ok(false) };
    let kernel = stack_kernel(problem.dtype, &policy, false, stream.device())?;
    // SAFETY: as in `run`: the params fulfil the kernel's contract for views that are borrowed until this call returns, that of c exclusively.
    unsafe { of_stack(problem, &policy).enqueue(&kernel, homes, stream)? };
    Ok(true)
}

/// Enqueues the product on `stream`, after the work of `homes`; false, with nothing enqueued, for some products of numbers of 16 or 8 bits, and for those
/// whose kernel takes no epilogue, where there is one. Does not wait.
///
/// # Errors
/// `TooManyAxes`, `TooLarge`; those of the compiler and of the launch.
pub(super) fn run(
    op: &'static str,
    problem: &MatmulProblem,
    precision: RequestedPrecision,
    epilogue: Option<&ProductEpilogue<'_, '_>>,
    homes: &[&Stream],
    stream: &Stream,
) -> Result<bool> {
    if problem.dtype.is_half() || problem.is_of_bytes() {
        return run_narrow(problem, epilogue, homes, stream);
    }
    let got = problem.batch.len();
    if got > MAX_AXES {
        return Err(AlgoError::TooManyAxes { op, limit: MAX_AXES, got });
    }
    if problem.is_empty() {
        return Ok(true);
    }
    let device = stream.device();
    let limits = DeviceLimits::of(device)?;
    let wanted = Wanted { epilogue: epilogue.is_some(), tiles: precision.is_forced };
    let plan = choose(op, problem, wanted, &limits)?;
    if let (Some(time), Some(products)) = (plan.time(), Products::of(problem.dtype, precision.precision)) {
        let strict = if precision.is_forced { f64::INFINITY } else { time as f64 };
        if tensor_cores::run(problem, (products, strict), epilogue, &limits, homes, stream)? {
            return Ok(true);
        }
    }
    let (kernel, launch, mut maps) = match plan {
        MatmulPlan::Stack(_) if epilogue.is_some() => return Ok(false),
        MatmulPlan::Stack(policy) => {
            (stack_kernel(problem.dtype, &policy, false, device)?, of_stack(problem, &policy), None)
        }
        MatmulPlan::Warps(plan) => (warps_kernel(problem.dtype, plan.tile, device)?, of_warps(problem, &plan), None),
        MatmulPlan::Tiles(plan) => {
            let problem = plan.problem(problem);
            let epilogue = epilogue.map(|epilogue| epilogue.placed(problem, PACK_BYTES / problem.dtype.bytes()));
            let mut launch = of_tiles(problem, &plan);
            if let Some(epilogue) = epilogue {
                epilogue.write(&mut launch.params);
            }
            let maps = plan.boxed.as_ref().map(|boxed| boxed.maps(&plan.policy.tile, stream)).transpose()?;
            (tile_kernel(problem.dtype, &plan.policy, epilogue, device)?, launch, maps)
        }
    };
    let maps = maps.as_mut().map_or(&mut [][..], |maps| &mut maps[..]);
    // SAFETY: the params fulfil the kernel's contract: every offset lies within the views that the three matrices and the leaves of the epilogue were
    // made from, and so do the boxes of the maps, and no two elements of c have one place. The views are borrowed until this call returns (that of c
    // exclusively, but for leaves that have each element at its place in c, as `Around` says), and their homes precede and follow the launch.
    unsafe { launch.enqueue_with(maps, &kernel, homes, stream)? };
    Ok(true)
}

/// Enqueues products of matrices that lie anywhere on `stream`, after the work of `homes`: those of a stack with one axis, whose steps do not count.
/// `table` has the offsets of c, a and b for each, from the addresses in the problem, in elements. False, with nothing enqueued, where products of
/// their own are faster, whose blocks share terms. Does not wait.
///
/// # Errors
/// `TooLarge`; those of an allocation, of the compiler and of the launch.
pub(super) fn run_listed(
    op: &'static str,
    problem: &MatmulProblem,
    table: Vec<i64>,
    homes: &[&Stream],
    stream: &Stream,
) -> Result<bool> {
    let device = stream.device();
    let Some(plan) = choose_listed(op, problem, &DeviceLimits::of(device)?)? else { return Ok(false) };
    let (kernel, mut launch) = match plan {
        MatmulPlan::Stack(policy) => (stack_kernel(problem.dtype, &policy, true, device)?, of_stack(problem, &policy)),
        MatmulPlan::Tiles(plan) => (listed_tile_kernel(problem.dtype, &plan.policy, device)?, of_tiles(problem, &plan)),
        MatmulPlan::Warps(_) => unreachable!("no kernel of warps takes matrices that lie anywhere"),
    };
    // Freed behind the launch, in the order of the stream.
    let table = DeviceVec::from_vec(stream, table)?;
    launch.params.push(table.as_raw());
    // SAFETY: the params fulfil the kernel's contract: the offsets lead to the first elements of matrices within views that are borrowed until this
    // call returns, those of c exclusively, and all have the strides of the problem; their homes precede and follow the launch. The table is
    // copied before the launch, in the order of the stream, and released behind it.
    unsafe { launch.enqueue(&kernel, homes, stream)? };
    Ok(true)
}

fn listed_tile_kernel(dtype: DType, policy: &MatmulPolicy, device: &Device) -> Result<GeneratedKernel> {
    /// The keys of kernels of tiles of matrices that lie anywhere.
    static SPACE: KernelSpace = KernelSpace::new();
    let key: SmallVec<[u64; 32]> = iter::once(SPACE.word()).chain(policy.key(dtype)).collect();
    let program = || program::of_tiles(dtype, policy, Some(program::listed()));
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program()))?)
}

fn tile_kernel(
    dtype: DType,
    policy: &MatmulPolicy,
    epilogue: Option<PlacedEpilogue<'_, '_>>,
    device: &Device,
) -> Result<GeneratedKernel> {
    /// The keys of kernels of tiles.
    static SPACE: KernelSpace = KernelSpace::new();
    let mut key: SmallVec<[u64; 32]> = iter::once(SPACE.word()).chain(policy.key(dtype)).collect();
    key.extend(epilogue.iter().flat_map(PlacedEpilogue::key));
    let program = || program::of_tiles(dtype, policy, epilogue.map(|epilogue| epilogue.text(params::TYPE)));
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program()))?)
}

/// The launch of a plan of tiles.
pub(super) fn of_tiles(problem: &MatmulProblem, plan: &TilePlan) -> Launch {
    let TilePlan { policy, grid, .. } = plan;
    let (block, shared_bytes) =
        (policy.tile.threads(problem.dtype).into(), policy.tile.shared_bytes(problem.dtype) as u32);
    let config = LaunchConfig { grid: (grid.launched as u32).into(), block, shared_bytes };
    let stacked = plan.boxed.as_ref().map(|boxed| boxed.stacked(problem));
    let params = params_of(stacked.as_ref().unwrap_or(problem), Some(grid), policy.is_c_packed);
    Launch { params, scratch_word: SCRATCH_WORD, scratch: grid.scratch, config }
}

fn stack_kernel(dtype: DType, policy: &StackPolicy, is_listed: bool, device: &Device) -> Result<GeneratedKernel> {
    /// The keys of kernels of stacks.
    static SPACE: KernelSpace = KernelSpace::new();
    let [size, flags] = policy.key();
    let element = if is_narrow(dtype) { (dtype as u64) << 40 } else { element_key(dtype) };
    let key = [SPACE.word(), size, flags, element, is_listed.into()];
    let program = || program::of_stack(dtype, policy, is_listed.then(program::listed));
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program()))?)
}

/// The launch for a stack of small matrices.
pub(super) fn of_stack(problem: &MatmulProblem, policy: &StackPolicy) -> Launch {
    let config = LaunchConfig {
        grid: (policy.blocks(problem) as u32).into(),
        block: policy.threads().into(),
        shared_bytes: policy.shared_bytes(problem.dtype) as u32,
    };
    let params = params_of(problem, None, policy.is_c_packed);
    Launch { params, scratch_word: SCRATCH_WORD, scratch: ScratchNeed::None, config }
}

fn warps_kernel(dtype: DType, tile: &WarpTile, device: &Device) -> Result<GeneratedKernel> {
    /// The keys of kernels of warps.
    static SPACE: KernelSpace = KernelSpace::new();
    let key = [SPACE.word(), element_key(dtype), tile.key()];
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program::of_warps(dtype, tile)))?)
}

/// The launch of a plan of warps.
pub(super) fn of_warps(problem: &MatmulProblem, plan: &WarpPlan) -> Launch {
    let config = LaunchConfig {
        grid: (plan.grid.launched as u32).into(),
        block: plan.tile.threads().into(),
        shared_bytes: plan.tile.shared_bytes() as u32,
    };
    let params = params_of(problem, Some(&plan.grid), plan.is_c_packed);
    Launch { params, scratch_word: SCRATCH_WORD, scratch: plan.grid.scratch, config }
}
