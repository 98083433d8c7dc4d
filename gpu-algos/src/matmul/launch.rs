//! The launches of the kernels of matrix products.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::{
    DType,
    expression::{HEADERS, MAX_AXES, loop_program},
    gpu_driver::{
        COMPLEX, Device, GeneratedKernel, Header, KernelSpace, Program, SHARED_ADDRESS, Stream, TENSOR_COPY, WARPGROUP,
    },
};
use smallvec::SmallVec;

use super::{
    epilogue::{EPILOGUE, EpilogueText, PlacedEpilogue, ProductEpilogue},
    params::{PARAMS, check_text, launch},
    plan::{MatmulPlan, Wanted, choose, time_in_words},
    policy::MatmulPolicy,
    precision::{Precision, RequestedPrecision},
    problem::MatmulProblem,
    stack::StackPolicy,
    tensor_cores::{self, Products},
    tile::PACK_BYTES,
    warps::WarpPlan,
};
use crate::{
    AlgoError, Result,
    common::launch::{DeviceLimits, with_headers},
};

pub(super) const MATMUL: Header = Header { name: "matmul.cuh", text: include_str!("device/matmul.cuh") };
pub(super) const SHARES: Header = Header { name: "matmul_shares.cuh", text: include_str!("device/matmul_shares.cuh") };
pub(super) const SKINNY: Header = Header { name: "matmul_skinny.cuh", text: include_str!("device/matmul_skinny.cuh") };
pub(super) const BOXES: Header = Header { name: "matmul_boxes.cuh", text: include_str!("device/matmul_boxes.cuh") };
pub(super) const STACK: Header = Header { name: "matmul_stack.cuh", text: include_str!("device/matmul_stack.cuh") };
pub(super) const WARPS: Header = Header { name: "matmul_warps.cuh", text: include_str!("device/matmul_warps.cuh") };
const MULTIPLY: Header = Header { name: "multiply.cuh", text: include_str!("device/multiply.cuh") };
const MULTIPLY_COMPLEX: Header =
    Header { name: "multiply_complex.cuh", text: include_str!("device/multiply_complex.cuh") };
const OPERAND_TILE: Header = Header { name: "operand_tile.cuh", text: include_str!("device/operand_tile.cuh") };

/// The type of the parameters of the kernel of tiles.
pub(super) const PARAMS_TYPE: &str = "gpu::matmul::MatmulParams<gpu::MAX_AXES>";

/// The keys of kernels of products.
static SPACE: KernelSpace = KernelSpace::new();

/// Enqueues a product of numbers of 16 or 8 bits on `stream`, after the work of `homes`, if tensor cores compute it, and are expected to be faster than
/// CUDA cores are with numbers of 32 bits, as they are but for few results of many terms; false if not. Does not wait.
///
/// # Errors
/// Those of [`run`].
fn run_on_tensor_cores(
    problem: &MatmulProblem,
    epilogue: Option<&ProductEpilogue<'_, '_>>,
    homes: &[&Stream],
    stream: &Stream,
) -> Result<bool> {
    // Of a stack of small matrices most of a tile would be empty.
    let fits = problem.batch.len() <= MAX_AXES && !StackPolicy::is_small(problem);
    let Some(products) = Products::of(problem.dtype, Precision::Strict).filter(|_| fits) else { return Ok(false) };
    if problem.is_empty() {
        return Ok(true);
    }
    let limits = DeviceLimits::of(stream.device())?;
    let strict = time_in_words(problem, &limits);
    tensor_cores::run(problem, (products, strict), epilogue, &limits, homes, stream)
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
        return run_on_tensor_cores(problem, epilogue, homes, stream);
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
        MatmulPlan::Stack(policy) => (policy.kernel(problem.dtype, device)?, policy.launch(problem), None),
        MatmulPlan::Warps(plan) => (WarpPlan::kernel(problem.dtype, device)?, plan.launch(problem), None),
        MatmulPlan::Tiles(plan) => {
            let problem = plan.problem(problem);
            let epilogue = epilogue.map(|epilogue| epilogue.placed(problem, PACK_BYTES / problem.dtype.bytes()));
            let mut launch = launch(problem, &plan);
            if let Some(epilogue) = epilogue {
                epilogue.write(&mut launch.params);
            }
            let maps = plan.boxed.as_ref().map(|boxed| boxed.maps(&plan.policy.tile, stream)).transpose()?;
            (kernel(problem.dtype, &plan.policy, epilogue, device)?, launch, maps)
        }
    };
    let maps = maps.as_mut().map_or(&mut [][..], |maps| &mut maps[..]);
    // SAFETY: the params fulfil the kernel's contract: every offset lies within the views that the three matrices and the leaves of the epilogue were
    // made from, and so do the boxes of the maps, and no two elements of c have one place. The views are borrowed until this call returns (that of c
    // exclusively, but for leaves that have each element at its place in c, as `Around` says), and their homes precede and follow the launch.
    unsafe { launch.enqueue_with(maps, &kernel, homes, stream)? };
    Ok(true)
}

