//! Expressions of places, and of elements at computed places, which would otherwise be kernels of their own.

use ndarray::{Axis, Dimension, Ix1};
use smallvec::SmallVec;

use super::{
    expr::{Backend, Expr, IntoExpr},
    functions::where_,
};
use crate::{
    ArrayError, DType, Element, Integer, Number, Numeric, Result,
    expression::graph::{MOST_OPERATIONS, NodeKind, Op, Source, TakeTable, Value, erased},
    shape::Shape,
};

/// The place along an axis, counted from 0, in whatever shape the expression around it has.
///
/// ```
/// use gpu_array::expression::{Host, host, index, where_};
/// use ndarray::{Axis, Ix2, array};
/// let x = array![[1, 2], [3, 4]];
/// let (row, column) = (index::<Ix2, Host>(Axis(0)), index::<Ix2, Host>(Axis(1)));
/// assert_eq!(where_(row.ge(column), host(&x), 0).eval()?, array![[1, 0], [3, 4]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn index<D: Dimension, P: Backend>(axis: Axis) -> Expr<'static, i64, D, P> {
    let kind = match D::NDIM {
        None => NodeKind::FromFirst(axis.0),
        Some(ndim) if axis.0 < ndim => NodeKind::FromLast(ndim - 1 - axis.0),
        Some(ndim) => NodeKind::Failed(Box::new(ArrayError::Axis { op: "index", axis: axis.0, ndim })),
    };
    Expr::of(Value::new(kind, DType::I64))
}

/// The meaning of an index outside of an axis. Inside is `0..length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outside<T> {
    /// A multiple of the length is added: -1 is the last element. An axis of length 0 has nothing to give: the value is 0.
    Wrap,
    /// The nearest end. An axis of length 0 has nothing to give: the value is 0.
    Clip,
    /// The element at the same distance on the other side of the nearest end, and so on to and fro: -1 is element 1. An axis of length 1 has that
    /// element everywhere, an axis of length 0 gives 0.
    Reflect,
    /// No element, but this value.
    Value(T),
}

/// The elements of an array of rank 1 at computed places, NumPy's `take`. Indices are of any integer type.
///
/// The device cannot report an index that is outside, so `outside` gives its meaning beforehand.
///
/// # Errors
/// `eval` reports `NotAnArray` when `array` is not an array or a view.
///
/// ```
/// use gpu_array::expression::{Outside, host, take};
/// let (x, i) = (ndarray::array![10.0, 20.0, 30.0], ndarray::array![2, 0, -1]);
/// assert_eq!(take(host(&x), host(&i), Outside::Wrap).eval()?, ndarray::array![30.0, 10.0, 30.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn take<'a, A, I>(array: A, index: I, outside: Outside<A::Elem>) -> Expr<'a, A::Elem, I::Dim, A::Backend>
where
    A: IntoExpr<'a, Dim = Ix1>,
    I: IntoExpr<'a, Elem: Integer, Backend = A::Backend>,
{
    gather(array, &[index.into_expr()], outside)
}

/// The elements of an array at computed places, an index for each axis: NumPy's `array[i, j, …]`.
///
/// The indices are of any integer type, one for all axes, and are broadcast.
///
/// # Errors
/// `eval` reports `NotAnArray` when `array` is not an array or a view, `Ndim` unless there is an index for each axis.
pub fn gather<'a, A, I: Integer, D: Dimension>(
    array: A,
    indices: &[Expr<'a, I, D, A::Backend>],
    outside: Outside<A::Elem>,
) -> Expr<'a, A::Elem, D, A::Backend>
where
    A: IntoExpr<'a>,
{
    let nodes: Vec<_> = indices.iter().map(|index| (as_i64(&index.value, I::DTYPE), true)).collect();
    Expr::of(
        gathered(&array.into_expr().value, &nodes, outside)
            .unwrap_or_else(|error| Value::failed(error, A::Elem::DTYPE)),
    )
}

/// Indices of any integer type as those of one, for functions of other crates that take them. One above 2^63 - 1 counts as that, which no array has.
pub fn indices_as_i64<'a, I: Integer, D: Dimension, P: Backend>(indices: &Expr<'a, I, D, P>) -> Expr<'a, i64, D, P> {
    Expr::of(as_i64(&indices.value, I::DTYPE))
}

/// [`indices_as_i64`] without the types.
pub(crate) fn as_i64<'a>(index: &Value<'a>, dtype: DType) -> Value<'a> {
    match dtype {
        DType::I64 => index.clone(),
        DType::U64 => {
            let most = Value::scalar(i64::MAX as u64);
            Value::binary(Op::Minimum, DType::U64, DType::U64, index.clone(), most).cast(DType::I64)
        }
        _ => index.clone().cast(DType::I64),
    }
}

