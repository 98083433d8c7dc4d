//! The crate's one error type.

use gpu_array::{ArrayError, gpu_driver::DriverError};

/// `Result` with [`AlgoError`].
pub type Result<T, E = AlgoError> = std::result::Result<T, E>;

/// The numbers that need no definition in a kernel's text (`kernels/declaration.rs`).
const NUMBERS: &str =
    "bool, char, short, int, long, long long (signed or unsigned), int8_t to uint64_t, size_t, float, double";

/// Errors of algorithms and of users' kernels.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
    /// An error of the driver, the compiler or the device.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// An error of an array or an expression.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// Random numbers were refused: a [`RandomError`](https://docs.rs/gpu-random), which `?` turns into this with the feature `random`.
    #[error("{0}")]
    Random(#[source] std::sync::Arc<dyn std::error::Error + Send + Sync>),
    /// The reduction has no result for no values.
    #[error("{op} of no values")]
    Empty {
        /// The reduction.
        op: &'static str,
    },
    /// An axis is named twice.
    #[error("{op}: axis {axis} is named twice")]
    RepeatedAxis {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
    },
    /// The array to write has another shape than the result.
    #[error("output of another shape: need {expected:?}, got {got:?}")]
    OutShape {
        /// The shape of the result.
        expected: Vec<usize>,
        /// The shape of the array.
        got: Vec<usize>,
    },
    /// The second of two arrays to write has other strides than the first.
    #[error("strides of the two outputs differ: the first has {expected:?}, the second {got:?}")]
    OutStrides {
        /// Strides of the first array.
        expected: Vec<isize>,
        /// Strides of the second array.
        got: Vec<isize>,
    },
    /// The array to write may be too small for the result, whose length only the device knows.
    #[error("output too small: need {needed}, got {got}")]
    OutputTooSmall {
        /// Upper bound of the number of results.
        needed: usize,
        /// Number of elements of the array.
        got: usize,
    },
    /// More axes remain than a kernel supports, after contiguous axes are joined.
    #[error("{op}: {got} axes that cannot be joined; a kernel has at most {limit}")]
    TooManyAxes {
        /// The operation.
        op: &'static str,
        /// The most axes that a kernel supports.
        limit: usize,
        /// Number of axes.
        got: usize,
    },
    /// The operation needs more blocks or tiles than one launch supports, or its result more memory than the host has.
    #[error("{op} over shape {shape:?} is too large for one launch, or for memory")]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Two arrays that must have one length do not.
    #[error("{op}: the first array has {left} elements, the second {right}")]
    Length {
        /// The operation that was asked for.
        op: &'static str,
        /// Length of the first array.
        left: usize,
        /// Length of the second array.
        right: usize,
    },

    /// Two arrays that must have one shape do not.
    #[error("{op}: the first array has shape {left:?}, the second {right:?}")]
    Shape {
        /// The operation that was asked for.
        op: &'static str,
        /// Shape of the first array.
        left: Vec<usize>,
        /// Shape of the second array.
        right: Vec<usize>,
    },

    /// Lists that must have one length do not.
    #[error("{op}: lists of {left} and of {right} arrays")]
    Lists {
        /// The operation that was asked for.
        op: &'static str,
        /// Arrays of the first list.
        left: usize,
        /// Arrays of the second list.
        right: usize,
    },

    /// An array of a list has another shape than the first.
    #[error("{op}: array {number} of its list has shape {got:?}, the first has {expected:?}")]
    ListShape {
        /// The operation that was asked for.
        op: &'static str,
        /// The number of the array, from 0.
        number: usize,
        /// Shape of the first array.
        expected: Vec<usize>,
        /// Shape of this array.
        got: Vec<usize>,
    },

    /// A matrix product of a value without axes.
    #[error("{op} of a value without axes; `*` multiplies by a scalar")]
    NoAxes {
        /// The operation that was asked for.
        op: &'static str,
    },
    /// The matrices of a product do not fit: a row of the first has another length than a column of the second.
    #[error("{op}: a has {columns} columns, b has {rows} rows")]
    InnerLength {
        /// The operation that was asked for.
        op: &'static str,
        /// Columns of the first matrix, or elements of the first vector.
        columns: usize,
        /// Rows of the second matrix, or elements of the second vector.
        rows: usize,
    },
    /// The stacks of matrices of a product do not broadcast.
    #[error("{op}: stacks of matrices of shapes {left:?} and {right:?} do not broadcast")]
    Stacks {
        /// The operation that was asked for.
        op: &'static str,
        /// Shape of the first array.
        left: Vec<usize>,
        /// Shape of the second array.
        right: Vec<usize>,
    },
    /// An array without the two axes of matrices.
    #[error("{op}: an array of shape {shape:?} has no matrices; these are its last two axes")]
    NoMatrices {
        /// The operation that was asked for.
        op: &'static str,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// The matrices are not square.
    #[error("{op}: matrices of {rows} rows and {columns} columns are not square")]
    NotSquare {
        /// The operation that was asked for.
        op: &'static str,
        /// Rows of a matrix.
        rows: usize,
        /// Columns of a matrix.
        columns: usize,
    },
    /// The matrices are larger than those that a kernel for stacks of small matrices takes.
    #[error(
        "{op}: matrices of {rows} rows and {columns} columns; it takes stacks of small matrices, of at most {limit}"
    )]
    MatrixTooLarge {
        /// The operation that was asked for.
        op: &'static str,
        /// The most rows and columns.
        limit: usize,
        /// Rows of a matrix.
        rows: usize,
        /// Columns of a matrix.
        columns: usize,
    },
    /// A matrix of a stack is singular.
    #[error("{op}: the matrix{} is singular: pivot {pivot} is 0", in_stack(.matrix))]
    Singular {
        /// The operation that was asked for.
        op: &'static str,
        /// The index in the stack of the first such matrix; empty for a matrix alone.
        matrix: Vec<usize>,
        /// The first pivot of that matrix that is 0, counted from 0.
        pivot: usize,
    },
    /// A matrix of a stack is not positive definite.
    #[error("{op}: the matrix{} is not positive definite: pivot {pivot} is not above 0", in_stack(.matrix))]
    NotPositiveDefinite {
        /// The operation that was asked for.
        op: &'static str,
        /// The index in the stack of the first such matrix; empty for a matrix alone.
        matrix: Vec<usize>,
        /// The first pivot of that matrix that is not above 0, counted from 0.
        pivot: usize,
    },
    /// The lists of axes that are summed in pairs have two lengths.
    #[error("{op}: {left} axes of a and {right} axes of b; each axis needs one to be paired with")]
    AxisPairs {
        /// The operation that was asked for.
        op: &'static str,
        /// Number of axes of the first array.
        left: usize,
        /// Number of axes of the second array.
        right: usize,
    },
    /// Two axes that are summed together differ in length.
    #[error(
        "{op}: axis {left_axis} of a, of shape {left:?}, and axis {right_axis} of b, of shape {right:?}, differ in length"
    )]
    AxisLengths {
        /// The operation that was asked for.
        op: &'static str,
        /// The axis of the first array.
        left_axis: usize,
        /// Shape of the first array.
        left: Vec<usize>,
        /// The axis of the second array.
        right_axis: usize,
        /// Shape of the second array.
        right: Vec<usize>,
    },
    /// The text of an einsum has a sign that is out of place.
    #[error("einsum of `{subscripts}`: `{found}` {why}")]
    Subscripts {
        /// The text.
        subscripts: String,
        /// The sign, or the signs.
        found: String,
        /// The reason.
        why: &'static str,
    },
    /// The text of an einsum names another number of operands than were given.
    #[error("einsum of `{subscripts}`: subscripts of {expected} operands, {got} were given")]
    SubscriptOperands {
        /// The text.
        subscripts: String,
        /// Number of operands that it names.
        expected: usize,
        /// Number of operands that were given.
        got: usize,
    },
    /// The subscripts of an operand name another number of axes than it has.
    #[error("einsum of `{subscripts}`: {labels} labels for operand {operand}, which has shape {shape:?}")]
    SubscriptAxes {
        /// The text.
        subscripts: String,
        /// The operand, counted from 0.
        operand: usize,
        /// Number of its labels.
        labels: usize,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Two axes with one label differ in length.
    #[error(
        "einsum of `{subscripts}`: an axis {label} has length {got} in operand {operand}, one of operand {other} has {expected}"
    )]
    LabelLength {
        /// The text.
        subscripts: String,
        /// The label, or the axis of the ellipsis.
        label: String,
        /// The operand, counted from 0.
        operand: usize,
        /// The length of its axis.
        got: usize,
        /// The operand of the other axis.
        other: usize,
        /// The length of the other axis.
        expected: usize,
    },
    /// The name cannot be the name of a kernel.
    #[error("`{name}` cannot be the name of a kernel: {why}")]
    KernelName {
        /// The name.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// The declaration of an argument is invalid.
    #[error("the argument `{argument}` of a kernel: {why}")]
    Argument {
        /// The argument, as it was declared.
        argument: String,
        /// The reason.
        why: &'static str,
    },
    /// An argument has a type that is neither a number nor a structure that the kernel knows.
    #[error(
        "kernel `{kernel}`: the type of `{argument}` is not known; `with_type` adds a structure, others are {}",
        NUMBERS
    )]
    UnknownType {
        /// Name of the kernel.
        kernel: String,
        /// The argument, as it was declared.
        argument: String,
    },
    /// A kernel is called with more or fewer arguments than it has.
    #[error("kernel `{kernel}` has {expected} arguments, {got} were given")]
    ArgumentCount {
        /// Name of the kernel.
        kernel: String,
        /// Number of arguments that the kernel has.
        expected: usize,
        /// Number of arguments that were given.
        got: usize,
    },
    /// A kernel is called with an argument of another type.
    #[error("kernel `{kernel}`: `{argument}` was given {got}")]
    ArgumentType {
        /// Name of the kernel.
        kernel: String,
        /// The argument, as it was declared.
        argument: String,
        /// Description of the argument that was given.
        got: String,
    },
    /// The elements of an array that a kernel takes do not lie in C order without gaps.
    #[error(
        "kernel `{kernel}`: `{argument}` was given an array of shape {shape:?} with strides {strides:?}; it takes arrays in C order without \
         gaps: pass a copy of it"
    )]
    ArgumentLayout {
        /// Name of the kernel.
        kernel: String,
        /// The argument, as it was declared.
        argument: String,
        /// The array's shape.
        shape: Vec<usize>,
        /// Its strides.
        strides: Vec<isize>,
    },
    /// The arrays of a kernel do not have one length.
    #[error("kernel `{kernel}`: `{argument}` has {got} elements, the first array {expected}")]
    ArgumentLength {
        /// Name of the kernel.
        kernel: String,
        /// The argument, as it was declared.
        argument: String,
        /// Length of the first array.
        expected: usize,
        /// Length of this one.
        got: usize,
    },
    /// None of the kernel's arrays has an element for each place, so the number of places is unknown.
    #[error("kernel `{kernel}` has no array with an element for each place")]
    NoArray {
        /// Name of the kernel.
        kernel: String,
    },
    /// The state of a scan is larger than a kernel can hold.
    #[error("{op}: states of {got} bytes; a kernel holds {limit}")]
    StateTooLarge {
        /// The operation.
        op: &'static str,
        /// Bytes of the largest state.
        limit: usize,
        /// Bytes of the state.
        got: usize,
    },
    /// The places are not all indices of the arrays, or their step is 0.
    #[error("kernel `{kernel}`: the places {places} of arrays of {len} elements: {why}")]
    IndexRange {
        /// Name of the kernel.
        kernel: String,
        /// The places.
        places: String,
        /// Length of the shortest array.
        len: usize,
        /// The reason.
        why: &'static str,
    },
}

