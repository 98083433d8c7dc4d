//! Arrays that a kernel fills, or a copy from ndarray.

use gpu_driver::{DeviceVec, Stream};
use ndarray::{ArrayBase, Data, Dimension, Ix1, Ix2, ShapeBuilder};

use crate::{
    ArrayError, Element, Float, GpuArray, Number, Numeric, Result, allocate::allocate, expression, layout::Layout,
    transfer,
};

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// A copy of an ndarray array or view of any layout; in Fortran order where the source is, else in C order.
    ///
    /// # Cost
    /// One copy to the device, after one on the host when the source is in neither order. Returns when it has run.
    ///
    /// # Errors
    /// Those of the driver, such as `OutOfMemory`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let host = ndarray::Array2::<f64>::eye(3);
    /// let x = gpu_array::GpuArray::from_ndarray(&device, &host.t())?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("array", "asarray"))]
    #[track_caller]
    pub fn from_ndarray<S: Data<Elem = T>>(home: impl Into<Stream>, source: &ArrayBase<S, D>) -> Result<Self> {
        transfer::from_ndarray(&home.into(), source.view())
    }

    /// An array with `value` in each place.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the fill kernel cannot be compiled.
    #[track_caller]
    pub fn full(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>, value: T) -> Result<Self> {
        #[expect(unsafe_code, reason = "memory that the fill writes")]
        // SAFETY: each element is written next; if that fails the array is dropped unread.
        let mut array = unsafe { Self::empty(home, shape)? };
        array.fill(value)?;
        Ok(array)
    }

    /// An array whose elements are whatever the memory held: NumPy's `empty`, for kernels of one's own that write all of it.
    ///
    /// Expressions need none: [`Expr::eval`](crate::expression::Expr::eval) writes new memory once. [`GpuArray::zeros`] costs a fill more.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's.
    ///
    /// # Safety
    /// No memory unsafety follows, since every bit pattern is an element; but reading an element before it is written gives an arbitrary value. The
    /// caller writes every element first.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// // SAFETY: `fill` writes all of it.
    /// let mut x = unsafe { gpu_array::GpuArray::<f32, _>::empty(&device, (2, 3))? };
    /// x.fill(1.5f32)?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[expect(unsafe_code, reason = "memory that the caller writes before anyone reads it")]
    #[track_caller]
    pub unsafe fn empty(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
        let layout = Layout::of(shape)?;
        Ok(Self::from_parts(allocate(&home.into(), layout.len())?, layout))
    }

    /// An array with 1 in each place.
    ///
    /// # Errors
    /// The errors of [`GpuArray::full`].
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::<f32, _>::ones(&device, (2, 3))?;
    /// assert_eq!(x.to_ndarray()?, ndarray::Array2::ones((2, 3)));
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn ones(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self>
    where
        T: Numeric,
    {
        Self::full(home, shape, T::one())
    }

    /// A copy of elements in C order, or in Fortran order for a shape such as `(3, 4).f()`.
    ///
    /// # Cost
    /// One copy to the device. Returns when it has run.
    ///
    /// # Errors
    /// `Length` unless there are as many elements as the shape asks for; `TooLarge`; the driver's, such as `OutOfMemory`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::from_shape_vec(&device, (2, 2), vec![1, 2, 3, 4])?;
    /// assert_eq!(x.to_ndarray()?, ndarray::array![[1, 2], [3, 4]]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn from_shape_vec(
        home: impl Into<Stream>,
        shape: impl ShapeBuilder<Dim = D>,
        elements: impl AsRef<[T]>,
    ) -> Result<Self> {
        let (layout, elements) = (Layout::of(shape)?, elements.as_ref());
        let (expected, got) = (layout.len(), elements.len());
        if expected != got {
            return Err(ArrayError::Length { shape: layout.shape().to_vec(), expected, got });
        }
        Ok(Self::from_parts(DeviceVec::from_slice(&home.into(), &T::to_storage_slice(elements))?, layout))
    }
}

impl<T: Element> GpuArray<T, Ix1> {
    /// A copy of the elements of a `Vec`, a slice or an array of Rust.
    ///
    /// # Errors
    /// The driver's, such as `OutOfMemory`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::from_vec(&device, vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(x.shape(), [3]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("from_slice", "arr1"))]
    #[track_caller]
    pub fn from_vec(home: impl Into<Stream>, elements: impl AsRef<[T]>) -> Result<Self> {
        Self::from_shape_vec(home, elements.as_ref().len(), elements)
    }
}

impl<T: Float> GpuArray<T, Ix1> {
    /// `n` values from `start` to `stop`, both included: [`linspace`](expression::linspace) computed at once.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the kernel cannot be compiled.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::linspace(&device, 0.0f32, 1.0, 5)?;
    /// assert_eq!(x.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn linspace(home: impl Into<Stream>, start: T, stop: T, n: usize) -> Result<Self> {
        expression::linspace(start, stop, n).eval_on(home)
    }

    /// `n` values from `start` on, with the distances of n + 1 values of which `stop` would be the last: NumPy's `linspace` with
    /// `endpoint=False`, and [`linspace_without_end`](expression::linspace_without_end) computed at once.
    ///
    /// # Errors
    /// The errors of [`GpuArray::linspace`].
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::linspace_without_end(&device, 0.0f32, 1.0, 4)?;
    /// assert_eq!(x.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias = "endpoint")]
    #[track_caller]
    pub fn linspace_without_end(home: impl Into<Stream>, start: T, stop: T, n: usize) -> Result<Self> {
        expression::linspace_without_end(start, stop, n).eval_on(home)
    }
}

impl<T: Numeric> GpuArray<T, Ix2> {
    /// The identity matrix of n rows: [`eye`](expression::eye) computed at once.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the kernel cannot be compiled.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let unit = gpu_array::GpuArray::<f64, _>::eye(&device, 3)?;
    /// assert_eq!(unit.to_ndarray()?, ndarray::Array2::eye(3));
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias = "identity")]
    #[track_caller]
    pub fn eye(home: impl Into<Stream>, n: usize) -> Result<Self> {
        expression::eye(n).eval_on(home)
    }
}

impl<T: Number> GpuArray<T, Ix1> {
    /// The values `start + i * step` before `stop`, as NumPy's `arange`.
    ///
    /// Floats are computed in f64 and rounded once, so a long f32 range does not drift; the number of values is
    /// `ceil((stop - start) / step)`. Same bits as [`reference::arange`](crate::reference::arange).
    ///
    /// # Errors
    /// `Range` for a step of zero or a number of values that is not finite; the driver's; `NoNvrtc`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::arange(&device, 0.0f32, 1.0, 0.25)?;
    /// assert_eq!(x.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn arange(home: impl Into<Stream>, start: T, stop: T, step: T) -> Result<Self> {
        expression::arange(start, stop, step)?.eval_on(home)
    }
}
