//! Writes at computed places: `put`, and sums and extremes of integers at them for other crates.
//!
//! # From a call to its launches
//! 1. `put` brings indices (as 64-bit integers) and values to C order: an array that is so already is read where it lies (`expression/operand.rs`).
//! 2. `PutJob` joins the axes of the target, allocates zeroed memory for a report and the slots of places (`policy.rs`), and writes the
//!    parameters of both kernels (`params.rs`).
//! 3. The first kernel of `device/put.cuh` checks all indices, and finds the last index of each place by maxima of integers in the slots. The second
//!    writes the values, unless an index is wrong.
//! 4. The host waits for the report: a wrong index is the error of the call.
//!
//! Tests: `tests/gpu/putting.rs` (the definition, wrong indices), `either_place.rs` (the same on the host).

mod host;
mod launch;
mod params;
mod policy;

use gpu_driver::{DeviceVec, DriverError, Stream};
use ndarray::Dimension;
use smallvec::SmallVec;

use self::{
    params::{PutHead, PutParams},
    policy::PutKernel,
};
use crate::{
    ArrayError, Element, GpuArray, GpuViewMut, Integer, Result,
    expression::{Gpu, IntoExpr, Rhs, as_i64, device::MAX_AXES, operand::DenseOperand},
    layout::Layout,
    pending::Pending,
    shape::{Shape, Strides},
};

pub(crate) use host::put_on_host;
pub(crate) use launch::with_samples;
pub use policy::PutOperation;

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// Overwrites the elements at flat indices, which count in C order: NumPy's `put(x, indices, values)`, and `x.flat[indices] = values`.
    ///
    /// `x[indices[k]] = values[k]` for each k in order: where an index is repeated, its last value stays. Indices are of any integer type; a negative
    /// one counts from the end.
    ///
    /// # Shapes
    /// Indices have any shape, and are taken in C order. The values have their shape or are broadcast to it, or are one scalar. (NumPy's `put`
    /// repeats values that are too few; here that is an error.)
    ///
    /// # Determinism
    /// The last index of each place is the maximum of integers, so the result is the same each time.
    ///
    /// # Cost
    /// Two launches, and a wait for the check of the indices. Scratch memory of 12 to 24 bytes for each index, or of 8 bytes for each element of the
    /// array where that is less; it is zeroed first. Indices of `i64` in C order and such values are read where they lie; others become such
    /// arrays first, by a launch each. An array of more than 8 axes that cannot be joined is copied, and copied back.
    ///
    /// # Errors
    /// `OutOfBounds` with the first wrong index and its number: then nothing is written. `Operands` for values that do not fit the indices;
    /// the errors of [`Expr::eval`](crate::expression::Expr::eval) for both; that of an operator such as `+=` on an array; `InCapture`;
    /// `DeviceLost`, after which elements may have been written.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// use gpu_array::GpuArray;
    /// use ndarray::array;
    /// let mut x = GpuArray::<f32, _>::zeros(&device, (2, 3))?;
    /// let indices = GpuArray::from_vec(&device, vec![0, 4, -1, 4])?;
    /// x.put(&indices, &GpuArray::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0])?)?;
    /// assert_eq!(x.to_ndarray()?, array![[1.0, 0.0, 0.0], [0.0, 4.0, 3.0]]);
    /// x.put(&indices, 9.0)?;
    /// assert_eq!(x.to_ndarray()?, array![[9.0, 0.0, 0.0], [0.0, 9.0, 9.0]]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("scatter", "flat", "x[indices]"))]
    pub fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
        V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
    {
        self.view_mut().put(indices, values)
    }
}

impl<T: Element, D: Dimension> GpuViewMut<'_, T, D> {
    /// [`GpuArray::put`] for part of an array, whose elements the indices count in C order.
    ///
    /// # Errors
    /// The errors of [`GpuArray::put`].
    pub fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
        V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
    {
        write_at("put", self, indices, values, [PutKernel::Claim, PutKernel::Write(size_of::<T::Storage>())])
    }
}

impl PutOperation {
    /// Whether [`put_combine`] has a kernel for the elements of a target: integers.
    ///
    /// Elements of 8 bits are combined in pairs of neighbouring bytes. There is no kernel where the pair of one may lie outside the buffer: at the end of
    /// a buffer with an odd number of bytes.
    pub fn takes<T: Element, D: Dimension>(self, target: &GpuViewMut<'_, T, D>) -> bool {
        let pairs_lie_within = || {
            let (data, layout) = (target.data(), target.layout());
            let ends_within = data.len().is_multiple_of(2) || layout.span().end < data.len();
            // A target of too many axes is copied to a buffer of its own.
            let is_copied = joined_axes(layout).0.len() > MAX_AXES;
            data.as_raw().is_multiple_of(2) && ends_within && (!is_copied || layout.len().is_multiple_of(2))
        };
        self.combined_as(T::DTYPE).is_some() && (T::DTYPE.bytes() > 1 || pairs_lie_within())
    }
}

/// `target[indices[k]] = operation(target[indices[k]], values[k])` for each k, for integers: the loop behind `add_at` and its like of other crates.
///
/// # Determinism
/// Sums, minima and maxima of integers do not depend on their order.
///
/// # Errors
/// Those of [`GpuArray::put`]; `Operation` for elements that [`PutOperation::takes`] does not take.
pub fn put_combine<'a, T: Element, D: Dimension, I, V>(
    op: &'static str,
    operation: PutOperation,
    target: &mut GpuViewMut<'_, T, D>,
    indices: I,
    values: V,
) -> Result<()>
where
    I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
    V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
{
    let dtype = operation.combined_as(T::DTYPE).filter(|_| operation.takes(target));
    let dtype = dtype.ok_or(ArrayError::Operation { name: op, dtype: T::DTYPE })?;
    write_at(op, target, indices, values, [PutKernel::Check, PutKernel::Combine(operation, dtype)])
}

