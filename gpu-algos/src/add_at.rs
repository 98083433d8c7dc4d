//! Sums at computed places, NumPy's `add.at`.
//!
//! # From a call to its launches
//! Integers of 32 and 64 bits are added by atomic operations, whose order plays no part: the kernel is gpu-array's (`put_add`). The sums of others
//! are made of primitives, so that they are added in one order:
//! 1. The indices are checked by one reduction, the number of the first wrong one, for which the host waits.
//! 2. Pairs of place and position, a word each, are sorted: a stable [`partition`](crate::Select::partition) for each bit of the places, from the lowest on.
//! 3. A scan by key adds the values of each place, in the order of their positions ([`Scan::by_key`](crate::Scan::by_key)).
//! 4. Elements and sums are added, and written by [`GpuArray::put`]. Of the sums of a place the last stays, which is that of all its values.

use gpu_array::{
    ArrayError, DType, Element, GpuArray, GpuView, GpuViewMut, Integer, Numeric,
    expression::{Expr, Gpu, IntoExpr, Outside, Rhs, gather, index, promoted, put_add, take, where_},
    gpu_driver::{DriverError, Stream},
};
use ndarray::{Axis, Dimension, Ix1, IxDyn};

use crate::{AlgoError, Reductions, Result, Scans, reduce::Summable, select::Select};

const OP: &str = "add_at";

/// Sums at flat indices, for arrays and views that are written.
pub trait AddAt<T: Element, D: Dimension> {
    /// Adds values to the elements at flat indices, which count in C order: NumPy's `add.at(x.reshape(-1), indices, values)`.
    ///
    /// `x[indices[k]] += values[k]` for each k, also where indices are repeated. Indices are of any integer type; a negative one counts from the end.
    ///
    /// # Shapes
    /// Indices have any shape, and are taken in C order. The values have their shape or are broadcast to it, or are one scalar.
    ///
    /// # Determinism
    /// The result has the same bits each time. Integers wrap. Of floats the values of each place are added in a tree that the order of the indices
    /// and the device fix, those of f32, f16 and bf16 in f64, and their sum to the element; so of complex numbers: NumPy adds one value after another.
    ///
    /// # Cost
    /// For integers of 32 and 64 bits two launches, and a wait for the check of the indices. For others a wait, a launch for each bit of the greatest
    /// place, which reads 16 bytes for each index and writes 8, and about eight more; scratch memory of about 60 bytes for each index.
    ///
    /// # Errors
    /// `Array` with `OutOfBounds`, with the first wrong index and its number: then nothing is written. `Array` with the errors of
    /// [`GpuArray::put`]; `TooLarge` if place and position of an index need more than 64 bits; `DeviceLost`, after which elements may have been
    /// written.
    ///
    /// ```no_run
    /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
    /// use ndarray::array;
    ///
    /// let device = Device::first()?;
    /// let mut x = GpuArray::<f32, _>::zeros(&device, 4)?;
    /// x.add_at(&GpuArray::from_vec(&device, vec![1, 1, -1])?, &GpuArray::from_vec(&device, vec![0.5, 2.0, 4.0])?)?;
    /// assert_eq!(x.to_ndarray()?, array![0.0, 2.5, 0.0, 4.0]);
    /// let mut counts = GpuArray::<u32, _>::zeros(&device, 3)?;
    /// counts.add_at(&GpuArray::from_vec(&device, vec![2u8, 0, 2])?, 1)?;
    /// assert_eq!(counts.to_ndarray()?, array![1, 0, 2]);
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    #[doc(alias("scatter_add", "index_add", "np.add.at", "bincount", "histogram"))]
    fn add_at<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        T: Summable + Numeric,
        I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
        V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>;
}

impl<T: Element, D: Dimension> AddAt<T, D> for GpuArray<T, D> {
    fn add_at<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        T: Summable + Numeric,
        I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
        V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
    {
        add_at(&mut self.view_mut(), indices, values)
    }
}

impl<T: Element, D: Dimension> AddAt<T, D> for GpuViewMut<'_, T, D> {
    fn add_at<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        T: Summable + Numeric,
        I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
        V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
    {
        add_at(self, indices, values)
    }
}

