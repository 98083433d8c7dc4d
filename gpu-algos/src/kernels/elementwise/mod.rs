//! Kernels that run an operation for each place of arrays.
#![expect(unsafe_code, reason = "the launch of a kernel whose text nobody has checked, and the steps to it")]

mod policy;
pub(crate) mod samples;
mod text;

use std::{fmt, sync::OnceLock};

use gpu_array::gpu_driver::{Device, DevicePod, GeneratedKernel, KernelSpace, Program};

use self::policy::POLICY;
use super::{
    IndexRange, KernelArg,
    bind::{self, Bound},
    declaration::{self, Declared},
    places::Progression,
    program::hash,
    types::Types,
};
use crate::Result;

/// The keys of these kernels.
static SPACE: KernelSpace = KernelSpace::new();

/// A kernel from a user's text, run for each place of arrays: `i` is the place, from 0 to `n - 1`.
///
/// [The module](super) lists the names that the text can use and the requirements on it.
///
/// ```no_run
/// use gpu_algos::kernels::ElementwiseKernel;
/// use gpu_array::{GpuArray, gpu_driver::Device};
///
/// let axpy = ElementwiseKernel::new("float a, const float *x, float *y", "y[i] += a * x[i]")?.name("axpy")?;
/// let device = Device::first()?;
/// let x = GpuArray::full(&device, 1000, 2.0f32)?;
/// let mut y = GpuArray::<f32, _>::zeros(&device, 1000)?;
/// // SAFETY: place i alone reads and writes element i.
/// unsafe { axpy.call(&[3.0f32.into(), (&x).into(), (&mut y).into()])? };
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub struct ElementwiseKernel {
    name: String,
    arguments: Vec<Declared>,
    types: Types,
    operation: String,
    preamble: String,
    loop_prep: String,
    after_loop: String,
    options: Vec<String>,
    /// The programs over selected places and over all places, in this order.
    made: [OnceLock<CompiledLoop>; 2],
}

/// A program and its key.
#[derive(Debug)]
struct CompiledLoop {
    program: Program,
    key: [u64; 5],
}

impl ElementwiseKernel {
    /// A kernel with these arguments, as C declares them, and this operation.
    ///
    /// An argument is a value, `float a`, or an array: `const float *x`, which is only read, or `float *x`. These arrays have an element for each
    /// place; `const float x[]` and `float x[]` are arrays of any length. Types are the numbers of C (`float`, `double`, `bool`, integers signed and
    /// unsigned, `int8_t` to `uint64_t`, `size_t`), and structures that [`ElementwiseKernel::with_type`] adds. Nothing is compiled yet.
    ///
    /// # Errors
    /// `Argument`.
    pub fn new(arguments: &str, operation: impl Into<String>) -> Result<Self> {
        Self::of(declaration::parse(arguments)?, Types::default(), operation.into())
    }

    pub(super) fn of(arguments: Vec<Declared>, mut types: Types, operation: String) -> Result<Self> {
        declaration::check_names(&arguments, &["i", "n", "THREADS", "VECTORS_PER_THREAD", "ALL"])?;
        types.include_of(&arguments);
        let (preamble, loop_prep, after_loop) = Default::default();
        let (name, options, made) = ("elementwise_kernel".to_owned(), Vec::new(), Default::default());
        Ok(Self { name, arguments, types, operation, preamble, loop_prep, after_loop, options, made })
    }

    /// The kernel under a name of its own, which stands in errors and in profilers.
    ///
    /// # Errors
    /// `KernelName` unless C++ can have the name.
    pub fn name(self, name: &str) -> Result<Self> {
        declaration::check_name(name, &self.arguments)?;
        Ok(self.with(|kernel| kernel.name = name.to_owned()))
    }

    /// Text before the kernel: functions and types that it uses. Functions need no `__device__`.
    pub fn preamble(self, text: impl Into<String>) -> Self {
        self.with(|kernel| kernel.preamble = text.into())
    }

    /// Text that each thread runs once before its first place.
    /// The operation can use its declarations. The kernel then has at most the threads that the device runs at once, so that each has many places of
    /// a long array.
    pub fn loop_prep(self, text: impl Into<String>) -> Self {
        self.with(|kernel| kernel.loop_prep = text.into())
    }

    /// Text that each thread runs once after its last place. It can use the declarations of [`ElementwiseKernel::loop_prep`].
    pub fn after_loop(self, text: impl Into<String>) -> Self {
        self.with(|kernel| kernel.after_loop = text.into())
    }

    /// An option of the compiler, such as `--use_fast_math`.
    pub fn option(self, option: impl Into<String>) -> Self {
        self.with(|kernel| kernel.options.push(option.into()))
    }

