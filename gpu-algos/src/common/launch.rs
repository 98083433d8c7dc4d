//! Code that the launches of reductions, scans, selections and matrix products share.
#![expect(
    unsafe_code,
    reason = "the launch of a generated kernel, for which callers vouch, and memory that it fills before anyone reads it"
)]

use std::{cell::Cell, ffi::c_void};

use gpu_array::{
    ArrayError, Element, GpuArray,
    gpu_driver::{
        Arch, Device, DeviceVec, GeneratedKernel, Header, LaunchConfig, PARAMETER_BYTES, Program, Stream, TensorMap,
    },
};
use ndarray::Dimension;
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

/// The memory by which the blocks of a launch exchange values, in bytes.
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
        // SAFETY: as the caller promises.
        unsafe { self.enqueue_with(&mut [], kernel, homes, stream) }
    }

    /// [`Launch::enqueue`] of a kernel with tensor maps before its params.
    ///
    /// # Errors
    /// Those of [`Launch::enqueue`].
    ///
    /// # Safety
    /// The promises of [`Launch::enqueue`] hold, for the memory that the maps describe too.
    pub(crate) unsafe fn enqueue_with(
        self,
        maps: &mut [TensorMap],
        kernel: &GeneratedKernel,
        homes: &[&Stream],
        stream: &Stream,
    ) -> Result<()> {
        let Self { mut params, scratch_word, scratch, config } = self;
        let (limit, got) = (PARAMETER_BYTES, size_of_val(&params[..]) + size_of_val(maps));
        if got > limit {
            return Err(ArrayError::TooManyArguments { limit, got }.into());
        }
        let mut enqueue = |address: u64| {
            params[scratch_word] = address;
            let maps = maps.iter_mut().map(|map| (&raw mut *map).cast());
            let mut values: SmallVec<[*mut c_void; 3]> = maps.chain([params.as_mut_ptr().cast()]).collect();
            // SAFETY: as the caller promises; the scratch memory is the stream's own, and no other launch of the stream uses it meanwhile.
            unsafe { kernel.launch_with(config, &mut values, homes, stream) }
        };
        match scratch {
            ScratchNeed::None => enqueue(0)?,
            ScratchNeed::Cleared(bytes) => stream.with_cleared_scratch(bytes, enqueue)?,
            ScratchNeed::Counted(bytes) => stream.with_scratch(bytes, enqueue)?,
        }
        Ok(())
    }
}

/// The facts about a device on which the choice of a kernel depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceLimits {
    pub(crate) arch: Arch,
    pub(crate) multiprocessors: usize,
    /// The most dynamic shared memory of a block.
    pub(crate) most_shared_bytes: usize,
}

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
const MOST_SHARED_BYTES: i32 = 97;

thread_local! {
    /// The architecture for which this thread chooses kernels, in place of the device's.
    static PRETENDED: Cell<Option<Arch>> = const { Cell::new(None) };
}

/// Chooses kernels in this thread as for an older architecture, while `work` runs. For tests and measurements.
#[doc(hidden)]
pub fn as_for<R>(arch: Arch, work: impl FnOnce() -> R) -> R {
    /// Puts back the architecture that was there before, also where `work` panics.
    struct Before(Option<Arch>);
    impl Drop for Before {
        fn drop(&mut self) {
            PRETENDED.set(self.0);
        }
    }
    let _before = Before(PRETENDED.replace(Some(arch)));
    work()
}

impl DeviceLimits {
    pub(crate) fn of(device: &Device) -> Result<Self> {
        let multiprocessors = device.multiprocessors()? as usize;
        let is_older = |pretended: &Arch| pretended.number() <= device.arch().number();
        let arch = PRETENDED.get().filter(is_older).unwrap_or_else(|| device.arch());
        Ok(Self { arch, multiprocessors, most_shared_bytes: device.attribute(MOST_SHARED_BYTES)? as usize })
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

/// A compiled kernel, as the choice of a grid needs it.
pub(crate) trait Occupancy {
    /// Number of blocks that a multiprocessor runs at once, at least one, each with `shared_bytes` of dynamic shared memory.
    fn blocks(&self, threads: u32, shared_bytes: u32) -> Result<usize>;
}

impl Occupancy for GeneratedKernel {
    fn blocks(&self, threads: u32, shared_bytes: u32) -> Result<usize> {
        Ok(self.resident_blocks(threads, shared_bytes)?.max(1) as usize)
    }
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

/// Allocates an array without initialising it. The next kernel writes its elements.
pub(crate) fn allocate<T: Element, K: Dimension>(stream: &Stream, dim: K) -> Result<GpuArray<T, K>> {
    let len = dim.size();
    // SAFETY: a reduction, a matrix product or an expression writes each of its results, and a selection reports the number of its results; if the
    // launch fails the memory is dropped unread.
    let data = unsafe { DeviceVec::uninitialized(stream, len)? };
    Ok(GpuArray::from_storage(data, dim)?)
}
