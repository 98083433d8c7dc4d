//! The one error type of the driver's layer.

use crate::codes::CudaCode;

mod argument;
mod compile;
mod jit;
#[cfg(test)]
mod tests;
mod text;
mod version;

pub use argument::ArgumentMismatch;
pub use compile::CompileError;
pub use jit::JitError;
use text::{call_text, free_text, kernel_text, launch_text, lost_text};
pub use version::CudaVersion;

/// `Result` with [`DriverError`].
pub type Result<T, E = DriverError> = std::result::Result<T, E>;

/// An error of this library, of the driver or of a compiler.
///
/// After `OutOfMemory`, `Launch`, `Compile` and the argument errors everything stays usable. After `DeviceLost` the process
/// cannot use CUDA any more (that is CUDA's rule); every later call says so at once.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// No driver library could be opened.
    #[error(
        "no CUDA driver: libcuda.so.1 could not be opened.\n  searched: {}\n  \
         Install NVIDIA's driver (in a container: start it with the GPU made visible), or name the file in \
         GPU_LIBCUDA.\n  Without a GPU, GPU_DEVICE=emulated runs kernels on the CPU.",
        .searched.join("\n            ")
    )]
    NoDriver {
        /// Each place that was tried, and why it did not do.
        searched: Vec<String>,
    },
    /// `GPU_DEVICE=none` hides every device.
    #[error("GPU use is switched off by GPU_DEVICE=none")]
    Disabled,
    /// `GPU_DEVICE` has a value that means nothing.
    #[error("GPU_DEVICE={value} is not known; use cuda (the default), emulated or none")]
    UnknownDeviceKind {
        /// Its value.
        value: String,
    },
    /// An emulated device was asked for in a process that uses CUDA's driver, or none.
    #[error("this process uses another driver than the emulated one; start it with GPU_DEVICE=emulated")]
    NotEmulated,
    /// An environment variable has a value that means nothing.
    #[error("{name}={value} is not known; expected {expected}")]
    Setting {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values that it can have.
        expected: &'static str,
    },
    /// Another user could have put code into the folder of compiled kernels.
    #[error(
        "the cache of compiled kernels is not used, since {why}. `chmod go-w` it, or name another folder in GPU_CACHE_DIR (off for none)."
    )]
    UnsafeCache {
        /// The folder.
        folder: std::path::PathBuf,
        /// The path at fault, and the reason.
        why: String,
    },
    /// Code was made for another kind of device: for a GPU and loaded on the emulated one, or the reverse.
    #[error("a program compiled for {compiled} cannot be loaded on {device}; compile it for the device's `arch()`")]
    WrongKind {
        /// The kind of device that it was compiled for.
        compiled: &'static str,
        /// The kind of device that it was to be loaded on.
        device: &'static str,
    },
    /// The driver is there, and no device is.
    #[error(
        "the CUDA driver found no device. Is one installed, visible to this container, and not hidden by \
         CUDA_VISIBLE_DEVICES? `nvidia-smi` shows what the driver sees."
    )]
    NoDevice,
    /// A device of that number does not exist.
    #[error("there is no device {ordinal}; the driver has {count}, counted from 0")]
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// No device has such a name, or stands at such a place.
    #[error("no device `{name}`; there {}", match known.as_slice() {
        [] => "is none".to_owned(),
        known => format!("are: {}", known.join(", ")),
    })]
    NoSuchName {
        /// The name, or PCI bus id, that was asked for.
        name: String,
        /// The names or places of the devices that there are.
        known: Vec<String>,
    },
    /// The driver is older than the version that is needed.
    #[error("the CUDA driver supports CUDA {found}, but {needed_by} needs {needed}. Update the driver{hint}.")]
    DriverTooOld {
        /// The CUDA version that the driver supports.
        found: CudaVersion,
        /// The least that is needed.
        needed: CudaVersion,
        /// The component that needs it.
        needed_by: &'static str,
        /// Another remedy, or an empty text.
        hint: String,
    },
    /// The process is the child of a fork, and its parent had used the driver before.
    #[error(
        "this process was forked from one that had used the GPU, and no driver works in such a child. \
         Fork before the first call of this library, or start a new program \
         (exec, std::process::Command, Python's multiprocessing with \"spawn\")."
    )]
    Forked,
    /// A driver call failed.
    #[error("{call} failed: {code}{}", call_text(call, *.code))]
    Cuda {
        /// The driver function.
        call: &'static str,
        /// Its result.
        code: CudaCode,
    },
    /// An operation that no graph can hold was called on a stream that is being captured. Nothing was done, and the capture goes on.
    #[error(
        "{op} cannot be captured: a graph holds no wait, no other graph and no copy between device and borrowed host memory; \
         call it before the capture or after it"
    )]
    InCapture {
        /// The operation.
        op: &'static str,
    },
    /// The device has too little free memory, also after the pool gave back its unused memory.
    #[error(
        "out of device memory: {requested_bytes} bytes were requested{}. Drop arrays that are not needed any more, or work in parts; \
         `nvidia-smi` shows other programs that hold memory",
        free_text(.free_bytes)
    )]
    OutOfMemory {
        /// Bytes that were asked for.
        requested_bytes: usize,
        /// Bytes the driver then reported as free.
        free_bytes: Option<usize>,
    },
    /// A limit that the program has set does not allow the allocation.
    #[error(
        "{requested_bytes} bytes of {memory} were requested, {used_bytes} are in use, and the limit that the program has set is {limit_bytes}. \
         Drop buffers that are not needed any more, or raise the limit"
    )]
    OverLimit {
        /// The kind of memory.
        memory: &'static str,
        /// Bytes that were asked for.
        requested_bytes: usize,
        /// Bytes in use.
        used_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// A kernel faulted. CUDA allows nothing more in this process.
    #[error("the device is lost: {code}{}. {}", kernel_text(.kernel), lost_text(*.code, .report))]
    DeviceLost {
        /// The fault.
        code: CudaCode,
        /// The kernel, where it is known (with `GPU_SYNC=1`, for a kernel outside a `Graph`; from the emulated device
        /// in any case).
        kernel: Option<String>,
        /// The emulated device's report: kernel, block, thread, line and the mistake.
        report: Option<String>,
    },
    /// The driver refused a launch. Nothing ran.
    #[error(
        "launch of `{kernel}` with grid {grid:?}, block {block:?} and {shared_bytes} bytes of dynamic shared memory was refused: {code}{}",
        launch_text(*.grid, *.block, *.code)
    )]
    Launch {
        /// Name of the kernel.
        kernel: String,
        /// Blocks along x, y, z.
        grid: [u32; 3],
        /// Threads of a block along x, y, z.
        block: [u32; 3],
        /// Dynamic shared memory of a block.
        shared_bytes: u32,
        /// The driver's code.
        code: CudaCode,
    },
    /// A kernel asks for more dynamic shared memory than the device gives to a block.
    #[error(
        "kernel `{kernel}` asks for {shared_bytes} bytes of dynamic shared memory, which the driver refused: {code}. \
         The attribute MAX_SHARED_MEMORY_PER_BLOCK_OPTIN of the device is the most that a block has; memory that the kernel declares itself counts"
    )]
    SharedMemory {
        /// Name of the kernel.
        kernel: String,
        /// The bytes that it asks for.
        shared_bytes: u32,
        /// The driver's code.
        code: CudaCode,
    },
    /// Pinned host memory could not be had.
    #[error(
        "out of pinned host memory: {requested_bytes} bytes were requested. Copy in parts through a smaller buffer: \
         pinned memory is taken from the memory of all programs, and containers may limit it (ulimit -l)"
    )]
    OutOfPinnedMemory {
        /// Bytes that were asked for.
        requested_bytes: usize,
    },
    /// NVRTC, the run-time compiler, could not be opened.
    #[error(
        "no NVRTC: libnvrtc, which compiles kernels at run time, could not be opened.\n  searched: {}\n  \
         Install it (`pip install nvidia-cuda-nvrtc`, or the CUDA toolkit), or name the file in GPU_NVRTC.",
        .searched.join("\n            ")
    )]
    NoNvrtc {
        /// Each place that was tried, and why it did not do.
        searched: Vec<String>,
    },
    /// The CUDA toolkit's compiler was asked for, and is not there.
    #[error(
        "no nvcc: the program asks for the CUDA toolkit's compiler.\n  searched: {}\n  \
         Install the CUDA toolkit (or `pip install nvidia-cuda-nvcc`), or name the file in \
         GPU_NVCC; without Program::nvcc, NVRTC compiles the program.",
        .searched.join("\n            ")
    )]
    NoNvcc {
        /// Each place that was tried.
        searched: Vec<String>,
    },
    /// Kernels that launch kernels need the device runtime, and there is none.
    #[error("no device runtime, which kernels that launch kernels need: {why}")]
    NoDeviceRuntime {
        /// The cause, with a remedy.
        why: String,
    },
    /// The emulated device compiles kernels with a C++ compiler, and there is none.
    #[error(
        "no C++ compiler: the emulated device needs one to compile kernels.\n  searched: {}\n  \
         Install g++ or clang++ (Debian: `apt install g++`), or name one in CXX.",
        .searched.join("\n            ")
    )]
    NoCompiler {
        /// Each command that was tried, and why it did not do.
        searched: Vec<String>,
    },
    /// The C++ compiler failed for another reason than the program's text.
    #[error("the C++ compiler failed ({command}): {message}")]
    Compiler {
        /// The command.
        command: String,
        /// The cause.
        message: String,
    },
    /// An NVRTC call failed for another reason than the program's text.
    #[error("{call} failed: {message}")]
    Nvrtc {
        /// The NVRTC function.
        call: &'static str,
        /// NVRTC's message, or the cause in this library's words.
        message: String,
    },
    /// A program does not compile.
    #[error(transparent)]
    Compile(Box<CompileError>),
    /// The driver does not compile PTX, or does not link programs.
    #[error(transparent)]
    Jit(Box<JitError>),
    /// NVRTC is too old to make code that this device can run.
    #[error("NVRTC {nvrtc} cannot compile for {arch}; the oldest architecture it knows is sm_{oldest}")]
    UnsupportedArch {
        /// The device's architecture.
        arch: String,
        /// Version of NVRTC.
        nvrtc: CudaVersion,
        /// The oldest architecture that NVRTC knows.
        oldest: u32,
    },
    /// A program was compiled for several architectures, and none of them runs on the device.
    #[error(
        "none of the program's architectures ({}) runs on this device, which is {device}: machine code runs on its own major version alone, from its minor \
         version on. Add {device} to Program::for_archs",
        .archs.join(", ")
    )]
    NoFittingArch {
        /// The device's architecture.
        device: String,
        /// The program's architectures.
        archs: Vec<String>,
    },
    /// A kernel was asked for that its crate's registry does not list.
    #[error("kernel {kernel} is not in the registry of {registry}; add it there so that it is compiled by the checks")]
    NotRegistered {
        /// The instantiation.
        kernel: String,
        /// The registry.
        registry: &'static str,
    },
    /// A program has no kernel of the name that was asked for.
    #[error("the program has no kernel `{name}`; {}. {hint}", match known.as_slice() {
        [] => "it has none by name, or an image that does not tell its names".to_owned(),
        known => format!("it has `{}`", known.join("`, `")),
    })]
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// The names by which kernels of the program are found.
        known: Vec<String>,
        /// How a kernel gets a name.
        hint: String,
    },
    /// A program has no variable of the name that was asked for.
    #[error(
        "the program has no variable `{name}`; a variable of a device stands outside of functions and is not static: \
         `__device__ float {name}[4];` or `__constant__ …`"
    )]
    NoVariable {
        /// The name that was asked for.
        name: String,
    },
    /// A kernel was given too many or too few arguments. Nothing ran.
    #[error(
        "kernel `{kernel}` takes {expected} argument{}{}, got {got}",
        if *expected == 1 { "" } else { "s" },
        if parameters.is_empty() { String::new() } else { format!(" ({parameters})") }
    )]
    ArgumentCount {
        /// Name of the kernel.
        kernel: String,
        /// The number of its parameters.
        expected: usize,
        /// The number of arguments.
        got: usize,
        /// The parameters as the text declares them; empty where only their sizes are known.
        parameters: String,
    },
    /// An argument does not fit its parameter. Nothing ran.
    #[error(transparent)]
    ArgumentType(Box<ArgumentMismatch>),
    /// Variants of a kernel have different answers, so none of them is chosen.
    #[error("variant `{variant}` of `{kernel}` has another answer than `{reference}`: {difference}")]
    VariantsDiffer {
        /// Name of the kernel.
        kernel: Box<str>,
        /// The variant.
        variant: Box<str>,
        /// The variant that it was compared with.
        reference: Box<str>,
        /// The first difference.
        difference: Box<str>,
    },
    /// A kernel has no variant of that name that may be taken.
    #[error("`{kernel}` has no variant `{variant}` that may be taken; {}. \
             A variant that reorders sums must be allowed (allow_reordered_sums)", match known.as_slice() {
        [] => "it has none".to_owned(),
        known => format!("it has `{}`", known.join("`, `")),
    })]
    NoVariant {
        /// Name of the kernel.
        kernel: String,
        /// The variant that was asked for, or chosen by hand.
        variant: String,
        /// The variants that there are.
        known: Vec<String>,
    },
    /// A text that goes to C holds a NUL character.
    #[error("{text} holds a NUL character")]
    Nul {
        /// The kind of text, such as a header.
        text: &'static str,
    },
    /// Two structures of one kernel have the same name in CUDA C++.
    #[error("two structures are named {name}:\n{first}{second}")]
    TypeName {
        /// The name.
        name: &'static str,
        /// The definition of one, in C++.
        first: String,
        /// The definition of the other, in C++.
        second: String,
    },
    /// Two lengths that must agree do not, or a range lies outside.
    #[error("{op}: expected {expected}, got {got}")]
    Length {
        /// The operation.
        op: &'static str,
        /// The length that it needs, or another requirement.
        expected: String,
        /// The value that it was given.
        got: String,
    },
    /// A size in bytes does not fit the address space.
    #[error("{elements} elements of {element_bytes} bytes are more than can be addressed")]
    TooLarge {
        /// Number of elements.
        elements: usize,
        /// Size of one.
        element_bytes: usize,
    },
    /// `Stream::with_scratch` within itself: both would use one memory, or two threads wait for each other's streams.
    #[error("Stream::with_scratch was called within with_scratch; ask once for the memory of both")]
    NestedScratch,
    /// Two objects that must be on one device are on two.
    #[error(
        "{op}: objects on device {expected} and on device {got} cannot be used together; copy one over (`DeviceVec::copy_from_peer`)"
    )]
    WrongDevice {
        /// The operation.
        op: &'static str,
        /// Device of the operation.
        expected: usize,
        /// Device of the other object.
        got: usize,
    },
    /// Something failed while it was dropped, where nothing can be returned; the next call on the device reports it.
    #[error("while dropping {object}: {source}")]
    InDrop {
        /// The object that was dropped.
        object: &'static str,
        /// The failure.
        source: Box<DriverError>,
    },
    /// The text of an error that a crate above this one could not return.
    #[error("{text}")]
    Unreported {
        /// The error.
        text: String,
    },
}

crate::debug_by_text! {
    DriverError:
    NoDriver, Disabled, UnknownDeviceKind, NotEmulated, Setting, UnsafeCache, WrongKind, NoDevice, NoSuchDevice, NoSuchName,
    DriverTooOld, Forked, Cuda, InCapture, OutOfMemory, OverLimit, DeviceLost, Launch, SharedMemory, OutOfPinnedMemory, NoNvrtc, NoNvcc, NoDeviceRuntime,
    NoCompiler, Compiler, Nvrtc, Compile, Jit, UnsupportedArch, NoFittingArch, NotRegistered, NoKernel,
    NoVariable, ArgumentCount, ArgumentType, VariantsDiffer, NoVariant, Nul, TypeName, Length, TooLarge,
    NestedScratch, WrongDevice, InDrop, Unreported,
}
