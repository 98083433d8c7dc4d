//! Results of selections on the device.
#![expect(unsafe_code, reason = "functions whose callers promise not to read unwritten memory")]

use gpu_array::{Element, GpuArray, GpuView, gpu_driver::Stream};
use ndarray::{Array1, Ix0, Ix1, s};

use crate::Result;

/// Selected values on the device, with their number.
///
/// The memory has room for all values. Elements after the selected ones hold anything, and the methods return the selected ones alone. Only the
/// methods that need the number on the host wait.
///
/// ```compile_fail,E0616
/// fn unwritten(selected: gpu_algos::Selected<f32>) -> gpu_array::GpuArray<f32, ndarray::Ix1> {
///     selected.values
/// }
/// ```
#[derive(Debug)]
pub struct Selected<T: Element> {
    pub(super) values: GpuArray<T, Ix1>,
    pub(super) count: GpuArray<i64, Ix0>,
}

/// Values in two parts on the device, the selected ones first, with the number of selected values.
#[derive(Debug)]
pub struct Partitioned<T: Element> {
    pub(super) values: GpuArray<T, Ix1>,
    pub(super) count: GpuArray<i64, Ix0>,
}

/// Runs of equal neighbours on the device, with their number.
///
/// The memory has room for one run per value. Elements after the runs hold anything, and the methods return the runs alone.
#[derive(Debug)]
pub struct Runs<T: Element> {
    pub(super) values: GpuArray<T, Ix1>,
    pub(super) offsets: GpuArray<i64, Ix1>,
    pub(super) lengths: GpuArray<i64, Ix1>,
    pub(super) count: GpuArray<i64, Ix0>,
}

/// Copies the number to the host.
fn number(count: &GpuArray<i64, Ix0>) -> Result<usize> {
    Ok(count.get()? as usize)
}

/// The first `len` elements as an array of their own, or the array itself if it has no more.
fn first<T: Element>(array: GpuArray<T, Ix1>, len: usize) -> Result<GpuArray<T, Ix1>> {
    if len == array.len() {
        return Ok(array);
    }
    Ok(array.slice(s![..len])?.to_owned()?)
}

impl<T: Element> Selected<T> {
    /// The number of selected values. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn len(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Whether no value is selected. Waits as [`Selected::len`].
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The number of selected values, on the device. Does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// The stream that orders the values.
    pub fn stream(&self) -> &Stream {
        self.values.stream()
    }

    /// The memory with the selected values at its beginning, and their number. Does not wait.
    /// They serve work on the device that does not need the host.
    ///
    /// # Safety
    /// No memory unsafety follows on the host, but the elements from that number on hold anything: the caller reads none of them.
    pub unsafe fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.count)
    }

    /// View of the selected values. Waits as [`Selected::len`], and copies nothing else.
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn view(&self) -> Result<GpuView<'_, T, Ix1>> {
        Ok(self.values.slice(s![..self.len()?])?)
    }

    /// The selected values as an array of their own. Waits as [`Selected::len`].
    /// It is a copy on the device, after which the larger memory is released, or the array itself if all values are selected.
    ///
    /// # Errors
    /// As [`Selected::len`]; `OutOfMemory`.
    pub fn into_array(self) -> Result<GpuArray<T, Ix1>> {
        let len = self.len()?;
        first(self.values, len)
    }

    /// The selected values on the host. Waits, and copies them alone.
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn to_ndarray(&self) -> Result<Array1<T>> {
        Ok(self.view()?.to_ndarray()?)
    }
}

impl<T: Element> Partitioned<T> {
    /// The number of selected values. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn selected(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Views of the selected values and of the others. Waits as [`Partitioned::selected`], and copies nothing else.
    ///
    /// # Errors
    /// As [`Partitioned::selected`].
    pub fn views(&self) -> Result<(GpuView<'_, T, Ix1>, GpuView<'_, T, Ix1>)> {
        let selected = self.selected()?;
        Ok((self.values.slice(s![..selected])?, self.values.slice(s![selected..])?))
    }

    /// All values, the selected ones first. Does not wait.
    pub fn values(&self) -> &GpuArray<T, Ix1> {
        &self.values
    }

    /// The number of selected values, on the device, which is the index of the first other value. Does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// The selected values and the others as arrays of their own. Waits as [`Partitioned::selected`].
    /// They are copies on the device, after which the larger memory is released; where all or none are selected, one is the array itself.
    ///
    /// # Errors
    /// As [`Partitioned::selected`]; `OutOfMemory`.
    pub fn into_arrays(self) -> Result<(GpuArray<T, Ix1>, GpuArray<T, Ix1>)> {
        let selected = self.selected()?;
        if selected == 0 {
            return Ok((self.values.slice(s![..0])?.to_owned()?, self.values));
        }
        let others = self.values.slice(s![selected..])?.to_owned()?;
        Ok((first(self.values, selected)?, others))
    }

    /// All values, and the number of the selected ones.
    pub fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.count)
    }
}

impl<T: Element> Runs<T> {
    /// The number of runs. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn len(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Whether there is no run, which holds only for no values. Waits as [`Runs::len`].
    ///
    /// # Errors
    /// As [`Runs::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The number of runs, on the device. Does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// Views of the value, the start (in C order of the values) and the length of each run.
    /// Waits as [`Runs::len`], and copies nothing else.
    ///
    /// # Errors
    /// As [`Runs::len`].
    #[expect(clippy::type_complexity, reason = "three views")]
    pub fn views(&self) -> Result<(GpuView<'_, T, Ix1>, GpuView<'_, i64, Ix1>, GpuView<'_, i64, Ix1>)> {
        let len = self.len()?;
        Ok((self.values.slice(s![..len])?, self.offsets.slice(s![..len])?, self.lengths.slice(s![..len])?))
    }

    /// The memory with values, starts and lengths of the runs at its beginning, and their number. Does not wait.
    /// They serve work on the device that does not need the host.
    ///
    /// # Safety
    /// As [`Selected::into_parts`].
    #[expect(clippy::type_complexity, reason = "three arrays and their number")]
    pub unsafe fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.offsets, self.lengths, self.count)
    }

    /// Values, starts and lengths of the runs as arrays of their own. Waits as [`Runs::len`].
    /// They are copies on the device, after which the larger memory is released, or the arrays themselves if each value is a run of its own.
    ///
    /// # Errors
    /// As [`Runs::len`]; `OutOfMemory`.
    #[expect(clippy::type_complexity, reason = "three arrays")]
    pub fn into_arrays(self) -> Result<(GpuArray<T, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix1>)> {
        let len = self.len()?;
        Ok((first(self.values, len)?, first(self.offsets, len)?, first(self.lengths, len)?))
    }
}
