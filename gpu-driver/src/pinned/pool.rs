//! Pinned buffers of all sizes that are kept for later use.

use std::{
    collections::BTreeMap,
    fmt,
    ptr::NonNull,
    sync::{Arc, Mutex, MutexGuard},
};

use gpu_driver_core::{fork, lock};

use super::{ALIGNMENT, MemorySource, PinnedVec, allocate_with};
use crate::{Device, DevicePod, DriverError, Result, context::Current, pod::byte_len, sys};

/// A pool of pinned host memory: dropped buffers of any size are kept for the next ones, which spares the driver's locking of pages (some 100 us for a
/// MiB).
///
/// Sizes have four classes between neighbouring powers of two, from a page on, so a buffer takes at most a quarter more than it needs. Each buffer keeps
/// the pool's memory alive; clones are the same pool.
///
/// On the emulated device a kernel that reaches beyond a buffer is reported from the end of its size class on, and one that uses a buffer of the pool too
/// late is not reported.
///
/// ```no_run
/// use gpu_driver::{Device, DeviceVec, PinnedPool};
/// let device = Device::first()?;
/// let pool = PinnedPool::new(&device);
/// pool.set_limit(1 << 30);
/// let mut x = DeviceVec::<f32>::zeros(&device.stream(), 100_000)?;
/// for _ in 0..10 {
///     let host = pool.zeros(x.len())?; // the second and later ones are the first one's memory
///     drop(x.upload(host)?.wait()?);
/// }
/// println!("{:?}", pool.usage());
/// pool.free_held();
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone)]
#[doc(alias("PageLockedMemoryPool", "PageLockedAllocator"))]
pub struct PinnedPool(Arc<PinnedPoolShared>);

/// The memory of a [`PinnedPool`] at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedPoolUse {
    /// Bytes of buffers that are alive, by their size classes.
    pub used_bytes: usize,
    /// Bytes that are kept for later buffers.
    pub held_bytes: usize,
    /// The most bytes that the pool has ever taken from the driver at once, used or held.
    pub peak_bytes: usize,
    /// Number of buffers that are alive.
    pub used_buffers: usize,
    /// Number of buffers that are kept.
    pub held_buffers: usize,
}

pub(super) struct PinnedPoolShared {
    device: Device,
    state: Mutex<PinnedPoolState>,
}

struct PinnedPoolState {
    /// Memory that nobody uses, by size.
    held: BTreeMap<usize, Vec<Free>>,
    usage: PinnedPoolUse,
    limit_bytes: usize,
    holds: bool,
}

/// Memory that nothing refers to.
struct Free(NonNull<u8>);

// SAFETY: owned memory that nobody else knows of.
unsafe impl Send for Free {}

/// The size of the buffer that serves a request.
fn class_of(bytes: usize) -> usize {
    let bytes = bytes.max(ALIGNMENT);
    bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(1))
}

impl PinnedPool {
    /// An empty pool without a limit.
    pub fn new(device: &Device) -> Self {
        let state = PinnedPoolState {
            held: BTreeMap::new(),
            usage: PinnedPoolUse::default(),
            limit_bytes: usize::MAX,
            holds: true,
        };
        Self(Arc::new(PinnedPoolShared { device: device.clone(), state: Mutex::new(state) }))
    }

    /// Limits the bytes that the pool has from the driver, used or held, from now on. Held memory goes first where a buffer would exceed it.
    pub fn set_limit(&self, bytes: usize) {
        let Some(mut state) = self.0.state() else { return };
        state.limit_bytes = bytes;
        let surplus = state.make_room(0);
        drop(state);
        self.0.free(surplus);
    }

    /// A buffer of zero bytes.
    ///
    /// # Errors
    /// `OverLimit` where the pool's limit does not allow it; else those of [`PinnedVec::zeros`].
    #[track_caller]
    pub fn zeros<T: DevicePod>(&self, len: usize) -> Result<PinnedVec<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "pinned memory is aligned to 4096 bytes, which this type exceeds") };
        let (device, bytes) = (&self.0.device, byte_len::<T>(len)?);
        if bytes == 0 {
            return PinnedVec::zeros(device, len);
        }
        let current = device.enter()?;
        let class_bytes = class_of(bytes);
        let data = self.0.take(class_bytes, &current)?.cast::<T>();
        // SAFETY: the memory has `bytes` bytes at least, aligned to a page.
        unsafe { std::ptr::write_bytes(data.as_ptr().cast::<u8>(), 0, bytes) };
        super::record(device, data, bytes);
        let origin = MemorySource::Pool { pool: self.0.clone(), class_bytes };
        Ok(PinnedVec { data, len, device: device.clone(), origin })
    }

    /// A buffer with a copy of `source`.
    ///
    /// # Errors
    /// As [`PinnedPool::zeros`].
    #[track_caller]
    pub fn from_slice<T: DevicePod>(&self, source: &[T]) -> Result<PinnedVec<T>> {
        let mut buffer = self.zeros(source.len())?;
        buffer.copy_from_slice(source);
        Ok(buffer)
    }

    /// The memory of the pool now; none in the child of a fork.
    pub fn usage(&self) -> PinnedPoolUse {
        self.0.state().map(|state| state.usage).unwrap_or_default()
    }

    /// Gives the memory that no buffer uses back to the driver.
    pub fn free_held(&self) {
        let held = self.0.state().map(|mut state| state.take_held());
        self.0.free(held.into_iter().flatten());
    }

    /// Keeps no memory from now on: held memory goes back to the driver, and so does each buffer when it is dropped.
    pub fn stop_holding(&self) {
        if let Some(mut state) = self.0.state() {
            state.holds = false;
        }
        self.free_held();
    }
}

