//! Arrays over memory that another library owns.

use std::{any::Any, ffi::c_void, fmt};

use gpu_driver::{DeviceVec, Stream};
use ndarray::Dimension;

use crate::{
    ArrayError, Element, GpuArray, GpuView, GpuViewMut, Result,
    layout::{Layout, checked_len, dense_strides, extent},
    pending::Pending,
};

/// An array in device memory that another library owns, with any strides: its views are used as those of a [`GpuArray`].
///
/// When it is dropped, the host waits for its stream, and the owner is dropped.
pub struct ForeignArray<T: Element, D: Dimension> {
    /// From the element with the least address to that with the greatest.
    data: DeviceVec<T::Storage>,
    layout: Layout<D>,
    is_read_only: bool,
    pending: Pending,
}

/// The memory of a foreign array: address, shape and strides of its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignMemory<'p> {
    /// The address of the element at index 0 of every axis.
    pub(crate) address: u64,
    pub(crate) shape: &'p [usize],
    /// Distances of neighbours in elements; None in C order.
    pub(crate) strides: Option<&'p [isize]>,
    pub(crate) is_read_only: bool,
}

impl<T: Element, D: Dimension> ForeignArray<T, D> {
    /// An array over memory at `address`, the element at index 0 of every axis, with distances of neighbours in elements (None for C order).
    /// `owner` gives the memory back when it is dropped. `home` orders all work on the array.
    ///
    /// `after` is the stream, as the driver's handle, on which the owner has enqueued work on the memory; None if no work is left.
    ///
    /// # Errors
    /// `Ndim` for strides or a rank that do not fit; `TooLarge`; `Exchange` for strides that two elements to write would share; the driver's. The owner
    /// is dropped then.
    ///
    /// # Safety
    /// - The elements that shape and strides lead to are in memory that the home's device can access, until the owner is dropped. They are initialised
    ///   (a `bool` is a byte).
    /// - As long as the array lives, others write to them, and read elements written through the array, only in an order with `home` that they make
    ///   themselves. No other array leads to elements of this one unless nobody writes to both.
    /// - `after` is a stream of the same device and is alive.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// use gpu_array::{GpuArray, exchange::ForeignArray, gpu_driver::DeviceVec};
    /// use ndarray::Ix2;
    /// let theirs = DeviceVec::from_slice(&device.stream(), &[1.0f32, 2.0, 3.0, 4.0])?; // stands for the memory of another library
    /// let (address, stream) = (theirs.as_raw(), device.stream());
    /// // SAFETY: four elements, which nobody else uses until the array drops their owner.
    /// let x = unsafe { ForeignArray::<f32, Ix2>::from_raw(&stream, address, &[2, 2], None, None, theirs)? };
    /// let twice: GpuArray<f32, _> = (x.view() * 2.0).eval()?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub unsafe fn from_raw(
        home: &Stream,
        address: u64,
        shape: &[usize],
        strides: Option<&[isize]>,
        after: Option<*mut c_void>,
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        let memory = ForeignMemory { address, shape, strides, is_read_only: false };
        // SAFETY: as the caller promises.
        unsafe { Self::at(home, memory, after, owner) }
    }

    /// # Safety
    /// That of [`ForeignArray::from_raw`]; a read-only array is not written by others either.
    pub(crate) unsafe fn at(
        home: &Stream,
        memory: ForeignMemory<'_>,
        after: Option<*mut c_void>,
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        const OP: &str = "ForeignArray::from_raw";
        let ForeignMemory { address, shape, strides, is_read_only } = memory;
        checked_len(shape)?;
        let dense = dense_strides(shape, false);
        let strides = strides.unwrap_or(&dense);
        for (expected, got) in [(shape.len(), strides.len()), (D::NDIM.unwrap_or(shape.len()), shape.len())] {
            if expected != got {
                return Err(ArrayError::Ndim { op: OP, expected, got });
            }
        }
        let is_empty = shape.contains(&0);
        let (least, greatest) = match extent(shape, strides, 0) {
            Some(extent) => extent,
            None if is_empty => (0, -1),
            None => return Err(ArrayError::TooLarge { shape: shape.to_vec() }),
        };
        let shares = !is_read_only && !is_empty && !are_apart(shape, strides);
        if shares {
            let (expected, got) = ("elements of their own addresses".to_owned(), format!("strides {strides:?}"));
            return Err(ArrayError::Exchange { op: OP, expected, got });
        }
        let bytes = T::DTYPE.bytes() as i64;
        let first = if is_empty { 0 } else { address.wrapping_add_signed(least as i64 * bytes) };
        let len = (greatest - least + 1) as usize;
        let layout = Layout::of_parts(least.unsigned_abs(), shape, strides);
        // SAFETY: as the caller promises; all elements lie between the first and the last of them.
        let data = unsafe { DeviceVec::from_foreign(home, first, len, after.map(<*mut c_void>::cast), owner)? };
        Ok(Self { data, layout, is_read_only, pending: Pending::default() })
    }

    /// The array, to read.
    pub fn view(&self) -> GpuView<'_, T, D> {
        GpuView::new(self.data.as_slice(), self.layout.clone(), Some(&self.pending))
    }

    /// The array, to write.
    ///
    /// # Errors
    /// `Exchange` where the owner has given it to read only.
    pub fn view_mut(&mut self) -> Result<GpuViewMut<'_, T, D>> {
        if self.is_read_only {
            let (expected, got) = ("memory that may be written".to_owned(), "a read-only array".to_owned());
            return Err(ArrayError::Exchange { op: "ForeignArray::view_mut", expected, got });
        }
        Ok(GpuViewMut::new(self.data.as_mut_slice(), self.layout.clone(), &self.pending))
    }

    /// Returns the error of an operator such as `+=` on the array's views and forgets it, as [`GpuArray::take_error`] does.
    ///
    /// # Errors
    /// `Operator`, with the operator's place.
    pub fn take_error(&self) -> Result<()> {
        self.pending.take()
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// A copy that the crate owns, in C order.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_owned(&self) -> Result<GpuArray<T, D>> {
        self.view().to_standard_layout()
    }
}

/// Whether no two places of a shape can have one address: each axis, by size of stride, steps over all elements of the axes before it.
fn are_apart(shape: &[usize], strides: &[isize]) -> bool {
    let mut axes: Vec<(usize, usize)> = shape
        .iter()
        .zip(strides)
        .filter(|(len, _)| **len > 1)
        .map(|(&len, stride)| (stride.unsigned_abs(), len))
        .collect();
    axes.sort_unstable();
    let mut reach = 0;
    axes.into_iter().all(|(stride, len)| {
        let apart = stride > reach;
        reach += stride * (len - 1);
        apart
    })
}

impl<T: Element, D: Dimension> fmt::Debug for ForeignArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignArray<{}>(shape {:?}, strides {:?})", T::DTYPE, self.shape(), self.layout.strides())
    }
}
