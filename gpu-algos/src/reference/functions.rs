//! Reductions of whole arrays by name. Each is [`reduce`](fn@reduce) with the operator that it names.

use ndarray::{ArrayView, CowArray, Dimension};

use super::{
    All, Any, ArgMax, ArgMin, Count, Max, Mean, MeanVariance, Min, NanArgMax, NanArgMin, NanMax, NanMean, NanMin,
    NanProduct, NanStandardDeviation, NanSum, NanVariance, NormL1, NormL2, NormMax, Operand, Product,
    StandardDeviation, Sum, Variance, dot, reduce,
};
use crate::{AlgoError, Result};

/// Functions of operators that have a result of no values.
macro_rules! total {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $Type:ty)?) -> $Output:ty = $Op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<'a, T: Operand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>> $(, $argument: $Type)?) -> $Output {
            reduce(&$Op::<T>::new($($argument)?), view).unwrap_or_else(|_| unreachable!("no values have a result"))
        }
    )*};
}

total! {
    /// [`Sum`] of all elements.
    ///
    /// ```
    /// let x = ndarray::array![[1_i32, 2], [3, 4]];
    /// assert_eq!(gpu_algos::reference::sum(&x), 10_i64);
    /// ```
    sum() -> T::Sum = Sum;
    /// [`Product`] of all elements.
    prod() -> T::Sum = Product;
    /// [`Mean`] of all elements.
    mean() -> T::Real = Mean;
    /// [`Variance`] of all elements.
    ///
    /// ```
    /// assert_eq!(gpu_algos::reference::var(&[1.0_f64, 2.0, 3.0], 1), 1.0);
    /// ```
    var(ddof: u64) -> T::Real = Variance;
    /// [`MeanVariance`] of all elements.
    ///
    /// ```
    /// assert_eq!(gpu_algos::reference::mean_var(&[1.0_f64, 2.0, 3.0], 1), (2.0, 1.0));
    /// ```
    mean_var(ddof: u64) -> (T::Real, T::Real) = MeanVariance;
    /// [`StandardDeviation`] of all elements.
    std(ddof: u64) -> T::Real = StandardDeviation;
    /// Whether [`Any`] element is other than 0.
    any() -> bool = Any;
    /// Whether [`All`] elements are other than 0.
    all() -> bool = All;
    /// [`Count`] of the elements other than 0.
    count_nonzero() -> i64 = Count;
    /// [`NormL1`] of all elements.
    norm_l1() -> T::Real = NormL1;
    /// [`NormL2`] of all elements.
    norm_l2() -> T::Real = NormL2;
    /// [`NormMax`] of all elements.
    norm_inf() -> T::Real = NormMax;
    /// [`NanSum`] of all elements.
    nansum() -> T::Sum = NanSum;
    /// [`NanProduct`] of all elements.
    nanprod() -> T::Sum = NanProduct;
    /// [`NanMean`] of all elements.
    nanmean() -> T::Real = NanMean;
    /// [`NanVariance`] of all elements.
    nanvar(ddof: u64) -> T::Real = NanVariance;
    /// [`NanStandardDeviation`] of all elements.
    nanstd(ddof: u64) -> T::Real = NanStandardDeviation;
}

/// Functions of operators that have none.
macro_rules! partial {
    ($($(#[$doc:meta])* $name:ident -> $Output:ty = $Op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `Empty` for an array without elements.
        pub fn $name<'a, T: Operand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<$Output> {
            reduce(&$Op::<T>::new(), view)
        }
    )*};
}

partial! {
    /// [`Min`] of all elements.
    min -> T = Min;
    /// [`Max`] of all elements.
    max -> T = Max;
    /// [`ArgMin`] of all elements: a position in C order.
    argmin -> i64 = ArgMin;
    /// [`ArgMax`] of all elements: a position in C order.
    argmax -> i64 = ArgMax;
    /// [`NanMin`] of all elements.
    nanmin -> T = NanMin;
    /// [`NanMax`] of all elements.
    nanmax -> T = NanMax;
    /// [`NanArgMin`] of all elements: a position in C order, -1 where all are NaN.
    nanargmin -> i64 = NanArgMin;
    /// [`NanArgMax`] of all elements: a position in C order, -1 where all are NaN.
    nanargmax -> i64 = NanArgMax;
}

/// `sum x[i] * y[i]` over all positions of two arrays of one shape and any layouts: [`dot`] of their elements in C order.
///
/// Cost: one pass over both; a copy first of an array whose elements are not side by side in C order.
///
/// # Errors
/// `Shape` when the arrays differ in shape.
///
/// ```
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(gpu_algos::reference::vdot(&x, x.t())?, 1.0 + 6.0 + 6.0 + 16.0);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn vdot<'a, 'b, T: Copy + Into<f64> + Sync + 'a + 'b, D: Dimension>(
    x: impl Into<ArrayView<'a, T, D>>,
    y: impl Into<ArrayView<'b, T, D>>,
) -> Result<f64> {
    let (x, y) = (x.into(), y.into());
    if x.shape() != y.shape() {
        return Err(AlgoError::Shape { op: "vdot", left: x.shape().to_vec(), right: y.shape().to_vec() });
    }
    let (x, y) = (x.as_standard_layout(), y.as_standard_layout());
    dot(elements(&x), elements(&y))
}

/// The elements of an array in standard layout.
fn elements<'v, T, D: Dimension>(array: &'v CowArray<'_, T, D>) -> &'v [T] {
    array.as_slice().expect("standard layout is one slice")
}
