//! The kernel that joins arrays: its program, its key and its launch.
#![expect(unsafe_code, reason = "the launch of the kernel")]

use std::mem::offset_of;

use gpu_driver::{DeviceVec, Header, KernelSpace, LIST, Program, Registry, Stream};

use super::{
    params::{ConcatenateHead, PARAMS},
    plan::JoinLaunch,
    policy::JoinPolicy,
};
use crate::{
    Result,
    expression::device::{MAX_AXES, PACKS, loop_program},
};

/// The word of the parameters with the address of the table of parts.
const TABLE_WORD: usize = offset_of!(ConcatenateHead, table) / size_of::<u64>();

/// The keys of the kernels.
static SPACE: KernelSpace = KernelSpace::new();

const KERNEL: Header = Header { name: "concatenate.cuh", text: include_str!("device/concatenate.cuh") };

/// Enqueues the launch on `stream`. Does not wait.
///
/// # Errors
/// Those of the compiler, of the launch, and of an allocation where the table of parts needs memory.
pub(super) fn enqueue(mut launch: JoinLaunch<'_>, policy: &JoinPolicy, stream: &Stream) -> Result<()> {
    let key = [SPACE.word(), policy.bytes as u64, policy.rank as u64, policy.parts as u64];
    let kernel = stream.device().generated_kernel(&SPACE, &key, || Ok(program(policy)))?;
    // Freed behind the launch, in the order of the stream.
    let table = if policy.is_table_in_memory() {
        Some(DeviceVec::from_vec(stream, std::mem::take(&mut launch.table))?)
    } else {
        None
    };
    if let Some(table) = &table {
        launch.words[TABLE_WORD] = table.as_raw();
    }
    // SAFETY: the words fulfil the kernel's contract: `plan` made them of the parts. Each part lies within a view that borrows its elements, and
    // its place within a new array that the caller has alone, until this call returns; the homes precede and follow the launch, and the table is
    // released behind it. The kernel has as many words of parameters as the policy says, which the program asserts.
    unsafe { kernel.launch(launch.config, &launch.words, &launch.homes, stream)? };
    Ok(())
}

fn program(policy: &JoinPolicy) -> Program {
    let instance = format!("gpu::ConcatenateParams<{}, {}>", policy.rank, policy.parts);
    let check = ConcatenateHead::check(&instance, policy.list_words());
    let text = format!("#include \"{}\"\n{check}", KERNEL.name);
    let program = loop_program("concatenate.cu", text);
    let headers = [KERNEL, PARAMS, LIST, PACKS];
    let program = headers.iter().fold(program, |program, header| program.header(header.name, header.text));
    program.name_expression(format!("gpu::array::{}", policy.template()))
}

/// Adds samples of the kernels: each size of elements and number of axes, for few parts, for many, and for a table in memory.
pub(crate) fn with_samples(registry: Registry) -> Registry {
    const MANY: usize = 8;
    let policies = [
        JoinPolicy::of(1, 1, 1),
        JoinPolicy::of(2, 1, 1),
        JoinPolicy::of(4, 1, 1),
        JoinPolicy::of(8, 1, 1),
        JoinPolicy::of(16, 1, 1),
        JoinPolicy::of(4, 1, MANY),
        JoinPolicy::of(4, 1, usize::MAX),
        JoinPolicy::of(1, 2, MANY),
        JoinPolicy::of(4, 2, 1),
        JoinPolicy::of(4, 2, MANY),
        JoinPolicy::of(1, MAX_AXES, 1),
        JoinPolicy::of(4, MAX_AXES, MANY),
        JoinPolicy::of(4, MAX_AXES, usize::MAX),
        JoinPolicy::of(8, MAX_AXES, 1),
    ];
    policies.iter().fold(registry, |registry, policy| registry.with_sample(KERNEL.name, program(policy)))
}