fn kernel(
    dtype: DType,
    policy: &MatmulPolicy,
    epilogue: Option<PlacedEpilogue<'_, '_>>,
    device: &Device,
) -> Result<GeneratedKernel> {
    let mut key: SmallVec<[u64; 32]> = [SPACE.word()].into_iter().chain(policy.key(dtype)).collect();
    key.extend(epilogue.iter().flat_map(PlacedEpilogue::key));
    let program = || program(dtype, policy, epilogue.map(|epilogue| epilogue.text(PARAMS_TYPE)));
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program()))?)
}

/// The program of a kernel of tiles.
pub(super) fn program(dtype: DType, policy: &MatmulPolicy, epilogue: Option<EpilogueText>) -> Program {
    let (text, mut headers, template) = match epilogue {
        Some(EpilogueText { text, headers, params }) => (text, headers, policy.template_of(dtype, &params)),
        None => (String::new(), Vec::new(), policy.template(dtype)),
    };
    if !policy.tile.is_of_boxes() {
        headers.push(MATMUL);
        let header = match policy.has_equal_shares {
            _ if policy.tile.is_skinny() => SKINNY,
            true => SHARES,
            false => MATMUL,
        };
        return program_with(header, dtype, template, &text, &headers);
    }
    headers.extend([SHARED_ADDRESS, TENSOR_COPY, WARPGROUP, tensor_cores::PARAMS, tensor_cores::BOX_STAGES, MATMUL]);
    let tile = format!("gpu::matmul::BoxTile<{}>", policy.tile.text());
    let (threads, bytes) = (policy.tile.threads(), policy.tile.shared_bytes(dtype));
    let text = format!(
        "static_assert({tile}::THREADS == {threads} && {tile}::SHARED_BYTES == {bytes}, \"the launch is that of the tile\");\n{text}"
    );
    program_with(BOXES, dtype, template, &text, &headers).architecture_specific()
}

/// The program of the kernel that `template` names in a header, which includes `further`.
pub(super) fn program_of(header: Header, dtype: DType, template: String, further: &[Header]) -> Program {
    program_with(header, dtype, template, "", further)
}

fn program_with(header: Header, dtype: DType, template: String, epilogue: &str, further: &[Header]) -> Program {
    let of_element = if dtype.is_complex() { &[COMPLEX, MULTIPLY_COMPLEX][..] } else { &[] };
    let includes = [&header].into_iter().chain(of_element).map(|header| format!("#include \"{}\"\n", header.name));
    let text = includes.chain([check_text(), epilogue.to_owned()]).collect::<String>();
    let program = loop_program("matmul.cu", text).name_expression(template);
    let headers = HEADERS.into_iter().chain([PARAMS, OPERAND_TILE, MULTIPLY, EPILOGUE, header]);
    with_headers(program, headers.chain(of_element.iter().chain(further).copied()))
}
