//! Scans as methods of arrays, views and expressions.

use gpu_array::{Element, expression::IntoExpr};
use ndarray::Ix1;

use super::{
    families::{self, ScansOnHost},
    lazy::Scan,
    place::ScansOf,
};
use crate::common::{
    operand::Receiver,
    operator::{DeviceOperator, OperatorKind},
    source::lowered,
    summable::{Ordered, Summable, product_of, sum},
};

/// The scan of a value by an operator on a GPU, or by a family on the host.
fn of<'a, F: ScansOnHost, E: IntoExpr<'a>, O: Element>(
    value: E,
    kind: OperatorKind,
    ignores_nan: bool,
) -> Scan<'a, O, E::Dim, Ix1, E::Backend>
where
    E::Backend: ScansOf<E::Elem>,
{
    let host = <E::Backend as ScansOf<E::Elem>>::scan_on_host::<F, O>();
    let value = value.into_expr();
    // The host's operators take each type as it is.
    let values = if host.is_some() { value.lower_deferred() } else { lowered(value) };
    Scan::new(values, DeviceOperator::new(kind, E::Elem::DTYPE, ignores_nan), host)
}

pub(crate) fn extreme(greatest: bool) -> OperatorKind {
    OperatorKind::Extreme { greatest }
}

macro_rules! scans {
    ($($(#[doc = $doc:literal])* fn $name:ident -> $output:ty where $bound:path, $kind:expr, $nan:literal, $family:ident;)*) => {
        /// Scans of arrays, views and expressions, on a GPU or of [`host`](gpu_array::expression::host()): over all values in C order, or along an axis
        /// by [`Scan::axis`].
        ///
        /// The kernel computes the scanned expression too, and the map of [`Scan::map`] over the results.
        ///
        /// Result i combines the values 0 to i. [`Scan::exclusive`] leaves value i out, [`Scan::reverse`] combines the values i to n - 1, and
        /// [`Scan::segments`] and [`Scan::by_key`] begin anew with each segment.
        ///
        /// # Semantics
        /// NumPy's, but that sums and products of f16 and bf16 are carried in f32 and each result is rounded once. The host carries those of all floats
        /// in f64. Results are NaN from the first NaN on; methods whose names begin with `nan` leave NaN out. Integer sums wrap.
        ///
        /// # Determinism
        /// Bitwise the same from run to run on one device, for one shape and layout, since these alone decide the order of additions. Another device
        /// may add floats in another order. Integers, and the greatest and least, do not depend on it, except for the choice between 0.0 and -0.0.
        ///
        /// # Cost
        /// Each value is read once and each result written once, in one launch. Only the result is allocated, and the host does not wait. See
        /// [`Scan::eval`].
        ///
        /// # Example
        /// ```no_run
        /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
        ///
        /// let device = Device::first()?;
        /// let x = GpuArray::from_ndarray(&device, &ndarray::array![1i32, 2, 3, 4])?;
        /// assert_eq!(x.cumsum().eval()?.to_ndarray()?, ndarray::array![1i64, 3, 6, 10]);
        /// # Ok::<(), gpu_algos::AlgoError>(())
        /// ```
        /// On the host, and for either place:
        /// ```
        /// use gpu_algos::{Result, gpu_array::expression::{Backend, Host}, prelude::*, reduce::Reduces};
        /// use ndarray::{Ix1, array};
        ///
        /// fn distribution<P: Backend + Reduces<f64>>(x: &P::Owned<f64, Ix1>) -> Result<P::Owned<f64, Ix1>> {
        ///     let x = P::expr(x);
        ///     Ok((x.cumsum() / x.sum()).eval()?)
        /// }
        /// assert_eq!(distribution::<Host>(&array![1.0, 2.0, 5.0])?, array![0.125, 0.375, 1.0]);
        /// # Ok::<(), gpu_algos::AlgoError>(())
        /// ```
        pub trait Scans<'a>: Receiver<'a> + Sized {
            $(
                $(#[doc = $doc])*
                fn $name(self) -> Scan<'a, $output, Self::Dim, Ix1, Self::Backend>
                where
                    Self::Elem: $bound,
                    Self::Backend: ScansOf<Self::Elem>,
                {
                    of::<families::$family, _, _>(self, $kind, $nan)
                }
            )*
        }
    };
}

impl<'a, E: Receiver<'a>> Scans<'a> for E {}

scans! {
    /// Sums from the first value on.
    fn cumsum -> <Self::Elem as Summable>::Sum where Summable, sum::<Self::Elem>(), false, Sum;
    /// Sums of the values that are not NaN.
    fn nancumsum -> <Self::Elem as Summable>::Sum where Summable, sum::<Self::Elem>(), true, NanSum;
    /// Products from the first value on.
    ///
    /// They are combined in tiles, not in NumPy's order: if some factors overflow and another is 0 or others underflow, results may be NaN, 0 or
    /// infinite where another order gives another of these.
    fn cumprod -> <Self::Elem as Summable>::Sum where Summable, product_of::<Self::Elem>(), false, Product;
    /// Products of the values that are not NaN.
    fn nancumprod -> <Self::Elem as Summable>::Sum where Summable, product_of::<Self::Elem>(), true, NanProduct;
    /// The greatest value so far.
    fn cummax -> Self::Elem where Ordered, extreme(true), false, Max;
    /// The least value so far.
    fn cummin -> Self::Elem where Ordered, extreme(false), false, Min;
    /// The greatest so far of the values that are not NaN; NaN until there is one.
    fn nancummax -> Self::Elem where Ordered, extreme(true), true, NanMax;
    /// The least so far of the values that are not NaN; NaN until there is one.
    fn nancummin -> Self::Elem where Ordered, extreme(false), true, NanMin;
}
