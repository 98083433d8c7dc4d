//! Elements combined with values at indices: NumPy's `add.at` and its like, and `x[mask] = values`.
//!
//! # From a call to its launches
//! On a GPU integers are added, and their extremes found, by atomic operations, whose order plays no part: the kernel is gpu-array's (`put_combine`, which
//! leaves out the last byte of an array of bytes whose number is odd). Everything else, and everything on the host, is made of primitives, so that values
//! are combined in one order:
//! 1. The indices are checked by one reduction, the number of the first wrong one, for which the host waits.
//! 2. Pairs of place and position, a word each, are sorted: on a GPU by a stable [`partition`](crate::Select::partition) for each bit of the places, from
//!    the lowest on.
//! 3. A scan by key combines the values of each place, in the order of their positions ([`Scan::by_key`](crate::Scan::by_key)).
//! 4. Elements and results are combined, and written by [`put`](gpu_array::GpuArray::put), which waits too. Of the results of a place the last stays, which
//!    is that of all its values.
//!
//! Tests: `tests/gpu/write_at.rs` (the definition, indices out of range); `numpy/` compares lines of NumPy's.

mod combination;
mod place;

use gpu_array::{
    ArrayError, ArrayMut, Element, Integer, Number, Numeric,
    expression::{Backend, IntoExpr, Outside, PutOperation, Rhs, take},
};
use ndarray::{Dimension, Ix1, IxDyn};

use self::combination::Combination;
use crate::{
    Reductions, Result, Scans,
    common::shape::dim_of,
    reduce::{Ordered, Reduces, Summable},
};

pub use place::CombinesAt;

