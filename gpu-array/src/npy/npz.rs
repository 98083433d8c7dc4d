//! Archives of NumPy's: npy files in a zip file, as they are or compressed.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use gpu_driver::Stream;
use ndarray::{Array, ArrayBase, Data, Dimension};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{NpyElement, Reason, checked::FileError, file_error, read_npy, reason};
use crate::{ArrayError, GpuArray, Result};

/// The most bytes of which deflate makes one (zlib's `maximum compression factor`, 1032 : 1, rounded up).
const MOST_PER_BYTE: u64 = 1040;
/// From so many bytes on a zip file has its longer form.
const LARGE: u64 = u32::MAX as u64;

/// An archive of `numpy.savez` or `numpy.savez_compressed`, open to read.
///
/// The elements of an array have the type that is asked for: nothing is converted ([`NpyElement`]).
///
/// # Cost
/// The archive's list of arrays is read when it is opened; an array when it is asked for, into host memory first. No more memory is allocated than
/// the archive's own bytes can hold, and no more bytes are read of an array than the archive states for it.
///
/// # Errors
/// Of all methods: `File`, with the archive's path, for a file that is no archive or a truncated one, for an array that it does not have, for
/// another element type or rank, for bytes that are other than the archive states (their number or their checksum), for an array that states more than its
/// bytes can hold, and for a method of compression besides zip's `stored` and `deflated`.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray2, NpzReader, NpzWriter};
/// let mut archive = NpzReader::open("measured.npz")?; // of numpy.savez_compressed("measured.npz", x=x, y=y)
/// let x: GpuArray2<f32> = archive.read(&device, "x")?;
/// let y: ndarray::Array1<f64> = archive.read_ndarray("y")?;
/// let mut archive = NpzWriter::create_compressed("results.npz")?;
/// archive.write("twice", &(2.0 * &x).eval()?)?;
/// archive.write_ndarray("y", &y)?;
/// archive.finish()?; // numpy.load("results.npz")["twice"]
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[derive(Debug)]
pub struct NpzReader {
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
}

impl NpzReader {
    /// Opens an archive.
    ///
    /// # Errors
    /// Those of [`NpzReader`].
    #[doc(alias = "load")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let archive = File::open(&path).map_err(reason);
        let archive = archive.and_then(|file| ZipArchive::new(BufReader::new(file)).map_err(reason));
        let archive = archive.map_err(|reason| file_error(&path, reason))?;
        Ok(Self { path, archive })
    }

    /// The names of the arrays, in no order that means anything.
    pub fn names(&self) -> Vec<String> {
        self.archive.file_names().map(|name| name.strip_suffix(".npy").unwrap_or(name).to_owned()).collect()
    }

    /// The array with that name, in device memory, in its order of axes.
    ///
    /// # Errors
    /// Those of [`NpzReader`]; the driver's.
    #[track_caller]
    pub fn read<T: NpyElement, D: Dimension>(&mut self, home: impl Into<Stream>, name: &str) -> Result<GpuArray<T, D>> {
        GpuArray::from_ndarray(home, &self.read_ndarray(name)?)
    }

    /// The array with that name, in host memory, in its order of axes.
    ///
    /// # Errors
    /// Those of [`NpzReader`].
    pub fn read_ndarray<T: NpyElement, D: Dimension>(&mut self, name: &str) -> Result<Array<T, D>> {
        self.array(name).map_err(|reason| file_error(&self.path, reason))
    }

    fn array<T: NpyElement, D: Dimension>(&mut self, name: &str) -> Result<Array<T, D>, Reason> {
        let names = self.names();
        let file = format!("{name}.npy");
        let number = self.archive.index_for_name(&file).or_else(|| self.archive.index_for_name(name));
        let Some(number) = number else { return Err(reason(FileError::Missing { name: name.to_owned(), names })) };
        let entry = self.archive.by_index(number).map_err(reason)?;
        let (packed, stated) = (entry.compressed_size(), entry.size());
        let most = match entry.compression() {
            CompressionMethod::Stored => packed,
            _ => packed.saturating_mul(MOST_PER_BYTE),
        };
        if stated > most {
            return Err(reason(FileError::Bomb { name: name.to_owned(), packed, stated }));
        }
        read_npy(BufReader::new(Stated { entry, left: stated, stated }), stated)
    }
}

