//! Kernels whose text is made at run time: kept by the device under a key, launched with one argument of 64-bit words.

use std::{
    ffi::c_void,
    fmt,
    sync::{Arc, atomic::AtomicU8},
};

use crate::{Device, DriverError, LaunchConfig, Program, Result, Stream, loaded::Loaded, module::same_device};

/// The keys of one maker's kernels, apart from all others': without the value nobody can look up, replace or add a kernel of it.
///
/// A crate that makes kernels has one in a private static, and begins its keys with [`KernelSpace::word`].
///
/// ```
/// use gpu_driver::KernelSpace;
/// static KERNELS: KernelSpace = KernelSpace::new();
/// let key = [KERNELS.word(), 256];
/// ```
/// A constant is no space, since the linker may give equal constants of several crates one address:
/// ```compile_fail,E0492
/// const KERNELS: &gpu_driver::KernelSpace = &gpu_driver::KernelSpace::new();
/// ```
#[derive(Debug)]
pub struct KernelSpace {
    /// Its address tells the space from others, so it has a size. Two values that may change are never one, as equal constants may be: no constant
    /// has the address of another crate's static.
    _address: AtomicU8,
}

impl KernelSpace {
    /// A space of its own, for a static.
    #[expect(clippy::new_without_default, reason = "a default would suggest a value; only the address counts")]
    pub const fn new() -> Self {
        Self { _address: AtomicU8::new(0) }
    }

    /// The first word of its keys. Other words may follow from anywhere.
    pub fn word(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Checks that a key begins with the word of this space.
    fn owns(&'static self, op: &'static str, key: &[u64]) -> Result<()> {
        if key.first() == Some(&self.word()) {
            return Ok(());
        }
        let got = key.first().map_or("an empty key".to_owned(), |word| format!("{word:#x}"));
        Err(DriverError::Length { op, expected: "a key that begins with its space's word".to_owned(), got })
    }
}

/// A kernel that was made at run time, ready to launch on one device. Cheap to clone.
///
/// Its parameters are one structure: with named fields, defined once for both languages by [`kernel_params!`](crate::kernel_params), as in the other crates
/// of this workspace ([`GeneratedKernel::launch_with`]), or of 64-bit words, `template <int N> struct Words { uint64_t word[N]; }`
/// ([`GeneratedKernel::launch`]).
#[derive(Clone)]
pub struct GeneratedKernel {
    function: Arc<Loaded>,
    device: Device,
}

/// The bytes of parameters that a kernel can have on every architecture and driver.
pub const PARAMETER_BYTES: usize = 4096;

impl Device {
    /// The kernel that stands under `key` in `space`, whose program `make` gives when there is none yet: the program names one kernel.
    ///
    /// The key begins with [`KernelSpace::word`], and holds all that the program depends on. Several threads that ask at once may each call `make`.
    ///
    /// # Cost
    /// A look into a table once the kernel is there: about 50 ns.
    ///
    /// # Errors
    /// Those of `make`, [`Program::compile`] and [`crate::Module::load`]; the next call tries again. `Length` for a key of another space.
    pub fn generated_kernel(
        &self,
        space: &'static KernelSpace,
        key: &[u64],
        make: impl FnOnce() -> Result<Program>,
    ) -> Result<GeneratedKernel> {
        space.owns("Device::generated_kernel", key)?;
        let kernels = &self.0.kernels.generated;
        if let Some(function) = kernels.find(key) {
            return Ok(GeneratedKernel { function, device: self.clone() });
        }
        // Before the kernel's slot is taken: `make` may ask for kernels itself.
        let program = make()?;
        let name = program.names().first().cloned().unwrap_or_default();
        let function = kernels.fill(key, || key.into(), || Loaded::compile(self, &name, &program))?;
        Ok(GeneratedKernel { function, device: self.clone() })
    }

    /// Whether a kernel stands under `key` in `space`.
    pub fn has_generated_kernel(&self, space: &'static KernelSpace, key: &[u64]) -> bool {
        key.first() == Some(&space.word()) && self.0.kernels.generated.find(key).is_some()
    }

