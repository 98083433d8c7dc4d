//! Kernels compiled and loaded ahead of their first launch, many at once.

use std::{num::NonZero, sync::Mutex, thread};

use gpu_driver_core::lock;

use crate::{
    Arch, Device, Entry, Registry, Result,
    kernel::{Instance, Key},
};

/// Kernels of a registry that are to be compiled and loaded side by side, so that no launch of them waits for the compiler.
///
/// ```no_run
/// use gpu_driver::{Device, Entry, Preload, Registry};
/// fn warm<E: Entry<Policy = u32>>(registry: &Registry, device: &Device) -> gpu_driver::Result<()> {
///     Preload::new(registry, device).and::<E>(&128).and::<E>(&256).run()
/// }
/// ```
#[derive(Debug)]
#[must_use = "nothing is compiled before `run`"]
pub struct Preload<'a> {
    registry: &'a Registry,
    goal: Goal<'a>,
    kernels: Result<Vec<(Key, &'a Instance)>>,
}

#[derive(Debug)]
enum Goal<'a> {
    Device(&'a Device),
    /// The cache on disk, for devices of an architecture.
    Cache(Arch),
}

impl<'a> Preload<'a> {
    /// No kernels yet, of that registry for that device.
    pub fn new(registry: &'a Registry, device: &'a Device) -> Self {
        Self { registry, goal: Goal::Device(device), kernels: Ok(Vec::new()) }
    }

    /// No kernels yet, of that registry for the cache on disk (`GPU_CACHE_DIR`), where devices of that architecture find them: nothing is loaded, and no
    /// device need be open yet. [`Device::arch_of`] tells the architecture of one that is not.
    pub fn into_cache(registry: &'a Registry, arch: Arch) -> Self {
        Self { registry, goal: Goal::Cache(arch), kernels: Ok(Vec::new()) }
    }

    /// Adds a kernel. Those whose compilation takes longest had best come first.
    pub fn and<E: Entry>(mut self, policy: &E::Policy) -> Self {
        if let Ok(kernels) = &mut self.kernels {
            match self.registry.find::<E>(policy) {
                Ok(found) => kernels.push(found),
                Err(error) => self.kernels = Err(error),
            }
        }
        self
    }

    /// Compiles and loads the kernels, one on each processor at a time, and waits for all. A kernel that is loaded already costs a look into a table,
    /// one in the cache on disk well under a millisecond. Threads are started only where two kernels or more are not loaded.
    ///
    /// # Errors
    /// The first, in the order of the kernels, of those of [`Registry::kernel`]. The others are loaded all the same.
    pub fn run(self) -> Result<()> {
        let Self { goal, kernels, .. } = self;
        let mut kernels = kernels?;
        match goal {
            Goal::Device(device) => {
                kernels.retain(|(key, _)| device.0.kernels.typed.find(key).is_none());
                in_parallel(&kernels, |(key, instance)| instance.load(device, key).map(drop))
            }
            Goal::Cache(arch) => in_parallel(&kernels, |(_, instance)| instance.compile(arch).map(drop)),
        }
    }
}

/// Calls `work` with each item, in order, on as many threads as there are processors and items; returns the first error in the order of the items.
pub(crate) fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    if items.len() < 2 || processors < 2 {
        return items.iter().map(work).fold(Ok(()), Result::and);
    }
    let next = Mutex::new(items.iter().enumerate());
    let outcomes = Mutex::new(vec![Ok(()); items.len()]);
    let take = || lock(&next).next();
    let take_all = || {
        while let Some((number, item)) = take() {
            let outcome = work(item);
            lock(&outcomes)[number] = outcome;
        }
    };
    thread::scope(|scope| {
        for _ in 1..processors.min(items.len()) {
            // Where the system gives no more threads, those that are there take the rest.
            if thread::Builder::new().spawn_scoped(scope, take_all).is_err() {
                break;
            }
        }
        take_all();
    });
    outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::DriverError;

    #[test]
    fn each_item_is_taken_once_and_the_first_error_is_told() {
        for n in [0, 1, 2, 100] {
            let items: Vec<usize> = (0..n).collect();
            let taken: Vec<AtomicUsize> = items.iter().map(|_| AtomicUsize::new(0)).collect();
            let outcome = in_parallel(&items, |&i| {
                taken[i].fetch_add(1, Ordering::Relaxed);
                match i {
                    70 | 40 => Err(DriverError::Nul { text: if i == 40 { "the first" } else { "a later one" } }),
                    _ => Ok(()),
                }
            });
            assert!(taken.iter().all(|taken| taken.load(Ordering::Relaxed) == 1), "{n}");
            match n {
                100 => assert!(matches!(outcome, Err(DriverError::Nul { text: "the first" })), "{outcome:?}"),
                _ => assert!(outcome.is_ok(), "{outcome:?}"),
            }
        }
    }
}
