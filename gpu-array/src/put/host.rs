//! Writes at computed places on the host.

use ndarray::{ArrayViewMut, Dimension};

use crate::{
    ArrayError, Element, Integer, Result,
    expression::{Host, IntoExpr, Rhs, as_i64, job},
};

/// Calls `write(element, value)` for the element at each index, in the order of the indices; all are checked before.
///
/// The elements are counted in C order; a negative index counts from the end. The definition of [`GpuArray::put`](crate::GpuArray::put) and of the sums
/// at indices.
///
/// # Errors
/// `OutOfBounds` with the first wrong index and its number: then nothing is written. Those of evaluating indices and values; `Operands` for values that
/// do not fit the indices.
pub fn on_host<'a, T: Element, D: Dimension, I, V>(
    op: &'static str,
    mut target: ArrayViewMut<'_, T, D>,
    indices: I,
    values: V,
    write: impl FnMut(&mut T, T),
) -> Result<()>
where
    I: IntoExpr<'a, Elem: Integer, Backend = Host>,
    V: Rhs<'a, T, I::Dim, Host, Promoted = T>,
{
    let indices = indices.into_expr();
    let shape = indices.shape()?;
    let indices = job::evaluate_in_shape::<i64>(&as_i64(&indices.value, I::Elem::DTYPE), &shape)?;
    let values = job::evaluate_in_shape::<T>(&values.into_promoted().0, &shape)?;
    let len = target.len();
    let places = indices.iter().enumerate().map(|(number, &index)| {
        let place = if index < 0 { index.checked_add_unsigned(len as u64) } else { Some(index) };
        let place = place.and_then(|place| usize::try_from(place).ok()).filter(|&place| place < len);
        place.ok_or(ArrayError::OutOfBounds { op, index, number, len })
    });
    let places = places.collect::<Result<Vec<usize>>>()?;
    if let Some(elements) = target.as_slice_mut() {
        write_each(elements, &places, &values, write);
        return Ok(());
    }
    let mut copy = target.as_standard_layout().into_owned();
    write_each(copy.as_slice_mut().unwrap_or_default(), &places, &values, write);
    target.assign(&copy);
    Ok(())
}

fn write_each<'v, T: Element>(
    elements: &mut [T],
    places: &[usize],
    values: impl IntoIterator<Item = &'v T>,
    mut write: impl FnMut(&mut T, T),
) {
    for (&place, &value) in places.iter().zip(values) {
        if let Some(element) = elements.get_mut(place) {
            write(element, value);
        }
    }
}
