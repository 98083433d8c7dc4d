//! Copies between device memory and pageable host memory, through pinned buffers and by several threads.
//!
//! A driver's own copy to pageable memory is the work of one thread: it moves each page once more, and takes the faults of pages that nobody has
//! touched yet, which cost more than the bus. Here the bus fills (or empties) pinned buffers in turn, while threads copy others to (or from) their places.

use std::{
    collections::VecDeque,
    ptr::{NonNull, null_mut},
    sync::{Mutex, mpsc},
    thread,
};

use crate::raw::CUdeviceptr;
use gpu_driver_core::lock;

use crate::{
    Device, Event, Result, Stream,
    context::{Current, MOST_STAGES, STAGE_BYTES},
    sys,
};

/// The most threads of a copy.
const MOST_THREADS: usize = 16;
/// Bytes from which on the threads and buffers pay.
pub(super) const LEAST_BYTES: usize = 4 * STAGE_BYTES;

/// A pinned buffer that goes back to the device, and the mark behind the copy that uses it.
struct Stage {
    data: NonNull<u8>,
    used: Event,
    device: Device,
}

// SAFETY: it owns plain memory; the device and events may be used from any thread.
unsafe impl Send for Stage {}

impl Stage {
    fn new(device: &Device, current: &Current) -> Result<Self> {
        let used = Event::untimed_entered(device, current)?;
        let data = match device.0.stages.take(STAGE_BYTES) {
            Some(kept) => kept,
            None => {
                let mut raw = null_mut();
                // SAFETY: the pointer is valid for the call; freed when the stage or the context is dropped.
                let code = unsafe { sys::cuMemHostAlloc(&mut raw, STAGE_BYTES, 0) };
                device.check("cuMemHostAlloc", code)?;
                NonNull::new(raw.cast())
                    .ok_or(crate::DriverError::OutOfPinnedMemory { requested_bytes: STAGE_BYTES })?
            }
        };
        Ok(Self { data, used, device: device.clone() })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.device.0.keeps_stage(self.data) {
            // SAFETY: allocated in `new`, freed once; no copy uses it (see `Job::run`).
            let free = || unsafe { sys::cuMemFreeHost(self.data.as_ptr().cast()) };
            self.device.0.in_drop("pinned memory", "cuMemFreeHost", free);
        }
    }
}

/// The direction of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToHost,
    ToDevice,
}

/// A copy of `bytes` bytes in the order of `home`.
pub(super) struct Job<'j> {
    pub(super) direction: Direction,
    pub(super) device: CUdeviceptr,
    /// Written by [`Direction::ToHost`] alone.
    pub(super) host: *mut u8,
    pub(super) bytes: usize,
    pub(super) home: &'j Stream,
}

/// A part of the host's memory and the stage that it goes through.
struct StagedPart {
    host: *mut u8,
    bytes: usize,
    number: usize,
    stage: Stage,
}

// SAFETY: a part is the only one with its bytes of the host's memory, which outlives the threads of `Job::run`.
unsafe impl Send for StagedPart {}

impl StagedPart {
    /// Copies between stage and place.
    fn copy(&self, direction: Direction) {
        let (stage, host) = (self.stage.data.as_ptr(), self.host);
        // SAFETY: both have that many bytes, and are apart; no copy of the device uses the stage now.
        unsafe {
            match direction {
                Direction::ToHost => std::ptr::copy_nonoverlapping(stage, host, self.bytes),
                Direction::ToDevice => std::ptr::copy_nonoverlapping(host, stage, self.bytes),
            }
        }
    }
}

