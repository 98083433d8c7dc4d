//! The frame of every bench program: the choice of figures and of the device, the timing, and the facts that are written down.
//!
//! A bench is a [`Figure`]: its name, the [`Work`] of one call, and three closures: set-up, the call that is timed, and a check of the
//! call's answer. Criterion samples and reports; everything it does not know goes to the file of [facts](crate::harness::Facts).
//!
//! ```no_run
//! use benches::harness::{Check, Harness, Work};
//! use gpu_array::GpuArray;
//!
//! fn fill(harness: &mut Harness) {
//!     let n = 1 << 20;
//!     harness.figure("fill", "f32", n, "gpu-array").work(Work::fills(4 * n as u64)).on_gpu(
//!         |gpu| Ok(GpuArray::<f32, _>::zeros(gpu.stream(), n)?),
//!         |array| Ok(array.fill(2.5)?),
//!         |array, ()| Ok(Check::equal(&array.to_ndarray()?.to_vec(), &vec![2.5; n])),
//!     );
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Harness::run(fill)
//! }
//! ```

mod check;
mod clock;
mod facts;
mod figure;
mod id;
mod selection;
mod settings;
mod start;
#[cfg(test)]
mod tests;

use std::{
    cell::Cell,
    error::Error,
    fmt,
    process::ExitCode,
    rc::Rc,
    time::{Duration, Instant},
};

use criterion::Criterion;
use gpu_driver::{Device, DeviceVec, Stream, emulated::Emulated, nvrtc};
use serde_json::{Value, json};

pub use check::Check;
pub use facts::Facts;
pub use figure::Figure;
pub use id::{Ceiling, Id, Measure, Work};
use selection::Selection;
pub use settings::{Backend, Set, Settings, text_of_variable};
pub use start::{device, exit_code};

/// Why something could not be measured, for the person who reads it.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A device to measure on, and the stream that all of it runs on.
#[derive(Debug)]
pub struct Gpu {
    stream: Stream,
    prepared: Cell<Option<Duration>>,
    /// Memory in front of all arrays, of another length in each round.
    _pad: Option<DeviceVec<u8>>,
}

/// The longest pad in front of the arrays of a round, and the bytes by which pads differ.
const LONGEST_PAD: usize = 4 << 20;
const PAD_STEP: usize = 512;

impl Gpu {
    /// The device with a pad in front of all arrays, which therefore lie elsewhere in each round: that decides up to a sixth of the time of a launch of few
    /// microseconds.
    fn new(device: &Device, round: u32) -> Outcome<Self> {
        let stream = device.stream();
        // The highest bits of multiples of the golden ratio, which spread evenly.
        let steps = (round.wrapping_mul(0x9e37_79b1) as usize * (LONGEST_PAD / PAD_STEP)) >> 32;
        let pad = if steps > 0 { Some(DeviceVec::zeros(&stream, steps * PAD_STEP)?) } else { None };
        Ok(Self { stream, prepared: Cell::new(None), _pad: pad })
    }

    /// The stream that is timed: the device's main one.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// Does the work of a set-up that is done once for many calls (compile, load, plan, analyse), waits for it, and reports its time as the figure's
    /// `compile` line. Where no set-up calls it, that line tells by how much the first call took longer than the second.
    ///
    /// # Errors
    /// The error of `work`, and those of waiting.
    pub fn prepare<R>(&self, work: impl FnOnce() -> Outcome<R>) -> Outcome<R> {
        let started = Instant::now();
        let result = work()?;
        self.stream.synchronize()?;
        self.prepared.set(Some(self.prepared.take().unwrap_or_default() + started.elapsed()));
        Ok(result)
    }
}

/// The surroundings of a bench program: criterion, its selection, the settings, the device and the facts.
pub struct Harness {
    criterion: Criterion,
    selection: Selection,
    settings: Settings,
    gpu: Option<Rc<Gpu>>,
    facts: Facts,
}

