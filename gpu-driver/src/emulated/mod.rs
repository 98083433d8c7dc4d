//! A device on the CPU that runs the very kernels a GPU runs, to test and debug them where there is no GPU.
//!
//! With `GPU_DEVICE=emulated` the table of driver functions is filled by a driver of our own. `cust` and everything above
//! it run unchanged; the kernels' sources are compiled by the machine's C++ compiler (`CXX`, else `c++`) with headers that
//! give CUDA C++ its meaning on a CPU; each CUDA thread is a coroutine. It is slow by design, and it checks things that a GPU
//! does not: every access, every barrier, every order of streams.
//!
//! ```
//! use gpu_driver::{Device, DeviceVec, LaunchConfig, Module, Program};
//! // The first CUDA device, or the emulated one where there is none and a C++ compiler is.
//! let Ok(device) = Device::for_tests() else { return Ok(()) };
//! let text = r#"extern "C" __global__ void square(int *x) { x[threadIdx.x] *= x[threadIdx.x]; }"#;
//! let module = Module::load(&device, &Program::new("square.cu", text).compile(device.arch())?)?;
//! let x = DeviceVec::from_slice(&device.stream(), &[1, 2, 3])?;
//! let mut address = x.as_raw();
//! let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
//! // SAFETY: three threads square three elements.
//! unsafe { module.function("square")?.launch(config, &mut [(&raw mut address).cast()], &device.stream())? };
//! assert_eq!(x.to_vec()?, [1, 4, 9]);
//! # Ok::<(), gpu_driver::DriverError>(())
//! ```
//!
//! # Mistakes that are caught
//! Each of these ends the launch, and [`DriverError::DeviceLost`] says kernel, block, thread and line:
//! * an access of device or shared memory out of bounds, of released memory, of a host address, of another thread's local
//!   variable, of memory that its stream has not allocated yet; a misaligned access;
//! * shared memory that is read before the block wrote it; two threads that touch it, one writing, with nothing between
//!   that orders them (a barrier, a warp-wide operation, a pair of atomics or fences);
//! * a barrier that not every thread of the block reaches, or that is reached at two lines; a warp-wide operation whose lanes
//!   never come, that a lane outside its mask calls, or that reads from a lane that has ended;
//! * a launch that does not end: where every warp waits, after `GPU_EMULATED_TIMEOUT` seconds in which no thread ended;
//! * `__trap()`, failed assertions and, on request, findings of the compiler's checks of undefined behaviour.
//!
//! Launches that a device refuses (block, grid, shared memory, `__launch_bounds__`) are refused. Work is queued lazily and
//! runs in an order that only streams and events restrict, so a missing dependency shows as a wrong answer or an access of
//! memory that is not there. Fresh memory holds 0xff bytes. After a fault the device is lost as a real one is, but here a
//! new one can be opened: [`Device::new`] gives a fresh context once the old one is lost.
//!
//! # Differences from a GPU
//! * Memory ordering: emulated threads see each other's writes at once and in order, so a missing `__threadfence` is not
//!   found. Races in global memory are found only where an order shows a wrong answer.
//! * Device arithmetic to the last bit: sums are not contracted to fused multiply-adds, and functions such as `__expf` and
//!   `sinf` are the host's. Additions, multiplications, divisions, square roots and `fma` agree.
//! * Hopper's own instructions (bulk copies, mbarrier, wgmma, clusters), tensor cores, textures, dynamic parallelism, and
//!   inline PTX: kernels that use them need a portable twin.
//! * Speed, occupancy, registers, the limits of NVRTC's own C++; the legacy stream and the per-thread one are one stream.
//!   The device has 8 multiprocessors, so that every block that occupancy promises really runs beside the others.
//! * An index that leaves a local array, when it stays within the thread's stack (`GPU_EMULATED_CHECKS=undefined` finds it);
//!   of several conflicting accesses of one word the last ones alone are compared.
//! * Where a GPU's answer is unspecified the host's rules hold: an integer division by zero ends the launch. `new` and
//!   `malloc` in kernels are not there. An `extern "C"` kernel that a macro defines is found by a name expression alone.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPU_EMULATED_CHECKS` | `access` (default): every access is checked; `undefined`: undefined behaviour too; `off`: neither, faster |
//! | `GPU_EMULATED_SCHEDULE` | order of threads and blocks: `random` (default), `ascending`, `descending` |
//! | `GPU_EMULATED_BLOCKS` | `sequential` (default): one block after another; `interleaved`: several, switching at atomics and fences |
//! | `GPU_EMULATED_SEED` | of every random order; reports name it. Else the process number |
//! | `GPU_EMULATED_TIMEOUT` | seconds without a thread's end until a launch is given up, 60; 0 for none (as under a debugger) |
//! | `GPU_EMULATED_DEVICES` | how many devices there are, 1; 0 for a driver without any |
//! | `GPU_EMULATED_ARCH`, `GPU_EMULATED_DRIVER` | compute capability (9.0) and CUDA version (13.0) to report |
//! | `GPU_EMULATED_FAIL` | calls to fail, such as `allocation:3,launch:2+`; also `module`, `copy`, `release`, `event` |
//!
//! # Failures on demand
//! `GPU_EMULATED_FAIL=allocation:3,launch:2+` fails the third allocation and every launch from the second.
//!
//! [`Emulation::fail`] makes driver calls of one device fail, and [`Emulated::fail_each`] runs an operation once for each call
//! that it makes, with that call failing: memory that runs out, launches that are refused, copies that break off.
//!
//! # Debugging a kernel with gdb
//! Kernels are shared objects with debug information, and the compiler leaves the text it was given beside them in the
//! cache (`GPU_CACHE_DIR`), where gdb finds it:
//! ```text
//! GPU_DEVICE=emulated GPU_EMULATED_SCHEDULE=ascending GPU_EMULATED_TIMEOUT=0 gdb --args target/debug/examples/my_program
//! (gdb) set language c++
//! (gdb) set breakpoint pending on
//! (gdb) break my_kernel.cu:42 if threadIdx.x == 3 && blockIdx.x == 0
//! (gdb) run
//! (gdb) print threadIdx
//! ```
//! `threadIdx`, `blockIdx`, `blockDim` and `gridDim` are plain variables. To stop where a fault is found, break on
//! `gpu_emulated_fault`. `GPU_EMULATED_CHECKS=off` and a fixed seed keep the steps short.
//!
//! # From a kernel's text to a report
//! 1. `compile/` rewrites `__shared__` declarations and launch bounds into macros (`rewrite.rs`), puts the headers of `cuda/` before the
//!    text and a table of its kernels after it (`program.rs`), and runs the machine's compiler with checks that announce each access by a
//!    call (`flags.rs`). The headers define these calls, so no sanitizer library takes part.
//! 2. `driver/` answers the driver's C functions with the state in `state.rs`, behind one lock. Calls only queue work; `run_one` chooses a
//!    stream at random when a call waits. `memory.rs` knows each byte of device memory, `image.rs` maps modules, `graph.rs` holds captures.
//! 3. `launch.rs` runs each thread of a block as a coroutine (`stack.rs`). Kernels call the functions of `runtime.rs` through the table in
//!    `cuda/abi.h` (in Rust `abi.rs`): these check, wait (`block.rs`) or give way. `shared.rs` shadows shared memory, and `signal.rs` turns
//!    a segmentation fault of a kernel into a fault of the launch.
//! 4. `report.rs` finds the source line and the position of each warp. The context is lost, and the report becomes the text of
//!    [`DriverError::DeviceLost`].
//!
//! Three rules hold throughout. A suspended coroutine is reset and never unwound, so no function on a kernel's stack holds a value with a
//! destructor across a suspension (the text of a fault is leaked). Handles are numbers that are never used twice. An access check reports
//! nothing that CUDA's rules allow.
//!
//! # Sources
//! Running CUDA blocks as coroutines on a CPU follows MCUDA (Stratton, Stone and Hwu, LCPC 2008) and HIP-CPU; the checks are
//! those of NVIDIA's compute-sanitizer (memcheck, racecheck, synccheck, initcheck) as far as a CPU can see them.

