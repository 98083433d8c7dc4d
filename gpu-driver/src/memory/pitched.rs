//! Rows and layers within device memory: copies of two and three dimensions.

use gpu_driver_core::copies::{Copy3d, DEVICE, HOST, Side3d};

use super::{DeviceSlice, DeviceSliceMut, DeviceVec, offset, slices::ordered_with};
use crate::{DevicePod, DriverError, Result, Stream, context::Current, pod::byte_len, sys};

/// Rows of [`DeviceVec::pitched`] start at multiples of it: the pitch that `cuMemAllocPitch` gives on all GPUs of today.
const PITCH_BYTES: usize = 512;

/// The place of a box of elements within a slice: `layers` x `rows` x `columns` of them, the first at `start`.
///
/// Element (layer, row, column) stands at `start + (layer * layer_rows + row) * pitch + column`. All numbers are elements, rows or layers, never bytes.
/// ```
/// use gpu_driver::Pitched;
/// // The middle 2 x 3 elements of 4 rows that have 5 elements each.
/// let middle = Pitched::plane(2, 3).within(5).from(5 + 1);
/// assert_eq!((middle.start, middle.pitch, middle.len()), (6, 5, 6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pitched {
    /// Index of the first element.
    pub start: usize,
    /// Layers to copy.
    pub layers: usize,
    /// Rows to copy of each layer.
    pub rows: usize,
    /// Elements to copy of each row.
    pub columns: usize,
    /// Elements from the start of a row to that of the next.
    pub pitch: usize,
    /// Rows from the start of a layer to that of the next.
    pub layer_rows: usize,
}

impl Pitched {
    /// Rows that touch.
    pub const fn plane(rows: usize, columns: usize) -> Self {
        Self::volume(1, rows, columns)
    }

    /// Layers of rows that touch.
    pub const fn volume(layers: usize, rows: usize, columns: usize) -> Self {
        Self { start: 0, layers, rows, columns, pitch: columns, layer_rows: rows }
    }

    /// Sets the elements from the start of a row to that of the next.
    #[must_use]
    pub const fn within(self, pitch: usize) -> Self {
        Self { pitch, ..self }
    }

    /// Sets the rows from the start of a layer to that of the next.
    #[must_use]
    pub const fn within_layers(self, layer_rows: usize) -> Self {
        Self { layer_rows, ..self }
    }

    /// Sets the index of the first element.
    #[must_use]
    pub const fn from(self, start: usize) -> Self {
        Self { start, ..self }
    }

    /// Number of elements of the box.
    pub const fn len(&self) -> usize {
        self.layers.saturating_mul(self.rows).saturating_mul(self.columns)
    }

    /// Whether the box has no element.
    pub const fn is_empty(&self) -> bool {
        self.layers == 0 || self.rows == 0 || self.columns == 0
    }

    /// The index behind the last element; None where it exceeds the numbers.
    fn end(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(self.start);
        }
        let rows = (self.layers - 1).checked_mul(self.layer_rows)?.checked_add(self.rows - 1)?;
        rows.checked_mul(self.pitch)?.checked_add(self.columns)?.checked_add(self.start)
    }

    /// Refuses rows that overlap, and boxes that leave `len` elements.
    pub(crate) fn check(&self, op: &'static str, len: usize) -> Result<()> {
        let wrong = |expected: String, got: String| Err(DriverError::Length { op, expected, got });
        if self.pitch < self.columns {
            return wrong(format!("a pitch of {} elements at least", self.columns), self.pitch.to_string());
        }
        if self.layer_rows < self.rows {
            return wrong(format!("layers of {} rows at least", self.rows), self.layer_rows.to_string());
        }
        match self.end() {
            Some(end) if end <= len => Ok(()),
            Some(end) => wrong(format!("a box within 0..{len}"), format!("one that ends at {end}")),
            None => wrong(format!("a box within 0..{len}"), "one beyond all indices".to_owned()),
        }
    }

    fn same_shape(&self, op: &'static str, other: &Self) -> Result<()> {
        let shape = |of: &Self| (of.layers, of.rows, of.columns);
        if shape(self) == shape(other) {
            return Ok(());
        }
        let text = |of: &Self| format!("{} x {} x {} elements", of.layers, of.rows, of.columns);
        Err(DriverError::Length { op, expected: text(self), got: text(other) })
    }

    /// Replaces distances to a next row or layer that does not exist, which may be any numbers, by ones that the slice bounds.
    pub(super) fn bounded(self) -> Self {
        let layer_rows = if self.layers == 1 { self.rows } else { self.layer_rows };
        let pitch = if self.layers == 1 && self.rows == 1 { self.columns } else { self.pitch };
        Self { pitch, layer_rows, ..self }
    }

    /// The side of a copy whose memory begins at `address`. The box was checked, so the bytes fit.
    pub(crate) fn side<T>(&self, kind: u32, address: u64) -> Side3d {
        let Self { start, pitch, layer_rows, .. } = self.bounded();
        Side3d::new(kind, offset::<T>(address, start), pitch * size_of::<T>(), layer_rows)
    }
}

