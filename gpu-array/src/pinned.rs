//! Arrays in pinned host memory, and transfers that run while the host goes on.

use std::fmt;

use gpu_driver::{Device, Pending, PinnedVec};
use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Data, Dimension, IntoDimension};

use crate::{
    ArrayError, Element, GpuArray, Result,
    layout::{Layout, checked_len},
    transfer::same_shape,
};

/// An array in pinned host memory, in C order, which the device copies from and to without the host waiting: see
/// [`GpuArray::upload`] and [`GpuArray::download`].
///
/// Pinned memory is taken from the memory that the operating system can page; reuse such arrays.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, PinnedArray};
/// let host = PinnedArray::from_ndarray(&device, &ndarray::array![[1.0f32, 2.0], [3.0, 4.0]])?;
/// let mut x = GpuArray::zeros(&device, (2, 2))?;
/// let copying = x.upload(host)?;
/// // … other work of the host …
/// let mut host = copying.wait()?;
/// host.view_mut()[[0, 0]] = 5.0;
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub struct PinnedArray<T: Element, D: Dimension> {
    data: PinnedVec<T::Storage>,
    dim: D,
}

/// An array in pinned memory that a copy still uses; [`PendingArray::wait`] gives it back. Dropping it waits too.
#[must_use = "dropping it waits for the copy"]
pub struct PendingArray<T: Element, D: Dimension> {
    pending: Pending<PinnedVec<T::Storage>>,
    dim: D,
}

impl<T: Element, D: Dimension> PinnedArray<T, D> {
    /// An array of zeros.
    ///
    /// # Errors
    /// `TooLarge`; the driver's, such as `OutOfPinnedMemory`.
    #[track_caller]
    pub fn zeros(device: &Device, shape: impl IntoDimension<Dim = D>) -> Result<Self> {
        let dim = shape.into_dimension();
        Ok(Self { data: PinnedVec::zeros(device, checked_len(dim.slice())?)?, dim })
    }

    /// A copy of an ndarray array or view of any layout.
    ///
    /// # Errors
    /// The driver's, such as `OutOfPinnedMemory`.
    #[track_caller]
    pub fn from_ndarray<S: Data<Elem = T>>(device: &Device, source: &ArrayBase<S, D>) -> Result<Self> {
        let mut array = Self::zeros(device, source.raw_dim())?;
        for (stored, element) in array.data.iter_mut().zip(source) {
            *stored = element.to_storage();
        }
        Ok(array)
    }

    /// A copy in ordinary memory.
    pub fn to_ndarray(&self) -> Array<T, D> {
        let elements: Vec<T> = self.data.iter().map(|&stored| T::from_storage(stored)).collect();
        Array::from_shape_vec(self.dim.clone(), elements).expect("one element per place")
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.dim.slice()
    }

    /// The elements in C order, as they are stored.
    pub fn as_pinned_vec(&self) -> &PinnedVec<T::Storage> {
        &self.data
    }

    /// The elements in C order, as they are stored, to write.
    pub fn as_mut_slice(&mut self) -> &mut [T::Storage] {
        &mut self.data
    }
}

/// Views of arrays of each element type but `bool`, whose stored bytes are not all values of it.
impl<T: Element<Storage = T> + gpu_driver::DevicePod, D: Dimension> PinnedArray<T, D> {
    /// The array as ndarray's view.
    pub fn view(&self) -> ArrayView<'_, T, D> {
        ArrayView::from_shape(self.dim.clone(), &self.data).expect("one element per place")
    }

    /// The array as ndarray's view, to write.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        ArrayViewMut::from_shape(self.dim.clone(), &mut self.data).expect("one element per place")
    }
}

impl<T: Element, D: Dimension> PendingArray<T, D> {
    /// Whether the copy has run.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn is_done(&self) -> Result<bool> {
        Ok(self.pending.is_done()?)
    }

    /// Waits for the copy and gives the array back.
    ///
    /// # Errors
    /// `DeviceLost`; the memory is leaked then, as the device may still use it.
    pub fn wait(self) -> Result<PinnedArray<T, D>> {
        Ok(PinnedArray { data: self.pending.wait()?, dim: self.dim })
    }
}

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// Starts to overwrite the array with pinned memory and returns at once. Later work on the array comes after the copy.
    ///
    /// # Cost
    /// One copy at the full speed of the bus, beside the work of the host and of other streams.
    ///
    /// # Errors
    /// `Shape` unless both have the same; `NotInCOrder` for an array in another order; `DeviceLost`. The pinned memory is dropped then.
    pub fn upload(&mut self, source: PinnedArray<T, D>) -> Result<PendingArray<T, D>> {
        self.view_mut().check_overwrite()?;
        transferable("upload", self.layout(), &source)?;
        let pending = self.as_mut_device_vec().upload(source.data)?;
        self.view_mut().note_overwritten();
        Ok(PendingArray { pending, dim: source.dim })
    }

    /// Starts to copy the array to pinned memory, which [`PendingArray::wait`] gives back filled, and returns at once.
    ///
    /// # Cost
    /// The cost of [`GpuArray::upload`].
    ///
    /// # Errors
    /// The errors of [`GpuArray::upload`].
    pub fn download(&self, target: PinnedArray<T, D>) -> Result<PendingArray<T, D>> {
        self.view().covering()?;
        transferable("download", self.layout(), &target)?;
        Ok(PendingArray { pending: self.as_device_vec().download(target.data)?, dim: target.dim })
    }
}

fn transferable<T: Element, D: Dimension>(
    op: &'static str,
    layout: &Layout<D>,
    host: &PinnedArray<T, D>,
) -> Result<()> {
    same_shape(op, layout.shape(), host.shape())?;
    if layout.is_c_contiguous() {
        return Ok(());
    }
    Err(ArrayError::NotInCOrder { op, shape: layout.shape().to_vec(), strides: layout.strides().to_vec() })
}

impl<T: Element, D: Dimension> fmt::Debug for PinnedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedArray<{}>(shape {:?})", T::DTYPE, self.shape())
    }
}

impl<T: Element, D: Dimension> fmt::Debug for PendingArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingArray<{}>(shape {:?})", T::DTYPE, self.dim.slice())
    }
}
