//! A device on the CPU that runs the very kernels a GPU runs, to test and debug them where there is no GPU.
//!
//! With `GPU_DEVICE=emulated` the table of driver functions is filled by a driver of our own. `cust` and everything above
//! it run unchanged; the kernels' sources are compiled by the machine's C++ compiler (`CXX`, else `c++`) with headers that
//! give CUDA C++ its meaning on a CPU; each CUDA thread is a coroutine. It is slow by design, and it checks things that a GPU
//! does not: every access, every barrier, every order of streams.
//!
//! ```
//! use gpu_driver::{Device, DeviceVec, LaunchConfig};
//! // The first CUDA device, or the emulated one where there is none and a C++ compiler is.
//! let Ok(device) = Device::for_tests() else { return Ok(()) };
//! let text = r#"extern "C" __global__ void square(int *x) { x[threadIdx.x] *= x[threadIdx.x]; }"#;
//! let square = device.compile(text)?.function("square")?;
//! let mut x = DeviceVec::from_slice(&device.stream(), &[1, 2, 3])?;
//! // SAFETY: three threads square three elements.
//! unsafe { square.launch(LaunchConfig::new(1, 3), (x.in_out(),), &device.stream())? };
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
//! * a texture or surface that is gone, of another form than the function reads, of another type; an access beyond a surface;
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
//! * Hopper's own instructions (bulk copies, mbarrier, wgmma, clusters), tensor cores, dynamic parallelism, and
//!   inline PTX: kernels that use them need a portable twin.
//! * There is no OpenGL: with the feature `gl` a program declares objects in its place ([`Emulation`]).
//! * Textures have no views and no gradients (`tex2DGrad`), and weights between texels are rounded to the nearest 1/256, which CUDA leaves open.
//! * Speed, occupancy, registers, the limits of NVRTC's own C++; the legacy stream and the per-thread one are one stream.
//!   The device has 4 multiprocessors, so that every block that occupancy promises really runs beside the others.
//! * An index that leaves a local array, when it stays within the thread's stack (`GPU_EMULATED_CHECKS=undefined` finds it);
//!   of several conflicting accesses of one word the last ones alone are compared.
//! * Where a GPU's answer is unspecified the host's rules hold: an integer division by zero ends the launch. `new` and
//!   `malloc` in kernels are not there. An `extern "C"` kernel that a macro defines is found by a name expression alone.
//!
//! # In a crate of your own
//! Debug builds run the emulated device about five times slower unless `Cargo.toml` of your crate has
//! ```toml
//! [profile.dev.package.gpu-driver-emulated]
//! opt-level = 3
//!
//! [profile.dev.package.gpu-driver-core]
//! opt-level = 3
//! ```
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPU_EMULATED_CHECKS` | `access` (default): every access is checked; `undefined`: undefined behaviour too; `off`: neither, faster |
//! | `GPU_EMULATED_SCHEDULE` | order of threads and blocks: `random` (default), `ascending`, `descending` |
//! | `GPU_EMULATED_BLOCKS` | `sequential`: one block after another; `interleaved`: several, switching at atomics and fences; `random` (default): drawn for each launch by the seed |
//! | `GPU_EMULATED_SEED` | of every random order; reports name it. Else the process number |
//! | `GPU_EMULATED_TIMEOUT` | seconds without a thread's end until a launch is given up, 60; 0 for none (as under a debugger) |
//! | `GPU_EMULATED_DEVICES` | how many devices there are, 1; 0 for a driver without any |
//! | `GPU_EMULATED_ARCH`, `GPU_EMULATED_DRIVER` | compute capability (9.0) and CUDA version (13.0) to report |
//! | `GPU_EMULATED_DEBUG` | debug information of kernels: `lines` (default), which reports need, or `variables`, for a debugger |
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
//! GPU_DEVICE=emulated GPU_EMULATED_DEBUG=variables GPU_EMULATED_SCHEDULE=ascending GPU_EMULATED_TIMEOUT=0 gdb --args target/debug/examples/my_program
//! (gdb) set language c++
//! (gdb) set breakpoint pending on
//! (gdb) break my_kernel.cu:42 if threadIdx.x == 3 && blockIdx.x == 0
//! (gdb) run
//! (gdb) print threadIdx
//! ```
//! `threadIdx`, `blockIdx`, `blockDim` and `gridDim` are plain variables. To stop where a fault is found, break on
//! `gpu_emulated_fault`. `GPU_EMULATED_CHECKS=off` and a fixed seed keep the steps short.
//!
//! # Inside
//! The device is the crate `gpu-driver-emulated`; its page follows a kernel from its text to a report. Here are the handles by which
//! programs open such a device and control it.

