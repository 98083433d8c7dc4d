//! Scans that overwrite their values, as methods of arrays and views.

use gpu_array::{
    Element, GpuArray, GpuViewMut, Numeric,
    expression::{Backend, Gpu, Host},
};
use ndarray::{ArrayBase, ArrayViewMut, DataMut, Dimension};

use super::{
    families,
    lazy::{InPlace, ScanBackend},
    methods::extreme,
    place::ScansOf,
};
use crate::common::summable::{Ordered, Summable, product_of, sum};

/// Scans of arrays and views in their own memory, for element types that their sums have too: `&mut x` and `x.view_mut()` of arrays on a GPU and of
/// ndarray's on the host.
///
/// In all else they are as [`Scans`](super::Scans).
///
/// ```
/// use gpu_algos::prelude::*;
/// use ndarray::{Axis, array};
///
/// let mut x = array![[1.0, 2.0], [3.0, 4.0]]; // or a GpuArray
/// x.cumsum_in_place().run()?;
/// assert_eq!(x, array![[1.0, 3.0], [6.0, 10.0]]);
/// x.view_mut().cummax_in_place().axis(Axis(0)).reverse().run()?;
/// assert_eq!(x, array![[6.0, 10.0], [6.0, 10.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait ScansInPlace<'t, T: Element + 't, D: Dimension + 't>: Sized {
    /// The place of the array.
    type Backend: ScanBackend;

    /// All of it, to write.
    #[doc(hidden)]
    fn into_view_mut(self) -> <Self::Backend as Backend>::ViewMut<'t, T, D>;

    /// Sums from the first value on.
    fn cumsum_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Summable<Sum = T> + Numeric,
        Self::Backend: ScansOf<T>,
    {
        InPlace::new(self.into_view_mut(), sum::<T>(), Self::Backend::scan_on_host::<families::Sum, T>())
    }

    /// Products from the first value on.
    fn cumprod_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Summable<Sum = T> + Numeric,
        Self::Backend: ScansOf<T>,
    {
        InPlace::new(self.into_view_mut(), product_of::<T>(), Self::Backend::scan_on_host::<families::Product, T>())
    }

    /// The greatest value so far.
    fn cummax_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Ordered,
        Self::Backend: ScansOf<T>,
    {
        InPlace::new(self.into_view_mut(), extreme(true), Self::Backend::scan_on_host::<families::Max, T>())
    }

    /// The least value so far.
    fn cummin_in_place(self) -> InPlace<'t, T, D, Self::Backend>
    where
        T: Ordered,
        Self::Backend: ScansOf<T>,
    {
        InPlace::new(self.into_view_mut(), extreme(false), Self::Backend::scan_on_host::<families::Min, T>())
    }
}

impl<'t, T: Element, D: Dimension> ScansInPlace<'t, T, D> for &'t mut GpuArray<T, D> {
    type Backend = Gpu;
    fn into_view_mut(self) -> GpuViewMut<'t, T, D> {
        self.view_mut()
    }
}

impl<'t, T: Element, D: Dimension + 't> ScansInPlace<'t, T, D> for GpuViewMut<'t, T, D> {
    type Backend = Gpu;
    fn into_view_mut(self) -> Self {
        self
    }
}

impl<'t, T: Element, D: Dimension, S: DataMut<Elem = T>> ScansInPlace<'t, T, D> for &'t mut ArrayBase<S, D> {
    type Backend = Host;
    fn into_view_mut(self) -> ArrayViewMut<'t, T, D> {
        self.view_mut()
    }
}

impl<'t, T: Element, D: Dimension + 't> ScansInPlace<'t, T, D> for ArrayViewMut<'t, T, D> {
    type Backend = Host;
    fn into_view_mut(self) -> Self {
        self
    }
}
