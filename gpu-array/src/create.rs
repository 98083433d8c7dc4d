//! Arrays that a kernel fills, or a copy from ndarray.

use gpu_driver::Stream;
use ndarray::{ArrayBase, Data, Dimension, Ix1, ShapeBuilder};

use crate::{
    Element, GpuArray, Number, Result,
    expression::{self, device},
    layout::Layout,
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
    #[doc(alias("array", "asarray", "from_vec", "from_slice"))]
    pub fn from_ndarray<S: Data<Elem = T>>(home: impl Into<Stream>, source: &ArrayBase<S, D>) -> Result<Self> {
        transfer::from_ndarray(&home.into(), source.view())
    }

    /// An array with `value` in each place.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the fill kernel cannot be compiled.
    pub fn full(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>, value: T) -> Result<Self> {
        let layout = Layout::of(shape)?;
        let mut array = Self::from_parts(device::allocate(&home.into(), layout.len())?, layout);
        array.fill(value)?;
        Ok(array)
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
    pub fn arange(home: impl Into<Stream>, start: T, stop: T, step: T) -> Result<Self> {
        expression::arange(start, stop, step)?.eval_on(home)
    }
}
