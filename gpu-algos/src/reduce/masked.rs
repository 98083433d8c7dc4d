//! Reductions of the values that a mask selects.

use gpu_array::Element;
use ndarray::{Dimension, Ix0, Ix1};

use super::{
    families::{self, OnHost},
    place::Reduces,
    reduction::Reduction,
    results::{Pair, Results},
    table::{for_each_reduction, in_f64, mean, spread},
};
use crate::{
    common::{
        operator::{DeviceOperator, OperatorKind},
        summable::{Ordered, Summable, product_of, sum},
    },
    select::Masked,
};

/// The reduction of selected values by an operator on a GPU, or by a family on the host.
fn of<'a, F: OnHost, T: Element, D: Dimension, P: Reduces<T>, O: Results>(
    selected: &Masked<'a, T, D, P>,
    kind: OperatorKind,
    ignores_nan: bool,
) -> Reduction<'a, O, Ix1, Ix0, P> {
    let host = P::selected_on_host::<F, O::Values>().map(|reduce| (reduce, kind.ddof()));
    let (values, mask) = (selected.values(), selected.mask());
    // The host's operators take each type as it is.
    let assembled = match T::DTYPE.is_half() && host.is_none() {
        true => values.cast::<f32>().lower_with(mask),
        false => values.lower_with(mask),
    };
    let operator = DeviceOperator::new(kind, T::DTYPE, ignores_nan).masked();
    Reduction::new(assembled, operator, host).with_home(selected.home().cloned())
}

macro_rules! of_selected {
    ($Elem:ty; values {
        $($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty)?) -> $output:ty where $bound:path, $kind:expr, $nan:literal, $family:ident;)*
    } $indices:ident $more:tt) => {
        /// Reductions of the selected values, on a GPU or of [`host`](gpu_array::expression::host()): NumPy's `x[mask].mean()`.
        ///
        /// Each is a lazy value, and an operand of expressions: `&x - x.select(&mask).mean()`.
        ///
        /// # Semantics
        /// Those of [`Reductions`](super::Reductions), for the selected values alone: a NaN that is selected counts, one that is not does not. They have
        /// one axis. For no selected values the sum is 0, the product 1, `any` false, `all` true, the mean NaN. The least and the greatest are NaN for
        /// floats; for types without NaN they are the error `Empty`, as on the host.
        ///
        /// # Determinism
        /// On a device that of [`Reductions`](super::Reductions): the order of additions depends on the shapes and layouts of values and mask, and on no
        /// element of them. On the host the results have the bits of [`reduce`](fn@crate::host::reduce) for the array of the selected values. Those of
        /// integers, and the least and the greatest, are the same everywhere.
        ///
        /// # Cost
        /// On a device one launch, which reads values and mask once and writes the result alone; an array that both read is read once. The least and
        /// the greatest of types without NaN wait for the kernel, to learn whether any value was selected; a capture cannot hold them, and after `Empty`
        /// an array that `write_into` was given holds any value. The host collects the selected values first.
        ///
        /// # Errors
        /// `eval` reports the errors of [`Reduction::eval`], and `Shape` for a mask of another shape.
        ///
        /// ```
        /// use gpu_algos::prelude::*;
        /// use gpu_array::expression::host; // the same lines as on a GPU, there with `&x` in place of `host(&x)`
        /// use ndarray::array;
        ///
        /// let (x, valid) = (array![1.0, f64::NAN, 5.0], array![true, false, true]);
        /// let (x, valid) = (host(&x), host(&valid));
        /// assert_eq!(x.select(&valid).mean().get()?, 3.0);
        /// assert_eq!((&x - x.select(&valid).max()).eval()?[0], -4.0);
        /// # Ok::<(), gpu_algos::AlgoError>(())
        /// ```
        impl<'a, T: Element, D: Dimension, P: Reduces<T>> Masked<'a, T, D, P> {
            $(
                $(#[$attribute])*
                pub fn $name(&self $(, $argument: $type)?) -> Reduction<'a, $output, Ix1, Ix0, P>
                where
                    T: $bound,
                {
                    of::<families::$family, _, _, _, _>(self, $kind, $nan)
                }
            )*
        }
    };
}
for_each_reduction!(of_selected, T);
