//! Arrays and views as text.

use std::fmt;

use ndarray::Dimension;

use crate::{Element, GpuArray, GpuView, GpuViewMut, pending::Pending};

/// `Display` and `Debug` of `$type`, which has the methods for reading.
macro_rules! printed {
    ([$($generics:tt)*] $type:ty, $name:literal) => {
        impl<$($generics)*> fmt::Display for $type {
            /// Prints the elements as ndarray does; a device error prints as its text.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // To print an error is not to return it.
                let earlier = self.pending().and_then(Pending::peek);
                match earlier.map_or_else(|| self.to_ndarray(), Err) {
                    Ok(host) => host.fmt(f),
                    Err(error) => write!(f, "<{self:?}: {error}>"),
                }
            }
        }

        impl<$($generics)*> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>(shape {:?}", $name, T::DTYPE, self.shape())?;
                if !self.is_standard_layout() {
                    write!(f, ", strides {:?}", self.strides())?;
                }
                write!(f, ", device {})", self.device().ordinal())
            }
        }
    };
}

printed!([T: Element, D: Dimension] GpuArray<T, D>, "GpuArray");
printed!([T: Element, D: Dimension] GpuView<'_, T, D>, "GpuView");
printed!([T: Element, D: Dimension] GpuViewMut<'_, T, D>, "GpuViewMut");
