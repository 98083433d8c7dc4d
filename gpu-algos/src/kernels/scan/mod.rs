//! Scans from a user's text.
#![expect(unsafe_code, reason = "the launch of a kernel whose text nobody has checked, and the steps to it")]

mod array;
mod params;
mod policy;
pub(crate) mod samples;
mod text;

use std::{fmt, marker::PhantomData, mem::offset_of, sync::OnceLock};

use gpu_array::gpu_driver::{Device, DevicePod, GeneratedKernel, KernelSpace, LaunchConfig, Program};

pub use self::array::ArrayScanKernel;
use self::{
    params::{ScanKernelHead, ScanKernelParams},
    policy::{MOST_STATE_BYTES, ScanKernelPolicy, ScanKernelTuning, run_bytes},
};
use super::{
    IndexRange, KernelArg,
    bind::{self, Bound},
    declaration::{self, Declared},
    places::Progression,
    program::{hash, named},
    types::Types,
};
use crate::{
    AlgoError, Result,
    block::slot_bytes,
    common::launch::{Launch, Occupancy, ScratchNeed, Words},
    device::params::GRID_COUNTERS_BYTES,
    scan::OP,
};

/// The keys of these kernels.
static SPACE: KernelSpace = KernelSpace::new();

/// A scan from a user's text: each place gets the combination of the values of all places up to it.
///
/// `input` gives the value v of a place; `scan` combines two values, `a` from earlier places than `b`. `output` runs at each place, with
///
/// * `item` = v(0) ∘ v(1) ∘ … ∘ v(i), the inclusive result, and
/// * `prev_item` = v(0) ∘ … ∘ v(i - 1), the exclusive result, which is `identity` at the first place,
///
/// where ∘ is `scan`. `output` may do anything with them and with the arrays. `scan` is associative; it need not be commutative, since values are
/// combined in the order of their places. `identity` is the identity of `scan`. `T`, the type of `item`, `a` and `b`, is a number or a structure with
/// [`DevicePod`] of at most 1024 bytes. `input` and `output` can use `i`, `n` and the arguments, as an
/// [`ElementwiseKernel`](super::ElementwiseKernel)'s operation can; `scan` and `identity` can use the preamble. There is no total over all places,
/// since it would have to wait for the last of them: it is `item` where `i == n - 1`.
///
/// ```no_run
/// use gpu_algos::kernels::ScanKernel;
/// use gpu_array::{GpuArray, gpu_driver::Device};
///
/// // How often x has been above its limit so far, and where.
/// let scan = ScanKernel::<i64>::new(
///     "float limit, const float *x, long *so_far, long places[]",
///     "0",
///     "a + b",
///     "x[i] > limit",
///     "so_far[i] = item; if (item != prev_item) places[prev_item] = i",
/// )?;
/// let device = Device::first()?;
/// let x = GpuArray::full(&device, 1000, 2.0f32)?;
/// let mut so_far = GpuArray::<i64, _>::zeros(&device, 1000)?;
/// let mut places = GpuArray::<i64, _>::zeros(&device, 1000)?;
/// // SAFETY: the text reads and writes the place i; no more places are above the limit than `places` has room for, and each has its own.
/// unsafe { scan.call(&[1.0f32.into(), (&x).into(), (&mut so_far).into(), (&mut places).into()])? };
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
/// A scan in place reads and writes one array: `"int *x", "0", "a + b", "x[i]", "x[i] = item"`. [`ScanKernel::inclusive`] and
/// [`ScanKernel::exclusive`] make scans of one array from `scan` and `identity` alone.
///
/// The text chooses the element of a place: `n - 1 - i` counts from the end. For the columns of a matrix in C order the places of a column follow one
/// another, and each column is a segment. (Threads then read elements that lie apart; sums, products and extremes along any axis are faster by
/// [`Scan::axis`](crate::Scan::axis).)
///
/// ```no_run
/// # use gpu_algos::kernels::ScanKernel;
/// // Of each column the number farthest from 0 so far.
/// let down = ScanKernel::<f32>::new(
///     "int rows, int columns, const float *x, float *y",
///     "0",
///     "fabsf(b) > fabsf(a) ? b : a",
///     "x[i % rows * columns + i / rows]",
///     "y[i % rows * columns + i / rows] = item",
/// )?
/// .segments("i % rows == 0");
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Determinism
/// The order of combination is fixed for one text and one number of places: floats have the same bits from run to run. (`prev_item` and the `item` of
/// the place before may be rounded differently.)
pub struct ScanKernel<T> {
    name: String,
    arguments: Vec<Declared>,
    types: Types,
    /// Identity, operator, input, output.
    texts: [String; 4],
    segments: Option<String>,
    preamble: String,
    options: Vec<String>,
    /// The programs over selected places and over all places, in this order, for each tuning.
    made: [[OnceLock<CompiledScan>; 2]; ScanKernelTuning::COUNT],
    _state: PhantomData<fn() -> T>,
}

