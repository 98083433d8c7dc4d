//! Scratch memory of a stream for kernels whose blocks hand partial results to each other.
//!
//! A stream's work runs in order, so one piece of memory serves all of its kernels. Work that is captured may be replayed on any stream:
//! it has memory of its own, which the graph keeps.

use std::{
    cell::Cell,
    sync::{MutexGuard, atomic::Ordering},
};

use crate::raw::CUdeviceptr;
use gpu_driver_core::lock;

use crate::{
    DriverError, Result, Stream,
    context::{Current, OfCapture, Resource, Scratch, ScratchKind, ScratchMemory, not_forked},
    pool, sys,
};

/// Bytes at the head of a stream's scratch memory that are zero whenever a kernel starts: see [`Stream::with_scratch`].
pub const SCRATCH_COUNTERS: usize = 16384;

/// Bytes before the address of cleared memory, so that it is aligned: the last four are the counter of `gpu::claim_before_dependency`.
const DRAWN: usize = 256;

/// Sizes are multiples of this, so that calls of about one size do not each grow the memory.
const STEP: usize = 64 << 10;

impl Stream {
    /// Runs `work` with the address of memory that belongs to this stream: [`SCRATCH_COUNTERS`] bytes of counters, and behind them
    /// `bytes` bytes, all aligned to 256 bytes.
    ///
    /// For kernels that hand partial results from block to block within one launch, such as reductions and scans: a call of theirs
    /// allocates nothing. `work` enqueues such kernels on this stream, and does nothing else:
    /// * The address is good for the kernels that `work` enqueues on this stream, and for no other stream.
    /// * The counters are zero when a kernel starts, and every kernel leaves them zero when it ends. The bytes behind them hold anything.
    /// * A kernel that overlaps with the work before it ([`crate::Entry::OVERLAPS`]) touches the memory only behind
    ///   `gpu::grid_dependency_wait()`.
    /// * A lock is held while `work` runs: two threads with one stream enqueue one after the other. So `work` must not wait for the
    ///   device or for another thread, nor call `with_scratch` again, of any stream, which is an error.
    ///
    /// Within a capture the memory is one of the captured graph, for each captured stream another: a graph that is replayed on
    /// another stream shares none with the calls of this stream. A capture that was not begun by [`Stream::capture`] has no
    /// [`Graph`](crate::Graph) to keep the memory: it stays until the device's last handle goes.
    ///
    /// # Cost
    /// A lock and one question to the driver (whether the stream is captured). The first call allocates; so does one that asks for more
    /// than there is, and then for at least twice as much. The memory goes back to the pool with the stream's last handle, that of a
    /// device's main stream with the device's; that of a graph with the graph, whose Drop waits for the device then. The first call within
    /// a capture waits for the memory to be zeroed.
    ///
    /// # Errors
    /// Those of `work`; `OutOfMemory`, `TooLarge`; `NestedScratch` within `with_scratch`; `Cuda` with
    /// `STREAM_CAPTURE_INVALIDATED` in a capture that cannot end well; `DeviceLost`.
    ///
    /// # Example
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, DriverError, LaunchConfig, SCRATCH_COUNTERS};
    ///
    /// // The block that takes the last ticket adds up the sums that the others left, and puts the counter back to zero.
    /// let text = r#"extern "C" __global__
    /// void total(const unsigned *x, unsigned long long n, unsigned *ticket, unsigned *partial, unsigned *out) {
    ///     unsigned sum = 0;
    ///     for (unsigned long long i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
    ///     partial[blockIdx.x] = sum;
    ///     __threadfence();
    ///     if (atomicAdd(ticket, 1u) != gridDim.x - 1) return;
    ///     __threadfence();
    ///     sum = 0;
    ///     for (unsigned block = 0; block < gridDim.x; ++block) sum += ((volatile unsigned *)partial)[block];
    ///     *out = sum;
    ///     *ticket = 0;
    /// }"#;
    /// let device = Device::first()?;
    /// let kernel = device.compile(text)?.function("total")?;
    /// let stream = device.stream();
    /// let x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?;
    /// let mut out = DeviceVec::<u32>::zeros(&stream, 1)?;
    ///
    /// let blocks = 2;
    /// stream.with_scratch(4 * blocks as usize, |counters| {
    ///     let arguments = (x.input(), 3u64, counters, counters + SCRATCH_COUNTERS as u64, out.output());
    ///     // SAFETY: reads x[..3], writes a number for each block and out[0], and leaves the counter zero.
    ///     unsafe { kernel.launch(LaunchConfig::new(blocks, 1), arguments, &stream) }
    /// })?;
    /// assert_eq!(out.to_vec()?, [6]);
    /// # Ok::<(), DriverError>(())
    /// ```
    pub fn with_scratch<R, E: From<DriverError>>(
        &self,
        bytes: usize,
        work: impl FnOnce(u64) -> Result<R, E>,
    ) -> Result<R, E> {
        self.with_memory(ScratchKind::Counted, bytes, work)
    }

    /// Runs `work` with the address of `bytes` bytes that belong to this stream and are zero whenever a kernel starts, aligned to 256 bytes.
    ///
    /// For kernels whose blocks wait for each other's words, such as scans: a word that no block has written yet is 0. All else is as with
    /// [`Stream::with_scratch`], but the memory is another and has no counters at its head: every kernel leaves **all** that it wrote zero when
    /// it ends. Before the memory there is a counter for `gpu::claim_before_dependency(address, last)` of the prelude, by which the blocks of a kernel
    /// that overlaps draw numbers before they call `gpu::grid_dependency_wait()`.
    ///
    /// # Cost
    /// As `with_scratch`. Memory that grows is zeroed as a whole, in the order of the stream.
    ///
    /// # Errors
    /// As `with_scratch`; neither may be called within the other.
    ///
    /// # Example
    /// ```no_run
    /// # use gpu_driver::{Device, DriverError};
    /// # let launch = |_flags: u64| Ok::<_, DriverError>(());
    /// let stream = Device::first()?.stream();
    /// stream.with_cleared_scratch(1000 * 8, |flags| launch(flags))?; // room for a word of each of 1000 blocks
    /// # Ok::<(), DriverError>(())
    /// ```
    pub fn with_cleared_scratch<R, E: From<DriverError>>(
        &self,
        bytes: usize,
        work: impl FnOnce(u64) -> Result<R, E>,
    ) -> Result<R, E> {
        self.with_memory(ScratchKind::Cleared, bytes, work)
    }

    fn with_memory<R, E: From<DriverError>>(
        &self,
        kind: ScratchKind,
        bytes: usize,
        work: impl FnOnce(u64) -> Result<R, E>,
    ) -> Result<R, E> {
        let too_large = DriverError::TooLarge { elements: bytes, element_bytes: 1 };
        let whole = bytes.checked_add(kind.head() + STEP).filter(|&whole| isize::try_from(whole).is_ok());
        let whole = whole.ok_or(too_large)? - STEP;
        // The lock is not held while the pool is trimmed: that waits for captures, which may wait for the lock.
        let held = pool::with_room(self.device(), whole, || self.scratch().hold(self, kind, whole))?;
        work(held.address + kind.start() as u64)
    }
}

