//! Files of NumPy's.

use std::{
    error::Error,
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
    sync::Arc,
};

use gpu_driver::Stream;
use ndarray::{Array, Dimension};
use ndarray_npy::{ReadNpyError, ReadNpyExt, WriteNpyError, WriteNpyExt};

use crate::{ArrayError, Complex, Element, GpuArray, Result, bf16, f16};

mod checked;
mod half;
#[cfg(feature = "npz")]
pub(crate) mod npz;

use checked::checked;
use half::InFile;

/// Reading and writing of a host array, which the element type chooses.
trait NpyStorage: Sized {
    fn read<D: Dimension>(reader: impl Read) -> Result<Array<Self, D>, ReadNpyError>;
    fn write<D: Dimension>(writer: impl Write, array: Array<Self, D>) -> Result<(), WriteNpyError>;
}

/// A reason why an array could not be read or written.
type Reason = Arc<dyn Error + Send + Sync>;

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
            fn read<D: Dimension>(reader: impl Read) -> Result<Array<Self, D>, ReadNpyError> {
                Array::read_npy(reader)
            }
            fn write<D: Dimension>(writer: impl Write, array: Array<Self, D>) -> Result<(), WriteNpyError> {
                array.write_npy(writer)
            }
        }
    )*};
    (@half $($type:ty)*) => {$(
        impl NpyStorage for $type {
            fn read<D: Dimension>(reader: impl Read) -> Result<Array<Self, D>, ReadNpyError> {
                let array: Array<InFile<Self>, D> = Array::read_npy(reader)?;
                Ok(array.mapv_into_any(InFile::into_inner))
            }
            fn write<D: Dimension>(writer: impl Write, array: Array<Self, D>) -> Result<(), WriteNpyError> {
                array.mapv_into_any(InFile::new).write_npy(writer)
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
    /// Archives (npz) are read by `NpzReader`, with the feature of that name.
    ///
    /// # Errors
    /// `File` for a file that cannot be read, is no npy file, has another element type or rank, or not as many bytes as its header asks for; the driver's.
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
        let host: Array<T, D> = read_file(path).map_err(|reason| file_error(path, reason))?;
        Self::from_ndarray(home, &host)
    }

    /// Writes the array as an npy file, in its order of axes (C or Fortran order; others are written in C order).
    ///
    /// # Errors
    /// `File` for a file that cannot be written; the driver's.
    #[doc(alias = "save")]
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_file(path, self.to_ndarray()?).map_err(|reason| file_error(path, reason))
    }
}

fn read_file<T: NpyElement, D: Dimension>(path: &Path) -> Result<Array<T, D>, Reason> {
    let file = File::open(path).map_err(reason)?;
    let facts = file.metadata().map_err(reason)?;
    let reader = BufReader::new(file);
    // A pipe has no length.
    if facts.is_file() { read_npy(reader, facts.len()) } else { T::read(reader).map_err(reason) }
}

fn write_file<T: NpyElement, D: Dimension>(path: &Path, array: Array<T, D>) -> Result<(), Reason> {
    let mut writer = BufWriter::new(File::create(path).map_err(reason)?);
    T::write(&mut writer, array).map_err(reason)?;
    writer.flush().map_err(reason)
}

/// The array of an npy file that has that many bytes.
fn read_npy<T: NpyElement, D: Dimension>(reader: impl Read, bytes: u64) -> Result<Array<T, D>, Reason> {
    T::read(checked(reader, bytes).map_err(reason)?).map_err(reason)
}

fn reason(error: impl Error + Send + Sync + 'static) -> Reason {
    Arc::new(error)
}

fn file_error(path: &Path, source: Reason) -> ArrayError {
    ArrayError::File { path: path.to_owned(), source }
}