/// An entry of an archive, of which no more bytes are read than it states.
struct Stated<R> {
    entry: R,
    left: u64,
    stated: u64,
}

impl<R: Read> Read for Stated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.entry.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("there are more than the {} bytes stated", self.stated))
        })?;
        Ok(read)
    }
}

/// An archive for `numpy.load`, open to write: as `numpy.savez` makes it, or `numpy.savez_compressed`.
///
/// [`NpzReader`] has an example.
///
/// # Errors
/// Of all methods: `File`, with the archive's path, for a file that cannot be written, and for a second array of one name.
#[must_use = "the archive's list of arrays is written by `finish`"]
pub struct NpzWriter {
    path: PathBuf,
    archive: ZipWriter<BufWriter<File>>,
    method: CompressionMethod,
}

impl NpzWriter {
    /// Makes a file for arrays as they are.
    ///
    /// # Errors
    /// Those of [`NpzWriter`].
    #[doc(alias = "savez")]
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_method(path.as_ref(), CompressionMethod::Stored)
    }

    /// Makes a file for compressed arrays.
    ///
    /// # Errors
    /// Those of [`NpzWriter`].
    #[doc(alias = "savez_compressed")]
    pub fn create_compressed(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_method(path.as_ref(), CompressionMethod::Deflated)
    }

    fn with_method(path: &Path, method: CompressionMethod) -> Result<Self> {
        let file = File::create(path).map_err(|error| file_error(path, reason(error)))?;
        Ok(Self { path: path.to_owned(), archive: ZipWriter::new(BufWriter::new(file)), method })
    }

    /// Writes an array in device memory, in its order of axes.
    ///
    /// # Errors
    /// Those of [`NpzWriter`]; the driver's.
    pub fn write<T: NpyElement, D: Dimension>(&mut self, name: &str, array: &GpuArray<T, D>) -> Result<()> {
        self.write_owned(name, array.to_ndarray()?)
    }

    /// Writes an array in host memory.
    ///
    /// # Errors
    /// Those of [`NpzWriter`].
    pub fn write_ndarray<T: NpyElement, S: Data<Elem = T>, D: Dimension>(
        &mut self,
        name: &str,
        array: &ArrayBase<S, D>,
    ) -> Result<()> {
        self.write_owned(name, array.to_owned())
    }

    fn write_owned<T: NpyElement, D: Dimension>(&mut self, name: &str, array: Array<T, D>) -> Result<()> {
        // Beside the elements there is a header, which is short.
        let is_large = (array.len() * size_of::<T>()) as u64 >= LARGE / 2;
        let options = SimpleFileOptions::default().compression_method(self.method).large_file(is_large);
        let started = self.archive.start_file(format!("{name}.npy"), options).map_err(reason);
        let written = started.and_then(|()| {
            let mut writer = BufWriter::new(&mut self.archive);
            T::write(&mut writer, array).map_err(reason)?;
            writer.flush().map_err(reason)
        });
        written.map_err(|reason| self.error(reason))
    }

    /// Writes the archive's list of arrays. Without it the file is no archive.
    ///
    /// # Errors
    /// Those of [`NpzWriter`].
    pub fn finish(self) -> Result<()> {
        let Self { path, archive, .. } = self;
        let finished = archive.finish().and_then(|mut writer| writer.flush().map_err(ZipError::from));
        finished.map_err(|error| file_error(&path, reason(error)))
    }

    fn error(&self, reason: Reason) -> ArrayError {
        file_error(&self.path, reason)
    }
}

impl std::fmt::Debug for NpzWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NpzWriter({}, {})", self.path.display(), self.method)
    }
}