/// Index of the word with the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(ScanKernelHead, scratch) / size_of::<u64>();

/// A program and its key.
#[derive(Debug)]
struct CompiledScan {
    program: Program,
    key: [u64; 5],
    policy: ScanKernelPolicy,
}

impl<T: DevicePod> ScanKernel<T> {
    /// A scan with these arguments, as [`ElementwiseKernel::new`](super::ElementwiseKernel::new) takes them, and these texts.
    /// Nothing is compiled yet.
    ///
    /// # Errors
    /// `Argument`; `StateTooLarge` for a `T` of more than 1024 bytes.
    pub fn new(
        arguments: &str,
        identity: impl Into<String>,
        scan: impl Into<String>,
        input: impl Into<String>,
        output: impl Into<String>,
    ) -> Result<Self> {
        let texts = [identity.into(), scan.into(), input.into(), output.into()];
        Self::of(declaration::parse(arguments)?, Types::default(), texts)
    }

    pub(super) fn of(arguments: Vec<Declared>, mut types: Types, texts: [String; 4]) -> Result<Self> {
        declaration::check_names(&arguments, &["i", "n", "item", "prev_item"])?;
        if size_of::<T>() > MOST_STATE_BYTES {
            return Err(AlgoError::StateTooLarge { op: OP, limit: MOST_STATE_BYTES, got: size_of::<T>() });
        }
        types.add::<T>()?;
        types.include_of(&arguments);
        let (name, preamble, options, made) = ("scan_kernel".to_owned(), String::new(), Vec::new(), Default::default());
        Ok(Self { name, arguments, types, texts, segments: None, preamble, options, made, _state: PhantomData })
    }

    /// The kernel under a name of its own, which stands in errors.
    ///
    /// # Errors
    /// `KernelName` unless C++ can have the name, and for that of an argument.
    pub fn name(self, name: &str) -> Result<Self> {
        declaration::check_name(name, &self.arguments)?;
        Ok(self.with(|kernel| kernel.name = name.to_owned()))
    }

    /// Splits the scan into segments: it restarts where `begins` is true, and `prev_item` is `identity` there.
    /// `begins` is an expression that can use the same names as `input`.
    pub fn segments(self, begins: impl Into<String>) -> Self {
        self.with(|kernel| kernel.segments = Some(begins.into()))
    }

    /// Text before the kernel: functions and types that it uses. Functions need no `__device__`.
    pub fn preamble(self, text: impl Into<String>) -> Self {
        self.with(|kernel| kernel.preamble = text.into())
    }

    /// An option of the compiler, such as `--use_fast_math`.
    pub fn option(self, option: impl Into<String>) -> Self {
        self.with(|kernel| kernel.options.push(option.into()))
    }