impl PinnedPoolState {
    fn take_held(&mut self) -> Vec<Free> {
        (self.usage.held_bytes, self.usage.held_buffers) = (0, 0);
        std::mem::take(&mut self.held).into_values().flatten().collect()
    }

    /// A held buffer of a size, or of the largest one.
    fn take_one(&mut self, class_bytes: Option<usize>) -> Option<Free> {
        let class_bytes = class_bytes.or_else(|| self.held.keys().next_back().copied())?;
        let of_class = self.held.get_mut(&class_bytes)?;
        let free = of_class.pop();
        if of_class.is_empty() {
            self.held.remove(&class_bytes);
        }
        self.usage.held_bytes -= class_bytes;
        self.usage.held_buffers -= 1;
        free
    }

    /// Held buffers, largest first, that have to go so that so many bytes more are within the limit.
    fn make_room(&mut self, bytes: usize) -> Vec<Free> {
        let mut surplus = Vec::new();
        while self.usage.used_bytes.saturating_add(self.usage.held_bytes).saturating_add(bytes) > self.limit_bytes
            && let Some(free) = self.take_one(None)
        {
            surplus.push(free);
        }
        surplus
    }
}

impl PinnedPoolShared {
    /// The state, except in the child of a fork, where a thread of the parent may have held the lock.
    fn state(&self) -> Option<MutexGuard<'_, PinnedPoolState>> {
        (!fork::is_child()).then(|| lock(&self.state))
    }

    fn take(&self, class_bytes: usize, _current: &Current) -> Result<NonNull<u8>> {
        let mut state = lock(&self.state);
        let used_bytes = state.usage.used_bytes;
        let data = match state.take_one(Some(class_bytes)) {
            Some(Free(data)) => data,
            None => {
                let limit_bytes = state.limit_bytes;
                if used_bytes.saturating_add(class_bytes) > limit_bytes {
                    let (memory, requested_bytes) = ("pinned memory", class_bytes);
                    return Err(DriverError::OverLimit { memory, requested_bytes, used_bytes, limit_bytes });
                }
                self.free(state.make_room(class_bytes));
                match allocate_with(&self.device, class_bytes, class_bytes, 0) {
                    Err(DriverError::OutOfPinnedMemory { .. }) if state.usage.held_buffers > 0 => {
                        self.free(state.take_held());
                        allocate_with(&self.device, class_bytes, class_bytes, 0)?
                    }
                    other => other?,
                }
            }
        };
        let usage = &mut state.usage;
        usage.used_bytes += class_bytes;
        usage.used_buffers += 1;
        usage.peak_bytes = usage.peak_bytes.max(usage.used_bytes + usage.held_bytes);
        Ok(data)
    }

    /// Takes the memory of a buffer that is dropped. Nothing on a lost device.
    pub(super) fn give_back(&self, class_bytes: usize, data: NonNull<u8>) {
        if self.device.0.is_lost() {
            return;
        }
        let mut state = lock(&self.state);
        state.usage.used_bytes -= class_bytes;
        state.usage.used_buffers -= 1;
        let is_within = state.usage.used_bytes + state.usage.held_bytes + class_bytes <= state.limit_bytes;
        if !state.holds || !is_within {
            drop(state);
            return self.free([Free(data)]);
        }
        state.held.entry(class_bytes).or_default().push(Free(data));
        state.usage.held_bytes += class_bytes;
        state.usage.held_buffers += 1;
    }

    fn free(&self, all: impl IntoIterator<Item = Free>) {
        for Free(data) in all {
            // SAFETY: the driver's memory, which no buffer has any more, freed once.
            let free = || unsafe { sys::cuMemFreeHost(data.as_ptr().cast()) };
            self.device.0.in_drop("pinned memory", "cuMemFreeHost", free);
        }
    }
}

impl Drop for PinnedPoolShared {
    fn drop(&mut self) {
        if !self.device.0.is_lost() {
            let held = lock(&self.state).take_held();
            self.free(held);
        }
    }
}

impl fmt::Debug for PinnedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedPool({:?})", self.usage())
    }
}

impl fmt::Debug for PinnedPoolShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pool of pinned memory")
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn a_size_class_takes_a_quarter_more_at_most() {
        assert_eq!([1, 4096, 4097, 5120, 5121, 8192, 8193].map(class_of), [4096, 4096, 5120, 5120, 6144, 8192, 10_240]);
        for bytes in (4096..100_000).chain([isize::MAX as usize - 1, isize::MAX as usize]) {
            let class = class_of(bytes);
            assert!(class >= bytes && class - bytes <= bytes / 4 && class_of(class) == class, "{bytes}: {class}");
        }
    }
}
