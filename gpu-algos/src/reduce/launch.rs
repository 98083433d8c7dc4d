//! The launch of a reduction's kernel.
#![expect(
    unsafe_code,
    reason = "one block for the launch of a generated kernel, one for memory that it fills before anyone reads it"
)]

use gpu_array::{
    Element, GpuArray,
    expression::Lowered,
    gpu_driver::{DeviceVec, Header, Program, Stream},
};
use ndarray::Dimension;
use smallvec::SmallVec;

use super::{
    axes::Axes,
    operator::Operator,
    plan::{SCRATCH_WORD, plan},
    policy::Policy,
};
use crate::{AlgoError, Result};

pub(crate) const OPERATORS: Header = Header { name: "operators.cuh", text: include_str!("device/operators.cuh") };
pub(crate) const REDUCE: Header = Header { name: "reduce.cuh", text: include_str!("device/reduce.cuh") };

/// What keys of reductions begin with: no other crate's do.
const KEY: u64 = u64::from_be_bytes(*b"gpu.redu");

/// An array whose every element the kernel writes that is launched next.
pub(crate) fn allocate<T: Element, K: Dimension>(stream: &Stream, dim: K) -> Result<GpuArray<T, K>> {
    let len = dim.size();
    // SAFETY: a reduction writes each of its results; where the launch fails the memory is dropped unread.
    let data = unsafe { DeviceVec::uninitialized(stream, len)? };
    Ok(GpuArray::from_device_vec(data, dim)?)
}

/// Computes the reduction of `lowered` over the axes that are not kept into elements at `targets`, which have `kept_strides` along the kept axes, in the order of
/// `stream`. Does not wait.
pub(crate) fn run(
    lowered: &Lowered<'_>,
    operator: &Operator,
    is_kept: &[bool],
    kept_strides: &[isize],
    targets: &[u64],
    target_home: Option<&Stream>,
    stream: &Stream,
) -> Result<()> {
    let count = lowered.shape().iter().zip(is_kept).filter(|(_, kept)| !**kept).map(|(&length, _)| length).product();
    let device = stream.device();
    let axes = Axes::of(lowered, is_kept, kept_strides, operator);
    let policy = Policy::of(lowered, operator, axes.along_kept);
    let mut key: SmallVec<[u64; 64]> = SmallVec::new();
    key.extend_from_slice(&[KEY, u64::from(axes.along_kept), operator.key()]);
    key.extend(lowered.key());
    let make = || Ok(program(lowered, operator, &policy, axes.along_kept));
    let kernel = device.generated_kernel(&key, make)?;

    let blocks = kernel.resident_blocks(policy.threads, 0)?.clamp(1, policy.most_blocks);
    let threads = device.multiprocessors()? as usize * (blocks * policy.threads) as usize;
    let Some(launch) = plan(lowered, &axes, operator, &policy, targets, count, threads)? else { return Ok(()) };

    let mut homes: SmallVec<[&Stream; 4]> = SmallVec::new();
    for home in lowered.homes().map(|home| -> &Stream { home }).chain(target_home) {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    let mut words = launch.words;
    let limit = gpu_array::gpu_driver::PARAMETER_BYTES;
    if size_of_val(&words[..]) > limit {
        return Err(AlgoError::TooManyArguments { limit, got: size_of_val(&words[..]) });
    }
    let mut enqueue = |scratch: u64| {
        words[SCRATCH_WORD] = scratch;
        // SAFETY: the words are what the kernel's contract asks for, which `plan` made of the axes: every offset lies within the views that leaves and
        // targets were made from, which are borrowed (the targets exclusively) until this call returns and whose homes come after
        // the launch; the scratch memory is the stream's own, and has the counters and states that the contract asks for.
        unsafe { kernel.launch(launch.config, &words, &homes, stream) }
    };
    if launch.scratch_bytes == 0 {
        enqueue(0)?;
    } else {
        stream.with_scratch(launch.scratch_bytes, enqueue)?;
    }
    Ok(())
}

pub(crate) fn program(lowered: &Lowered<'_>, operator: &Operator, policy: &Policy, along_kept: bool) -> Program {
    let name = policy.template(along_kept, "Value", &operator.text());
    let bytes = operator.state_bytes().next_multiple_of(8);
    let text = format!(
        "#include \"reduce.cuh\"\n{}static_assert(sizeof({}::State) <= {bytes}, \"the room for states\");\n",
        lowered.functor("Value"),
        operator.text()
    );
    let program = Program::new("reduction.cu", text).option("-default-device").overlapping().name_expression(name);
    let headers = lowered.headers().into_iter().chain([OPERATORS, REDUCE]);
    headers.fold(program, |program, header| program.header(header.name, header.text))
}
