//! Expressions for loops of other crates: the seam by which a reduction or a scan fuses the expression that it reads.
//!
//! Here are the steps and operands as such a loop sees them. `device/lower.rs` writes their text, `resolve.rs` evaluates the computations in them, and
//! `job.rs` evaluates all of them.

use gpu_driver::Stream;
use ndarray::ArrayViewD;

use super::{Code, LeafMemory, Step};
use crate::{
    ArrayError, DType, Element, Result,
    expression::graph::{
        op::Op,
        source::{AnySource, Scope, Source, erased},
    },
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
pub struct Lowered<'a>(pub(crate) Box<Code<'a>>);

/// An expression for a loop of another crate, of which nothing has been computed: [`Assembled::ready`] evaluates the computations in it.
#[derive(Debug)]
pub struct Assembled<'a>(pub(crate) Lowered<'a>);

impl<'a> Assembled<'a> {
    pub(crate) fn code(&self) -> &Code<'a> {
        &self.0.0
    }

    /// This expression as the one in which the values of a scope may be read ([`Source::scope`]). Those of its operands that are computed before it may
    /// not read them.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.0.0.scope = Some(scope);
        self
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
    /// `Operator`; `OutOfScope` for values that the expression may not read.
    pub fn check(&self) -> Result<()> {
        self.0.0.check_operands()
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

    /// The expression with this source in place of each one of its element type, C++ function and words, so that the host computes other values.
    #[must_use]
    pub fn with_source<T: Element>(&self, source: impl Source<T>) -> Self {
        let mut code = self.0.clone();
        let source = erased(source);
        let is_same = |other: &AnySource| {
            (other.dtype(), other.function(), other.words()) == (source.dtype(), source.function(), source.words())
        };
        for other in code.sources.iter_mut().filter(|other| is_same(other)) {
            *other = source.clone();
        }
        Self(code)
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
