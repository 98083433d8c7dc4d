//! The traits of the crate approx: arrays that are nearly equal.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use ndarray::{Array, Dimension};

use crate::{Element, GpuArray};

/// Whether shapes and elements are equal, by copies to the host. Arrays that cannot be copied (on a lost device, or with the error of an operator such as
/// `+=`) equal none.
///
/// With the feature `approx`, whose traits need it.
impl<T: Element, D: Dimension> PartialEq for GpuArray<T, D> {
    fn eq(&self, other: &Self) -> bool {
        copies(self, other).is_some_and(|(a, b)| a == b)
    }
}

/// Compares as two arrays on a device are compared.
impl<T: Element, D: Dimension> PartialEq<Array<T, D>> for GpuArray<T, D> {
    fn eq(&self, other: &Array<T, D>) -> bool {
        self.to_ndarray().is_ok_and(|own| own == *other)
    }
}

fn copies<T: Element, D: Dimension>(a: &GpuArray<T, D>, b: &GpuArray<T, D>) -> Option<(Array<T, D>, Array<T, D>)> {
    Some((a.to_ndarray().ok()?, b.to_ndarray().ok()?))
}

/// ndarray's comparison of the host copies: each pair of elements is as near as the element type's own comparison asks. Arrays of different shapes,
/// and arrays that cannot be copied, are not.
///
/// ```no_run
/// # #[cfg(feature = "approx")] {
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// let x = gpu_array::GpuArray::full(&device, 3, 2.0f64)?;
/// approx::assert_abs_diff_eq!(x.sqrt().square().eval()?, x, epsilon = 1e-15);
/// # }
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
impl<T: Element + AbsDiffEq<Epsilon: Clone>, D: Dimension> AbsDiffEq for GpuArray<T, D> {
    type Epsilon = T::Epsilon;

    fn default_epsilon() -> T::Epsilon {
        T::default_epsilon()
    }

    fn abs_diff_eq(&self, other: &Self, epsilon: T::Epsilon) -> bool {
        copies(self, other).is_some_and(|(a, b)| a.abs_diff_eq(&b, epsilon))
    }
}

/// Compares as two arrays on a device are compared.
impl<T: Element + AbsDiffEq<Epsilon: Clone>, D: Dimension> AbsDiffEq<Array<T, D>> for GpuArray<T, D> {
    type Epsilon = T::Epsilon;

    fn default_epsilon() -> T::Epsilon {
        T::default_epsilon()
    }

    fn abs_diff_eq(&self, other: &Array<T, D>, epsilon: T::Epsilon) -> bool {
        self.to_ndarray().is_ok_and(|own| own.abs_diff_eq(other, epsilon))
    }
}

/// Compares as [`AbsDiffEq`] does, relative to the elements.
impl<T: Element + RelativeEq<Epsilon: Clone>, D: Dimension> RelativeEq for GpuArray<T, D> {
    fn default_max_relative() -> T::Epsilon {
        T::default_max_relative()
    }

    fn relative_eq(&self, other: &Self, epsilon: T::Epsilon, max_relative: T::Epsilon) -> bool {
        copies(self, other).is_some_and(|(a, b)| a.relative_eq(&b, epsilon, max_relative))
    }
}

/// Compares as two arrays on a device are compared.
impl<T: Element + RelativeEq<Epsilon: Clone>, D: Dimension> RelativeEq<Array<T, D>> for GpuArray<T, D> {
    fn default_max_relative() -> T::Epsilon {
        T::default_max_relative()
    }

    fn relative_eq(&self, other: &Array<T, D>, epsilon: T::Epsilon, max_relative: T::Epsilon) -> bool {
        self.to_ndarray().is_ok_and(|own| own.relative_eq(other, epsilon, max_relative))
    }
}

/// Compares as [`AbsDiffEq`] does, by units in the last place.
impl<T: Element + UlpsEq<Epsilon: Clone>, D: Dimension> UlpsEq for GpuArray<T, D> {
    fn default_max_ulps() -> u32 {
        T::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Self, epsilon: T::Epsilon, max_ulps: u32) -> bool {
        copies(self, other).is_some_and(|(a, b)| a.ulps_eq(&b, epsilon, max_ulps))
    }
}

/// Compares as two arrays on a device are compared.
impl<T: Element + UlpsEq<Epsilon: Clone>, D: Dimension> UlpsEq<Array<T, D>> for GpuArray<T, D> {
    fn default_max_ulps() -> u32 {
        T::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Array<T, D>, epsilon: T::Epsilon, max_ulps: u32) -> bool {
        self.to_ndarray().is_ok_and(|own| own.ulps_eq(other, epsilon, max_ulps))
    }
}