impl Harness {
    /// The `main` of a bench program: reads arguments and environment, opens the device, lets `benches` measure.
    ///
    /// The code is 1 when a device that was asked for is not there, or anything failed: each failure is a line of the facts and of
    /// standard error, and the rest goes on.
    pub fn run(benches: impl FnOnce(&mut Self)) -> ExitCode {
        let selection = Selection::from_arguments(std::env::args().skip(1));
        let settings = Settings::from_environment(selection.is_test());
        let criterion = defaults(Criterion::default()).configure_from_args();
        match settings.and_then(|settings| Self::open(criterion, selection, settings)) {
            Ok(mut harness) => {
                benches(&mut harness);
                harness.criterion.final_summary();
                if harness.facts.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Opens the device that the settings ask for, and writes the line `environment`.
    fn open(criterion: Criterion, selection: Selection, mut settings: Settings) -> Outcome<Self> {
        let gpu = match settings.backend {
            Some(Backend::Cpu) => None,
            Some(Backend::Cuda) => Some(Device::first()?),
            Some(Backend::Emulated) => Some(Emulated::new().open()?),
            None => Device::first().ok(),
        };
        let backend = match &gpu {
            None => Backend::Cpu,
            Some(device) if device.is_emulated() => Backend::Emulated,
            Some(_) => Backend::Cuda,
        };
        settings.backend = Some(backend);
        let mut facts = Facts::to(settings.facts.as_deref())?;
        facts.line(environment(backend, gpu.as_ref())?);
        let gpu = gpu.map(|device| Gpu::new(&device, settings.round)).transpose()?.map(Rc::new);
        Ok(Self { criterion, selection, settings, gpu, facts })
    }

    /// The set of cases to measure.
    pub fn set(&self) -> Set {
        self.settings.set
    }

    /// Whether figures on the CPU are wanted: they are, where none on a device is.
    pub fn on_cpu(&self) -> bool {
        self.gpu.is_none()
    }

    /// Whether figures on a device are wanted.
    pub fn on_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// The device, where figures on one are wanted.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_deref()
    }

    /// Whether peers are wanted too.
    pub fn peers(&self) -> bool {
        self.settings.peers
    }

    /// Begins a figure: `operation/dtype/case/by`. Who measures is `gpu-…` (a crate of ours), `machine` (a ceiling), or a peer.
    pub fn figure(&mut self, operation: &str, dtype: &str, case: impl ToString, by: &str) -> Figure<'_> {
        Figure::new(self, Id::new(operation, dtype, &case.to_string(), by))
    }

    /// A peer, or a figure of one, that there is none of: a visible gap, no failure.
    pub fn gap(&mut self, peer: &str, id: Option<&Id>, reason: &str) {
        self.facts.gap(peer, id.map(ToString::to_string).as_deref(), reason);
    }

    /// The version of a peer.
    pub fn version(&mut self, peer: &str, version: &str) {
        self.facts.line_once(json!({"kind": "version", "peer": peer, "version": version}));
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("settings", &self.settings).field("gpu", &self.gpu).finish_non_exhaustive()
    }
}

/// The settings of criterion where the command line says nothing. Never set in groups: they would override the command line.
fn defaults(criterion: Criterion) -> Criterion {
    criterion
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .nresamples(1001)
}

fn environment(backend: Backend, device: Option<&Device>) -> Outcome<Value> {
    let Some(device) = device else {
        let threads = rayon::current_num_threads();
        return Ok(json!({"kind": "environment", "backend": backend.name(), "device": null, "threads": threads}));
    };
    let driver = if device.is_emulated() { None } else { Some(Device::driver_version()?.to_string()) };
    Ok(json!({
        "kind": "environment",
        "backend": backend.name(),
        "device": device.name(),
        "driver_cuda": driver,
        "nvrtc": nvrtc::version().map(|(version, _)| version.to_string()).ok(),
        "arch": device.arch().to_string(),
        "multiprocessors": device.multiprocessors()?,
        "memory_bytes": device.memory()?.1,
    }))
}
