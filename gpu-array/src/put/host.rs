//! Writes at computed places on the host.

use ndarray::{ArrayViewMut, Dimension};

use crate::{
    Element, Integer, Result,
    expression::{Host, IntoExpr, Rhs, as_i64, job},
    reference::place,
};

/// [`GpuArray::put`](crate::GpuArray::put) on the host: all indices are checked before the first value is written.
pub(crate) fn put_on_host<'a, T: Element, D: Dimension, I, V>(
    mut target: ArrayViewMut<'_, T, D>,
    indices: I,
    values: V,
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
    let places = indices.iter().enumerate().map(|(number, &index)| place("put", index, number, len));
    let places = places.collect::<Result<Vec<usize>>>()?;
    let write = |elements: &mut [T]| places.iter().zip(&values).for_each(|(&place, &value)| elements[place] = value);
    if let Some(elements) = target.as_slice_mut() {
        write(elements);
        return Ok(());
    }
    let mut copy = target.as_standard_layout().into_owned();
    write(copy.as_slice_mut().unwrap_or_default());
    target.assign(&copy);
    Ok(())
}