use std::{
    ops::Range,
    sync::{Arc, Once},
    time::Duration,
};

use crate::{CudaCode, Device, DriverError, Result, device::Context, sys::loader};

mod abi;
mod block;
mod compile;
#[allow(non_snake_case, reason = "the names are the driver's")]
mod driver;
mod elf;
mod graph;
mod image;
mod launch;
mod memory;
mod random;
mod report;
mod runtime;
mod settings;
mod shared;
mod signal;
mod stack;
mod state;
mod sweep;

pub(crate) use compile::{Checks, CompileJob, compile, lexer, toolchain};
pub(crate) use driver::address;
pub use sweep::{Borne, NotBorne};

/// The order in which the threads of a block, and the blocks of a grid, run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// From the first to the last, each as far as it comes.
    Ascending,
    /// From the last to the first.
    Descending,
    /// At random by the seed, with threads interrupted anywhere.
    Random,
}

/// How blocks share the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// One after another; a block that only waits lets further ones in beside it.
    Sequential,
    /// Several at once, switching at atomic operations and fences.
    Interleaved,
}

/// A kind of driver call that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Device and pinned memory, in stream order or not.
    Allocation,
    /// Launches of kernels.
    Launch,
    /// Loads of compiled code.
    ModuleLoad,
    /// Copies between host and device, or on the device.
    Copy,
    /// The release of device and pinned memory, in stream order or not; memory whose release failed stays allocated.
    Release,
    /// The creation of an event, its record on a stream, and a stream's wait for it.
    Event,
}

