//! Files of NumPy's.

use std::{path::Path, sync::Arc};

use gpu_driver::Stream;
use ndarray::{Array, Dimension};
use ndarray_npy::{ReadNpyError, WriteNpyError, read_npy, write_npy};

use crate::{ArrayError, Complex, Element, GpuArray, Result, bf16, f16};

mod half;

use half::InFile;

/// Reading and writing of a host array, which the element type chooses.
trait NpyStorage: Sized {
    fn read<D: Dimension>(path: &Path) -> Result<Array<Self, D>, ReadNpyError>;
    fn write<D: Dimension>(path: &Path, array: Array<Self, D>) -> Result<(), WriteNpyError>;
}

/// An element type of npy files, which each [`Element`] is.
///
/// NumPy has all types but [`bf16`], of which a file has the type `<V2`: two bytes of no known meaning, as those that `numpy.save` writes of
/// `ml_dtypes.bfloat16`. In Python `numpy.load(path).view(ml_dtypes.bfloat16)` reads such a file.
#[expect(private_bounds, reason = "no other crate implements it")]
pub trait NpyElement: Element + NpyStorage {}

impl<T: Element + NpyStorage> NpyElement for T {}

macro_rules! stored {
    ($($type:ty)*) => {$(
        impl NpyStorage for $type {
            fn read<D: Dimension>(path: &Path) -> Result<Array<Self, D>, ReadNpyError> {
                read_npy(path)
            }
            fn write<D: Dimension>(path: &Path, array: Array<Self, D>) -> Result<(), WriteNpyError> {
                write_npy(path, &array)
            }
        }
    )*};
    (@half $($type:ty)*) => {$(
        impl NpyStorage for $type {
            fn read<D: Dimension>(path: &Path) -> Result<Array<Self, D>, ReadNpyError> {
                let array: Array<InFile<Self>, D> = read_npy(path)?;
                Ok(array.mapv_into_any(InFile::into_inner))
            }
            fn write<D: Dimension>(path: &Path, array: Array<Self, D>) -> Result<(), WriteNpyError> {
                write_npy(path, &array.mapv_into_any(InFile::new))
            }
        }
    )*};
}
stored! { bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Complex<f32> Complex<f64> }
stored! { @half f16 bf16 }

impl<T: NpyElement, D: Dimension> GpuArray<T, D> {
    /// The array of an npy file, in its order of axes.
    ///
    /// The file has the element type T: nothing is converted. The type of each T is NumPy's, but for [`bf16`]: see [`NpyElement`].
    ///
    /// Archives (npz) are read by `ndarray_npy::NpzReader`, whose arrays [`GpuArray::from_ndarray`] takes; it knows neither [`f16`](struct@f16) nor [`bf16`].
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
    pub fn read_npy(home: impl Into<Stream>, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let host: Array<T, D> = T::read(path).map_err(|error| file_error(path, error))?;
        Self::from_ndarray(home, &host)
    }

    /// Writes the array as an npy file, in its order of axes (C or Fortran order; others are written in C order).
    ///
    /// # Errors
    /// `File` for a file that cannot be written; the driver's.
    #[doc(alias = "save")]
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        T::write(path, self.to_ndarray()?).map_err(|error| file_error(path, error))
    }
}

fn file_error(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> ArrayError {
    ArrayError::File { path: path.to_owned(), source: Arc::new(error) }
}
