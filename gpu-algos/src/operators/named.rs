//! Reductions and scans by name, for `reference` and for `host`: one list, with one documentation.

/// Functions for whole arrays. Each is `reduce` of the module `$module`, in scope where this is called, with the operator that it names.
macro_rules! named_reductions {
    ($module:ident) => {
        use $crate::operators::{
            All, Any, ArgMax, ArgMin, Count, Max, Mean, MeanVariance, Min, NanArgMax, NanArgMin, NanMax, NanMean,
            NanMin, NanProduct, NanStandardDeviation, NanSum, NanVariance, NormL1, NormL2, NormMax, Product,
            StandardDeviation, Sum, Variance,
        };

        $crate::operators::named::total! { Summand:
            /// [`Sum`] of all elements.
            ///
            /// ```
            /// let x = ndarray::array![[1_i32, 2], [3, 4]];
            #[doc = concat!("assert_eq!(gpu_algos::", stringify!($module), "::sum(&x), 10_i64);")]
            /// ```
            sum() -> T::Sum = Sum;
            /// [`Product`] of all elements.
            prod() -> T::Sum = Product;
            /// [`Mean`] of all elements.
            mean() -> T::Mean = Mean;
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
            /// [`Variance`] of all elements.
            ///
            /// ```
            #[doc = concat!("assert_eq!(gpu_algos::", stringify!($module), "::var(&[1.0_f64, 2.0, 3.0], 1), 1.0);")]
            /// ```
            var(ddof: u64) -> T::Real = Variance;
            /// [`MeanVariance`] of all elements.
            ///
            /// ```
            #[doc = concat!("assert_eq!(gpu_algos::", stringify!($module), "::mean_var(&[1.0_f64, 2.0, 3.0], 1), (2.0, 1.0));")]
            /// ```
            mean_var(ddof: u64) -> (T::Mean, T::Real) = MeanVariance;
            /// [`StandardDeviation`] of all elements.
            std(ddof: u64) -> T::Real = StandardDeviation;
            /// [`NanSum`] of all elements.
            nansum() -> T::Sum = NanSum;
            /// [`NanProduct`] of all elements.
            nanprod() -> T::Sum = NanProduct;
            /// [`NanMean`] of all elements.
            nanmean() -> T::Mean = NanMean;
            /// [`NanVariance`] of all elements.
            nanvar(ddof: u64) -> T::Real = NanVariance;
            /// [`NanStandardDeviation`] of all elements.
            nanstd(ddof: u64) -> T::Real = NanStandardDeviation;
        }

        $crate::operators::named::partial! {
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
    };
}
pub(crate) use named_reductions;

/// Functions of operators that have a result of no values.
macro_rules! total {
    ($Value:ident: $($(#[$doc:meta])* $name:ident($($argument:ident: $Type:ty)?) -> $Output:ty = $Op:ident;)*) => {
        $($crate::operators::named::total! { @one $Value, $(#[$doc])* $name($($argument: $Type)?) -> $Output = $Op })*
    };
    (@one $Value:ident, $(#[$doc:meta])* $name:ident($($argument:ident: $Type:ty)?) -> $Output:ty = $Op:ident) => {
        $(#[$doc])*
        pub fn $name<'a, T: $crate::operators::$Value, D: ndarray::Dimension>(
            view: impl Into<ndarray::ArrayView<'a, T, D>> $(, $argument: $Type)?
        ) -> $Output {
            reduce(&$Op::<T>::new($($argument)?), view).unwrap_or_else(|_| unreachable!("no values have a result"))
        }
    };
}
pub(crate) use total;

/// Functions of operators that have none.
macro_rules! partial {
    ($($(#[$doc:meta])* $name:ident -> $Output:ty = $Op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `Empty` for an array without elements.
        pub fn $name<'a, T: $crate::operators::Operand, D: ndarray::Dimension>(
            view: impl Into<ndarray::ArrayView<'a, T, D>>
        ) -> $crate::Result<$Output> {
            reduce(&$Op::<T>::new(), view)
        }
    )*};
}
pub(crate) use partial;

/// The inclusive scans that NumPy has. Each is `scan` of the module `$module`, in scope where this is called, with the operator that it names.
macro_rules! named_scans {
    ($module:ident) => {
        use $crate::operators::{Max, Min, Product, Sum};

        $crate::operators::named::inclusive! { Summand:
            /// [`Sum`] of all elements up to each. Signed integers and bool give i64, unsigned ones u64, both of which wrap; floats keep their type,
            /// are added in f64, and each result is rounded once.
            ///
            /// ```
            /// use ndarray::Axis;
            #[doc = concat!("let sums = gpu_algos::", stringify!($module), "::cumsum(&[true, true, false, true], Axis(0))?;")]
            /// assert_eq!(sums.to_vec(), [1_i64, 2, 2, 3]);
            /// # Ok::<(), gpu_algos::AlgoError>(())
            /// ```
            cumsum -> T::Sum = Sum;
            /// [`Product`] of all elements up to each, whose order is not NumPy's; types as in [`cumsum`].
            cumprod -> T::Sum = Product;
        }

        $crate::operators::named::inclusive! { Operand:
            /// [`Max`] of all elements up to each: NaN from the first NaN on.
            cummax -> T = Max;
            /// [`Min`] of all elements up to each: NaN from the first NaN on.
            cummin -> T = Min;
        }
    };
}
pub(crate) use named_scans;

macro_rules! inclusive {
    ($Value:ident: $($(#[$doc:meta])* $name:ident -> $Output:ty = $Op:ident;)*) => {
        $($crate::operators::named::inclusive! { @one $Value, $(#[$doc])* $name -> $Output = $Op })*
    };
    (@one $Value:ident, $(#[$doc:meta])* $name:ident -> $Output:ty = $Op:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// `Axis` for an axis that the array does not have.
        pub fn $name<'a, T: $crate::operators::$Value, D: ndarray::Dimension>(
            view: impl Into<ndarray::ArrayView<'a, T, D>>,
            axis: ndarray::Axis,
        ) -> $crate::Result<ndarray::Array<$Output, D>> {
            scan(&$Op::<T>::new(), view, axis, $crate::operators::ScanKind::INCLUSIVE)
        }
    };
}
pub(crate) use inclusive;