impl AlgoError {
    /// The error of a value within an expression: that of an array or the driver as it is, others with the name of the operation.
    pub(crate) fn into_array_error(self, op: &'static str) -> ArrayError {
        match self {
            Self::Array(error) => error,
            Self::Driver(error) => error.into(),
            other => ArrayError::Deferred { op, source: std::sync::Arc::new(other) },
        }
    }
}

/// The place of a matrix in its stack, for a message.
fn in_stack(matrix: &[usize]) -> String {
    if matrix.is_empty() { String::new() } else { format!(" at {matrix:?} of the stack") }
}

#[cfg(feature = "random")]
impl From<gpu_random::RandomError> for AlgoError {
    fn from(error: gpu_random::RandomError) -> Self {
        match error {
            gpu_random::RandomError::Driver(error) => Self::Driver(error),
            gpu_random::RandomError::Array(error) => Self::Array(error),
            refused => Self::Random(std::sync::Arc::new(refused)),
        }
    }
}

gpu_array::gpu_driver::debug_by_text! {
    AlgoError:
    Driver, Array, Random, Empty, RepeatedAxis, OutShape, OutStrides, OutputTooSmall, TooManyAxes, TooLarge, Length, Shape, Lists, ListShape,
    NoAxes, InnerLength, Stacks, NoMatrices, NotSquare, MatrixTooLarge, Singular, NotPositiveDefinite, AxisPairs,
    AxisLengths, Subscripts, SubscriptOperands, SubscriptAxes, LabelLength, KernelName, Argument, UnknownType,
    ArgumentCount, ArgumentType, ArgumentLayout, ArgumentLength, NoArray, StateTooLarge, IndexRange,
}
