//! The list of reductions, for all values and for those that a mask selects.

use gpu_array::{DType, Element};

use crate::common::{operator::OperatorKind, summable::Summable};

/// Hands the list to the macro `$emit`, with the element type: reductions to values, then those to indices.
macro_rules! for_each_reduction {
    ($emit:ident, $Elem:ty) => {
        $emit! {
            $Elem;
            values {
                /// The sum. For f32 the error is at most `2^-18 sum |x|`, for any number of values, and typically one unit in the last place.
                ///
                /// Many values are carried in f64 and few in f32, so that the result may be infinite where `sum |x|` is. [`Reduction::accumulate_f64`] rounds
                /// once.
                fn sum() -> <$Elem as Summable>::Sum where Summable, sum::<$Elem>(), false, Sum;
                /// The sum of the values that are not NaN, with the error of `sum`.
                fn nansum() -> <$Elem as Summable>::Sum where Summable, sum::<$Elem>(), true, NanSum;
                /// The product. Products of f32 are carried in f64 and rounded once.
                ///
                /// The order of the factors is not NumPy's: if some factors overflow and another is 0 or others underflow, the result may be NaN, 0 or infinite
                /// where another order gives another of these.
                fn prod() -> <$Elem as Summable>::Sum where Summable, in_f64(product_of::<$Elem>()), false, Product;
                /// The product of the values that are not NaN.
                fn nanprod() -> <$Elem as Summable>::Sum where Summable, in_f64(product_of::<$Elem>()), true, NanProduct;
                /// The mean, carried in f64. Of complex numbers each part is divided (NumPy's division takes NaN of one part to the other).
                fn mean() -> <$Elem as Summable>::Mean where Summable, OperatorKind::Mean { result: mean::<$Elem>() }, false, Mean;
                /// The mean of the values that are not NaN; NaN if there is none.
                fn nanmean() -> <$Elem as Summable>::Mean where Summable, OperatorKind::Mean { result: mean::<$Elem>() }, true, NanMean;
                /// The variance `sum |x - mean|^2 / (n - ddof)`, in one pass; NaN unless n > ddof. Of complex numbers it is of the type of their parts.
                ///
                /// It is carried in f64 around values of the array, so that nothing cancels.
                fn var(ddof: u32) -> <$Elem as Summable>::Spread where Summable, OperatorKind::Variance { result: spread::<$Elem>(), ddof }, false, Variance;
                /// The variance of the values that are not NaN.
                fn nanvar(ddof: u32) -> <$Elem as Summable>::Spread where Summable, OperatorKind::Variance { result: spread::<$Elem>(), ddof }, true, NanVariance;
                /// The standard deviation, the root of the variance.
                fn std(ddof: u32) -> <$Elem as Summable>::Spread where Summable, OperatorKind::Deviation { result: spread::<$Elem>(), ddof }, false, StandardDeviation;
                /// The standard deviation of the values that are not NaN.
                fn nanstd(ddof: u32) -> <$Elem as Summable>::Spread where Summable, OperatorKind::Deviation { result: spread::<$Elem>(), ddof }, true, NanStandardDeviation;
                /// The mean and the variance, in one pass; the error of the mean is about 1e-15 times the greatest absolute value.
                ///
                /// If a value is infinite the variance is NaN, and the mean is NumPy's, that infinity or NaN. Values so far apart that the square of their
                /// distance is beyond f64 have an infinite variance. If the sum of the values is beyond f64 the mean may be infinite, as NumPy's is, and the
                /// variance NaN.
                fn mean_var(ddof: u32) -> Pair<<$Elem as Summable>::Mean, <$Elem as Summable>::Spread> where Summable, OperatorKind::MeanVariance { result: mean::<$Elem>(), ddof }, false, MeanVariance;
                /// The mean and the variance of the values that are not NaN; infinite values are treated as in `mean_var`.
                fn nanmean_var(ddof: u32) -> Pair<<$Elem as Summable>::Mean, <$Elem as Summable>::Spread> where Summable, OperatorKind::MeanVariance { result: mean::<$Elem>(), ddof }, true, NanMeanVariance;
                /// The least value; NaN if there is a NaN.
                fn min() -> $Elem where Ordered, OperatorKind::Extreme { greatest: false }, false, Min;
                /// The greatest value; NaN if there is a NaN.
                fn max() -> $Elem where Ordered, OperatorKind::Extreme { greatest: true }, false, Max;
                /// The least of the values that are not NaN; NaN if there is none.
                fn nanmin() -> $Elem where Ordered, OperatorKind::Extreme { greatest: false }, true, NanMin;
                /// The greatest of the values that are not NaN; NaN if there is none.
                fn nanmax() -> $Elem where Ordered, OperatorKind::Extreme { greatest: true }, true, NanMax;
                /// The least and the greatest value, in one pass.
                fn min_max() -> Pair<$Elem, $Elem> where Ordered, OperatorKind::MinMax, false, MinMax;
                /// The least and the greatest of the values that are not NaN, in one pass.
                fn nanmin_max() -> Pair<$Elem, $Elem> where Ordered, OperatorKind::MinMax, true, NanMinMax;
                /// Whether any value is not 0. NaN is not 0.
                fn any() -> bool where Element, OperatorKind::Logical { all: false }, false, Any;
                /// Whether no value is 0.
                fn all() -> bool where Element, OperatorKind::Logical { all: true }, false, All;
                /// The number of values that are not 0.
                #[doc(alias = "count_nonzero")]
                fn count() -> i64 where Element, OperatorKind::Count, false, Count;
            }
            indices {
                /// The index of the first least value, or of the first NaN; indices count the reduced axes in C order.
                #[doc(alias("iamin", "amin"))]
                fn argmin() -> i64 where Ordered, OperatorKind::ArgExtreme { greatest: false, narrow: false }, false, ArgMin;
                /// The index of the first greatest value, or of the first NaN; indices count the reduced axes in C order.
                #[doc(alias("iamax", "amax"))]
                fn argmax() -> i64 where Ordered, OperatorKind::ArgExtreme { greatest: true, narrow: false }, false, ArgMax;
                /// The index of the first least value among those that are not NaN; -1 if there is none (NumPy raises an error).
                fn nanargmin() -> i64 where Ordered, OperatorKind::ArgExtreme { greatest: false, narrow: false }, true, NanArgMin;
                /// The index of the first greatest value among those that are not NaN; -1 if there is none (NumPy raises an error).
                fn nanargmax() -> i64 where Ordered, OperatorKind::ArgExtreme { greatest: true, narrow: false }, true, NanArgMax;
            }
        }
    };
}
pub(super) use for_each_reduction;

/// Carries the values in f64, and rounds once.
pub(super) fn in_f64(mut kind: OperatorKind) -> OperatorKind {
    kind.carry_in_f64();
    kind
}

pub(super) fn mean<T: Summable>() -> DType {
    T::Mean::DTYPE
}

pub(super) fn spread<T: Summable>() -> DType {
    T::Spread::DTYPE
}
