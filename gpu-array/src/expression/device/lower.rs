//! Expressions for loops of other crates: the seam by which a reduction or a scan fuses the expression that it reads.

use std::ops::Deref;

use gpu_driver::{Header, Stream};
use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};

use super::{
    check,
    plan::extra,
    text::{HEADERS, functor, further_headers},
};
use crate::{
    ArrayError, DType, Element, GpuArray, GpuViewMut, Result,
    allocate::allocate,
    expression::{
        graph::{Code, LeafMemory, Op, Step, Value, assemble},
        job,
    },
    layout::{checked_len, dense_strides},
    pending::Pending,
};

/// An expression as a C++ structure, with all that a kernel needs to evaluate it at a place.
///
/// A crate with a loop of its own (a template over the structure) puts [`Lowered::functor`] and its loop into a program with
/// [`Lowered::headers`], passes [`Lowered::leaves`], [`Lowered::scalars`] and [`Lowered::extra`] as words, and keeps the kernel by
/// [`Device::generated_kernel`](gpu_driver::Device::generated_kernel) under a key of its own [`KernelSpace`](gpu_driver::KernelSpace) that ends with
/// [`Lowered::write_key`]. The header `loop.cuh` describes the members of the structure:
/// ```text
/// struct NAME {
///     typedef gpu::Tuple<float, gpu::Index, …> Leaves;    the values of the leaves at a place, in their order
///     typedef gpu::Tuple<double, …> Outputs;
///     static constexpr int SCALARS = …, EXTRA = …;
///     static __device__ void apply(const uint64_t *scalars, const uint64_t *extra, const Leaves &, Outputs &);
/// };
/// ```
#[derive(Debug)]
pub struct Lowered<'a>(Box<Code<'a>>);

/// An expression for a loop of another crate, of which nothing has been computed: [`Assembled::ready`] evaluates the computations in it.
#[derive(Debug)]
pub struct Assembled<'a>(Lowered<'a>);

/// An expression that a loop can read now: [`Assembled::ready`] gives it.
#[derive(Debug)]
pub struct Ready<'l, 'a>(ReadyCode<'l, 'a>);

#[derive(Debug)]
enum ReadyCode<'l, 'a> {
    /// Nothing had to be computed.
    Borrowed(&'l Lowered<'a>),
    Owned(Lowered<'a>),
}

impl<'a> Deref for Ready<'_, 'a> {
    type Target = Lowered<'a>;
    fn deref(&self) -> &Lowered<'a> {
        match &self.0 {
            ReadyCode::Borrowed(lowered) => lowered,
            ReadyCode::Owned(lowered) => lowered,
        }
    }
}

impl<'a> Assembled<'a> {
    /// The steps of values of one shape, in a shape of `rank` axes at least.
    pub(crate) fn of(values: &[&Value<'a>], rank: usize) -> Result<Self> {
        let mut code = Box::<Code<'_>>::default();
        assemble(&mut code, values, rank)?;
        checked_len(&code.shape)?;
        code.check_steps()?;
        if let Some(stream) = code.homes().next() {
            check(&code, stream)?;
        }
        Ok(Self(Lowered(code)))
    }

    pub(crate) fn code(&self) -> &Code<'a> {
        &self.0.0
    }

    /// The shape of the places.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// The type of the output.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// The array or view in memory that the expression is itself; None for any other expression.
    pub fn as_array(&self) -> Option<&Lowered<'a>> {
        Some(&self.0).filter(|lowered| lowered.array().is_some() && !self.code().has_deferred())
    }

    /// The stream to compute on: the first of the homes of its arrays.
    ///
    /// # Errors
    /// `NoHome` where there is none.
    pub fn stream(&self) -> Result<&Stream> {
        self.0.stream()
    }

    /// Returns the error that an operator such as `+=` on an array of the expression could not return, which counts as returned to the user then.
    ///
    /// # Errors
    /// `Operator`.
    pub fn check(&self) -> Result<()> {
        self.0.0.check_pending()
    }

    /// Evaluates the [deferred](crate::expression::Deferred) computations in the expression, if there are any, on the stream `home`; None stands for
    /// the host.
    ///
    /// # Errors
    /// That of [`Assembled::check`]; those of the computations, as `Deferred`.
    pub fn ready(&self, home: Option<&Stream>) -> Result<Ready<'_, 'a>> {
        self.check()?;
        if !self.code().has_deferred() {
            return Ok(Ready(ReadyCode::Borrowed(&self.0)));
        }
        let mut code = self.code().clone();
        code.resolve(home)?;
        Ok(Ready(ReadyCode::Owned(Lowered::resolved(code))))
    }

    /// [`Assembled::ready`], on the stream of its arrays.
    pub(crate) fn into_ready(self) -> Result<Lowered<'a>> {
        self.check()?;
        let Lowered(mut code) = self.0;
        if code.has_deferred() {
            let home = code.homes().next().cloned();
            code.resolve(home.as_ref())?;
        }
        Ok(Lowered(code))
    }
}

/// An operand that an expression reads at each place.
#[derive(Clone, Copy, Debug)]
pub struct LoweredLeaf<'l> {
    /// The address of the element at index 0 of every axis; for a [`LoweredLeaf::is_place`] the value there.
    pub address: u64,
    /// The element type; `bool` stands in memory as a byte that is 0 or not.
    pub dtype: DType,
    /// Whether the values are linear functions of the place themselves (`gpu::Index`), and not in memory.
    pub is_place: bool,
    /// Distances of neighbours along each axis of [`Lowered::shape`], in elements; 0 where it is broadcast.
    pub strides: &'l [isize],
}