/// A failure on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of call that fails.
    pub call: Call,
    /// The number of the call among those of its kind, from 1.
    pub at: u64,
    /// Whether the later ones fail too.
    pub and_later: bool,
    /// The code that the call returns; a fatal one loses the device.
    pub code: CudaCode,
}

/// An emulated device of one's own: with its own settings, and lost by nobody else's faults.
///
/// ```
/// use gpu_driver::emulated::{Blocks, Emulated, Schedule};
/// let opened = Emulated::new().schedule(Schedule::Random).seed(7).blocks(Blocks::Interleaved).open();
/// match opened {
///     Ok(device) => assert!(device.is_emulated()),
///     Err(error) => println!("{error}"), // this process uses another driver
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Emulated {
    ordinal: usize,
    schedule: Option<Schedule>,
    blocks: Option<Blocks>,
    seed: Option<u64>,
    timeout: Option<Duration>,
}

impl Emulated {
    /// A device with the settings of the environment.
    pub fn new() -> Self {
        Self::default()
    }

    /// The device of that number, of which there are `GPU_EMULATED_DEVICES`.
    pub fn ordinal(mut self, ordinal: usize) -> Self {
        self.ordinal = ordinal;
        self
    }

    /// The order of threads and blocks.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// How blocks share the device.
    pub fn blocks(mut self, blocks: Blocks) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// The seed of every random order. With one thread of the host the same seed gives the same run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How long a launch may run without the end of any thread; zero for no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Opens the device.
    ///
    /// A process uses one driver. The first call of the library decides which: where that is this one, or
    /// [`Device::for_tests`] without a CUDA device, or with `GPU_DEVICE=emulated`, it is the emulated one.
    ///
    /// # Errors
    /// `NotEmulated` in a process that uses another driver already, or when `GPU_DEVICE` asks for one; `NoDevice` with
    /// `GPU_EMULATED_DEVICES=0`; `NoSuchDevice`;
    /// `Setting` for an environment variable that makes no sense.
    pub fn open(self) -> Result<Device> {
        loader::wish(loader::Requested::Emulated);
        if !loader::is_emulated() {
            return Err(DriverError::NotEmulated);
        }
        let count = Device::count()?;
        if count == 0 {
            return Err(DriverError::NoDevice);
        }
        if self.ordinal >= count {
            return Err(DriverError::NoSuchDevice { ordinal: self.ordinal, count });
        }
        let made = state::answer(|state| {
            let mut settings = state.machine.defaults.clone();
            settings.schedule = self.schedule.unwrap_or(settings.schedule);
            settings.blocks = self.blocks.unwrap_or(settings.blocks);
            settings.seed = self.seed.unwrap_or(settings.seed);
            if let Some(timeout) = self.timeout {
                settings.timeout = (!timeout.is_zero()).then_some(timeout);
            }
            Ok(state.create_context(self.ordinal, settings, 0))
        });
        let raw = made.map_err(|code| DriverError::Cuda { call: "cuCtxCreate", code: CudaCode(code) })?;
        Ok(Device(Arc::new(Context::adopt(self.ordinal, raw as cust::sys::CUcontext)?)))
    }
}

