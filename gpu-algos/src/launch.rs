//! What the launches of reductions, scans and compactions share.
#![expect(unsafe_code, reason = "the launch of a generated kernel, for which callers vouch")]

use gpu_array::{
    ArrayError,
    gpu_driver::{Device, GeneratedKernel, Header, LaunchConfig, PARAMETER_BYTES, Program, Stream},
};
use smallvec::SmallVec;

use crate::Result;

/// Slots behind the last one that blocks may look at: see `handover.cuh`.
pub(crate) const SLOTS_BEHIND: usize = 256;

/// Blocks of a grid.
pub(crate) const MOST_BLOCKS: usize = i32::MAX as usize;

pub(crate) type Words = SmallVec<[u64; 96]>;

/// Streams of arrays, each once.
pub(crate) type Homes<'s> = SmallVec<[&'s Stream; 4]>;

/// A launch, but for the address of the scratch memory.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) words: Words,
    /// Which of the words that address is.
    pub(crate) scratch_word: usize,
    pub(crate) scratch: Scratch,
    pub(crate) config: LaunchConfig,
}

/// Memory by which the blocks of a launch hand values to each other, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scratch {
    /// No block needs another's.
    None,
    /// Blocks wait for each other: zero between launches.
    Cleared(usize),
    /// The block that comes last joins what the others left: counters, and memory that holds anything.
    Counted(usize),
}

impl Launch {
    /// Enqueues it on `stream`, behind what `homes` hold. Does not wait.
    ///
    /// # Errors
    /// `TooManyArguments`; the driver's.
    ///
    /// # Safety
    /// The words and the configuration are what the kernel's contract asks for, but for the address of the scratch memory, which is of so many bytes; all memory
    /// that they name stays borrowed until this returns, and belongs to one of the homes.
    pub(crate) unsafe fn enqueue(self, kernel: &GeneratedKernel, homes: &[&Stream], stream: &Stream) -> Result<()> {
        let Self { mut words, scratch_word, scratch, config } = self;
        let (limit, got) = (PARAMETER_BYTES, size_of_val(&words[..]));
        if got > limit {
            return Err(ArrayError::TooManyArguments { limit, got }.into());
        }
        let mut enqueue = |address: u64| {
            words[scratch_word] = address;
            // SAFETY: as the caller promises; the scratch memory is the stream's own, and no other launch of the stream uses it meanwhile.
            unsafe { kernel.launch(config, &words, homes, stream) }
        };
        match scratch {
            Scratch::None => enqueue(0)?,
            Scratch::Cleared(bytes) => stream.with_cleared_scratch(bytes, enqueue)?,
            Scratch::Counted(bytes) => stream.with_scratch(bytes, enqueue)?,
        }
        Ok(())
    }
}

/// Each of the streams once.
pub(crate) fn unique<'s>(streams: impl IntoIterator<Item = &'s Stream>) -> Homes<'s> {
    let mut homes = Homes::new();
    for home in streams {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// Blocks of the kernel, with so much dynamic shared memory, that a device has at once.
pub(crate) fn resident(kernel: &GeneratedKernel, threads: u32, shared_bytes: u32, device: &Device) -> Result<usize> {
    Ok(kernel.resident_blocks(threads, shared_bytes)?.max(1) as usize * device.multiprocessors()? as usize)
}

/// The program with these headers, each once.
pub(crate) fn with_headers(program: Program, headers: impl IntoIterator<Item = Header>) -> Program {
    let mut all: Vec<Header> = Vec::new();
    for header in headers {
        if all.iter().all(|other| other.name != header.name) {
            all.push(header);
        }
    }
    all.into_iter().fold(program, |program, header| program.header(header.name, header.text))
}
