//! Values that are combined with the elements at indices: their order, and the steps from a call to its launches.

use gpu_array::{
    ArrayError, ArrayMut, Element, Integer,
    expression::{
        Backend, Expr, IntoExpr, Outside, PutOperation, Rhs, gather, index, indices_as_i64, promoted, take,
        unravel_index, where_,
    },
};
use ndarray::{Axis, Dimension, Ix1, IxDyn};

use super::CombinesAt;
use crate::{AlgoError, Reductions, Result, Scan};

/// A value along one axis.
type Flat<'x, T, P> = Expr<'x, T, Ix1, P>;

/// A scan of values by keys.
type ScanByKey<T, S, P> = for<'x> fn(Flat<'x, T, P>, &Flat<'x, i64, P>) -> Scan<'x, S, Ix1, Ix1, P>;

/// A function of two values at each place.
type Combine<T, P> = for<'x> fn(Flat<'x, T, P>, Flat<'x, T, P>) -> Flat<'x, T, P>;

/// Values that are combined with elements at indices, as values of the type `S`.
pub(super) struct Combination<T: Element, S: Element, P: Backend> {
    pub(super) op: &'static str,
    /// The operation on integers, where it is one of the atomic ones.
    pub(super) atomic: Option<PutOperation>,
    /// All values of a key so far.
    pub(super) scan: ScanByKey<T, S, P>,
    /// An element with all values of its place.
    pub(super) combine: Combine<T, P>,
}

impl<T: Element, S: Element, P: CombinesAt> Combination<T, S, P> {
    pub(super) fn run<'a, D: Dimension, A, I, V>(&self, target: &mut A, indices: I, values: V) -> Result<()>
    where
        A: ArrayMut<T, D, Backend = P> + ?Sized,
        I: IntoExpr<'a, Elem: Integer, Backend = P>,
        V: Rhs<'a, T, I::Dim, P, Promoted = T>,
    {
        let (indices, values) = (indices.into_expr().into_dyn(), promoted::<T, I::Dim, P, V>(values).into_dyn());
        let combined = |operation| P::combine_atomically(self.op, operation, target.as_view_mut(), &indices, &values);
        if let Some(done) = self.atomic.and_then(combined) {
            return done;
        }
        // The error of an operator on the target comes first.
        let home = P::checked_home(self.op, target.as_view_mut())?;
        let (shape, of_target) = (indices.shape()?, target.as_expr().shape()?);
        let len = of_target.iter().product();
        let values = flat(&values.broadcast(IxDyn(&shape)), &home)?;
        let indices = flat(&indices_as_i64(&indices), &home)?;
        let count = shape.iter().product();
        if count == 0 {
            return Ok(());
        }
        self.check(&indices, count, len)?;
        let [places, positions] = self.in_order(&indices, count, len)?;
        let results = (self.scan)(take(values, positions, Outside::Clip), &places).eval()?;
        let results = P::owned_expr(results).cast::<T>();
        let elements = gather(target.as_expr(), &unravel_index(&places, IxDyn(&of_target)), Outside::Clip);
        let new = (self.combine)(elements.broadcast(count), results).eval()?;
        Ok(target.put(&places, P::owned_expr(new))?)
    }

    /// Checks that each index is one of an array of `len` elements. Waits.
    fn check(&self, indices: &Flat<'_, i64, P>, count: usize, len: usize) -> Result<()> {
        let (length, none) = (len as i64, count as i64);
        let is_right = indices.lt(length) & indices.ge(-length);
        let first = where_(is_right, none, index::<Ix1, P>(Axis(0))).min().get()?;
        if first == none {
            return Ok(());
        }
        let number = first as usize;
        let index = indices.index_axis(Axis(0), number)?.max().get()?;
        Err(ArrayError::OutOfBounds { op: self.op, index, number, len }.into())
    }

    /// The places of right indices of an array of `len` elements in ascending order, and the positions of these indices, those of one place in order.
    fn in_order<'x>(&self, indices: &Flat<'x, i64, P>, count: usize, len: usize) -> Result<[Flat<'x, i64, P>; 2]> {
        let (of_place, of_position) = (bits_below(len), bits_below(count));
        if of_place + of_position > u64::BITS {
            return Err(AlgoError::TooLarge { op: self.op, shape: vec![count] });
        }
        let place = where_(indices.lt(0), indices + len as i64, indices).cast::<u64>();
        let position = index::<Ix1, P>(Axis(0)).cast::<u64>();
        // Fewer than 64 bits: no array has so many elements.
        let unit = 1u64 << of_position;
        let pairs = P::owned_expr(P::sorted((place * unit + position).eval()?, of_position, of_place)?);
        let places = P::owned_expr(pairs.floor_divide(unit).cast::<i64>().eval()?);
        Ok([places, (pairs & (unit - 1)).cast::<i64>()])
    }
}

/// The values in C order along one axis, as an array at a place.
fn flat<'x, T: Element, P: CombinesAt>(values: &Expr<'_, T, IxDyn, P>, home: &P::Home) -> Result<Flat<'x, T, P>> {
    let array = P::owned_expr(P::eval_at(values, home)?);
    let len: usize = array.shape()?.iter().product();
    Ok(array.reshape(len)?)
}

/// Bits of the numbers below `count`.
fn bits_below(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}