    /// Makes a structure known under its [`DevicePod::CUDA_NAME`], to arguments and to all texts.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    pub fn with_type<T: DevicePod>(mut self) -> Result<Self> {
        self.types.add::<T>()?;
        Ok(self.with(|_| ()))
    }

    /// Changes a part of the program, and drops the programs made so far.
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.made = Default::default();
        self
    }

    /// Runs the operation for each place of the arrays.
    ///
    /// All arrays have one length, `n`, except those that are declared with any length.
    ///
    /// # Cost
    /// One launch, on the stream of the first array that may be written, or of the first array if none may. It comes after the work of all arrays'
    /// streams, and they continue after it. It allocates nothing, and the host does not wait. Nothing is launched if there is no element. The first
    /// call on a device compiles the kernel, or loads it from the cache on disk; kernels of the same text share one.
    ///
    /// # Errors
    /// `ArgumentCount`, `ArgumentType`, `ArgumentLength`, `NoArray`, `UnknownType`; `ArgumentLayout`; `WrongDevice`; `Compile` with the
    /// compiler's log and the text; the driver's.
    ///
    /// # Safety
    /// The text fulfils the [requirements](super#requirements-on-the-text) with these arguments.
    pub unsafe fn call(&self, arguments: &[KernelArg<'_>]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.call_over(IndexRange::all(), arguments) }
    }

    /// Runs the operation for these places only; otherwise as [`ElementwiseKernel::call`]. `n` is the length of the shortest array.
    ///
    /// # Errors
    /// As there, and `IndexRange` if an array lacks some of them.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn call_over(&self, places: IndexRange, arguments: &[KernelArg<'_>]) -> Result<()> {
        let mut bound = bind::bind(&self.name, &self.arguments, &self.types, arguments, &[0; text::OWN.len()])?;
        let (n, Progression { count, start, step }) = bound.places(&self.name, &self.arguments, places)?;
        if count == 0 {
            return Ok(());
        }
        let own = [count, start.cast_unsigned(), step.cast_unsigned(), n as u64];
        own.into_iter().enumerate().for_each(|(number, word)| bound.set(number, word));
        // SAFETY: the arguments are as declared and their lengths fit the places; the effects of the text are the caller's promise.
        unsafe { self.launch(&mut bound, count, places.is_all()) }
    }

    unsafe fn launch(&self, bound: &mut Bound<'_>, count: u64, all: bool) -> Result<()> {
        let device = bound.stream.device();
        let kernel = self.kernel(device, all)?;
        let once = !(self.loop_prep.is_empty() && self.after_loop.is_empty());
        let config = POLICY.launch(device, count, once)?;
        let mut values = bound.values();
        // SAFETY: the parameters are the kernel's own and one for each argument, of the type that `bind` has checked. The arrays are borrowed
        // until this call returns, the written ones exclusively, and their homes precede and follow the launch. The effects of the text are the caller's
        // promise.
        unsafe { kernel.launch_with(config, &mut values, &bound.homes, bound.stream)? };
        Ok(())
    }

    /// Compiles the kernel for a device ahead of the first [`ElementwiseKernel::call`], or loads it from the cache on disk.
    ///
    /// # Errors
    /// `Compile` with the compiler's log and the text; `UnknownType`; the driver's.
    pub fn compile(&self, device: &Device) -> Result<()> {
        self.kernel(device, true).map(drop)
    }

    fn kernel(&self, device: &Device, all: bool) -> Result<GeneratedKernel> {
        let made = self.made(all)?;
        Ok(device.generated_kernel(&SPACE, &made.key, || Ok(made.program.clone()))?)
    }

    fn made(&self, all: bool) -> Result<&CompiledLoop> {
        let slot = &self.made[usize::from(all)];
        if let Some(made) = slot.get() {
            return Ok(made);
        }
        let program = text::program(self, POLICY, all)?;
        let key = key(&program);
        Ok(slot.get_or_init(|| CompiledLoop { program, key }))
    }

    /// Bytes of an argument's value, or of one of its elements.
    fn bytes(&self, argument: &Declared) -> Result<usize> {
        self.types.find(&self.name, argument).map(|found| found.bytes)
    }
}

fn key(program: &Program) -> [u64; 5] {
    let [a, b, c, d] = hash(program);
    [SPACE.word(), a, b, c, d]
}

impl fmt::Debug for ElementwiseKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = declaration::listed(&self.arguments);
        write!(f, "ElementwiseKernel({}({arguments}): {})", self.name, self.operation)
    }
}