/// An index, and whether it may be outside of its axis.
pub(super) type Index<'a> = (Value<'a>, bool);

pub(super) fn gathered<'a, T: Element>(
    array: &Value<'a>,
    indices: &[Index<'a>],
    outside: Outside<T>,
) -> Result<Value<'a>> {
    let leaf = array.as_array("take")?;
    if indices.len() != leaf.shape.len() {
        return Err(ArrayError::Ndim { op: "take", expected: leaf.shape.len(), got: indices.len() });
    }
    let is_empty = leaf.shape.contains(&0);
    let mut offset = Value::scalar(0i64);
    let mut inside = Value::scalar(!is_empty);
    for (axis, (index, may_be_outside)) in indices.iter().enumerate() {
        let length = Value::scalar(leaf.shape[axis] as i64);
        let within = match outside {
            _ if !may_be_outside => index.clone(),
            Outside::Wrap => Value::binary(Op::Wrap, DType::I64, DType::I64, index.clone(), length),
            Outside::Clip => Value::binary(Op::Clip, DType::I64, DType::I64, index.clone(), length),
            Outside::Reflect => reflected(index.clone(), leaf.shape[axis]),
            Outside::Value(_) => {
                let here = Value::binary(Op::Inside, DType::Bool, DType::I64, index.clone(), length);
                inside = Value::binary(Op::And, DType::Bool, DType::Bool, inside, here);
                index.clone()
            }
        };
        let stride = Value::scalar(leaf.strides[axis] as i64);
        let step = Value::binary(Op::Multiply, DType::I64, DType::I64, within, stride);
        offset = Value::binary(Op::Add, DType::I64, DType::I64, offset, step);
    }
    let table = TakeTable { memory: leaf.memory.clone(), dtype: leaf.dtype, offset: leaf.offset };
    let taken = Value::from(NodeKind::Gather(Box::new(table)), T::DTYPE, [offset, inside.clone()]);
    Ok(match outside {
        Outside::Value(value) => Value::ternary(Op::Select, T::DTYPE, [inside, taken, Value::scalar(value)]),
        _ => taken,
    })
}

/// The index of the element that a path to and fro between the ends of an axis reaches.
fn reflected(index: Value<'_>, length: usize) -> Value<'_> {
    // A path there and back. Only a broadcast axis is long enough for the limit, and all its elements are one.
    let period = (length.saturating_sub(1) as i64).saturating_mul(2);
    let along = Value::binary(Op::Wrap, DType::I64, DType::I64, index, Value::scalar(period));
    let back = Value::binary(Op::Subtract, DType::I64, DType::I64, Value::scalar(period), along.clone());
    Value::binary(Op::Minimum, DType::I64, DType::I64, along, back)
}

/// An expression of a source's values, one for each place of the shape, in C order.
pub fn source<T: Element, D: Dimension, P: Backend>(
    source: impl Source<T>,
    shape: impl ndarray::IntoDimension<Dim = D>,
) -> Expr<'static, T, D, P> {
    let dim = shape.into_dimension();
    let mut place = Value::scalar(0i64);
    let mut stride = 1i64;
    for axis in (0..dim.ndim()).rev() {
        let along = Value::new(NodeKind::FromLast(dim.ndim() - 1 - axis), DType::I64);
        let step = Value::binary(Op::Multiply, DType::I64, DType::I64, along, Value::scalar(stride));
        place = Value::binary(Op::Add, DType::I64, DType::I64, place, step);
        stride = stride.wrapping_mul(dim.slice()[axis] as i64);
    }
    let values = Value::from(NodeKind::Source(erased(source)), T::DTYPE, [place]);
    Expr::of(values.broadcast(dim.slice()))
}

/// `start + i * step` for the values before `stop`, as NumPy's `arange`. Floats are computed in f64 and rounded once.
///
/// # Errors
/// `Range` for a step of zero or a number of values that is not finite.
pub fn arange<T: Number, P: Backend>(start: T, stop: T, step: T) -> Result<Expr<'static, T, Ix1, P>> {
    let n = T::range_len(start, stop, step)?;
    let values = match T::range_in_integers(start, step, n) {
        Some((start, step)) => Expr::of(progression::<i32, P>(start, step).value.cast(T::DTYPE)),
        None => progression(start, step),
    };
    Ok(values.broadcast(n))
}

/// `start + i * step` at place i: integers wrap, floats are computed in f64 and rounded once.
fn progression<T: Number, P: Backend>(start: T, step: T) -> Expr<'static, T, Ix1, P> {
    let computed = if T::DTYPE.is_float() { DType::F64 } else { T::DTYPE };
    let place = index::<Ix1, P>(Axis(0)).value.cast(computed);
    let (start, step) = (Value::scalar(start).cast(computed), Value::scalar(step).cast(computed));
    let along = Value::binary(Op::Multiply, computed, computed, place, step);
    Expr::of(Value::binary(Op::Add, computed, computed, start, along).cast(T::DTYPE))
}

