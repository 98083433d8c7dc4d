//! Reductions from a user's text.
#![expect(
    unsafe_code,
    reason = "the launch of a kernel whose text nobody has checked, and memory that it fills before anyone reads it"
)]

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use gpu_array::{
    DType,
    expression::{HEADERS, LoweredLeaf},
    gpu_driver::{Device, DevicePod, DeviceVec, Header, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    IndexRange, KernelArg, Output,
    arguments::Given,
    bind,
    declaration::{self, Declared, Role},
    places::Progression,
    program::{ELEMENTWISE, beginning, hash, named},
    types::Types,
};
use crate::{
    AlgoError, Result,
    common::{operator::Custom, source::ValueSource},
    reduce::reduce_custom,
};

/// A reduction from a user's text: `reduce` combines the values that `map` gives at each place.
///
/// `map` can use `i`, `n` and the arguments, as an [`ElementwiseKernel`](super::ElementwiseKernel)'s operation can. `reduce` is an expression of `a`
/// and `b`. Each is a value of `map` or an earlier combination, `a` from earlier places than `b`. `reduce` is associative. It need not be
/// commutative: values are combined in the order of their places, unless [`ReductionKernel::commutative`] declares that the order does not matter,
/// which is faster. `identity` is the identity of `reduce` and the result over no places. `T` is a number or a structure with [`DevicePod`].
///
/// ```no_run
/// use gpu_algos::kernels::ReductionKernel;
/// use gpu_array::{GpuArray, gpu_driver::Device};
///
/// let dot = ReductionKernel::<f32>::new("const float *x, const float *y", "0", "a + b", "x[i] * y[i]")?.commutative();
/// let device = Device::first()?;
/// let x = GpuArray::full(&device, 1000, 2.0f32)?;
/// // SAFETY: the text reads the place i of both arrays.
/// let product = unsafe { dot.call(&[(&x).into(), (&x).into()])? };
/// assert_eq!(product.to_vec()?, [4000.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Determinism
/// The order of combination is fixed for one text, one number of places and one device: floats have the same bits from run to run.
pub struct ReductionKernel<T> {
    name: String,
    arguments: Vec<Declared>,
    types: Types,
    texts: [String; 3],
    preamble: String,
    options: Vec<String>,
    commutative: bool,
    made: OnceLock<CompiledReduction>,
    _result: PhantomData<fn() -> T>,
}

#[derive(Debug)]
struct CompiledReduction {
    operator: Arc<Custom>,
    value: String,
    /// Words of the arguments.
    argument_words: usize,
    headers: Vec<Header>,
}

impl<T: DevicePod> ReductionKernel<T> {
    /// A reduction with these arguments, as [`ElementwiseKernel::new`](super::ElementwiseKernel::new) takes them, and these texts.
    /// Arrays are only read.
    ///
    /// # Errors
    /// `Argument`, also for an array that is not declared `const`.
    pub fn new(
        arguments: &str,
        identity: impl Into<String>,
        reduce: impl Into<String>,
        map: impl Into<String>,
    ) -> Result<Self> {
        let texts = [identity.into(), reduce.into(), map.into()];
        Self::of(declaration::parse(arguments)?, Types::default(), texts)
    }

    pub(super) fn of(arguments: Vec<Declared>, mut types: Types, texts: [String; 3]) -> Result<Self> {
        declaration::check_names(&arguments, &["i", "n"])?;
        if let Some(written) = arguments.iter().find(|argument| argument.role == Role::Output) {
            let why = "a reduction reads its arrays: declare it const";
            return Err(AlgoError::Argument { argument: written.to_string(), why });
        }
        types.define::<T>()?;
        types.include_of(&arguments);
        let (name, preamble, options, made) =
            ("reduction_kernel".to_owned(), String::new(), Vec::new(), OnceLock::new());
        Ok(Self { name, arguments, types, texts, preamble, options, commutative: false, made, _result: PhantomData })
    }

    /// The kernel under a name of its own, which stands in errors.
    ///
    /// # Errors
    /// `KernelName` unless C++ can have the name, and for that of an argument.
    pub fn name(self, name: &str) -> Result<Self> {
        declaration::check_name(name, &self.arguments)?;
        Ok(self.with(|kernel| kernel.name = name.to_owned()))
    }

    /// Text before the kernel: functions and types that it uses. Functions need no `__device__`.
    pub fn preamble(self, text: impl Into<String>) -> Self {
        self.with(|kernel| kernel.preamble = text.into())
    }

    /// An option of the compiler, such as `--use_fast_math`.
    pub fn option(self, option: impl Into<String>) -> Self {
        self.with(|kernel| kernel.options.push(option.into()))
    }

    /// Declares that `reduce` is commutative. Threads then read neighbouring places.
    pub fn commutative(self) -> Self {
        self.with(|kernel| kernel.commutative = true)
    }

    /// Makes a structure known under its [`DevicePod::CUDA_NAME`], to arguments and to all texts. The result's structure is known already.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    pub fn with_type<U: DevicePod>(mut self) -> Result<Self> {
        self.types.add::<U>()?;
        Ok(self.with(|_| ()))
    }

    /// Changes a part of the program, and drops the program made so far.
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.made = OnceLock::new();
        self
    }

    /// The result over all places of the arrays, as a buffer of one element on the device.
    ///
    /// All arrays have one length, except those that are declared with any length.
    ///
    /// # Cost
    /// One launch, on the stream of the first array. Only the result is allocated, and the host does not wait. The first call on a device compiles
    /// the kernel, or loads it from the cache on disk.
    ///
    /// # Errors
    /// As [`ElementwiseKernel::call`](super::ElementwiseKernel::call).
    ///
    /// # Safety
    /// The texts fulfil the [requirements](super#requirements-on-the-text) with these arguments.
    pub unsafe fn call(&self, arguments: &[KernelArg<'_>]) -> Result<DeviceVec<T>> {
        // SAFETY: as the caller promises.
        unsafe { self.call_over(IndexRange::all(), arguments) }
    }

    /// Reduces these places only, in their order; otherwise as [`ReductionKernel::call`]. `n` is the length of the shortest array.
    ///
    /// # Errors
    /// As there, and `IndexRange` if an array lacks some of them.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn call_over(&self, places: IndexRange, arguments: &[KernelArg<'_>]) -> Result<DeviceVec<T>> {
        let (source, stream) = self.bound(places, arguments)?;
        // SAFETY: the reduction writes the one element; where the launch fails the memory is dropped unread.
        let result = unsafe { DeviceVec::uninitialized(stream, 1)? };
        self.run(&source, result.as_raw(), None, stream)?;
        Ok(result)
    }

    /// Writes the result of [`ReductionKernel::call_over`] into an array, or a part of one, that has one element.
    ///
    /// # Errors
    /// As there, and `ArgumentLength` where the target has another number of elements.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn call_into<'t>(
        &self,
        target: impl Into<Output<'t, T>>,
        places: IndexRange,
        arguments: &[KernelArg<'_>],
    ) -> Result<()>
    where
        T: 't,
    {
        let target = KernelArg::from(target.into());
        let (source, stream) = self.bound(places, arguments)?;
        let got = match target.0 {
            Given::Array { address, len: 1, home, .. } => return self.run(&source, address, Some(home), stream),
            Given::Array { len, .. } => len,
            // An `Output` is never a value.
            Given::Value { .. } => 0,
            Given::Wrong(error) => return Err(error),
        };
        let (kernel, argument) = (self.name.clone(), "the result".to_owned());
        Err(AlgoError::ArgumentLength { kernel, argument, expected: 1, got })
    }

    fn run(&self, source: &Bound<'_>, address: u64, target_home: Option<&Stream>, stream: &Stream) -> Result<()> {
        reduce_custom(source, &source.made.operator, address, target_home, stream)
    }

    fn bound<'k>(&'k self, places: IndexRange, arguments: &[KernelArg<'k>]) -> Result<(Bound<'k>, &'k Stream)> {
        let made = self.made()?;
        let bound = bind::bind(&self.name, &self.arguments, &self.types, arguments, &[0])?;
        let (n, Progression { count, start, step }) = bound.places(&self.name, &self.arguments, places)?;
        let mut extra = SmallVec::from_slice(bound.params());
        extra[0] = n as u64;
        let (shape, step) = ([count as usize], [step as isize]);
        Ok((Bound { made, shape, start: start.cast_unsigned(), step, extra, homes: bound.homes }, bound.stream))
    }

    fn made(&self) -> Result<&CompiledReduction> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = self.make()?;
        Ok(self.made.get_or_init(|| made))
    }

    fn make(&self) -> Result<CompiledReduction> {
        let [identity, reduce, map] = &self.texts;
        let (names, argument_words) = named(&self.name, &self.arguments, &self.types, 1)?;
        let beginning = beginning(&self.types, &self.preamble, T::CUDA_NAME, identity, reduce);
        let definition = beginning + &operator(self.commutative);
        let value = value(argument_words, &names, map);
        let (commutative, options) = (self.commutative, self.options.clone());
        let texts = Program::new("", format!("{definition}{value}"));
        let key = hash(&options.iter().fold(texts, Program::option));
        let operator = Arc::new(Custom { definition, options, key, state_bytes: size_of::<T>(), commutative });
        Ok(CompiledReduction {
            operator,
            value,
            argument_words,
            headers: HEADERS.into_iter().chain([ELEMENTWISE]).chain(self.types.headers().iter().copied()).collect(),
        })
    }

    /// Compiles the kernel for a device ahead of the first [`ReductionKernel::call`], or loads it from the cache on disk.
    ///
    /// # Errors
    /// `Compile` with the compiler's log and the text; `UnknownType`; the driver's.
    pub fn compile(&self, device: &Device) -> Result<()> {
        let made = self.made()?;
        let extra = SmallVec::from_elem(0, made.argument_words);
        let source = Bound { made, shape: [1], start: 0, step: [1], extra, homes: SmallVec::new() };
        crate::reduce::compile_custom(&source, &made.operator, device)
    }
}