/// Enqueues the copy of a box that has elements.
///
/// # Safety
/// Both boxes lie within memory of elements `T` that stays until the copy has run.
pub(super) unsafe fn copy<T: DevicePod>(
    home: &Stream,
    shape: &Pitched,
    from: Side3d,
    to: Side3d,
    _current: &Current,
) -> Result<()> {
    let width_bytes = shape.columns * size_of::<T>();
    let parameters = Copy3d { from, to, width_bytes, height: shape.rows, depth: shape.layers };
    // SAFETY: the structure is that of the driver; the rest as the caller promises.
    let code = unsafe { sys::cuMemcpy3DAsync_v2((&raw const parameters).cast(), home.as_raw()) };
    home.device().check("cuMemcpy3DAsync", code)
}

impl<T: DevicePod> DeviceVec<T> {
    /// A buffer of zero bytes for `rows` rows of `columns` elements, each of which starts at a multiple of 512 bytes, and the place of these rows in it.
    ///
    /// Rows that are read by their columns are read in whole sectors then, whatever their length.
    ///
    /// # Errors
    /// `OutOfMemory`, `TooLarge`, `DeviceLost`.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, DeviceVec, Pitched};
    /// # let device = Device::first()?;
    /// let (mut x, place) = DeviceVec::<f32>::pitched(&device.stream(), 2, 3)?;
    /// x.as_mut_slice().copy_box_from_slice(place, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Pitched::plane(2, 3))?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("mem_alloc_pitch", "cuMemAllocPitch"))]
    #[track_caller]
    pub fn pitched(home: &Stream, rows: usize, columns: usize) -> Result<(Self, Pitched)> {
        let too_large =
            || DriverError::TooLarge { elements: rows.saturating_mul(columns), element_bytes: size_of::<T>() };
        // The fewest elements whose bytes are whole pitches: sizes are seldom powers of two.
        let step = PITCH_BYTES >> size_of::<T>().trailing_zeros().min(PITCH_BYTES.trailing_zeros());
        let pitch = columns.checked_next_multiple_of(step).ok_or_else(too_large)?;
        let elements = rows.checked_mul(pitch).ok_or_else(too_large)?;
        byte_len::<T>(elements)?;
        Ok((Self::zeros(home, elements)?, Pitched::plane(rows, columns).within(pitch)))
    }
}

impl<T: DevicePod> DeviceSlice<'_, T> {
    /// Copies the box `from` of the slice to the box `to` of `host`, after waiting for the home stream. Elements of `host` outside of it stay.
    ///
    /// # Errors
    /// `Length` where the boxes differ in shape, have rows that overlap, or leave their slices; `InCapture`; `DeviceLost`; the driver's for a pitch of
    /// 2 GiB and more.
    #[doc(alias("Memcpy2D", "Memcpy3D", "cuMemcpy2D", "cuMemcpy3D"))]
    pub fn copy_box_to_slice(&self, from: Pitched, host: &mut [T], to: Pitched) -> Result<()> {
        const OP: &str = "copy_box_to_slice";
        from.same_shape(OP, &to)?;
        from.check(OP, self.len)?;
        to.check(OP, host.len())?;
        let current = self.home.device().enter()?;
        let _uncaptured = self.home.uncaptured(OP, &current)?;
        if !from.is_empty() && size_of::<T>() > 0 {
            let host = to.side::<T>(HOST, host.as_mut_ptr() as u64);
            // SAFETY: both boxes were checked, and the copy ends before this function returns.
            unsafe { copy::<T>(self.home, &from, from.side::<T>(DEVICE, self.address), host, &current)? };
        }
        self.home.synchronize_entered(&current)
    }
}

impl<T: DevicePod> DeviceSliceMut<'_, T> {
    /// Copies the box `from` of `host` to the box `to` of the slice, whose other elements stay. Returns when `host` has been read.
    ///
    /// # Errors
    /// Those of [`DeviceSlice::copy_box_to_slice`].
    pub fn copy_box_from_slice(&mut self, to: Pitched, host: &[T], from: Pitched) -> Result<()> {
        const OP: &str = "copy_box_from_slice";
        to.same_shape(OP, &from)?;
        to.check(OP, self.len)?;
        from.check(OP, host.len())?;
        if to.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        let current = self.home.device().enter()?;
        let _uncaptured = self.home.uncaptured(OP, &current)?;
        let host = from.side::<T>(HOST, host.as_ptr() as u64);
        // SAFETY: both boxes were checked. The wait below ends the copy before `host` can change.
        unsafe { copy::<T>(self.home, &to, host, to.side::<T>(DEVICE, self.address), &current)? };
        self.home.synchronize_entered(&current)
    }

    /// Copies the box `from` of `source` to the box `to` of the slice, whose other elements stay. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// Those of [`DeviceSlice::copy_box_to_slice`] but `InCapture`: a graph can hold the copy; `WrongDevice`.
    pub fn copy_box_from(&mut self, to: Pitched, source: DeviceSlice<'_, T>, from: Pitched) -> Result<()> {
        const OP: &str = "copy_box_from";
        to.same_shape(OP, &from)?;
        to.check(OP, self.len)?;
        from.check(OP, source.len)?;
        let is_empty = to.is_empty() || size_of::<T>() == 0;
        let enqueue = |home: &Stream, current: &Current| {
            let (from, side) = (from.side::<T>(DEVICE, source.address), to.side::<T>(DEVICE, self.address));
            // SAFETY: both boxes were checked; they cannot overlap, as one slice is borrowed mutably.
            unsafe { copy::<T>(home, &to, from, side, current) }
        };
        ordered_with(OP, self.home, source.home, is_empty, enqueue)
    }
}
