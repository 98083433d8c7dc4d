//! The launch of a reduction's kernel.
#![expect(
    unsafe_code,
    reason = "one block for the launch of a generated kernel, one for memory that it fills before anyone reads it"
)]

use std::sync::Arc;

use gpu_array::{
    DType, Element, GpuArray,
    gpu_driver::{Device, DeviceVec, GeneratedKernel, Header, KernelSpace, Program, Stream},
};
use ndarray::Dimension;
use smallvec::SmallVec;

use super::{
    axes::Axes,
    operator::{Custom, Operator, OperatorKind},
    params::PARAMS,
    plan::{check_text, is_all, plan},
    policy::{Algorithm, Policy},
    source::ValueSource,
};
use crate::{
    Result,
    device::HEADERS,
    launch::{unique, with_headers},
};

pub(crate) const REDUCE: Header = Header { name: "reduce.cuh", text: include_str!("device/reduce.cuh") };
const ALL: Header = Header { name: "reduce_all.cuh", text: include_str!("device/reduce_all.cuh") };

/// The keys of kernels of reductions.
static SPACE: KernelSpace = KernelSpace::new();

/// Allocates an array without initialising it. The next kernel writes its elements.
pub(crate) fn allocate<T: Element, K: Dimension>(stream: &Stream, dim: K) -> Result<GpuArray<T, K>> {
    let len = dim.size();
    // SAFETY: a reduction writes each of its results, and a selection reports the number of its results; if the launch fails the memory is dropped
    // unread.
    let data = unsafe { DeviceVec::uninitialized(stream, len)? };
    Ok(GpuArray::from_device_vec(data, dim)?)
}

/// Enqueues the reduction of `source` over the axes that are not outer. Does not wait.
/// The results go to the elements at `targets`, with `outer_strides` along the outer axes, in the order of `stream`.
pub(crate) fn run(
    source: &impl ValueSource,
    operator: &Operator,
    is_kept: &[bool],
    outer_strides: &[isize],
    targets: &[u64],
    target_homes: &[&Stream],
    stream: &Stream,
) -> Result<()> {
    let leaves = source.leaves();
    let lengths = |outer: bool| {
        source.shape().iter().zip(is_kept).filter(move |(_, is)| **is == outer).map(|(&length, _)| length)
    };
    let (count, results) = (lengths(false).product(), lengths(true).product());
    let device = stream.device();
    let axes = Axes::of(source.shape(), &leaves, is_kept, outer_strides, operator);
    let operator = &operator.carried(count, results, axes.along_outer);
    let mut policy = Policy::of(&leaves, operator, axes.along_outer);
    if is_all(&leaves, &axes, operator, &policy) {
        policy.algorithm = Algorithm::All;
    }
    let kernel = kernel(source, operator, &policy, device)?;

    let blocks = kernel.resident_blocks(policy.block(), 0)?.clamp(1, policy.most_blocks);
    let threads = device.multiprocessors()? as usize * (blocks * policy.threads) as usize;
    let Some(launch) = plan(source, &leaves, &axes, operator, &policy, targets, count, threads)? else { return Ok(()) };

    let homes = unique(source.homes().into_iter().chain(target_homes.iter().copied()));
    // SAFETY: the params fulfil the kernel's contract: `plan` made them of the axes. Every offset lies within the views that leaves and targets were
    // made from. These are borrowed (the targets exclusively) until this call returns, and their homes come before the launch.
    unsafe { launch.enqueue(&kernel, &homes, stream) }
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
    let operator = custom(operator);
    let mut policy = Policy::of(&source.leaves(), &operator, false);
    // Places are neighbours.
    if operator.is_for_all() {
        policy.algorithm = Algorithm::All;
    }
    kernel(source, &operator, &policy, device).map(drop)
}

fn custom(operator: &Arc<Custom>) -> Operator {
    Operator::new(OperatorKind::Custom(operator.clone()), DType::U8, false)
}

fn kernel(source: &impl ValueSource, operator: &Operator, policy: &Policy, device: &Device) -> Result<GeneratedKernel> {
    let mut key: SmallVec<[u64; 64]> = SmallVec::new();
    key.extend_from_slice(&[SPACE.word(), policy.algorithm as u64, operator.key()]);
    source.add_key(&mut key);
    Ok(device.generated_kernel(&SPACE, &key, || Ok(program(source, operator, policy)))?)
}

pub(crate) fn program(source: &impl ValueSource, operator: &Operator, policy: &Policy) -> Program {
    let name = policy.template("Value", &operator.text());
    let more = (policy.algorithm == Algorithm::All).then_some(ALL);
    let header = more.map_or(REDUCE.name, |header| header.name);
    let bytes = operator.state_bytes().next_multiple_of(8);
    let (value, headers) = source.text("Value");
    let custom = operator.definition();
    let text = format!(
        "#include \"{header}\"\n{custom}{value}static_assert(sizeof({}::State) <= {bytes}, \"the room for states\");\n{}",
        operator.text(),
        check_text(source, operator, "Value"),
    );
    let program = Program::new("reduction.cu", text).option("-default-device").overlapping().name_expression(name);
    let program = operator.options().iter().fold(program, Program::option);
    with_headers(program, headers.into_iter().chain(HEADERS).chain([PARAMS, REDUCE]).chain(more))
}
