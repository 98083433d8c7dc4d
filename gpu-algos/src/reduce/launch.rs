//! The launch of a reduction's kernel.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use std::sync::Arc;

use gpu_array::{
    DType,
    expression::loop_program,
    gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    axes::Axes,
    params::{PARAMS, check_text, launch},
    plan::{ReduceProblem, choose, kernel_of},
    policy::{ReduceAlgorithm, ReducePolicy, ReduceTuning},
};
use crate::{
    Result,
    common::{
        launch::{DeviceLimits, SLOTS_BEHIND, unique, with_headers},
        operator::{Custom, DeviceOperator, OperatorKind},
        source::ValueSource,
    },
    device::HEADERS,
};

pub(crate) const REDUCE: Header = Header { name: "reduce.cuh", text: include_str!("device/reduce.cuh") };
const ROWS: Header = Header { name: "reduce_rows.cuh", text: include_str!("device/reduce_rows.cuh") };
const COLUMNS: Header = Header { name: "reduce_columns.cuh", text: include_str!("device/reduce_columns.cuh") };
const ALL: Header = Header { name: "reduce_all.cuh", text: include_str!("device/reduce_all.cuh") };

const MASKED: Header = Header { name: "masked.cuh", text: include_str!("device/masked.cuh") };

/// The keys of kernels of reductions.
static SPACE: KernelSpace = KernelSpace::new();

/// Enqueues the reduction of `source` over the axes that are not outer. Does not wait.
/// The results go to the elements at `targets`, with `outer_strides` along the outer axes, in the order of `stream`.
pub(crate) fn run(
    source: &impl ValueSource,
    operator: &DeviceOperator,
    is_kept: &[bool],
    outer_strides: &[isize],
    targets: &[u64],
    target_homes: &[&Stream],
    stream: &Stream,
) -> Result<()> {
    let (leaves, shape) = (source.leaves(), source.shape());
    let axes = Axes::of(shape, &leaves, is_kept, outer_strides, operator);
    if axes.results() == 0 {
        return Ok(());
    }
    let problem = ReduceProblem { shape, leaves: &leaves, axes: &axes, operator };
    let device = stream.device();
    let compile = |operator: &DeviceOperator, policy: &ReducePolicy| kernel(source, operator, policy, device);
    let plan = choose(&problem, &DeviceLimits::of(device)?, compile)?;
    let homes = unique(source.homes().into_iter().chain(target_homes.iter().copied()));
    // SAFETY: the params fulfil the kernel's contract: `launch` made them of the axes. Every offset lies within the views that leaves and targets were
    // made from. These are borrowed (the targets exclusively) until this call returns, and their homes precede and follow the launch.
    unsafe { launch(source, &problem, &plan, targets).enqueue(&plan.kernel, &homes, stream) }
}

/// Enqueues a user's reduction over the places of `source`, into the element at `target`.
pub(crate) fn reduce_custom(
    source: &impl ValueSource,
    operator: &Arc<Custom>,
    target: u64,
    target_home: Option<&Stream>,
    stream: &Stream,
) -> Result<()> {
    run(source, &custom(operator), &[false], &[], &[target], target_home.as_slice(), stream)
}

/// Compiles or loads the kernel of [`reduce_custom`] in advance.
pub(crate) fn compile_custom(source: &impl ValueSource, operator: &Arc<Custom>, device: &Device) -> Result<()> {
    let (operator, leaves) = (custom(operator), source.leaves());
    let axes = Axes::of(source.shape(), &leaves, &[false], &[], &operator);
    let problem = ReduceProblem { shape: source.shape(), leaves: &leaves, axes: &axes, operator: &operator };
    let (operator, policy) = kernel_of(&problem, ReduceTuning::of(device.arch()));
    kernel(source, &operator, &policy, device).map(drop)
}

fn custom(operator: &Arc<Custom>) -> DeviceOperator {
    DeviceOperator::new(OperatorKind::Custom(operator.clone()), DType::U8, false)
}

fn kernel(
    source: &impl ValueSource,
    operator: &DeviceOperator,
    policy: &ReducePolicy,
    device: &Device,
) -> Result<GeneratedKernel> {
    let mut key: SmallVec<[u64; 64]> = SmallVec::new();
    key.extend_from_slice(&[SPACE.word(), policy.algorithm as u64, policy.form.into(), operator.key()]);
    source.add_key(&mut key);
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program(source, operator, policy)))?)
}

pub(crate) fn program(source: &impl ValueSource, operator: &DeviceOperator, policy: &ReducePolicy) -> Program {
    let (masked, expression) = match operator.is_masked {
        true => (Some(MASKED), "gpu::algos::reduce::WithMask<Value>"),
        false => (None, "Value"),
    };
    let include_masked = masked.map_or(String::new(), |header| format!("#include \"{}\"\n", header.name));
    let name = policy.template(expression, &operator.text());
    let kernel = match policy.algorithm {
        ReduceAlgorithm::All => ALL,
        ReduceAlgorithm::Rows => ROWS,
        ReduceAlgorithm::Columns => COLUMNS,
    };
    let header = kernel.name;
    let bytes = operator.state_bytes().next_multiple_of(8);
    let (value, headers) = source.text("Value");
    let custom = operator.definition();
    let text = format!(
        "#include \"{header}\"\n{include_masked}{custom}{value}static_assert(sizeof({0}::State) <= {bytes}, \"the room for states\");\n\
         static_assert(sizeof(gpu::Slot<{0}::State>) <= 2 * {bytes}, \"the slots in Rust\");\n\
         static_assert(gpu::BEHIND == {SLOTS_BEHIND}, \"slots that are polled beyond the last\");\n{1}",
        operator.text(),
        check_text(source, operator, expression),
    );
    let program = loop_program("reduction.cu", text).name_expression(name);
    let program = operator.options().iter().fold(program, Program::option);
    with_headers(program, headers.into_iter().chain(HEADERS).chain([PARAMS, REDUCE, kernel]).chain(masked))
}