/// The control of an emulated device, from [`Device::emulation`]: failures on demand, counts, the blocks that run.
#[derive(Clone, Debug)]
pub struct Emulation {
    device: Device,
}

impl Emulation {
    pub(crate) fn of(device: &Device) -> Option<Self> {
        loader::is_emulated().then(|| Self { device: device.clone() })
    }

    fn with<T>(&self, work: impl FnOnce(&mut state::State, usize) -> state::Outcome<T>) -> Result<T> {
        let context = self.device.as_raw_context() as usize;
        let outcome = state::answer(|state| work(state, context));
        outcome.map_err(|code| DriverError::Cuda { call: "an emulated device's control", code: CudaCode(code) })
    }

    /// Makes calls fail from now on: the `at`-th of its kind after this call, counted from 1, and the later ones if asked.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn fail(&self, call: Call, at: u64, and_later: bool) -> Result<()> {
        self.fail_with(call, at, and_later, call.usual_code())
    }

    /// Makes calls fail, as [`Emulation::fail`] does, with a code of the caller's choice; a fatal one loses the device.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn fail_with(&self, call: Call, at: u64, and_later: bool, code: CudaCode) -> Result<()> {
        self.with(|state, context| {
            let state = state.context(context)?;
            let so_far = state.calls.get(&call).copied().unwrap_or(0);
            state.settings.failures.push(Failure { call, at: so_far + at, and_later, code });
            Ok(())
        })
    }

    /// Ends all failures on demand.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn stop_failing(&self) -> Result<()> {
        self.with(|state, context| {
            state.context(context)?.settings.failures.clear();
            Ok(())
        })
    }

    /// How many calls of a kind were made, failed ones included.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn calls(&self, call: Call) -> Result<u64> {
        self.with(|state, context| Ok(state.context(context)?.calls.get(&call).copied().unwrap_or(0)))
    }

    /// Allocations that are not released, pinned ones included, after all queued work has run. Memory that streams keep for their next calls
    /// ([`Stream::with_scratch`](crate::Stream::with_scratch)) is not counted; memory that graphs keep is.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn live_allocations(&self) -> Result<usize> {
        self.device.synchronize()?;
        self.with(|state, context| Ok(state.live_allocations(context).saturating_sub(self.device.0.scratches.live())))
    }

    /// Lets launches run only these blocks, by their linear number (x fastest); nothing for all. For tests of index
    /// arithmetic far out in a large grid, on allocations that take memory only where they are written.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn run_only_blocks(&self, blocks: &[Range<u64>]) -> Result<()> {
        self.device.synchronize()?;
        self.with(|state, context| {
            state.context(context)?.chosen_blocks = blocks.to_vec();
            Ok(())
        })
    }
}

/// The cause of a context's loss, if it is lost: the kernel, where it is known, and the report.
pub(crate) fn report(context: cust::sys::CUcontext) -> Option<(Option<String>, String)> {
    let found = state::answer(|state| {
        let lost = state.context(context as usize)?.lost.as_ref();
        Ok(lost.map(|lost| (lost.kernel.clone(), lost.report.clone())))
    });
    found.ok().flatten()
}

/// Destroys a context that [`Emulated::open`] made.
pub(crate) fn close(context: cust::sys::CUcontext) {
    // A context that is gone already needs nothing more.
    let _ = state::answer(|state| {
        state.destroy_context(context as usize);
        Ok(())
    });
}

/// Prints the seed that repeats this process's orders, once.
pub(crate) fn announce() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let seed = state::answer(|state| Ok(state.machine.defaults.seed));
        if let Ok(seed) = seed {
            eprintln!("emulated device: GPU_EMULATED_SEED={seed}");
        }
    });
}

/// Whether the settings in the environment make sense.
///
/// # Errors
/// `Setting` for the first that does not.
pub(crate) fn check_environment() -> Result<()> {
    settings::Machine::from_environment()?;
    Checks::from_environment().map(drop)
}
