//! What a compaction leaves on the device.
#![expect(unsafe_code, reason = "functions whose callers promise not to read unwritten memory")]

use gpu_array::{Element, GpuArray, GpuView, gpu_driver::Stream};
use ndarray::{Array1, Ix0, Ix1, s};

use crate::Result;

/// Selected values on the device, and how many they are.
///
/// The memory has room for as many as there were, and holds anything behind the selected ones: the methods give these alone. Nothing here waits but
/// the methods that need the number on the host.
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

/// Values in two parts, on the device: those that are kept and then the others, and how many are kept.
#[derive(Debug)]
pub struct Partitioned<T: Element> {
    pub(super) values: GpuArray<T, Ix1>,
    pub(super) count: GpuArray<i64, Ix0>,
}

/// Runs of equal neighbours on the device, and how many they are.
///
/// The memory has room for as many as there were values, and holds anything behind the runs: the methods give these alone.
#[derive(Debug)]
pub struct Runs<T: Element> {
    pub(super) values: GpuArray<T, Ix1>,
    pub(super) offsets: GpuArray<i64, Ix1>,
    pub(super) lengths: GpuArray<i64, Ix1>,
    pub(super) count: GpuArray<i64, Ix0>,
}

/// The number, on the host.
fn number(count: &GpuArray<i64, Ix0>) -> Result<usize> {
    Ok(count.get()? as usize)
}

/// The first elements, as an array of their own; the array itself where that is all.
fn first<T: Element>(array: GpuArray<T, Ix1>, len: usize) -> Result<GpuArray<T, Ix1>> {
    if len == array.len() {
        return Ok(array);
    }
    Ok(array.slice(s![..len])?.to_owned()?)
}

impl<T: Element> Selected<T> {
    /// How many are kept: waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn len(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Whether none is kept: waits as [`Selected::len`].
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The number of selected values, where it is: does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// The stream that orders the values.
    pub fn stream(&self) -> &Stream {
        self.values.stream()
    }

    /// Memory with the selected values at its beginning, and their number, for work on the device that needs no host. Does not wait.
    ///
    /// # Safety
    /// No memory unsafety follows on the host, but the elements from that number on hold anything: the caller reads none of them.
    pub unsafe fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.count)
    }

    /// Those that are kept, where they are: waits as [`Selected::len`], copies nothing else.
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn view(&self) -> Result<GpuView<'_, T, Ix1>> {
        Ok(self.values.slice(s![..self.len()?])?)
    }

    /// Those that are kept, as an array of that length: waits as [`Selected::len`]. A copy on the device, after which the larger memory is released; where all
    /// are kept it is the array itself.
    ///
    /// # Errors
    /// As [`Selected::len`]; `OutOfMemory`.
    pub fn into_array(self) -> Result<GpuArray<T, Ix1>> {
        let len = self.len()?;
        first(self.values, len)
    }

    /// Those that are kept, on the host: waits, and copies no more than they are.
    ///
    /// # Errors
    /// As [`Selected::len`].
    pub fn to_ndarray(&self) -> Result<Array1<T>> {
        Ok(self.view()?.to_ndarray()?)
    }
}

impl<T: Element> Partitioned<T> {
    /// How many are kept: waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn kept(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Those that are kept, and the others, where they are: waits as [`Partitioned::kept`], copies nothing else.
    ///
    /// # Errors
    /// As [`Partitioned::kept`].
    pub fn views(&self) -> Result<(GpuView<'_, T, Ix1>, GpuView<'_, T, Ix1>)> {
        let kept = self.kept()?;
        Ok((self.values.slice(s![..kept])?, self.values.slice(s![kept..])?))
    }

    /// All values, those that are kept first. Does not wait.
    pub fn values(&self) -> &GpuArray<T, Ix1> {
        &self.values
    }

    /// How many values are kept, where the others begin: on the device. Does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// All values, and how many of them are kept.
    pub fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.count)
    }
}

impl<T: Element> Runs<T> {
    /// How many runs there are: waits for it and copies it to the host.
    ///
    /// # Errors
    /// The driver's; `DeviceLost` when a kernel faulted.
    pub fn len(&self) -> Result<usize> {
        number(&self.count)
    }

    /// Whether there is none, which is so of no values: waits as [`Runs::len`].
    ///
    /// # Errors
    /// As [`Runs::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The number of runs, where it is: does not wait.
    pub fn count(&self) -> &GpuArray<i64, Ix0> {
        &self.count
    }

    /// The value of each run, where each begins (in C order of the values), and how many values each has: waits as [`Runs::len`], copies nothing else.
    ///
    /// # Errors
    /// As [`Runs::len`].
    #[expect(clippy::type_complexity, reason = "three views")]
    pub fn views(&self) -> Result<(GpuView<'_, T, Ix1>, GpuView<'_, i64, Ix1>, GpuView<'_, i64, Ix1>)> {
        let len = self.len()?;
        Ok((self.values.slice(s![..len])?, self.offsets.slice(s![..len])?, self.lengths.slice(s![..len])?))
    }

    /// Memory with values, offsets and lengths of the runs at its beginning, and their number, for work on the device that needs no host. Does not
    /// wait.
    ///
    /// # Safety
    /// As [`Selected::into_parts`].
    #[expect(clippy::type_complexity, reason = "three arrays and their number")]
    pub unsafe fn into_parts(self) -> (GpuArray<T, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix0>) {
        (self.values, self.offsets, self.lengths, self.count)
    }

    /// Values, offsets and lengths as arrays of as many as there are runs: waits as [`Runs::len`]. Copies on the device, after which the larger memory is
    /// released; where each value is a run of its own they are the arrays themselves.
    ///
    /// # Errors
    /// As [`Runs::len`]; `OutOfMemory`.
    #[expect(clippy::type_complexity, reason = "three arrays")]
    pub fn into_arrays(self) -> Result<(GpuArray<T, Ix1>, GpuArray<i64, Ix1>, GpuArray<i64, Ix1>)> {
        let len = self.len()?;
        Ok((first(self.values, len)?, first(self.offsets, len)?, first(self.lengths, len)?))
    }
}