    /// Makes a structure known under its [`DevicePod::CUDA_NAME`], to arguments and to all texts. `T` is known already.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    pub fn with_type<U: DevicePod>(mut self) -> Result<Self> {
        self.types.add::<U>()?;
        Ok(self.with(|_| ()))
    }

    /// Changes a part of the program, and drops the programs made so far.
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.made = Default::default();
        self
    }

    /// Scans all places of the arrays.
    ///
    /// All arrays have one length, `n`, except those that are declared with any length.
    ///
    /// # Cost
    /// One launch, on the stream of the first array that may be written, or of the first array if none may. It comes after the work of all arrays'
    /// streams, and they continue after it. Each text runs once for each place, `scan` two to three times (six where `T` has more than 32 bytes). The
    /// first call on a stream that needs it allocates a few words for each tile of places (3840, fewer where `T` is larger than 8 bytes), which the
    /// stream keeps; nothing else is allocated. The host does not wait. Nothing is launched if there is no place. The first call on a device compiles
    /// the kernel, or loads it from the cache on disk; kernels of the same text share one.
    ///
    /// # Errors
    /// As [`ElementwiseKernel::call`](super::ElementwiseKernel::call); `TooLarge` for more than 2^32 tiles.
    ///
    /// # Safety
    /// The texts fulfil the [requirements](super#requirements-on-the-text) with these arguments.
    pub unsafe fn call(&self, arguments: &[KernelArg<'_>]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.call_over(IndexRange::all(), arguments) }
    }

    /// Scans these places only, in their order; otherwise as [`ScanKernel::call`].
    /// `IndexRange::slice(None, None, -1)` scans from the last place to the first. `n` is the length of the shortest array.
    ///
    /// # Errors
    /// As there, and `IndexRange` if an array lacks some of them.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn call_over(&self, places: IndexRange, arguments: &[KernelArg<'_>]) -> Result<()> {
        self.check_types()?;
        let bound = bind::bind(&self.name, &self.arguments, &self.types, arguments, &[])?;
        let (n, progression) = bound.places(&self.name, &self.arguments, places)?;
        if progression.count == 0 {
            return Ok(());
        }
        let device = bound.stream.device();
        let made = self.made(places.is_all(), device)?;
        let kernel = self.kernel(made, device)?;
        let launch = self.launch(made.policy, &bound, n, progression, &kernel)?;
        // SAFETY: the parameters fulfil the kernel's contract: its own, and those of the arguments, of the types that `bind` has checked. The arrays
        // are borrowed until this call returns, the written ones exclusively, and their homes precede and follow the launch. The effects of the texts are
        // the caller's promise.
        unsafe { launch.enqueue(&kernel, &bound.homes, bound.stream) }
    }

    /// The launch for at least one place.
    fn launch(
        &self,
        policy: ScanKernelPolicy,
        bound: &Bound<'_>,
        n: usize,
        Progression { count, start, step }: Progression,
        kernel: &GeneratedKernel,
    ) -> Result<Launch> {
        let tiles = count.div_ceil(policy.tile() as u64);
        let too_large = |_| AlgoError::TooLarge { op: OP, shape: vec![count as usize] };
        let tiles = u32::try_from(tiles).map_err(too_large)?;
        let head = ScanKernelHead { count, start, step, tiles: tiles.into(), scratch: 0, length: n as u64 };
        let mut params = Words::new();
        ScanKernelParams { head, arguments: bound.params().iter().copied() }.write(&mut params);
        let slot = slot_bytes(self.run_bytes());
        let scratch = if tiles > 1 {
            ScratchNeed::Cleared(GRID_COUNTERS_BYTES + tiles as usize * slot)
        } else {
            ScratchNeed::None
        };
        let resident = kernel.blocks(policy.threads, 0)? * bound.stream.device().multiprocessors()? as usize;
        let blocks = resident.min(tiles as usize) as u32;
        let config = LaunchConfig { grid: blocks.into(), block: policy.threads.into(), shared_bytes: 0 };
        Ok(Launch { params, scratch_word: SCRATCH_WORD, scratch, config })
    }

    /// Compiles the kernel for a device ahead of the first [`ScanKernel::call`], or loads it from the cache on disk.
    ///
    /// # Errors
    /// `Compile` with the compiler's log and the text; `UnknownType`; the driver's.
    pub fn compile(&self, device: &Device) -> Result<()> {
        self.kernel(self.made(true, device)?, device).map(drop)
    }

    fn kernel(&self, made: &CompiledScan, device: &Device) -> Result<GeneratedKernel> {
        Ok(device.generated_kernel(&SPACE, &made.key, || Ok(made.program.clone()))?)
    }

    fn run_bytes(&self) -> usize {
        run_bytes(size_of::<T>(), align_of::<T>(), self.segments.is_some())
    }

    /// Checks that the types of the arguments are known, unless a program was made of them.
    fn check_types(&self) -> Result<()> {
        if self.made.as_flattened().iter().any(|made| made.get().is_some()) {
            return Ok(());
        }
        named(&self.name, &self.arguments, &self.types, 0).map(drop)
    }

    fn made(&self, all: bool, device: &Device) -> Result<&CompiledScan> {
        let slot = &self.made[ScanKernelTuning::number(device.arch())][usize::from(all)];
        if let Some(made) = slot.get() {
            return Ok(made);
        }
        let policy = ScanKernelPolicy::of(self.run_bytes(), device.arch());
        let program = text::program(self, policy, all)?;
        let [a, b, c, d] = hash(&program);
        Ok(slot.get_or_init(|| CompiledScan { program, key: [SPACE.word(), a, b, c, d], policy }))
    }
}

impl<T> fmt::Debug for ScanKernel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = declaration::listed(&self.arguments);
        let [identity, scan, input, output] = &self.texts;
        write!(f, "ScanKernel({}({arguments}): {input}, {scan}, {identity}, {output})", self.name)
    }
}
