//! Code that the launches of reductions, scans and selections share.
#![expect(unsafe_code, reason = "the launch of a generated kernel, for which callers vouch")]

use gpu_array::{
    ArrayError,
    gpu_driver::{Device, GeneratedKernel, Header, LaunchConfig, PARAMETER_BYTES, Program, Stream},
};
use smallvec::SmallVec;

use crate::Result;

/// Slots after the last one that blocks may read: see `block/tile_status.cuh`.
pub(crate) const SLOTS_BEHIND: usize = 256;

/// The most blocks of a grid.
pub(crate) const MOST_BLOCKS: usize = i32::MAX as usize;

pub(crate) type Words = SmallVec<[u64; 96]>;

/// Distinct streams of arrays.
pub(crate) type Homes<'s> = SmallVec<[&'s Stream; 4]>;

/// A launch, complete but for the address of the scratch memory.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) params: Words,
    /// Index of the word that holds that address.
    pub(crate) scratch_word: usize,
    pub(crate) scratch: ScratchNeed,
    pub(crate) config: LaunchConfig,
}

/// ScratchNeed memory by which the blocks of a launch exchange values, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScratchNeed {
    /// Blocks exchange nothing.
    None,
    /// Blocks wait for each other. The memory is zero between launches.
    Cleared(usize),
    /// The last block combines the partial results of the others. The memory holds counters, and bytes of any value after them.
    Counted(usize),
}

impl Launch {
    /// Enqueues the launch on `stream`, after the work of `homes`. Does not wait.
    ///
    /// # Errors
    /// `TooManyArguments`; the driver's errors.
    ///
    /// # Safety
    /// The params and the configuration fulfil the kernel's contract, except that the address of the scratch memory is still missing, whose size is
    /// right. All memory that they name stays borrowed until this returns, and belongs to one of the homes.
    pub(crate) unsafe fn enqueue(self, kernel: &GeneratedKernel, homes: &[&Stream], stream: &Stream) -> Result<()> {
        let Self { mut params, scratch_word, scratch, config } = self;
        let (limit, got) = (PARAMETER_BYTES, size_of_val(&params[..]));
        if got > limit {
            return Err(ArrayError::TooManyArguments { limit, got }.into());
        }
        let mut enqueue = |address: u64| {
            params[scratch_word] = address;
            // SAFETY: as the caller promises; the scratch memory is the stream's own, and no other launch of the stream uses it meanwhile.
            unsafe { kernel.launch(config, &params, homes, stream) }
        };
        match scratch {
            ScratchNeed::None => enqueue(0)?,
            ScratchNeed::Cleared(bytes) => stream.with_cleared_scratch(bytes, enqueue)?,
            ScratchNeed::Counted(bytes) => stream.with_scratch(bytes, enqueue)?,
        }
        Ok(())
    }
}

/// The streams without repetitions.
pub(crate) fn unique<'s>(streams: impl IntoIterator<Item = &'s Stream>) -> Homes<'s> {
    let mut homes = Homes::new();
    for home in streams {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// Number of blocks of the kernel that a device runs at once, each with `shared_bytes` of dynamic shared memory.
pub(crate) fn resident(kernel: &GeneratedKernel, threads: u32, shared_bytes: u32, device: &Device) -> Result<usize> {
    Ok(kernel.resident_blocks(threads, shared_bytes)?.max(1) as usize * device.multiprocessors()? as usize)
}

/// Adds these headers to the program, each once.
pub(crate) fn with_headers(program: Program, headers: impl IntoIterator<Item = Header>) -> Program {
    let mut all: Vec<Header> = Vec::new();
    for header in headers {
        if all.iter().all(|other| other.name != header.name) {
            all.push(header);
        }
    }
    all.into_iter().fold(program, |program, header| program.header(header.name, header.text))
}