use std::{ops::Range, sync::Arc, time::Duration};

use gpu_driver_emulated::{Control, Overrides};

use crate::{CudaCode, Device, DriverError, Result, context::Context, sys::loader};

#[cfg(feature = "gl")]
mod graphics;
mod sweep;

#[doc(inline)]
pub use gpu_driver_emulated::{Blocks, Call, Failure, Schedule};
pub use sweep::{Borne, NotBorne};

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
    chosen: Overrides,
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
        self.chosen.schedule = Some(schedule);
        self
    }

    /// How blocks share the device.
    pub fn blocks(mut self, blocks: Blocks) -> Self {
        self.chosen.blocks = Some(blocks);
        self
    }

    /// The seed of every random order. With one thread of the host the same seed gives the same run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.chosen.seed = Some(seed);
        self
    }

    /// How long a launch may run without the end of any thread; zero for no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.chosen.timeout = Some(timeout);
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
            // With a variable that makes no sense there is no driver at all.
            let setting = loader::state().err().filter(|error| matches!(error, DriverError::Setting { .. }));
            return Err(setting.unwrap_or(DriverError::NotEmulated));
        }
        let count = Device::count()?;
        if count == 0 {
            return Err(DriverError::NoDevice);
        }
        if self.ordinal >= count {
            return Err(DriverError::NoSuchDevice { ordinal: self.ordinal, count });
        }
        let made = Control::open(self.ordinal, &self.chosen);
        let made = made.map_err(|code| DriverError::Cuda { call: "cuCtxCreate", code })?;
        Ok(Device(Arc::new(Context::adopt(self.ordinal, made.as_raw().cast())?)))
    }
}

impl Device {
    /// The control of an emulated device: failures on demand, counts. None for a CUDA device.
    pub fn emulation(&self) -> Option<Emulation> {
        self.is_emulated().then(|| Emulation { device: self.clone() })
    }
}

/// The control of an emulated device, from [`Device::emulation`]: failures on demand, counts, the blocks that run.
#[derive(Clone, Debug)]
pub struct Emulation {
    device: Device,
}

impl Emulation {
    fn control(&self) -> Control {
        Control::of(self.device.as_raw_context().cast())
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
    /// When the device's context is gone. `Cuda` with `CUDA_ERROR_INVALID_VALUE` for 0, the code of a success.
    pub fn fail_with(&self, call: Call, at: u64, and_later: bool, code: CudaCode) -> Result<()> {
        answered(self.control().fail(Failure { call, at, and_later, code }))
    }

    /// Ends all failures on demand.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn stop_failing(&self) -> Result<()> {
        answered(self.control().stop_failing())
    }

    /// How many calls of a kind were made, failed ones included.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn calls(&self, call: Call) -> Result<u64> {
        answered(self.control().calls(call))
    }

    /// Allocations that are not released, pinned ones included, after all queued work has run. Memory that streams keep for their next calls
    /// ([`Stream::with_scratch`](crate::Stream::with_scratch)) is not counted; memory that graphs keep is.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn live_allocations(&self) -> Result<usize> {
        self.device.synchronize()?;
        Ok(answered(self.control().live_allocations())?.saturating_sub(self.device.0.scratches.live()))
    }

    /// Lets launches run only these blocks, by their linear number (x fastest); nothing for all. For tests of index
    /// arithmetic far out in a large grid, on allocations that take memory only where they are written.
    ///
    /// # Errors
    /// When the device's context is gone.
    pub fn run_only_blocks(&self, blocks: &[Range<u64>]) -> Result<()> {
        self.device.synchronize()?;
        answered(self.control().run_only_blocks(blocks))
    }
}

fn answered<T>(outcome: std::result::Result<T, CudaCode>) -> Result<T> {
    outcome.map_err(|code| DriverError::Cuda { call: "an emulated device's control", code })
}
