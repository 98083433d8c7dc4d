//! The kernels that write at computed places: their programs, keys and launches.
#![expect(unsafe_code, reason = "the launch of the kernels")]

use gpu_driver::{Arch, Header, KernelSpace, LIST, LaunchConfig, Program, Registry, Stream};

use super::{
    params::{PARAMS, PutHead},
    policy::{PutKernel, PutOperation, PutPolicy},
};
use crate::{
    ArrayError, Result,
    expression::device::{MAX_AXES, loop_program},
};

/// The keys of the kernels.
static SPACE: KernelSpace = KernelSpace::new();

const KERNEL: Header = Header { name: "put.cuh", text: include_str!("device/put.cuh") };

/// The most blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

/// Enqueues a kernel for `items` indices or slots on `stream`, after the work of `homes`. Does not wait.
pub(super) fn enqueue(
    kernel: PutKernel,
    items: usize,
    words: &[u64],
    homes: &[&Stream],
    stream: &Stream,
) -> Result<()> {
    let device = stream.device();
    let policy = PutPolicy::of(kernel, device.arch());
    let blocks = items.div_ceil(policy.threads).max(1);
    if blocks > MOST_BLOCKS {
        return Err(ArrayError::TooLarge { shape: vec![items] });
    }
    let key = [SPACE.word(), kernel.key()];
    let loaded = device.generated_kernel(&SPACE, &key, || Ok(program(policy)))?;
    let block = policy.threads as u32;
    let config = LaunchConfig { grid: (blocks as u32).into(), block: block.into(), shared_bytes: 0 };
    debug_assert_eq!(words.len(), PutKernel::words());
    // SAFETY: the words fulfil the kernel's contract: `mod.rs` made them of operands that lie in C order, of a target whose layout lies within
    // its buffer, and of zeroed memory with room for the report and the slots. All are borrowed (the target exclusively) until this call returns, and
    // the homes precede and follow the launch. A place is written after a check of its index alone.
    unsafe { loaded.launch(config, words, homes, stream)? };
    Ok(())
}

fn program(policy: PutPolicy) -> Program {
    let check = PutHead::check(&format!("gpu::PutParams<{MAX_AXES}>"), PutKernel::list_words());
    let program = loop_program("put.cu", format!("#include \"{}\"\n{check}", KERNEL.name));
    let program =
        [KERNEL, PARAMS, LIST].iter().fold(program, |program, header| program.header(header.name, header.text));
    program.name_expression(format!("gpu::array::{}", policy.template()))
}

/// Adds samples of the kernels.
pub(crate) fn with_samples(registry: Registry) -> Registry {
    let writes = [1, 2, 4, 8, 16].map(PutKernel::Write);
    let combines = PutOperation::ALL
        .into_iter()
        .flat_map(|operation| operation.dtypes().iter().map(move |&dtype| PutKernel::Combine(operation, dtype)));
    let kernels = [PutKernel::Claim, PutKernel::Check].into_iter().chain(writes).chain(combines);
    kernels.fold(registry, |registry, kernel| {
        registry.with_sample(KERNEL.name, program(PutPolicy::of(kernel, Arch::new(9, 0))))
    })
}
