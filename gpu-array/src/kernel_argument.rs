//! Arrays as arguments of kernels from strings.
#![expect(unsafe_code, reason = "a launch believes the type that an argument says it has")]

use gpu_driver::{ArgumentType, DriverError, In, InOut, LaunchArgument, Stream};
use ndarray::Dimension;

use crate::{ArrayError, Element, GpuArray, pending::Pending};

/// The error of an operator such as `+=` on an array, as a launch returns it.
fn check(pending: Option<&Pending>) -> gpu_driver::Result<()> {
    pending.map_or(Ok(()), Pending::check).map_err(|error| match error {
        ArrayError::Driver(error) => error,
        error => DriverError::Unreported { text: error.to_string() },
    })
}

/// The elements in memory order, `const T *`; those of `bool` are bytes, `const uint8_t *`.
// SAFETY: as the buffer's `input` says.
unsafe impl<'a, T: Element, D: Dimension> LaunchArgument for &'a GpuArray<T, D> {
    type Staged = <In<'a, T::Storage> as LaunchArgument>::Staged;
    fn describe() -> ArgumentType {
        <In<'a, T::Storage> as LaunchArgument>::describe()
    }
    fn stage(self, stream: &Stream) -> gpu_driver::Result<Self::Staged> {
        check(self.pending())?;
        self.as_device_vec().input().stage(stream)
    }
}

/// The elements in memory order, `T *`; those of `bool` are bytes, `uint8_t *`.
// SAFETY: as the buffer's `in_out` says.
unsafe impl<'a, T: Element, D: Dimension> LaunchArgument for &'a mut GpuArray<T, D> {
    type Staged = <InOut<'a, T::Storage> as LaunchArgument>::Staged;
    fn describe() -> ArgumentType {
        <InOut<'a, T::Storage> as LaunchArgument>::describe()
    }
    fn stage(self, stream: &Stream) -> gpu_driver::Result<Self::Staged> {
        check(self.pending())?;
        self.as_mut_device_vec().in_out().stage(stream)
    }
}