/// The array that a loop of another crate writes.
#[derive(Clone, Copy, Debug)]
pub struct LoweredTarget<'t> {
    /// The address of the element at index 0 of every axis.
    pub address: u64,
    /// The element type; `bool` stands in memory as a byte, written as 0 or 1.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: &'t [usize],
    /// Distances of neighbours along each axis, in elements.
    pub strides: &'t [isize],
    /// The stream of the memory: a home of the launch.
    pub home: &'t Stream,
}

impl<T: Element, D: Dimension> GpuViewMut<'_, T, D> {
    /// The view for a loop of one's own to write, while it is borrowed.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    pub fn lower_mut(&mut self) -> Result<LoweredTarget<'_>> {
        self.pending().map_or(Ok(()), Pending::check)?;
        let (data, layout) = (self.data(), self.layout());
        layout.lies_within(data.len())?;
        let offset = layout.offset() as i64 * T::DTYPE.bytes() as i64;
        let address = data.as_raw().wrapping_add_signed(offset);
        Ok(LoweredTarget {
            address,
            dtype: T::DTYPE,
            shape: layout.shape(),
            strides: layout.strides(),
            home: data.home(),
        })
    }
}

impl<'a> Lowered<'a> {
    /// A code without deferred values.
    pub(crate) fn resolved(code: Code<'a>) -> Self {
        Self(Box::new(code))
    }

    pub(crate) fn code(&self) -> &Code<'a> {
        &self.0
    }

    /// The array on the host that the expression is itself; None for any other expression, or another element type.
    pub fn host_array<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let (leaf, is_leaf) = (self.0.leaves.first()?, matches!(self.0.steps[..], [Step { op: Op::Leaf, .. }]));
        if is_leaf { leaf.host_array() } else { None }
    }

    /// The values as a new array on the host, where the arrays of the expression are.
    ///
    /// # Errors
    /// `Operation` for another element type than the expression's, and for arrays on a device; `TooLarge`.
    pub fn eval_on_host<T: Element>(&self) -> Result<ArrayD<T>> {
        job::evaluate_on_host(&self.0)
    }

    /// The values of both outputs as new arrays on the host, in one pass.
    ///
    /// # Errors
    /// As [`Lowered::eval_on_host`]; `Operation` for an expression without a second output.
    pub fn eval_both_on_host<T: Element, U: Element>(&self) -> Result<(ArrayD<T>, ArrayD<U>)> {
        job::evaluate_both_on_host(&self.0)
    }

    /// The values as a new array in C order, whose home is `home`. Does not wait.
    ///
    /// # Errors
    /// `Operation` for another element type than the expression's; `TooLarge`, `TooManyArguments`, `TooManyOperations`; the driver's.
    pub fn eval_on_device<T: Element>(&self, home: &Stream) -> Result<GpuArray<T, IxDyn>> {
        if self.dtype() != T::DTYPE {
            return Err(ArrayError::Operation { name: "eval_on_device", dtype: self.dtype() });
        }
        let shape = self.shape();
        let memory = allocate::<T::Storage>(home, checked_len(shape)?)?;
        super::run(&self.0, home, &[memory.as_raw()], &dense_strides(shape, false), 0)?;
        GpuArray::from_storage(memory, IxDyn(shape))
    }

    /// The shape of the places.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// The type of the output, the first one of two.
    pub fn dtype(&self) -> DType {
        let step = self.0.outputs.first().and_then(|&step| self.0.steps.get(step as usize));
        step.map_or(DType::Bool, |step| step.dtype)
    }

    /// The structure, under that name, and before it the includes that it needs beside `loop.cuh` and the headers of sources.
    pub fn functor(&self, name: &str) -> String {
        let includes = further_headers(&self.0).map(|header| format!("#include \"{}\"\n", header.name));
        includes.collect::<String>() + &functor(&self.0, name, 0)
    }

    /// The headers that the structure includes; the first is `loop.cuh`, which includes the others of this crate.
    pub fn headers(&self) -> Vec<Header> {
        let sources = self.0.sources.iter().map(|source| source.header());
        HEADERS.into_iter().chain(further_headers(&self.0)).chain(sources).collect()
    }

    /// Appends all that the structure's text depends on.
    pub fn write_key(&self, key: &mut impl Extend<u64>) {
        self.0.write_key(key);
    }

    /// The operands that it reads, in the order of the structure's `Leaves`.
    pub fn leaves(&self) -> impl ExactSizeIterator<Item = LoweredLeaf<'_>> {
        self.0.leaves.iter().map(|leaf| {
            let is_place = matches!(leaf.memory, LeafMemory::Nowhere);
            LoweredLeaf { address: leaf.address(leaf.offset), dtype: leaf.dtype, is_place, strides: &leaf.strides }
        })
    }

    /// The array or view in memory that the expression is itself; None for any other expression.
    pub fn array(&self) -> Option<LoweredLeaf<'_>> {
        let is_leaf = matches!(self.0.steps[..], [Step { op: Op::Leaf, .. }]);
        self.leaves().next().filter(|_| is_leaf)
    }

    /// The first argument of `apply`.
    pub fn scalars(&self) -> &[u64] {
        &self.0.scalars
    }

    /// The second argument of `apply`.
    pub fn extra(&self) -> Vec<u64> {
        extra(&self.0).collect()
    }

    /// The streams of the arrays that it reads, with repetitions: the homes of a launch.
    pub fn homes(&self) -> impl Iterator<Item = &Stream> {
        self.0.homes()
    }

    /// The stream to compute on: the first of the homes.
    ///
    /// # Errors
    /// `NoHome` where there is none.
    pub fn stream(&self) -> Result<&Stream> {
        self.0.homes().next().ok_or(ArrayError::NoHome)
    }
}
