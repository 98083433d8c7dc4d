//! The crate's one error type.

use std::{panic::Location, sync::Arc};

use gpu_driver::DriverError;

use crate::{DType, INFER};

/// `Result` with [`ArrayError`].
pub type Result<T, E = ArrayError> = std::result::Result<T, E>;

/// The errors of arrays.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The driver, the compiler or the device.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The shape has more elements than can be addressed.
    #[error("an array of shape {shape:?} has more elements than can be addressed")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// The threads that work on the host runs on could not be started.
    #[error("no threads to work on: {reason}; RAYON_NUM_THREADS=2 asks for two")]
    Threads {
        /// Why not.
        reason: String,
    },
    /// A buffer does not have the number of elements that a shape asks for.
    #[error("shape {shape:?} asks for {expected} elements, the buffer has {got}")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// Its number of elements.
        expected: usize,
        /// Length of the buffer.
        got: usize,
    },
    /// `arange` without a finite number of elements.
    #[error("arange from {start} to {stop} in steps of {step}: {why}")]
    Range {
        /// First value.
        start: String,
        /// End, exclusive.
        stop: String,
        /// Distance of two values.
        step: String,
        /// The reason.
        why: &'static str,
    },
    /// There is no such axis.
    #[error("{op}: no axis {axis} among {ndim}")]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis that was asked for.
        axis: usize,
        /// Number of axes there are.
        ndim: usize,
    },
    /// An axis is named twice.
    #[error("{op}: axis {axis} is named twice")]
    RepeatedAxis {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
    },
    /// An axis does not reach so far.
    #[error("{op}: index {index} of axis {axis}, which has length {len}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Its length.
        len: usize,
        /// The index, counted from the end when negative.
        index: isize,
    },
    /// One of the indices at which elements are written is outside of the array. Nothing was written.
    #[error("{op}: index {index}, number {number} of the indices, is outside of an array of {len} elements")]
    OutOfBounds {
        /// The operation.
        op: &'static str,
        /// The first index that is outside; one of `u64` above 2^63 - 1 counts as that.
        index: i64,
        /// Its place among the indices, counted in C order from 0.
        number: usize,
        /// Number of elements of the array.
        len: usize,
    },
    /// A slice reaches beyond its axis, or has a step of 0.
    #[error("slice from {start} to {} by {step} of axis {axis}, which has length {len}", end_text(.end))]
    Slice {
        /// The axis.
        axis: usize,
        /// Its length.
        len: usize,
        /// The first index, counted from the end when negative.
        start: isize,
        /// The end, exclusive, counted from the end when negative; None: the end of the axis.
        end: Option<isize>,
        /// Distance of two indices.
        step: isize,
    },
    /// Chunks of length 0.
    #[error("chunks of length 0 of axis {axis}, which has length {len}")]
    Chunk {
        /// The axis.
        axis: usize,
        /// Its length.
        len: usize,
    },
    /// Parts into which an axis cannot be split.
    #[error("{op}: {parts} parts of axis {axis}, which has length {len}")]
    Split {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Its length.
        len: usize,
        /// Number of parts.
        parts: usize,
    },
    /// More parts of an axis than one list has room for.
    #[error("{op}: {parts} parts, at most {limit} are made at once; `chunks` gives any number one by one")]
    TooManyParts {
        /// The operation.
        op: &'static str,
        /// Number of parts.
        parts: usize,
        /// The most.
        limit: usize,
    },
    /// Another number of axes than there must be.
    #[error("{op}: {got} axes in place of {expected}")]
    Ndim {
        /// The operation.
        op: &'static str,
        /// Number there must be.
        expected: usize,
        /// Number there is.
        got: usize,
    },
    /// A permutation that does not name each axis once.
    #[error("{axes:?} does not name each of {ndim} axes once")]
    Permutation {
        /// The axes that were given.
        axes: Vec<usize>,
        /// Number of axes.
        ndim: usize,
    },
    /// A shape cannot be broadcast to another one.
    #[error("shape {from:?} cannot be broadcast to {to:?}")]
    Broadcast {
        /// The shape there is.
        from: Vec<usize>,
        /// The shape it should take.
        to: Vec<usize>,
    },
    /// No arrays to join, which would give no shape.
    #[error("{op}: no arrays, one is needed at least")]
    NoArrays {
        /// The operation.
        op: &'static str,
    },
    /// An array whose shape differs from the first one's along another axis than that of joining.
    #[error(
        "{op}: array {number} has shape {got:?}, which does not fit the first one's {expected:?} outside axis {axis}"
    )]
    Join {
        /// The operation.
        op: &'static str,
        /// The axis along which arrays are joined.
        axis: usize,
        /// The array, counted from 0.
        number: usize,
        /// Shape of the first array.
        expected: Vec<usize>,
        /// Shape of this array.
        got: Vec<usize>,
    },
    /// Another shape with another number of elements.
    #[error("shape {from:?} cannot become {to:?}, which has another number of elements")]
    Reshape {
        /// The shape there is.
        from: Vec<usize>,
        /// The shape it should take.
        to: Vec<usize>,
    },
    /// Another shape for which the elements would have to move.
    #[error(
        "shape {from:?} with strides {strides:?} cannot become {to:?} in place: copy it first by to_standard_layout"
    )]
    ReshapeNeedsCopy {
        /// The shape there is.
        from: Vec<usize>,
        /// Its strides.
        strides: Vec<isize>,
        /// The shape it should take.
        to: Vec<usize>,
    },
    /// An operator such as `+=` failed, which could not return its error, and left the array as it was: the error of each later use of the array,
    /// until [`GpuArray::take_error`](crate::GpuArray::take_error) has returned it, or a call has, and `assign`, `fill` or a copy from the host then
    /// overwrites all of it.
    #[error("`{op}` at {location} failed and left the array as it was: {source}")]
    Operator {
        /// The operator.
        op: &'static str,
        /// Its place in the program.
        location: &'static Location<'static>,
        /// Its error.
        source: Box<ArrayError>,
    },
    /// A computation within an expression failed, such as a reduction.
    #[error("{op}: {source}")]
    Deferred {
        /// The name of the computation.
        op: &'static str,
        /// Its error.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// Values that are there within the result of a function alone are read elsewhere, or by a computation that comes before that result.
    #[error(
        "the argument of {op}'s function has values element by element within the function's result alone, and not in a reduction, a scan or a \
         product of it nor elsewhere: {remedy}"
    )]
    OutOfScope {
        /// The operation that takes the function.
        op: &'static str,
        /// The program to write instead.
        remedy: &'static str,
    },
    /// Computations within the operands of computations, on more levels than there may be.
    #[error("{op} would be computed in {limit} others, one within the next: evaluate some of them")]
    TooDeep {
        /// The name of the outermost one.
        op: &'static str,
        /// The most levels.
        limit: usize,
    },
    /// Memory of another library is not as it must be.
    #[error("{op}: {got} in place of {expected}")]
    Exchange {
        /// The operation.
        op: &'static str,
        /// The fact there must be.
        expected: String,
        /// The fact there is.
        got: String,
    },
    /// A file could not be read or written, or holds another array than was asked for.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// Two shapes that must be the same.
    #[error("{op}: shape {got:?} in place of {expected:?}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// The shape there must be.
        expected: Vec<usize>,
        /// The shape there is.
        got: Vec<usize>,
    },
    /// A single value of an array that has none, or more than one.
    #[error("an array of shape {shape:?} is no single value")]
    NotOneElement {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// An operation on arrays in C order only.
    #[error("{op}: shape {shape:?} with strides {strides:?} is not in C order")]
    NotInCOrder {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// The elements of a view are not contiguous.
    #[error("{op}: shape {shape:?} with strides {strides:?} is not contiguous")]
    Gaps {
        /// Name of the operation.
        op: &'static str,
        /// The view's shape.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
    },
    /// Bytes of an array that are no elements of another type.
    #[error(
        "view_as: shape {shape:?} with strides {strides:?} of {from} ({} bytes) is no view of {to} ({} bytes): {why}",
        .from.bytes(), .to.bytes()
    )]
    ViewAs {
        /// The array's shape.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// Its element type.
        from: DType,
        /// The element type that was asked for.
        to: DType,
        /// The reason.
        why: &'static str,
    },
    /// Strides by which a shape leads out of an array.
    #[error("as_strided: shape {shape:?} with strides {strides:?} leads out of an array of {len} elements")]
    Strided {
        /// The shape that was asked for.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// Number of elements of the array.
        len: usize,
    },
    /// Shapes of two operands that do not fit: axes are matched from the last one, and lengths differ where neither is 1.
    #[error("shapes {left:?} ({left_dtype}) and {right:?} ({right_dtype}) do not fit in {expression}")]
    Operands {
        /// Shape of the operand on the left.
        left: Vec<usize>,
        /// Its element type.
        left_dtype: DType,
        /// Shape of the operand on the right.
        right: Vec<usize>,
        /// Its element type.
        right_dtype: DType,
        /// The operation.
        expression: String,
    },
    /// Arrays of an expression are on different devices.
    #[error("{left} is on device {left_device}, {right} on device {right_device}")]
    Devices {
        /// An array.
        left: String,
        /// Its device.
        left_device: usize,
        /// Another one.
        right: String,
        /// Its device.
        right_device: usize,
    },
    /// Values of different shapes for one kernel.
    #[error("values of shapes {first:?} and {other:?} cannot be computed together")]
    Outputs {
        /// The shape of the first value.
        first: Vec<usize>,
        /// Another shape.
        other: Vec<usize>,
    },
    /// An expression without an array does not say on which device it is to be computed.
    #[error("no array of the expression says on which device to compute it: use eval_on")]
    NoHome,
    /// An expression of places alone does not say for how many.
    #[error("no array of the expression gives it a shape: use broadcast")]
    NoShape,
    /// An expression has more operations than are compiled into one kernel.
    #[error("{got} operations in one expression, at most {limit} make a kernel: evaluate parts of it")]
    TooManyOperations {
        /// The most.
        limit: usize,
        /// The number there is.
        got: usize,
    },
    /// The arrays and scalars of an expression do not fit into a kernel's parameters.
    #[error("{got} bytes of arrays and scalars in one expression, a kernel takes {limit}: evaluate parts of it")]
    TooManyArguments {
        /// The most bytes.
        limit: usize,
        /// The bytes there are.
        got: usize,
    },
    /// A function that reads an array at computed places was given an expression.
    #[error("{op} reads arrays and views: evaluate {expression} first")]
    NotAnArray {
        /// The operation.
        op: &'static str,
        /// The expression that was given.
        expression: String,
    },
    /// An operation that does not exist for an element type.
    #[error("there is no operation `{name}` for {dtype}")]
    Operation {
        /// The operation.
        name: &'static str,
        /// The element type.
        dtype: DType,
    },
    /// The length of an axis cannot be inferred: more than one is unknown, or the others do not divide the number of elements.
    #[error("no length for INFER in shape {} of {len} elements", shape_text(.shape))]
    Infer {
        /// Number of elements.
        len: usize,
        /// The shape, with [`INFER`](crate::INFER) where a length is to be found.
        shape: Vec<usize>,
    },
}

gpu_driver::debug_by_text! {
    ArrayError:
    Driver, TooLarge, Threads, Length, Range, Axis, RepeatedAxis, Index, OutOfBounds, Slice, Chunk, Split,
    TooManyParts, Ndim, Permutation, Broadcast, NoArrays, Join, Reshape, ReshapeNeedsCopy, Operator, Deferred,
    OutOfScope, TooDeep, Exchange, File, Shape, NotOneElement, NotInCOrder, Gaps, ViewAs, Strided, Operands, Devices,
    Outputs, NoHome, NoShape, TooManyOperations, TooManyArguments, NotAnArray, Operation, Infer,
}

/// The end of a slice, as in `s![..]`.
fn end_text(end: &Option<isize>) -> String {
    end.map_or_else(|| "the end".to_owned(), |end| end.to_string())
}

/// A shape with names for the lengths to be found.
fn shape_text(shape: &[usize]) -> String {
    let lengths = shape.iter().map(|&len| if len == INFER { "INFER".to_owned() } else { len.to_string() });
    format!("[{}]", lengths.collect::<Vec<_>>().join(", "))
}
