//! The traits of the crate approx: arrays that are nearly equal.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use ndarray::{ArrayBase, CowArray, Data, Dimension};

use crate::{Element, GpuArray, GpuView, GpuViewMut};

/// An operand of a comparison, at either place.
trait Compared<T: Element, D: Dimension> {
    /// The elements, copied from a device; none where they cannot be copied.
    fn on_host(&self) -> Option<CowArray<'_, T, D>>;
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> Compared<T, D> for ArrayBase<S, D> {
    fn on_host(&self) -> Option<CowArray<'_, T, D>> {
        Some(self.view().into())
    }
}

macro_rules! compared_on_device {
    ($($type:ty),*) => {$(
        impl<T: Element, D: Dimension> Compared<T, D> for $type {
            fn on_host(&self) -> Option<CowArray<'_, T, D>> {
                self.to_ndarray().ok().map(CowArray::from)
            }
        }
    )*};
}
compared_on_device!(GpuArray<T, D>, GpuView<'_, T, D>, GpuViewMut<'_, T, D>);

fn compare<T: Element, D: Dimension>(
    a: &impl Compared<T, D>,
    b: &impl Compared<T, D>,
    holds: impl FnOnce(&CowArray<'_, T, D>, &CowArray<'_, T, D>) -> bool,
) -> bool {
    a.on_host().zip(b.on_host()).is_some_and(|(a, b)| holds(&a, &b))
}

/// Comparisons of two types of operands. The documentation is that of `==` and of `AbsDiffEq`, then of the other two.
macro_rules! comparisons {
    ([$($storage:ident)?] $left:ty, $right:ty; $(#[$equal:meta])*; $(#[$near:meta])*) => {
        $(#[$equal])*
        impl<T: Element, D: Dimension $(, $storage: Data<Elem = T>)?> PartialEq<$right> for $left {
            fn eq(&self, other: &$right) -> bool {
                compare(self, other, |a, b| a == b)
            }
        }

        $(#[$near])*
        impl<T, D: Dimension $(, $storage: Data<Elem = T>)?> AbsDiffEq<$right> for $left
        where
            T: Element + AbsDiffEq<Epsilon: Clone>,
        {
            type Epsilon = T::Epsilon;

            fn default_epsilon() -> T::Epsilon {
                T::default_epsilon()
            }

            fn abs_diff_eq(&self, other: &$right, epsilon: T::Epsilon) -> bool {
                compare(self, other, |a, b| a.abs_diff_eq(b, epsilon))
            }
        }

        /// Compares as [`AbsDiffEq`] does, relative to the elements.
        impl<T, D: Dimension $(, $storage: Data<Elem = T>)?> RelativeEq<$right> for $left
        where
            T: Element + RelativeEq<Epsilon: Clone>,
        {
            fn default_max_relative() -> T::Epsilon {
                T::default_max_relative()
            }

            fn relative_eq(&self, other: &$right, epsilon: T::Epsilon, max_relative: T::Epsilon) -> bool {
                compare(self, other, |a, b| a.relative_eq(b, epsilon, max_relative))
            }
        }

        /// Compares as [`AbsDiffEq`] does, by units in the last place.
        impl<T, D: Dimension $(, $storage: Data<Elem = T>)?> UlpsEq<$right> for $left
        where
            T: Element + UlpsEq<Epsilon: Clone>,
        {
            fn default_max_ulps() -> u32 {
                T::default_max_ulps()
            }

            fn ulps_eq(&self, other: &$right, epsilon: T::Epsilon, max_ulps: u32) -> bool {
                compare(self, other, |a, b| a.ulps_eq(b, epsilon, max_ulps))
            }
        }
    };
    ($([$($storage:ident)?] $left:ty, $right:ty;)*) => {$(
        comparisons! { [$($storage)?] $left, $right;
            /// Compares as two arrays on a device are compared.
            ;
            /// Compares as two arrays on a device are compared.
        }
    )*};
}

comparisons! { [] GpuArray<T, D>, GpuArray<T, D>;
    /// Whether shapes and elements are equal, by copies to the host. Arrays that cannot be copied (on a lost device, or with the error of an operator
    /// such as `+=`) equal none.
    ///
    /// With the feature `approx`, whose traits need it.
    ;
    /// ndarray's comparison of the host copies: each pair of elements is as near as the element type's own comparison asks. Arrays of different shapes,
    /// and arrays that cannot be copied, are not.
    ///
    /// Arrays, views and ndarray's arrays of one element type and rank stand on either side.
    ///
    /// ```no_run
    /// # #[cfg(feature = "approx")] {
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::full(&device, 3, 2.0f64)?;
    /// approx::assert_abs_diff_eq!(x.sqrt().square().eval()?, x, epsilon = 1e-15);
    /// approx::assert_relative_eq!(x.view(), ndarray::arr1(&[2.0, 2.0, 2.0]));
    /// # }
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
}
comparisons! {
    [] GpuArray<T, D>, GpuView<'_, T, D>;
    [] GpuArray<T, D>, GpuViewMut<'_, T, D>;
    [] GpuView<'_, T, D>, GpuArray<T, D>;
    [] GpuView<'_, T, D>, GpuView<'_, T, D>;
    [] GpuView<'_, T, D>, GpuViewMut<'_, T, D>;
    [] GpuViewMut<'_, T, D>, GpuArray<T, D>;
    [] GpuViewMut<'_, T, D>, GpuView<'_, T, D>;
    [] GpuViewMut<'_, T, D>, GpuViewMut<'_, T, D>;
    [S] GpuArray<T, D>, ArrayBase<S, D>;
    [S] GpuView<'_, T, D>, ArrayBase<S, D>;
    [S] GpuViewMut<'_, T, D>, ArrayBase<S, D>;
    [S] ArrayBase<S, D>, GpuArray<T, D>;
    [S] ArrayBase<S, D>, GpuView<'_, T, D>;
    [S] ArrayBase<S, D>, GpuViewMut<'_, T, D>;
}
