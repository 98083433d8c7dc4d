//! Files of NumPy's.

use std::{path::Path, sync::Arc};

use gpu_driver::Stream;
use ndarray::{Array, Dimension};
use ndarray_npy::{ReadableElement, WritableElement, read_npy, write_npy};

use crate::{ArrayError, Element, GpuArray, Result};

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// The array of an npy file, in its order of axes.
    ///
    /// Archives (npz) are read by `ndarray_npy::NpzReader`, whose arrays [`GpuArray::from_ndarray`] takes.
    ///
    /// # Errors
    /// `File` for a file that cannot be read, is no npy file, or has another element type or rank; the driver's.
    ///
    /// ```no_run
    /// # #[cfg(feature = "npy")] {
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray2::<f32>::read_npy(&device, "x.npy")?; // of numpy.save("x.npy", x)
    /// x.write_npy("copy.npy")?;
    /// # }
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias = "load")]
    #[track_caller]
    pub fn read_npy(home: impl Into<Stream>, path: impl AsRef<Path>) -> Result<Self>
    where
        T: ReadableElement,
    {
        let path = path.as_ref();
        let host: Array<T, D> = read_npy(path).map_err(|error| file_error(path, error))?;
        Self::from_ndarray(home, &host)
    }

    /// Writes the array as an npy file, in its order of axes (C or Fortran order; others are written in C order).
    ///
    /// # Errors
    /// `File` for a file that cannot be written; the driver's.
    #[doc(alias = "save")]
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()>
    where
        T: WritableElement,
    {
        let path = path.as_ref();
        write_npy(path, &self.to_ndarray()?).map_err(|error| file_error(path, error))
    }
}

fn file_error(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> ArrayError {
    ArrayError::File { path: path.to_owned(), source: Arc::new(error) }
}
