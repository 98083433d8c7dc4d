//! The kernels that a context has loaded, by key.

use std::{
    any::TypeId,
    borrow::Borrow,
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, OnceLock},
};

use crate::raw::{CUfunction, CUmodule};
use gpu_driver_core::lock;
use rustc_hash::FxBuildHasher;

use super::not_forked;
use crate::Result;

/// The kernels that a context has loaded.
#[derive(Default)]
pub(crate) struct KernelCache {
    /// Kernels of registries.
    pub(crate) typed: Slots<(TypeId, String)>,
    /// Kernels made at run time, by the key that their maker gives.
    pub(crate) generated: Slots<Box<[u64]>>,
}

impl KernelCache {
    /// Empties the cache; the caller unloads the modules, each of which comes once.
    pub(crate) fn take_modules(&self) -> Vec<CUmodule> {
        let (typed, generated) = (self.typed.take_modules(), self.generated.take_modules());
        let modules: HashSet<CUmodule> = typed.chain(generated).collect();
        modules.into_iter().collect()
    }
}

/// Loaded kernels by key.
pub(crate) struct Slots<K>(Mutex<HashMap<K, Slot, FxBuildHasher>>);

/// Filled by the first thread that asks; the others wait for it and do not compile again.
type Slot = Arc<OnceLock<Result<Arc<Loaded>>>>;

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> Slots<K> {
    /// The kernel of `key` if it is there.
    pub(crate) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<Loaded>>
    where
        K: Borrow<Q>,
    {
        not_forked().ok()?;
        lock(&self.0).get(key)?.get()?.as_ref().ok().cloned()
    }

    /// The kernel of `key`, loaded now if it is not there; `make_key` gives the key to keep then.
    pub(crate) fn fill<Q: Hash + Eq + ?Sized>(
        &self,
        key: &Q,
        make_key: impl FnOnce() -> K,
        load: impl FnOnce() -> Result<Loaded>,
    ) -> Result<Arc<Loaded>>
    where
        K: Borrow<Q>,
    {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        not_forked()?;
        let slot = {
            let mut all = lock(&self.0);
            match all.get(key) {
                Some(slot) => slot.clone(),
                None => all.entry(make_key()).or_default().clone(),
            }
        };
        let outcome = slot.get_or_init(|| load().map(Arc::new)).clone();
        if outcome.is_err() {
            // The cause may pass (memory, an NVRTC that is installed meanwhile): the next call tries again.
            let mut all = lock(&self.0);
            if all.get(key).is_some_and(|now| Arc::ptr_eq(now, &slot)) {
                all.remove(key);
            }
        }
        outcome
    }

    fn take_modules(&self) -> impl Iterator<Item = CUmodule> + use<K> {
        let all = std::mem::take(&mut *lock(&self.0));
        all.into_values().filter_map(|slot| Some(slot.get()?.as_ref().ok()?.module))
    }
}

/// A kernel in a module, which the context unloads.
pub(crate) struct Loaded {
    pub(crate) expression: String,
    pub(crate) raw: CUfunction,
    pub(crate) module: CUmodule,
    pub(crate) shared: SharedLimit,
    /// Whether a launch may start while earlier work of its stream still runs: see [`Program::overlapping`](crate::Program::overlapping).
    pub(crate) overlaps: bool,
    /// The last block that was asked for: its threads, its bytes of dynamic shared memory, and how many fit a multiprocessor.
    pub(crate) resident: Mutex<Option<(u32, u32, u32)>>,
}

// SAFETY: handles that the driver accepts from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; they are never changed.
unsafe impl Sync for Loaded {}

/// How much dynamic shared memory a kernel may use, in bytes. Without asking it is the rest of 48 KiB beside the kernel's other shared memory,
/// so the driver is asked for any. Its limit is one per kernel and the last word counts, so it is only ever raised.
#[derive(Debug, Default)]
pub(crate) struct SharedLimit(pub(crate) Mutex<u32>);