impl Job<'_> {
    /// Copies all of it, and waits. False, and nothing done, where there is no pinned memory, or no thread.
    ///
    /// # Safety
    /// Both memories have that many bytes. Those of the host may be read, or written for [`Direction::ToHost`], and nobody else uses them.
    pub(super) unsafe fn run(&self, current: &Current) -> Result<bool> {
        let parts = self.bytes.div_ceil(STAGE_BYTES);
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(parts);
        let wanted = (2 * threads).clamp(2, MOST_STAGES).min(parts);
        let device = self.home.device();
        let mut stages: Vec<Stage> = Vec::with_capacity(wanted);
        while stages.len() < wanted {
            match Stage::new(device, current) {
                Ok(stage) => stages.push(stage),
                // Fewer will do.
                Err(crate::DriverError::Cuda { .. } | crate::DriverError::OutOfPinnedMemory { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        if stages.is_empty() {
            return Ok(false);
        }
        let mut in_use = VecDeque::new();
        let (to_threads, tasks) = mpsc::channel::<StagedPart>();
        let (tasks, direction) = (Mutex::new(tasks), self.direction);
        let outcome = thread::scope(|scope| {
            let (from_threads, done) = mpsc::channel::<StagedPart>();
            let tasks = &tasks;
            // Dropped at the end, which ends the threads.
            let to_threads = to_threads;
            let start = || {
                let from_threads = from_threads.clone();
                thread::Builder::new().spawn_scoped(scope, move || {
                    // Nothing is held while it copies.
                    while let Ok(part) = { lock(tasks).recv() } {
                        part.copy(direction);
                        if from_threads.send(part).is_err() {
                            return;
                        }
                    }
                })
            };
            // The system may give fewer threads, or none.
            if (0..threads).map_while(|_| start().ok()).count() == 0 {
                return Ok(false);
            }
            match self.direction {
                Direction::ToHost => self.download(parts, stages, &to_threads, &done, &mut in_use, current)?,
                Direction::ToDevice => self.upload(parts, stages, &to_threads, &done, &mut in_use, current)?,
            }
            Ok(true)
        });
        // The stages in use are released behind the copies that use them; where the wait fails, they are leaked.
        let waited = self.home.synchronize_entered(current);
        if waited.is_err() {
            in_use.into_iter().for_each(std::mem::forget);
        }
        outcome.and_then(|copied| waited.map(|()| copied))
    }

    /// Part number `number`, with a stage.
    fn part(&self, number: usize, stage: Stage) -> StagedPart {
        let start = number * STAGE_BYTES;
        // Within the host's memory, since there are so many parts.
        StagedPart { host: self.host.wrapping_add(start), bytes: STAGE_BYTES.min(self.bytes - start), number, stage }
    }

    /// Enqueues the device's copy of a part, and keeps the part until that is done.
    fn enqueue(&self, part: StagedPart, in_use: &mut VecDeque<StagedPart>, current: &Current) -> Result<()> {
        let device = self.home.device();
        let at = self.device + (part.number * STAGE_BYTES) as CUdeviceptr;
        let (stage, stream) = (part.stage.data.as_ptr(), self.home.as_raw());
        // SAFETY: both have that many bytes; the stage stays in `in_use` until the copy is done.
        let (call, code) = unsafe {
            match self.direction {
                Direction::ToHost => {
                    ("cuMemcpyDtoHAsync", sys::cuMemcpyDtoHAsync_v2(stage.cast(), at, part.bytes, stream))
                }
                Direction::ToDevice => {
                    ("cuMemcpyHtoDAsync", sys::cuMemcpyHtoDAsync_v2(at, stage.cast(), part.bytes, stream))
                }
            }
        };
        in_use.push_back(part);
        device.check(call, code)?;
        match in_use.back() {
            Some(part) => part.stage.used.record_entered(self.home, current),
            None => Ok(()),
        }
    }

    fn download(
        &self,
        parts: usize,
        mut free: Vec<Stage>,
        to_threads: &mpsc::Sender<StagedPart>,
        done: &mpsc::Receiver<StagedPart>,
        in_use: &mut VecDeque<StagedPart>,
        current: &Current,
    ) -> Result<()> {
        let (mut next, mut copying) = (0, 0);
        loop {
            while next < parts
                && let Some(stage) = free.pop()
            {
                self.enqueue(self.part(next, stage), in_use, current)?;
                next += 1;
            }
            match in_use.front() {
                Some(part) => {
                    part.stage.used.synchronize_quietly()?;
                    if let Some(part) = in_use.pop_front()
                        && to_threads.send(part).is_ok()
                    {
                        copying += 1;
                    }
                }
                None if copying == 0 => return Ok(()),
                None => {}
            }
            // Waits where nothing else is left to do.
            while copying > 0 {
                let part = if in_use.is_empty() && free.is_empty() { done.recv().ok() } else { done.try_recv().ok() };
                let Some(part) = part else { break };
                copying -= 1;
                free.push(part.stage);
            }
            if next == parts && in_use.is_empty() {
                done.iter().take(copying).for_each(drop);
                return Ok(());
            }
        }
    }

    fn upload(
        &self,
        parts: usize,
        mut free: Vec<Stage>,
        to_threads: &mpsc::Sender<StagedPart>,
        done: &mpsc::Receiver<StagedPart>,
        in_use: &mut VecDeque<StagedPart>,
        current: &Current,
    ) -> Result<()> {
        let (mut next, mut copying) = (0, 0);
        while next < parts || copying > 0 {
            while next < parts
                && let Some(stage) = free.pop()
            {
                if to_threads.send(self.part(next, stage)).is_ok() {
                    copying += 1;
                }
                next += 1;
            }
            if copying > 0
                && let Ok(part) = done.recv()
            {
                copying -= 1;
                self.enqueue(part, in_use, current)?;
            }
            // The oldest copies of the device, as far as they are done; all threads wait for one if no stage is free.
            while next < parts
                && let Some(part) = in_use.front()
                && (free.is_empty() && copying == 0 || part.stage.used.is_done()?)
            {
                part.stage.used.synchronize_quietly()?;
                free.extend(in_use.pop_front().map(|part| part.stage));
            }
        }
        Ok(())
    }
}
