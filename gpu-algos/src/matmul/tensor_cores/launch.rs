//! The launches of products on tensor cores.
#![expect(
    unsafe_code,
    reason = "launches of generated kernels, and memory that the first of them fills before the second reads it"
)]

use std::ffi::c_void;

use gpu_array::{
    expression::{HEADERS, loop_program},
    gpu_driver::{
        Device, DeviceVec, GeneratedKernel, HALF, Header, KernelSpace, LaunchConfig, Program, Stream, TENSOR_COPY,
        WARP_PRODUCTS, WARPGROUP,
    },
};
use smallvec::SmallVec;

use super::{
    operand::{BoxOrder, FactorLayout, MappedOperand},
    params::{PARAMS, check_text, operands_check_text, operands_of, params_of, split_check_text, split_params},
    plan::{Preparation, TensorCorePlan, choose},
    policy::{Products, TensorCoreTile},
};
use crate::{
    Result,
    common::launch::{DeviceLimits, Words, with_headers},
    matmul::{
        epilogue::{EPILOGUE, PlacedEpilogue, ProductEpilogue},
        params::ExtendedParams,
        problem::MatmulProblem,
    },
};

pub(super) const MATMUL: Header =
    Header { name: "matmul_warpgroup.cuh", text: include_str!("../device/matmul_warpgroup.cuh") };
pub(super) const MMA: Header = Header { name: "matmul_mma.cuh", text: include_str!("../device/matmul_mma.cuh") };
const TILE: Header = Header { name: "tensor_core_tile.cuh", text: include_str!("../device/tensor_core_tile.cuh") };
pub(in crate::matmul) const BOX_STAGES: Header =
    Header { name: "box_stages.cuh", text: include_str!("../device/box_stages.cuh") };
const STORE: Header = Header { name: "store_of_sums.cuh", text: include_str!("../device/store_of_sums.cuh") };
pub(super) const SPLIT: Header = Header { name: "matmul_split.cuh", text: include_str!("../device/matmul_split.cuh") };

/// The type of the parameters of a product.
pub(super) const PARAMS_TYPE: &str = "gpu::algos::matmul::TensorCoreParams<gpu::MAX_AXES>";

/// The keys of both kernels.
static SPACE: KernelSpace = KernelSpace::new();

/// Threads of a block that copies, and blocks of a multiprocessor.
const SPLIT_THREADS: u32 = 256;
const SPLIT_BLOCKS: usize = 8;

/// An operand that a map describes, and the copy that it is, if it is one.
struct Prepared {
    operand: MappedOperand,
    copy: Option<OperandCopy>,
}

/// A copy that a launch makes, with so many blocks.
struct OperandCopy {
    params: Words,
    blocks: u32,
    memory: DeviceVec<u32>,
}

/// Enqueues the product on `stream`, after the work of `homes`, if that is expected to take less than `strict`; false if not. Does not wait.
///
/// # Errors
/// Those of the compiler, of allocations and of the launches.
pub(in crate::matmul) fn run(
    problem: &MatmulProblem,
    (products, strict): (Products, f64),
    epilogue: Option<&ProductEpilogue<'_, '_>>,
    limits: &DeviceLimits,
    homes: &[&Stream],
    stream: &Stream,
) -> Result<bool> {
    let Some(plan) = choose(problem, (products, epilogue.is_some()), strict, limits) else { return Ok(false) };
    let problem = if plan.is_transposed { problem.transposed() } else { problem.clone() };
    let (device, tile) = (stream.device(), plan.tile);
    let prepared =
        |at: usize| prepare(&FactorLayout::of(&problem, at + 1), plan.preparations[at], tile.products, limits, stream);
    let (mut a, mut b) = (prepared(0)?, prepared(1)?);
    launch_copies(tile.products, [&mut a, &mut b], homes, stream)?;
    let elements = [tile.products.element_bytes(), tile.products.parts()];
    let mut params = params_of(&problem, &plan, [&a.operand, &b.operand]);
    let epilogue = epilogue.map(|epilogue| epilogue.placed(&problem, products.store_width()));
    if let Some(epilogue) = epilogue {
        epilogue.write(&mut params);
    }
    let kernel = kernel(&plan, epilogue, device)?;
    let config = LaunchConfig {
        grid: (plan.blocks as u32).into(),
        block: tile.threads().into(),
        shared_bytes: tile.shared_bytes() as u32,
    };
    let params = params.as_mut_ptr().cast();
    let launch = |values: &mut [*mut c_void]| {
        // SAFETY: the values have the types of the kernel's parameters, which its program asserts. The maps and operands describe views that are borrowed
        // until this call returns, or copies in the order of `stream`. No two elements of c have one place, and its view is borrowed exclusively, but for
        // leaves of the epilogue that have each element at its place in c. The homes of all of them come before the launch.
        unsafe { kernel.launch_with(config, values, homes, stream) }
    };
    if tile.warps.is_some() {
        let mut operands = operands_of([&a.operand, &b.operand], elements[0]);
        launch(&mut [operands.as_mut_ptr().cast(), params])?;
    } else {
        let along = TensorCoreTile::ROW_BYTES / elements[0];
        let mut left = a.operand.map(device, elements, [tile.block_m, along])?;
        let mut right = b.operand.map(device, elements, [tile.block_n / tile.cluster, along])?;
        launch(&mut [(&raw mut left).cast(), (&raw mut right).cast(), params])?;
    }
    Ok(true)
}

