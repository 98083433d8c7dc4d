//! CUDA's array interface: the facts of an array as numba, CuPy and PyTorch exchange them in Python.

use std::{fmt, marker::PhantomData};

use ndarray::Dimension;

use crate::{DType, Element, GpuView, GpuViewMut, Result};

/// The facts of an array under the names of `__cuda_array_interface__`, version 3.
///
/// It borrows the array, whose memory they tell. As text it is the dictionary in Python that `__cuda_array_interface__` gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaArrayInterface<'a> {
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The element type as NumPy writes it, such as `<f4`.
    pub typestr: &'static str,
    /// The address of the element at index 0 of every axis; 0 for an array without elements.
    pub address: u64,
    /// Whether the memory must not be written.
    pub read_only: bool,
    /// Distances of neighbours along each axis in bytes; None in C order.
    pub strides: Option<Vec<isize>>,
    /// The stream in whose order the array is, as the driver's handle.
    pub stream: u64,
    _array: PhantomData<&'a ()>,
}

impl CudaArrayInterface<'_> {
    /// The version of the interface.
    pub const VERSION: u32 = 3;
}

impl DType {
    /// The type as NumPy's array interface writes it, such as `<f4`: byte order (`|` for single bytes), kind, bytes. NumPy has no bf16: it is `<V2`, two
    /// bytes without a meaning, as the package `ml_dtypes` has it.
    pub const fn typestr(self) -> &'static str {
        match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::I16 => "<i2",
            Self::I32 => "<i4",
            Self::I64 => "<i8",
            Self::U8 => "|u1",
            Self::U16 => "<u2",
            Self::U32 => "<u4",
            Self::U64 => "<u8",
            Self::F16 => "<f2",
            Self::BF16 => "<V2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::C64 => "<c8",
            Self::C128 => "<c16",
        }
    }
}

impl DType {
    /// The type that NumPy's array interface writes so, in this machine's byte order; None for one that no array here has.
    ///
    /// ```
    /// use gpu_array::DType;
    /// assert_eq!(DType::from_typestr("<c8"), Some(DType::C64));
    /// assert_eq!(DType::from_typestr(">f4"), None);
    /// ```
    pub fn from_typestr(typestr: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.typestr() == typestr)
    }
}

impl<'a, T: Element, D: Dimension> GpuView<'a, T, D> {
    /// The facts of the view as CUDA's array interface names them, to read: for CuPy and numba in one process. PyTorch takes no read-only memory by
    /// this interface; [`GpuViewMut::cuda_array_interface`] is for it.
    ///
    /// They may be used while the array is borrowed. Whoever reads there does so in the order of the stream.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::<f32, _>::zeros(&device, (2, 3))?;
    /// let facts = x.view().cuda_array_interface()?;
    /// println!("{facts}"); // {'shape': (2, 3,), 'typestr': '<f4', 'data': (140…, True), 'strides': None, 'version': 3, 'stream': …}
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn cuda_array_interface(&self) -> Result<CudaArrayInterface<'a>> {
        self.facts(true)
    }

    fn facts(&self, read_only: bool) -> Result<CudaArrayInterface<'a>> {
        let first = self.covering()?.len();
        let bytes = T::DTYPE.bytes();
        let address = if first == 0 { 0 } else { self.data().as_raw() + (self.layout().offset() * bytes) as u64 };
        let strides = self.layout().strides().iter().map(|stride| stride * bytes as isize).collect();
        Ok(CudaArrayInterface {
            shape: self.shape().to_vec(),
            typestr: T::DTYPE.typestr(),
            address,
            read_only,
            strides: if self.is_standard_layout() { None } else { Some(strides) },
            stream: self.stream().as_raw() as u64,
            _array: PhantomData,
        })
    }
}

impl<T: Element, D: Dimension> GpuViewMut<'_, T, D> {
    /// The facts of the view as CUDA's array interface names them, to read and write: for CuPy, numba and PyTorch in one process.
    ///
    /// They may be used while the view is borrowed. Whoever reads or writes there does so in the order of the stream, and writes elements of the
    /// type: a byte of a `bool` is 0 or 1.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let mut x = gpu_array::GpuArray::<f32, _>::zeros(&device, (2, 3))?;
    /// let mut view = x.view_mut();
    /// assert!(!view.cuda_array_interface()?.read_only);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn cuda_array_interface(&mut self) -> Result<CudaArrayInterface<'_>> {
        self.view().facts(false)
    }
}

impl fmt::Display for CudaArrayInterface<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{'shape': {}, 'typestr': '{}', ", Tuple(&self.shape), self.typestr)?;
        let read_only = if self.read_only { "True" } else { "False" };
        write!(f, "'data': ({}, {read_only}), 'strides': ", self.address)?;
        match &self.strides {
            None => f.write_str("None")?,
            Some(strides) => write!(f, "{}", Tuple(strides))?,
        }
        write!(f, ", 'version': {}, 'stream': {}}}", Self::VERSION, self.stream)
    }
}

/// Numbers as Python's tuple.
struct Tuple<'t, N>(&'t [N]);

impl<N: fmt::Display> fmt::Display for Tuple<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        self.0.iter().try_for_each(|number| write!(f, "{number}, "))?;
        f.write_str(")")
    }
}