/// The operator of a reduction, for `reduce.cuh`.
fn operator(commutative: bool) -> String {
    format!(
        "namespace gpu_user {{\n\
         struct Operator {{\n\
         \x20   typedef gpu_state Local;\n    typedef gpu_state State;\n\
         \x20   static constexpr bool COMMUTATIVE = {commutative}, LANES = true, NEEDS_INDEX = false, TOTAL = false;\n\
         \x20   static __device__ State identity() {{ return gpu_identity(); }}\n\
         \x20   static __device__ State combine(const State &a, const State &b) {{ return gpu_combine(a, b); }}\n\
         \x20   static __device__ void take(State &all, const State &next, int64_t) {{ all = gpu_combine(all, next); }}\n\
         \x20   static __device__ State to_partial(const State &local) {{ return local; }}\n\
         \x20   static __device__ gpu::Tuple<State> finalize(const State &state, int64_t) {{\n\
         \x20       gpu::Tuple<State> results;\n        gpu::get<0>(results) = state;\n        return results;\n    }}\n}};\n}}\n"
    )
}

/// The expression to reduce: a structure like those of expressions, with one leaf, the place.
fn value(argument_words: usize, names: &str, map: &str) -> String {
    format!(
        "static __device__ __forceinline__ gpu_state gpu_map(const uint64_t *gpu_words, const int64_t i) {{\n\
         \x20       [[maybe_unused]] const int64_t n = int64_t(gpu_words[0]);\n{names}        return {map};\n}}\n\
         struct Value {{\n    typedef gpu::Tuple<gpu::Index> Leaves;\n    typedef gpu::Tuple<gpu_state> Outputs;\n\
         \x20   static constexpr int SCALARS = 0, EXTRA = {argument_words};\n\
         \x20   static __device__ void apply(const uint64_t *, const uint64_t *extra, const Leaves &place, Outputs &out) {{\n\
         \x20       gpu::get<0>(out) = gpu_map(extra, gpu::get<0>(place).value);\n    }}\n}};\n"
    )
}

/// A kernel with the arguments of a call.
struct Bound<'k> {
    made: &'k CompiledReduction,
    shape: [usize; 1],
    start: u64,
    step: [isize; 1],
    extra: SmallVec<[u64; 4]>,
    homes: SmallVec<[&'k Stream; 4]>,
}

impl ValueSource for Bound<'_> {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let leaf = LoweredLeaf { address: self.start, dtype: DType::I64, is_place: true, strides: &self.step };
        SmallVec::from_iter([leaf])
    }
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        self.extra.clone()
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        self.homes.iter().map(|home| -> &Stream { home }).collect()
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        key.extend_from_slice(&self.made.operator.key);
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        (self.made.value.replace("struct Value ", &format!("struct {name} ")), self.made.headers.clone())
    }
}

impl<T> fmt::Debug for ReductionKernel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = declaration::listed(&self.arguments);
        let [identity, reduce, map] = &self.texts;
        write!(f, "ReductionKernel({}({arguments}): {map}, {reduce}, {identity})", self.name)
    }
}