/// `n` values from `start` to `stop`, both included, as NumPy's `linspace`: `start + i * ((stop - start) / (n - 1))` in f64, rounded once, and
/// `stop` itself at the end.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// use gpu_array::expression::linspace;
/// let x = linspace(0.0f32, 1.0, 5).eval_on(&device)?;
/// assert_eq!(x.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn linspace<T: crate::Float, P: Backend>(start: T, stop: T, n: usize) -> Expr<'static, T, Ix1, P> {
    let (first, last) = (wide(start), wide(stop));
    let step = (last - first) / n.saturating_sub(1).max(1) as f64;
    let values: Expr<'static, f64, Ix1, P> = progression(first, step);
    let is_last = index::<Ix1, P>(Axis(0)).eq((n as i64).wrapping_sub(1));
    // Of a single value NumPy takes the start.
    let end = if n == 1 { first } else { last };
    let values = where_(is_last, end, values);
    Expr::<T, Ix1, P>::of(values.value.cast(T::DTYPE)).broadcast(n)
}

/// `n` values from `start` on, `start + i * ((stop - start) / n)` in f64, rounded once: NumPy's `linspace` with `endpoint=False`.
///
/// ```
/// use gpu_array::expression::{Host, linspace_without_end};
/// let x = linspace_without_end::<f64, Host>(0.0, 1.0, 4).eval()?;
/// assert_eq!(x.to_vec(), [0.0, 0.25, 0.5, 0.75]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "endpoint")]
pub fn linspace_without_end<T: crate::Float, P: Backend>(start: T, stop: T, n: usize) -> Expr<'static, T, Ix1, P> {
    let (first, last) = (wide(start), wide(stop));
    let values: Expr<'static, f64, Ix1, P> = progression(first, (last - first) / n.max(1) as f64);
    Expr::<T, Ix1, P>::of(values.value.cast(T::DTYPE)).broadcast(n)
}

fn wide<T: crate::Float>(value: T) -> f64 {
    num_traits::ToPrimitive::to_f64(&value).unwrap_or(f64::NAN)
}

/// An array whose places along one axis are computed from those of the result; the other axes stay. `length` is that of the result from that of the
/// array; `source` gives the place in the array, and whether it may be outside.
fn along<'a, A>(
    op: &'static str,
    array: A,
    axis: Axis,
    length: impl FnOnce(usize) -> Option<usize>,
    source: impl FnOnce(Value<'a>, usize) -> Index<'a>,
    outside: Outside<A::Elem>,
) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a>,
{
    let array = array.into_expr().value;
    let build = || {
        let leaf = array.as_array(op)?;
        let ndim = leaf.shape.len();
        let own = *leaf.shape.get(axis.0).ok_or(ArrayError::Axis { op, axis: axis.0, ndim })?;
        let mut shape = Shape::from_slice(&leaf.shape);
        shape[axis.0] = length(own).ok_or_else(|| ArrayError::TooLarge { shape: leaf.shape.to_vec() })?;
        let mut indices: SmallVec<[Index<'a>; 4]> = SmallVec::new();
        indices.extend((0..ndim).map(|axis| (Value::new(NodeKind::FromLast(ndim - 1 - axis), DType::I64), false)));
        indices[axis.0] = source(indices[axis.0].0.clone(), own);
        let taken = gathered(&array, &indices, outside)?;
        Ok(taken.broadcast(&shape))
    };
    Expr::of(build().unwrap_or_else(|error| Value::failed(error, A::Elem::DTYPE)))
}

pub(super) fn integers<'a>(op: Op, a: Value<'a>, b: i64) -> Value<'a> {
    Value::binary(op, DType::I64, DType::I64, a, Value::scalar(b))
}

/// The array with its places along an axis moved on by `shift`, and round from the end to the start: NumPy's `roll`.
///
/// ```
/// use gpu_array::expression::{host, roll};
/// let x = ndarray::array![1, 2, 3, 4];
/// assert_eq!(roll(host(&x), 1, ndarray::Axis(0)).eval()?, ndarray::array![4, 1, 2, 3]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn roll<'a, A: IntoExpr<'a>>(array: A, shift: i64, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend> {
    let source = |place, length: usize| {
        // Within the length, so that a place is moved beyond one end at most.
        let shift = shift.checked_rem_euclid(length as i64).unwrap_or(0);
        let moved = integers(Op::Subtract, place, shift);
        let before = Value::binary(Op::Less, DType::Bool, DType::I64, moved.clone(), Value::scalar(0i64));
        let round = integers(Op::Add, moved.clone(), length as i64);
        (Value::ternary(Op::Select, DType::I64, [before, round, moved]), false)
    };
    along("roll", array, axis, Some, source, Outside::Clip)
}

