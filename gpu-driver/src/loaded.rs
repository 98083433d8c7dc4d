//! Kernels in a device's memory: the cache of those that a context has loaded, and their launch.

use std::{
    any::TypeId,
    borrow::Borrow,
    collections::{HashMap, HashSet},
    ffi::c_void,
    hash::Hash,
    sync::{Arc, Mutex, OnceLock},
};

use cust::sys::{CUfunction, CUmodule};
use gpu_driver_core::lock;
use rustc_hash::FxBuildHasher;

use crate::{
    Device, DriverError, LaunchConfig, Program, Result, Stream,
    module::{SharedLimit, find, launch_raw, load_raw},
    sys,
};

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
    raw: CUfunction,
    pub(crate) module: CUmodule,
    shared: SharedLimit,
    /// Whether a launch may start while earlier work of its stream still runs: see [`Program::overlapping`].
    overlaps: bool,
    /// The last block that was asked for: its threads, its bytes of dynamic shared memory, and how many fit a multiprocessor.
    resident: Mutex<Option<(u32, u32, u32)>>,
}

// SAFETY: handles that the driver accepts from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; they are never changed.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// The kernel of a program that has one, named by `expression`.
    pub(crate) fn compile(device: &Device, expression: &str, program: &Program) -> Result<Self> {
        let binary = program.compile(device.arch())?;
        let lowered = binary.names().first().map_or(expression, |(_, lowered)| lowered);
        let module = load_raw(device, &binary)?;
        let raw = find(device, module, lowered).inspect_err(|_| device.0.unload(module))?;
        let (expression, overlaps) = (expression.to_owned(), program.overlaps());
        Ok(Self { expression, raw, module, shared: SharedLimit::default(), overlaps, resident: Mutex::default() })
    }

    /// All kernels that a program names, in the order of its names.
    pub(crate) fn compile_all(device: &Device, program: &Program) -> Result<Vec<Self>> {
        let binary = program.compile(device.arch())?;
        let module = load_raw(device, &binary)?;
        let each = binary.names().iter().map(|(expression, lowered)| {
            let raw = find(device, module, lowered)?;
            let (expression, overlaps) = (expression.clone(), program.overlaps());
            Ok(Self { expression, raw, module, shared: SharedLimit::default(), overlaps, resident: Mutex::default() })
        });
        let all: Result<Vec<Self>> = each.collect();
        if all.as_ref().map_or(true, Vec::is_empty) {
            device.0.unload(module);
        }
        all
    }

    /// Lets the kernel use that much dynamic shared memory.
    pub(crate) fn allow_shared(&self, device: &Device, bytes: u32) -> Result<()> {
        self.shared.allow(device, &self.expression, self.raw, bytes)
    }

    /// Blocks of that many threads and that much dynamic shared memory that fit a multiprocessor side by side.
    pub(crate) fn resident_blocks(&self, device: &Device, threads: u32, shared_bytes: u32) -> Result<u32> {
        let mut known = lock(&self.resident);
        if let Some((of_threads, of_bytes, blocks)) = *known
            && (of_threads, of_bytes) == (threads, shared_bytes)
        {
            return Ok(blocks);
        }
        self.allow_shared(device, shared_bytes)?;
        let _current = device.enter()?;
        let mut blocks = 0;
        let size = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the pointer is valid for the call; the driver checks the numbers.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.raw, size, shared_bytes as usize)
        };
        device.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        let blocks = u32::try_from(blocks).unwrap_or(0);
        *known = Some((threads, shared_bytes, blocks));
        Ok(blocks)
    }

    /// Enqueues the kernel on `stream`, after the work that the homes hold and before their later work.
    ///
    /// # Safety
    /// The promises of [`crate::Function::launch`].
    pub(crate) unsafe fn launch(
        &self,
        config: LaunchConfig,
        values: &mut [*mut c_void],
        for_each_home: impl Fn(&mut dyn FnMut(&Stream) -> Result<()>) -> Result<()>,
        stream: &Stream,
    ) -> Result<()> {
        let device = stream.device();
        let current = device.enter()?;
        for_each_home(&mut |home| {
            same_device("a kernel and its argument", device, home.device())?;
            stream.follow_entered(home, &current)
        })?;
        // SAFETY: as the caller promises.
        let mut outcome =
            unsafe { launch_raw(&self.expression, self.raw, self.overlaps, config, values, stream, &current) };
        // Whatever happened, every home must come after the kernel if it was launched, or a release could overtake it.
        let joined = for_each_home(&mut |home| home.follow_entered(stream, &current));
        if joined.is_err() {
            let waited = stream.synchronize_entered(&current);
            outcome = outcome.and(joined).and(waited);
        }
        outcome
    }
}

pub(crate) fn same_device(op: &'static str, expected: &Device, got: &Device) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(DriverError::WrongDevice { op, expected: expected.ordinal(), got: got.ordinal() })
}