/// Implements [`AddAt::add_at`].
fn add_at<'a, T, D: Dimension, I, V>(target: &mut GpuViewMut<'_, T, D>, indices: I, values: V) -> Result<()>
where
    T: Summable + Numeric,
    I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
    V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
{
    if matches!(T::DTYPE, DType::I32 | DType::U32 | DType::I64 | DType::U64) {
        return Ok(put_add(OP, target, indices, values)?);
    }
    // The error of an operator on the target comes first.
    target.lower_mut()?;
    let stream = target.stream().clone();
    if stream.is_capturing()? {
        return Err(DriverError::InCapture { op: OP }.into());
    }
    let indices = indices.into_expr();
    let shape = indices.shape()?;
    let values = promoted::<T, I::Dim, Gpu, V>(values).broadcast(IxDyn(&shape));
    let indices = flat(&as_i64(&indices).broadcast(IxDyn(&shape)), &stream)?;
    let values = flat(&values, &stream)?;
    if indices.is_empty() {
        return Ok(());
    }
    check(&indices, target.len())?;
    let sums = Sums::of(&indices, &values, target.len())?;
    let new = (at_places(&target.view(), &sums.places) + sums.sums.cast::<T>()).eval_on(&stream)?;
    Ok(target.put(&sums.places, &new)?)
}

/// The values in C order along one axis.
fn flat<T: Element>(values: &Expr<'_, T, IxDyn>, stream: &Stream) -> Result<GpuArray<T, Ix1>> {
    let array = values.eval_on(stream)?;
    let array = if array.is_standard_layout() { array } else { array.to_standard_layout()? };
    let len = array.len();
    Ok(array.into_shape(len)?)
}

/// Indices of any integer type; one above 2^63 - 1 counts as that, which no array has.
fn as_i64<'a, I: Integer, D: Dimension>(indices: &Expr<'a, I, D>) -> Expr<'a, i64, D> {
    if I::DTYPE == DType::U64 {
        return indices.cast::<u64>().minimum(i64::MAX as u64).cast::<i64>();
    }
    indices.cast::<i64>()
}

/// Checks that each index is one of an array of `len` elements. Waits.
fn check(indices: &GpuArray<i64, Ix1>, len: usize) -> Result<()> {
    let (length, count) = (len as i64, indices.len() as i64);
    let is_right = indices.lt(length) & indices.ge(-length);
    let first = where_(is_right, count, index::<Ix1, Gpu>(Axis(0))).min().get()?;
    if first == count {
        return Ok(());
    }
    let number = first as usize;
    let index = indices.index_axis(Axis(0), number)?.get()?;
    Err(ArrayError::OutOfBounds { op: OP, index, number, len }.into())
}

/// The values of each place added up, by ascending places.
struct Sums<T: Summable> {
    /// The place of each value, counted from 0.
    places: GpuArray<i64, Ix1>,
    /// The sum of the values of that place so far; the last one of a place is that of all.
    sums: GpuArray<T::Sum, Ix1>,
}

impl<T: Summable> Sums<T> {
    /// Adds up the values at right indices of an array of `len` elements; there is an index at least.
    fn of(indices: &GpuArray<i64, Ix1>, values: &GpuArray<T, Ix1>, len: usize) -> Result<Self> {
        let (of_place, of_position) = (bits_below(len), bits_below(indices.len()));
        if of_place + of_position > u64::BITS {
            return Err(AlgoError::TooLarge { op: OP, shape: vec![indices.len()] });
        }
        let place = where_(indices.lt(0), indices + len as i64, indices).cast::<u64>();
        let position = index::<Ix1, Gpu>(Axis(0)).cast::<u64>();
        // Fewer than 64 bits: no array has so many elements.
        let unit = 1u64 << of_position;
        let mut pairs = (place * unit + position).eval()?;
        for bit in 0..of_place {
            let is_clear = (&pairs & (unit << bit)).eq(0);
            let parted = pairs.partition(is_clear).eval()?;
            pairs = parted.into_parts().0;
        }
        let places = pairs.floor_divide(unit).cast::<i64>().eval()?;
        let positions = (&pairs & (unit - 1)).cast::<i64>();
        let sums = take(values, positions, Outside::Clip).cumsum().by_key(&places).accumulate_f64().eval()?;
        Ok(Self { places, sums })
    }
}

/// Bits of the numbers below `count`.
fn bits_below(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// The elements of a view at places that count in C order.
fn at_places<'a, T: Element, D: Dimension>(
    view: &GpuView<'a, T, D>,
    places: &'a GpuArray<i64, Ix1>,
) -> Expr<'a, T, Ix1> {
    let mut distance = 1;
    let mut along: Vec<Expr<'a, i64, Ix1>> = Vec::with_capacity(view.ndim());
    for &length in view.shape().iter().rev() {
        along.push(places.floor_divide(distance) % length.max(1) as i64);
        distance *= length.max(1) as i64;
    }
    along.reverse();
    gather(view, &along, Outside::Clip).broadcast(places.len())
}