impl ScratchKind {
    /// The offset in bytes of the address that callers get.
    fn start(self) -> usize {
        match self {
            Self::Counted => 0,
            Self::Cleared => DRAWN,
        }
    }

    /// Bytes at the head that come in addition to those that are asked for.
    fn head(self) -> usize {
        match self {
            Self::Counted => SCRATCH_COUNTERS,
            Self::Cleared => DRAWN,
        }
    }

    /// How many of the memory's bytes are zero between kernels.
    fn zero_bytes(self, bytes: usize) -> usize {
        match self {
            Self::Counted => SCRATCH_COUNTERS,
            Self::Cleared => bytes,
        }
    }
}

thread_local! {
    /// Whether this thread holds a stream's scratch. A thread never holds those of two streams, which another thread could hold the other way round.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// The lock of a stream's scratch, and the address to use meanwhile.
struct Held<'a> {
    address: CUdeviceptr,
    _memory: MutexGuard<'a, [ScratchMemory; 2]>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        HOLDS.set(false);
    }
}

impl Scratch {
    fn hold(&self, stream: &Stream, kind: ScratchKind, bytes: usize) -> Result<Held<'_>> {
        if HOLDS.get() {
            return Err(DriverError::NestedScratch);
        }
        not_forked()?;
        let mut memory = lock(&self.memory);
        let current = stream.device().enter()?;
        let context = &stream.device().0;
        let _steady = context.captures.steady();
        let address = match context.capture_of(stream.as_raw(), &current)? {
            Some(capture) => of_capture(stream, capture, kind, bytes, &current)?,
            None => {
                let memory = &mut memory[kind as usize];
                if memory.bytes < bytes || memory.address == 0 {
                    memory.grow(stream, kind, bytes, &current)?;
                }
                memory.address
            }
        };
        HOLDS.set(true);
        Ok(Held { address, _memory: memory })
    }
}

impl ScratchMemory {
    /// Other memory of at least `bytes` bytes. After an error there is none.
    fn grow(&mut self, stream: &Stream, kind: ScratchKind, bytes: usize, current: &Current) -> Result<()> {
        let device = stream.device();
        let twice = 2 * self.bytes;
        let wanted = if twice <= device.0.memory_bytes { bytes.max(twice) } else { bytes };
        let bytes = wanted.max(1).next_multiple_of(STEP);
        let live = &device.0.scratches.live;
        let old = std::mem::take(self);
        if old.address != 0 {
            device.0.free_in_order(stream.as_raw(), old.address);
            live.fetch_sub(1, Ordering::Relaxed);
        }
        let address = pool::allocate_in_order(stream, bytes, current)?;
        // SAFETY: the memory has so many bytes.
        let code = unsafe { sys::cuMemsetD8Async(address, 0, kind.zero_bytes(bytes), stream.as_raw()) };
        let free = |_: &_| device.0.free_in_order(stream.as_raw(), address);
        device.check("cuMemsetD8Async", code).inspect_err(free)?;
        live.fetch_add(1, Ordering::Relaxed);
        *self = Self { address, bytes };
        Ok(())
    }
}

fn of_capture(
    stream: &Stream,
    capture: u64,
    kind: ScratchKind,
    bytes: usize,
    current: &Current,
) -> Result<CUdeviceptr> {
    let device = stream.device();
    let all = &device.0.scratches.of_captures;
    let this = stream.as_raw() as usize;
    let same = |of: &&OfCapture| of.capture == capture && of.stream == this && of.kind == kind;
    let last = lock(all).iter().rfind(same).map(|of| (of.address, of.bytes));
    if let Some((address, _)) = last.filter(|&(_, had)| had >= bytes) {
        return Ok(address);
    }
    let twice = last.map_or(0, |(_, had)| 2 * had);
    let wanted = if twice <= device.0.memory_bytes { bytes.max(twice) } else { bytes };
    let bytes = wanted.max(1).next_multiple_of(STEP);
    let address = pool::allocate_aside(device, bytes, kind.zero_bytes(bytes), current)?;
    device.0.give_to_graph(capture, Resource::Memory(address));
    lock(all).push(OfCapture { capture, kind, stream: this, address, bytes });
    Ok(address)
}
