//! What the tests share: texts, devices in every order of execution, launches.

use std::{
    collections::HashMap,
    ffi::c_void,
    sync::{LazyLock, Mutex, PoisonError},
};

use gpu_driver::{
    Arch, Binary, Device, DevicePod, DeviceVec, Dim3, Function, KernelSpace, LaunchConfig, Module, Program, Result,
    Stream,
    emulated::{Blocks, Emulated, Schedule},
};
use testkit::Outcome;

/// The keys of kernels that tests make at run time.
pub static SPACE: KernelSpace = KernelSpace::new();

/// A `.cu` file as a user writes it.
#[derive(Debug)]
pub struct Text {
    /// The file's name, as it stands in messages and reports.
    pub file: &'static str,
    pub text: &'static str,
    /// The kernels that only a name expression names; those that are `extern "C"` are found without one.
    pub expressions: &'static [&'static str],
}

/// The [`Text`] of `folder/stem.cu`, and the name expressions of its kernels.
macro_rules! text {
    ($folder:literal, $stem:literal $(, $expression:literal)* $(,)?) => {
        $crate::harness::Text {
            file: concat!($stem, ".cu"),
            text: include_str!(concat!($folder, "/", $stem, ".cu")),
            expressions: &[$($expression),*],
        }
    };
}

/// Argument values for [`launch`]. References and no pointers, so that the compiler sees to it that they live long enough.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &mut [$(&mut { $value } as &mut dyn $crate::harness::Value),*] };
}

pub(crate) use {text, values};

impl Text {
    /// The file's name without its ending; texts with one `extern "C"` kernel name it so.
    pub fn stem(&self) -> &'static str {
        self.file.trim_end_matches(".cu")
    }

    pub fn program(&self) -> Program {
        let program = Program::new(self.file, self.text);
        self.expressions.iter().fold(program, |program, &expression| program.name_expression(expression))
    }

    pub fn load(&self, device: &Device) -> Result<Module> {
        load(device, self.file, self.program())
    }

    /// The kernel of that name.
    pub fn function(&self, device: &Device, kernel: &str) -> Result<Function> {
        self.load(device)?.function(kernel)
    }

    /// As [`Text::function`], from the text that is compiled with `FIXED` defined.
    pub fn fixed(&self, device: &Device, kernel: &str) -> Result<Function> {
        load(device, &format!("{} fixed", self.file), self.program().option("-DFIXED"))?.function(kernel)
    }

    /// The lines (from 1) that end in the comment `// BROKEN`.
    pub fn marked_lines(&self) -> Vec<usize> {
        let lines = self.text.lines().zip(1..);
        lines.filter(|(line, _)| line.trim_end().ends_with("// BROKEN")).map(|(_, number)| number).collect()
    }
}

/// Compiles each program once per process: a test runs it on ten devices, and the cache on disk may be off.
fn load(device: &Device, key: &str, program: Program) -> Result<Module> {
    static COMPILED: LazyLock<Mutex<HashMap<(String, Arch), Binary>>> = LazyLock::new(Mutex::default);
    let key = (key.to_owned(), device.arch());
    let known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    let binary = match known {
        Some(binary) => binary,
        None => {
            let binary = program.compile(device.arch())?;
            COMPILED.lock().unwrap_or_else(PoisonError::into_inner).insert(key, binary.clone());
            binary
        }
    };
    Module::load(device, &binary)
}

/// Every order in which the emulated device can run threads and blocks, with a name for messages.
pub fn orders() -> Vec<(String, Emulated)> {
    let mut all = Vec::new();
    for (blocks, of_blocks) in [(false, "blocks one by one"), (true, "blocks interleaved")] {
        for (schedule, seed) in [("ascending", 0), ("descending", 0), ("random", 1), ("random", 2), ("random", 3)] {
            let blocks = if blocks { Blocks::Interleaved } else { Blocks::Sequential };
            all.push((format!("{schedule}, seed {seed}, {of_blocks}"), order(schedule).blocks(blocks).seed(seed)));
        }
    }
    all
}

/// An emulated device whose threads run in that order.
pub fn order(schedule: &str) -> Emulated {
    Emulated::new().schedule(match schedule {
        "ascending" => Schedule::Ascending,
        "descending" => Schedule::Descending,
        _ => Schedule::Random,
    })
}

/// Runs the test once where the device is a GPU, and in every order where it is emulated. One test is the oracle for both:
/// its reference is exact, so passing on both means the same bits on both.
pub fn everywhere(device: &Device, test: impl Fn(&Device) -> Outcome) -> Outcome {
    if !device.is_emulated() {
        return test(device);
    }
    for (name, emulated) in orders() {
        test(&emulated.open()?).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// What a kernel's parameter takes: any plain value.
pub trait Value {
    fn address(&mut self) -> *mut c_void;
}

impl<T: Copy> Value for T {
    fn address(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }
}

/// Enqueues a kernel.
///
/// The kernels and the arguments are those of these tests alone. A kernel that leaves its memory is launched on emulated
/// devices only, which check each access before it happens.
pub fn launch(
    function: &Function,
    grid: impl Into<Dim3>,
    block: impl Into<Dim3>,
    shared_bytes: u32,
    values: &mut [&mut dyn Value],
    stream: &Stream,
) -> Result<()> {
    let mut addresses: Vec<_> = values.iter_mut().map(|value| value.address()).collect();
    let config = LaunchConfig { grid: grid.into(), block: block.into(), shared_bytes };
    // SAFETY: each test passes what its kernel declares, with extents that its reference covers, and keeps the buffers until
    // it has waited for the stream; see above for those that break this on purpose.
    unsafe { function.launch_raw(config, &mut addresses, stream) }
}

/// A buffer on the device's main stream with a copy of `host`.
pub fn upload<T: DevicePod>(device: &Device, host: &[T]) -> Result<DeviceVec<T>> {
    DeviceVec::from_slice(&device.stream(), host)
}

/// A buffer of `len` zeros on the device's main stream.
pub fn zeros<T: DevicePod>(device: &Device, len: usize) -> Result<DeviceVec<T>> {
    DeviceVec::zeros(&device.stream(), len)
}

/// 0, 1, 2 …: what a broken or a corrected kernel finds in its buffer.
pub fn ramp(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}