    /// Compiles a program of many kernels at once and puts each under its key: `keys[i]` is that of the program's i-th name
    /// expression. Kernels that are there already stay.
    ///
    /// # Errors
    /// Those of [`Device::generated_kernel`]; `Length` unless there are as many keys as names.
    pub fn generate_kernels(&self, space: &'static KernelSpace, keys: &[&[u64]], program: &Program) -> Result<()> {
        const OP: &str = "Device::generate_kernels";
        crate::memory::same_len(OP, program.names().len(), keys.len())?;
        keys.iter().try_for_each(|key| space.owns(OP, key))?;
        if keys.is_empty() {
            return Ok(());
        }
        let mut all = Loaded::compile_all(self, program)?;
        let module = all.first().map(|loaded| loaded.module);
        let mut kept = false;
        let mut outcome = Ok(());
        for (key, loaded) in keys.iter().zip(all.drain(..)) {
            let stands = self.0.kernels.generated.fill(*key, || (*key).into(), || Ok(loaded));
            kept |= stands.as_ref().is_ok_and(|stands| Some(stands.module) == module);
            outcome = outcome.and(stands.map(drop));
        }
        if let Some(module) = module.filter(|_| !kept) {
            // Other threads have made all of them meanwhile.
            self.0.unload(module);
        }
        outcome
    }
}

impl GeneratedKernel {
    /// Enqueues the kernel on `stream`. Work of `homes`, the streams of the memory that it touches, is waited for, and their later work
    /// waits for it, as with [`crate::Kernel::launch`].
    ///
    /// # Errors
    /// `Launch` when the driver refuses the shape (nothing ran); `SharedMemory`; `WrongDevice`; `DeviceLost`.
    ///
    /// # Safety
    /// The kernel has one parameter, of as many words as `words`; it stays within memory that is alive until it has run, in the order of
    /// `homes`, and which nothing else accesses meanwhile where it writes.
    pub unsafe fn launch(&self, config: LaunchConfig, words: &[u64], homes: &[&Stream], stream: &Stream) -> Result<()> {
        if size_of_val(words) > PARAMETER_BYTES {
            let (expected, got) = (format!("at most {PARAMETER_BYTES} bytes"), size_of_val(words).to_string());
            return Err(DriverError::Length { op: "GeneratedKernel::launch", expected, got });
        }
        let mut values = [words.as_ptr().cast_mut().cast()];
        // SAFETY: as the caller promises; the driver reads the words before the call returns.
        unsafe { self.launch_with(config, &mut values, homes, stream) }
    }

    /// Enqueues a kernel with parameters of any types: `values` has the address of each one's value. Else as [`GeneratedKernel::launch`].
    ///
    /// A pointer that is a parameter of its own can be `__restrict__`, which lets the compiler read ahead of the kernel's writes.
    ///
    /// # Errors
    /// Those of [`GeneratedKernel::launch`].
    ///
    /// # Safety
    /// The promises of [`GeneratedKernel::launch`] about memory hold; there is an address for each parameter, that of a value of its type.
    pub unsafe fn launch_with(
        &self,
        config: LaunchConfig,
        values: &mut [*mut c_void],
        homes: &[&Stream],
        stream: &Stream,
    ) -> Result<()> {
        same_device("a kernel and its stream", &self.device, stream.device())?;
        self.function.allow_shared(&self.device, config.shared_bytes)?;
        let for_each_home = |each: &mut dyn FnMut(&Stream) -> Result<()>| homes.iter().try_for_each(|home| each(home));
        // SAFETY: as the caller promises; the driver reads the values before the call returns.
        unsafe { self.function.launch(config, values, for_each_home, stream) }
    }

    /// How many blocks of `threads` threads with that much dynamic shared memory fit a multiprocessor side by side; 0 for a block that the
    /// kernel cannot be launched with. Asked of the driver once, then kept.
    ///
    /// # Errors
    /// `SharedMemory`; `DeviceLost`; else the driver's error.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32> {
        self.function.resident_blocks(&self.device, threads, shared_bytes)
    }

    /// The C++ expression that names the kernel.
    pub fn name(&self) -> &str {
        &self.function.expression
    }
}

impl fmt::Debug for GeneratedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneratedKernel({} on device {})", self.name(), self.device.ordinal())
    }
}