/// The array backwards along an axis: NumPy's `flip`. A view does the same without a copy: `slice(s![..;-1])`.
pub fn flip<'a, A: IntoExpr<'a>>(array: A, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend> {
    let source = |place, length: usize| {
        (Value::binary(Op::Subtract, DType::I64, DType::I64, Value::scalar(length as i64 - 1), place), false)
    };
    along("flip", array, axis, Some, source, Outside::Clip)
}

/// The array `times` times behind itself along an axis: NumPy's `tile`.
pub fn tile<'a, A: IntoExpr<'a>>(array: A, times: usize, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend> {
    along("tile", array, axis, |length| length.checked_mul(times), |place, _| (place, true), Outside::Wrap)
}

/// Each element `times` times behind itself along an axis: NumPy's `repeat`.
pub fn repeat<'a, A: IntoExpr<'a>>(array: A, times: usize, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend> {
    let source = |place, _| (integers(Op::FloorDivide, place, times.max(1) as i64), false);
    along("repeat", array, axis, |length| length.checked_mul(times), source, Outside::Clip)
}

/// The array with `before` and `after` places more along an axis, which `outside` fills: NumPy's `pad` with a constant value,
/// `wrap`, `edge` (`Clip`) or `reflect`.
pub fn pad<'a, A: IntoExpr<'a>>(
    array: A,
    before: usize,
    after: usize,
    axis: Axis,
    outside: Outside<A::Elem>,
) -> Expr<'a, A::Elem, A::Dim, A::Backend> {
    let source = |place, _| (integers(Op::Subtract, place, before as i64), true);
    along("pad", array, axis, |length| length.checked_add(before)?.checked_add(after), source, outside)
}

/// The differences of neighbours along an axis, which is one shorter in the result: NumPy's `diff`. Integers wrap.
///
/// # Errors
/// `eval` reports `NotAnArray` when `array` is not an array or a view, `Axis` where there is no such axis.
///
/// ```
/// use gpu_array::expression::{diff, host};
/// let x = ndarray::array![1, 4, 9, 16];
/// assert_eq!(diff(host(&x), ndarray::Axis(0)).eval()?, ndarray::array![3, 5, 7]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn diff<'a, A>(array: A, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a, Elem: Numeric>,
{
    diff_n(array, 1, axis)
}

/// The n-th differences along an axis, which is n shorter in the result: [`diff`] n times over, NumPy's `diff(x, n)`.
///
/// # Cost
/// One kernel, which reads n + 1 shifted views of the array and subtracts n (n + 1) / 2 times. `eval` reports `TooManyOperations` for n above 90,
/// on the host too, and `TooManyArguments` from about 45 on for arrays with gaps: evaluate some of the differences first then.
///
/// # Errors
/// The errors of [`diff`].
///
/// ```
/// use gpu_array::expression::{diff_n, host};
/// let x = ndarray::array![1, 4, 9, 16];
/// assert_eq!(diff_n(host(&x), 2, ndarray::Axis(0)).eval()?, ndarray::array![2, 2]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "diff")]
pub fn diff_n<'a, A>(array: A, n: usize, axis: Axis) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a, Elem: Numeric>,
{
    let array = array.into_expr().value;
    Expr::of(differences(&array, n, axis).unwrap_or_else(|error| Value::failed(error, A::Elem::DTYPE)))
}

fn differences<'a>(array: &Value<'a>, n: usize, axis: Axis) -> Result<Value<'a>> {
    let leaf = array.as_array("diff")?;
    let ndim = leaf.shape.len();
    let length = *leaf.shape.get(axis.0).ok_or(ArrayError::Axis { op: "diff", axis: axis.0, ndim })?;
    let shorter = length.saturating_sub(n);
    let shifted = |by: usize| {
        let mut part = leaf.clone();
        part.shape[axis.0] = shorter;
        part.offset += by as isize * leaf.strides[axis.0];
        Value::leaf(part)
    };
    if shorter == 0 {
        return Ok(shifted(0));
    }
    let operations = n.saturating_mul(n.saturating_add(1)) / 2;
    if operations > MOST_OPERATIONS {
        return Err(ArrayError::TooManyOperations { limit: MOST_OPERATIONS, got: operations });
    }
    let subtract =
        |pair: &[Value<'a>]| Value::binary(Op::Subtract, leaf.dtype, leaf.dtype, pair[1].clone(), pair[0].clone());
    let shifts: Vec<Value<'a>> = (0..=n).map(shifted).collect();
    let last = (0..n).fold(shifts, |values, _| values.windows(2).map(subtract).collect());
    Ok(last.into_iter().next().unwrap_or_else(|| shifted(0)))
}