/// Methods that combine elements with values at indices. Each has the bounds of its element type, the type of the combined values of a place, the operation on
/// integers where that is atomic, the scan that combines the values, and the function of an element and all values of its place.
macro_rules! combinations {
    ($($(#[$doc:meta])* fn $name:ident where $bound:ident + $other:ident, $of:ty, $atomic:expr, $scan:expr, $combine:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// Those of [`WriteAt`].
            fn $name<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
            where
                T: $bound + $other,
                Self::Backend: Reduces<T>,
                I: IntoExpr<'a, Elem: Integer, Backend = Self::Backend>,
                V: Rhs<'a, T, I::Dim, Self::Backend, Promoted = T>,
            {
                let (op, atomic) = (stringify!($name), $atomic);
                let of = Combination::<T, $of, Self::Backend> { op, atomic, scan: $scan, combine: $combine };
                of.run(self, indices, values)
            }
        )*
    };
}

/// Writes at flat indices or where a mask is true, for arrays and views of either place.
///
/// The methods `…_at` are NumPy's `ufunc.at`: `x[indices[k]] = operation(x[indices[k]], values[k])` for each k, also where indices are repeated. Flat
/// indices count in C order, have any integer type, and count from the end where they are negative.
///
/// # Shapes
/// Indices have any shape, and are taken in C order. The values have their shape or are broadcast to it, or are one scalar.
///
/// # Determinism
/// The result has the same bits each time. Integers wrap. Of floats the values of each place are combined in a tree that the order of the indices
/// and the place fix, sums and products of f32, f16 and bf16 in f64, and the result with the element; so of complex numbers: NumPy takes one value after
/// another.
///
/// # Cost
/// On a GPU for sums and extremes of integers two launches, and a wait for the check of the indices. For others, and for a part of an array of an odd number
/// of `i8` or `u8` that has the last of them in memory, two waits, for that check
/// and for the one of `put`, a launch for each bit of the greatest place, which reads 16 bytes for each index and writes 8, and about eight more; scratch
/// memory of about 60 bytes for each index. On the host indices are sorted.
///
/// # Errors
/// `Array` with `OutOfBounds`, with the first wrong index and its number: then nothing is written. `Array` with the errors of
/// [`ArrayMut::put`]; `TooLarge` if place and position of an index need more than 64 bits; `DeviceLost`, after which elements may have been
/// written.
///
/// ```
/// use gpu_algos::prelude::*;
/// use gpu_array::expression::host; // or `&at` of a GpuArray
/// use ndarray::array;
///
/// let at = array![1, 1, -1];
/// let mut x = array![0.0, 0.0, 0.0, 9.0];
/// x.add_at(host(&at), host(&array![0.5, 2.0, 4.0]))?;
/// assert_eq!(x, array![0.0, 2.5, 0.0, 13.0]);
/// x.maximum_at(host(&at), 3.0)?;
/// assert_eq!(x, array![0.0, 3.0, 0.0, 13.0]);
/// x.assign_selected(host(&x.clone()).eq(0.0), host(&array![7.0, 8.0]))?; // x[x == 0] = [7, 8]
/// assert_eq!(x, array![7.0, 3.0, 8.0, 13.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait WriteAt<T: Element, D: Dimension>: ArrayMut<T, D, Backend: CombinesAt> {
    combinations! {
        /// Adds values to the elements at flat indices: NumPy's `add.at(x.reshape(-1), indices, values)`.
        #[doc(alias("scatter_add", "index_add", "np.add.at", "bincount", "histogram"))]
        fn add_at where Summable + Numeric, T::Sum, Some(PutOperation::Sum),
            |values, places| values.cumsum().by_key(places).accumulate_f64(), |element, sum| element + sum;
        /// Subtracts values from the elements at flat indices: `subtract.at`. The sum of a place's values is subtracted at once.
        fn subtract_at where Summable + Numeric, T::Sum, None,
            |values, places| values.cumsum().by_key(places).accumulate_f64(), |element, sum| element - sum;
        /// Multiplies the elements at flat indices by values: `multiply.at`.
        fn multiply_at where Summable + Numeric, T::Sum, None,
            |values, places| values.cumprod().by_key(places).accumulate_f64(), |element, product| element * product;
        /// Leaves the lesser of the element at each flat index and its values, or NaN where one is: `minimum.at`.
        #[doc(alias("scatter_min", "fmin_at"))]
        fn minimum_at where Ordered + Number, T, Some(PutOperation::Minimum),
            |values, places| values.cummin().by_key(places), |element, least| element.minimum(least);
        /// Leaves the greater of the element at each flat index and its values, or NaN where one is: `maximum.at`.
        #[doc(alias("scatter_max", "fmax_at"))]
        fn maximum_at where Ordered + Number, T, Some(PutOperation::Maximum),
            |values, places| values.cummax().by_key(places), |element, greatest| element.maximum(greatest);
    }

    /// Overwrites the elements at which a mask is true with values, one for each of them in C order: NumPy's `x[mask] = values`.
    ///
    /// One value for all of them, and values in the array's shape, take [`ArrayMut::assign_where`]. The mask has the array's shape or is broadcast to it.
    ///
    /// # Cost
    /// Copies of mask and values, a count, for which the host waits, a scan, and a launch that writes; scratch memory of 9 bytes for each element.
    ///
    /// # Errors
    /// `Array` with `Length` unless there are as many values as elements are selected: then nothing is written. `Array` with the errors of
    /// [`ArrayMut::assign_where`].
    #[doc(alias("place", "x[mask]", "masked_scatter"))]
    fn assign_selected<'a, M, V>(&mut self, mask: M, values: V) -> Result<()>
    where
        Self::Backend: Reduces<bool>,
        M: IntoExpr<'a, Elem = bool, Backend = Self::Backend>,
        V: IntoExpr<'a, Elem = T, Dim = Ix1, Backend = Self::Backend>,
    {
        // The error of an operator on the array comes first, and so does a refusal of its waits.
        let home = Self::Backend::checked_home("assign_selected", self.as_view_mut())?;
        let shape = self.as_expr().shape()?;
        let mask = Self::Backend::eval_at(&mask.into_expr().broadcast(IxDyn(&shape)), &home)?;
        let (mask, values) = (Self::Backend::owned_expr(mask), values.into_expr());
        let (expected, got) = (mask.count().get()?, values.shape()?[0]);
        if usize::try_from(expected) != Ok(got) {
            let expected = usize::try_from(expected).unwrap_or_default();
            return Err(ArrayError::Length { shape: vec![expected], expected, got }.into());
        }
        if got == 0 {
            return Ok(());
        }
        let numbers = Self::Backend::owned_expr(mask.cumsum().exclusive().eval()?);
        let values = Self::Backend::owned_expr(Self::Backend::eval_at(&values, &home)?);
        let dim: D = dim_of("assign_selected", &shape)?;
        let chosen = take(values, numbers.reshape(dim)?, Outside::Clip);
        Ok(self.assign_where(mask, chosen)?)
    }
}

impl<T: Element, D: Dimension, A: ArrayMut<T, D, Backend: CombinesAt>> WriteAt<T, D> for A {}