/// The operand where it is, or memory for a copy of it.
fn prepare(
    factor: &FactorLayout,
    source: Preparation,
    products: Products,
    limits: &DeviceLimits,
    stream: &Stream,
) -> Result<Prepared> {
    if let (Preparation::InPlace(_), Some(operand)) = (source, factor.in_place()) {
        return Ok(Prepared { operand, copy: None });
    }
    let (copied, operand) = factor.copied(source.order(), products.parts());
    let bytes = copied.elements(products.parts()).and_then(|elements| elements.checked_mul(products.element_bytes()));
    let words = bytes.map_or(usize::MAX, |bytes| bytes.div_ceil(size_of::<u32>()));
    // SAFETY: the copy that is launched before the product writes every element that the map describes; if it fails the memory is dropped unread.
    let memory = unsafe { DeviceVec::<u32>::uninitialized(stream, words)? };
    let items = match products {
        Products::ThreeBf16 => copied.matrices * copied.rows * copied.columns.div_ceil(8),
        _ => {
            let tile = if products.element_bytes() == 1 { 128 } else { 32 };
            copied.matrices * copied.rows.div_ceil(tile) * copied.columns.div_ceil(tile) * SPLIT_THREADS as usize
        }
    };
    let blocks = items.div_ceil(SPLIT_THREADS as usize).min(SPLIT_BLOCKS * limits.multiprocessors);
    let copy = OperandCopy { params: split_params(&copied, memory.as_raw()), blocks: blocks as u32, memory };
    Ok(Prepared { operand: operand(copy.memory.as_raw()), copy: Some(copy) })
}

/// Enqueues the copies of operands: both parts of f32 in one launch, others in one each.
fn launch_copies(products: Products, operands: [&mut Prepared; 2], homes: &[&Stream], stream: &Stream) -> Result<()> {
    let launch = |blocks: u32, values: &mut [*mut c_void]| -> Result<()> {
        let kernel = split_kernel(products, stream.device())?;
        let config = LaunchConfig { grid: blocks.into(), block: SPLIT_THREADS.into(), shared_bytes: 0 };
        // SAFETY: the values have the types of the kernel's parameters, which its program asserts, and fulfil its contract; the views that are read
        // are borrowed until this call returns, and the memory that is written is in the order of `stream`.
        unsafe { kernel.launch_with(config, values, homes, stream)? };
        Ok(())
    };
    match operands.map(|operand| operand.copy.as_mut()) {
        [Some(left), Some(right)] if products == Products::ThreeBf16 => {
            let (mut left_blocks, blocks) = (left.blocks, left.blocks + right.blocks);
            let params = [left, right].map(|copy| copy.params.as_mut_ptr().cast());
            launch(blocks, &mut [params[0], params[1], (&raw mut left_blocks).cast()])
        }
        copies => copies
            .into_iter()
            .flatten()
            .try_for_each(|copy| launch(copy.blocks, &mut [copy.params.as_mut_ptr().cast()])),
    }
}

