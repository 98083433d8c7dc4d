//! New arrays like others.

use ndarray::Dimension;

use crate::{Element, GpuArray, GpuView, GpuViewMut, Numeric, Result, dense};

/// The methods of `$type` that make arrays in its shape. It has `layout()` and `stream()`.
macro_rules! like {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $type {
            /// A new array of zeros on the same stream in the same shape, in Fortran order where this one is, else in C order.
            ///
            /// # Errors
            /// `TooLarge`, or the driver's.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// let x = gpu_array::GpuArray::from_ndarray(&device, &ndarray::array![[1, 2, 3], [4, 5, 6]])?;
            /// assert_eq!(x.zeros_like()?.to_ndarray()?, ndarray::Array2::zeros((2, 3)));
            /// assert_eq!(x.t().full_like(7)?.strides(), [1, 3]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[track_caller]
            pub fn zeros_like(&self) -> Result<GpuArray<T, D>> {
                GpuArray::zeros(self.stream(), dense::shape_of(self.layout()))
            }

            /// A new array as by [`zeros_like`](Self::zeros_like), whose elements are whatever the memory held: [`GpuArray::empty`].
            ///
            /// # Errors
            /// `TooLarge`, or the driver's.
            ///
            /// # Safety
            /// That of [`GpuArray::empty`]: the caller writes every element before it is read.
            #[expect(unsafe_code, reason = "memory that the caller writes before anyone reads it")]
            #[track_caller]
            pub unsafe fn empty_like(&self) -> Result<GpuArray<T, D>> {
                // SAFETY: as the caller promises.
                unsafe { GpuArray::empty(self.stream(), dense::shape_of(self.layout())) }
            }

            /// A new array of ones, as by [`zeros_like`](Self::zeros_like).
            ///
            /// # Errors
            /// The errors of [`full_like`](Self::full_like).
            #[track_caller]
            pub fn ones_like(&self) -> Result<GpuArray<T, D>>
            where
                T: Numeric,
            {
                self.full_like(T::one())
            }

            /// A new array with `value` in each place, as by [`zeros_like`](Self::zeros_like).
            ///
            /// # Errors
            /// `TooLarge`, or the driver's; `NoNvrtc` where the fill kernel cannot be compiled.
            #[track_caller]
            pub fn full_like(&self, value: T) -> Result<GpuArray<T, D>> {
                GpuArray::full(self.stream(), dense::shape_of(self.layout()), value)
            }
        }
    };
}

like!([T: Element, D: Dimension] GpuArray<T, D>);
like!([T: Element, D: Dimension] GpuView<'_, T, D>);
like!([T: Element, D: Dimension] GpuViewMut<'_, T, D>);