/// Checks the indices with the first kernel, and writes with the second.
fn write_at<'a, T: Element, D: Dimension, I, V>(
    op: &'static str,
    target: &mut GpuViewMut<'_, T, D>,
    indices: I,
    values: V,
    kernels: [PutKernel; 2],
) -> Result<()>
where
    I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
    V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
{
    target.pending().map_or(Ok(()), Pending::check)?;
    target.layout().lies_within(target.data().len())?;
    let stream = target.stream().clone();
    // The wait at the end would be refused, after the launches.
    if stream.is_capturing()? {
        return Err(DriverError::InCapture { op }.into());
    }
    let indices = indices.into_expr();
    let shape = indices.shape()?;
    let (indices, values) = (as_i64(&indices.value, I::Elem::DTYPE), values.into_promoted().0);
    let indices = DenseOperand::<i64>::of(&indices, &shape, &stream)?;
    let values = DenseOperand::<T>::of(&values, &shape, &stream)?;
    let count = shape.iter().product();
    if count == 0 {
        return Ok(());
    }
    let job = PutJob { op, count, indices, values, kernels };
    if job.run(target, &stream)? {
        return Ok(());
    }
    let mut copy = target.to_standard_layout()?;
    job.run(&mut copy.view_mut(), &stream)?;
    target.assign(&copy)
}

/// A write whose operands lie in C order.
struct PutJob<'v, T: Element> {
    op: &'static str,
    count: usize,
    indices: DenseOperand<'v, i64>,
    values: DenseOperand<'v, T>,
    kernels: [PutKernel; 2],
}

impl<T: Element> PutJob<'_, T> {
    /// Writes, and waits. Returns false, and does nothing, where the target has more axes than a kernel takes.
    fn run<D: Dimension>(&self, target: &mut GpuViewMut<'_, T, D>, stream: &Stream) -> Result<bool> {
        let (lengths, strides) = joined_axes(target.layout());
        if lengths.len() > MAX_AXES {
            return Ok(false);
        }
        let [check, write] = self.kernels;
        let length = target.len();
        let too_large = || ArrayError::TooLarge { shape: vec![self.count] };
        let slots = match check {
            PutKernel::Claim => policy::slots(self.count, length).ok_or_else(too_large)?,
            _ => 0,
        };
        let report = DeviceVec::<u64>::zeros(stream, slots.checked_add(2).ok_or_else(too_large)?)?;
        let first = target.layout().offset() * size_of::<T::Storage>();
        let mut words = Vec::with_capacity(PutKernel::words());
        let padding = MAX_AXES - lengths.len();
        PutParams {
            head: PutHead {
                count: self.count as u64,
                length: length as u64,
                report: report.as_raw(),
                slots: slots as u64,
                indices: self.indices.address(),
                values: self.values.address(),
                value_step: self.values.step(),
                target: target.data().as_raw() + first as u64,
                rank: lengths.len() as u64,
            },
            lengths: lengths.iter().map(|&length| length as u64).chain(std::iter::repeat_n(1, padding)),
            strides: strides.iter().map(|&stride| stride as i64).chain(std::iter::repeat_n(0, padding)),
        }
        .write(&mut words);
        let operands = [self.indices.home(), self.values.home(), Some(target.data().home()), Some(stream)];
        let mut homes: SmallVec<[&Stream; 4]> = SmallVec::new();
        for home in operands.into_iter().flatten() {
            if !homes.contains(&home) {
                homes.push(home);
            }
        }
        let items = if check == PutKernel::Claim { slots } else { self.count };
        launch::enqueue(check, self.count, &words, &homes, stream)?;
        launch::enqueue(write, items, &words, &homes, stream)?;
        self.reported(&report, length).map(|()| true)
    }

    /// Waits for the check of the indices.
    fn reported(&self, report: &DeviceVec<u64>, len: usize) -> Result<()> {
        match report.as_slice().slice(0..2)?.to_vec()?[..] {
            [wrong, index] if wrong != 0 => {
                Err(ArrayError::OutOfBounds { op: self.op, index: index.cast_signed(), number: !wrong as usize, len })
            }
            _ => Ok(()),
        }
    }
}

/// The lengths and strides of the axes from the last to the first, contiguous ones joined; one axis at least.
fn joined_axes<D: Dimension>(layout: &Layout<D>) -> (Shape, Strides) {
    let (mut lengths, mut strides) = (Shape::new(), Strides::new());
    let axes = layout.shape().iter().zip(layout.strides()).rev();
    for (&length, &stride) in axes.filter(|&(&length, _)| length != 1) {
        match lengths.last_mut().zip(strides.last()) {
            Some((inner, &step)) if stride == step * *inner as isize => *inner *= length,
            _ => {
                lengths.push(length);
                strides.push(stride);
            }
        }
    }
    if lengths.is_empty() {
        lengths.push(1);
        strides.push(0);
    }
    (lengths, strides)
}

#[cfg(test)]
mod tests {
    use ndarray::IxDyn;

    use super::*;

    #[test]
    fn contiguous_axes_are_joined() {
        let layout = Layout::c(IxDyn(&[2, 3, 1, 4])).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(joined_axes(&layout), (Shape::from_slice(&[24]), Strides::from_slice(&[1])));
        assert_eq!(joined_axes(&layout.t()).0[..], [2, 3, 4]);
        let none = Layout::c(IxDyn(&[1, 1])).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(joined_axes(&none), (Shape::from_slice(&[1]), Strides::from_slice(&[0])));
    }
}