fn kernel(plan: &TensorCorePlan, epilogue: Option<PlacedEpilogue<'_, '_>>, device: &Device) -> Result<GeneratedKernel> {
    let boxes = plan.preparations.map(|source| u64::from(source.order().boxes()));
    let mut key: SmallVec<[u64; 32]> = SmallVec::from_slice(&[
        SPACE.word(),
        0,
        plan.tile.key(),
        u64::from(plan.is_plain) << 2 | boxes[0] << 1 | boxes[1],
    ]);
    key.extend(epilogue.iter().flat_map(PlacedEpilogue::key));
    let [left, right] = plan.preparations.map(Preparation::order);
    let program =
        || program(&plan.tile, [left, right], plan.is_plain, epilogue.map(|epilogue| epilogue.text(PARAMS_TYPE)));
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program()))?)
}

fn split_kernel(products: Products, device: &Device) -> Result<GeneratedKernel> {
    let key = [SPACE.word(), 1, split_kind(products)];
    Ok(device.generated_kernel(&SPACE, &key, || Ok(split_program(products)))?)
}

/// A number for the program of a copy.
fn split_kind(products: Products) -> u64 {
    match products {
        Products::ThreeBf16 => 0,
        Products::Tf32 => 1,
        Products::Bf16 | Products::F16 => 2,
        Products::I8 | Products::U8 => 3,
    }
}

/// The program of a product.
pub(super) fn program(
    tile: &TensorCoreTile,
    orders: [BoxOrder; 2],
    is_plain: bool,
    epilogue: Option<ExtendedParams>,
) -> Program {
    let [left, right] = orders.map(BoxOrder::boxes);
    let result = tile.products.result();
    let params = epilogue.as_ref().map_or(String::new(), |epilogue| format!(", {}", epilogue.params));
    let name = result.cuda_name();
    let kernel = match (tile.warps, tile.cluster) {
        (Some(_), _) => "matmul_mma",
        (None, 1) => "matmul_warpgroup",
        (None, _) => "matmul_cluster",
    };
    let template =
        format!("gpu::algos::matmul::{kernel}<{name}, {}, {left}, {right}, {is_plain}{params}>", tile.text());
    let include = if result.is_half() { "#include \"half.cuh\"\n" } else { "" };
    let (check, text, threads, bytes) = (check_text(), tile.text(), tile.threads(), tile.shared_bytes());
    let of_tile = format!(
        "static_assert({text}::THREADS == {threads} && {text}::SHARED_BYTES == {bytes}, \"the launch is that of the tile\");\n"
    );
    let (around, headers) = epilogue.map_or_else(Default::default, |epilogue| (epilogue.text, epilogue.headers));
    let headers = headers.into_iter().chain([HALF, TILE]);
    if tile.warps.is_some() {
        let text = format!("{include}{check}{}{of_tile}{around}", operands_check_text());
        return program_of(MMA, text, template, headers.chain([WARP_PRODUCTS]));
    }
    program_of(MATMUL, format!("{include}{check}{of_tile}{around}"), template, headers).architecture_specific()
}

/// The program of a copy.
pub(super) fn split_program(products: Products) -> Program {
    let template = match products {
        Products::ThreeBf16 => format!("matmul_split<{SPLIT_THREADS}>"),
        Products::Tf32 => format!("matmul_copy<float, {SPLIT_THREADS}>"),
        Products::Bf16 | Products::F16 => format!("matmul_copy<uint16_t, {SPLIT_THREADS}>"),
        Products::I8 | Products::U8 => format!("matmul_copy_bytes<{SPLIT_THREADS}>"),
    };
    program_of(SPLIT, split_check_text(), format!("gpu::algos::matmul::{template}"), [])
}

fn program_of(header: Header, check: String, template: String, further: impl IntoIterator<Item = Header>) -> Program {
    let text = format!("#include \"{}\"\n{check}", header.name);
    let program = loop_program("matmul.cu", text).name_expression(template);
    let headers = [TENSOR_COPY, WARPGROUP, PARAMS, EPILOGUE, BOX_STAGES, STORE, header];
    with_headers(program, HEADERS.into_iter().chain(headers).chain(further))
}
