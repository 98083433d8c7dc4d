//! Fills of device memory with one value: by the driver's memsets, else by copies that double the elements that are there.

use std::slice;

use gpu_driver_core::copies::DEVICE;

use super::{DeviceSliceMut, Pitched, offset, pitched::copy};
use crate::{DevicePod, Result, Stream, context::Current, pod::bytes_of, raw::CUdeviceptr, sys};

impl<T: DevicePod> DeviceSliceMut<'_, T> {
    /// Overwrites every element with `value`, without a kernel. Returns at once.
    ///
    /// # Cost
    /// One memset for elements of 1, 2 and 4 bytes, and for those of 8 whose halves are equal. For others a memset for each run of equal words of an element,
    /// and a copy for each doubling of the elements that are there: log2 of their number, which read and write each byte once.
    ///
    /// # Errors
    /// `DeviceLost`.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, DeviceVec};
    /// let mut x = DeviceVec::<f64>::zeros(&Device::first()?.stream(), 1000)?;
    /// x.slice_mut(10..)?.fill(2.5)?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("memset_d8", "memset_d16", "memset_d32", "cuMemsetD8", "cuMemsetD16", "cuMemsetD32"))]
    pub fn fill(&mut self, value: T) -> Result<()> {
        if self.fill_by_memset(value)? {
            return Ok(());
        }
        self.fill_by_copies(Pitched::plane(1, self.len), value)
    }

    /// Overwrites every element with `value` where one memset of the driver can, at the speed of memory writes. Returns at once.
    ///
    /// False, and nothing done, for elements of 8 bytes whose halves differ, of 3 bytes, and for longer ones: for callers that have a kernel of their own,
    /// which writes these faster than [`DeviceSliceMut::fill`].
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn fill_by_memset(&mut self, value: T) -> Result<bool> {
        let Some(pattern) = Pattern::of(value) else { return Ok(self.len == 0) };
        if self.len == 0 {
            return Ok(true);
        }
        let current = self.home.device().enter()?;
        // SAFETY: the slice has that many elements, and is aligned to them.
        unsafe { pattern.write(self.home, self.address, self.len, &current)? };
        Ok(true)
    }

    /// Overwrites the elements of a box with `value`, without a kernel. Returns at once.
    ///
    /// # Cost
    /// That of [`DeviceSliceMut::fill`], with a memset for each layer.
    ///
    /// # Errors
    /// `Length` where rows of the box overlap, or where it leaves the slice; `DeviceLost`; the driver's for a pitch of 2 GiB and more.
    #[doc(alias("memset_d2d8", "cuMemsetD2D8", "cuMemsetD2D16", "cuMemsetD2D32"))]
    pub fn fill_box(&mut self, place: Pitched, value: T) -> Result<()> {
        place.check("fill_box", self.len)?;
        let place = place.bounded();
        let Some(pattern) = Pattern::of(value) else { return self.fill_by_copies(place, value) };
        if place.is_empty() {
            return Ok(());
        }
        let device = self.home.device();
        let _current = device.enter()?;
        for layer in 0..place.layers {
            let start = place.start + layer * place.layer_rows * place.pitch;
            let (at, pitch) = (offset::<T>(self.address, start), place.pitch * size_of::<T>());
            let (columns, rows, stream) = (place.columns, place.rows, self.home.as_raw());
            // SAFETY: the box was checked to lie within the slice, whose elements are aligned.
            let (call, code) = unsafe {
                match pattern {
                    Pattern::Byte(value) => {
                        ("cuMemsetD2D8Async", sys::cuMemsetD2D8Async(at, pitch, value, columns, rows, stream))
                    }
                    Pattern::Half(value) => {
                        ("cuMemsetD2D16Async", sys::cuMemsetD2D16Async(at, pitch, value, columns, rows, stream))
                    }
                    Pattern::Words(value, each) => {
                        ("cuMemsetD2D32Async", sys::cuMemsetD2D32Async(at, pitch, value, each * columns, rows, stream))
                    }
                }
            };
            device.check(call, code)?;
        }
        Ok(())
    }

    /// Writes the first element of a box that lies within the slice, and copies it along the columns, the rows and the layers.
    fn fill_by_copies(&mut self, place: Pitched, value: T) -> Result<()> {
        if place.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        let current = self.home.device().enter()?;
        self.write_first(offset::<T>(self.address, place.start), value, &current)?;
        let one = Pitched { layers: 1, rows: 1, ..place };
        self.double(place.columns, 1, |columns| Pitched { columns, ..one }, &current)?;
        let one = Pitched { columns: place.columns, ..one };
        self.double(place.rows, place.pitch, |rows| Pitched { rows, ..one }, &current)?;
        let one = Pitched { rows: place.rows, ..one };
        self.double(place.layers, place.pitch * place.layer_rows, |layers| Pitched { layers, ..one }, &current)
    }

    /// Copies the first of `number` boxes, of which `of` gives the first ones, to all others, which follow at `step` elements.
    fn double(&self, number: usize, step: usize, of: impl Fn(usize) -> Pitched, current: &Current) -> Result<()> {
        let mut done = 1;
        while done < number {
            let from = of(done.min(number - done));
            let to = from.from(from.start + done * step);
            if from.layers == 1 && from.rows == 1 {
                let (at, source) = (offset::<T>(self.address, to.start), offset::<T>(self.address, from.start));
                let bytes = from.columns * size_of::<T>();
                // SAFETY: both boxes lie within that of the caller, and do not overlap: the second one begins behind the first.
                let code = unsafe { sys::cuMemcpyDtoDAsync_v2(at, source, bytes, self.home.as_raw()) };
                self.home.device().check("cuMemcpyDtoDAsync", code)?;
            } else {
                let sides = [from, to].map(|place| place.side::<T>(DEVICE, self.address));
                let [source, target] = sides;
                // SAFETY: as above.
                unsafe { copy::<T>(self.home, &from, source, target, current)? };
            }
            done += done.min(number - done);
        }
        Ok(())
    }

    /// Writes one element, by a memset for each run of equal words.
    fn write_first(&self, mut at: CUdeviceptr, value: T, current: &Current) -> Result<()> {
        let bytes = bytes_of(slice::from_ref(&value));
        let divides = |unit: &usize| bytes.len().is_multiple_of(*unit) && at.is_multiple_of(*unit as CUdeviceptr);
        let unit = [4, 2].into_iter().find(divides).unwrap_or(1);
        let words: Vec<&[u8]> = bytes.chunks_exact(unit).collect();
        for run in words.chunk_by(|a, b| a == b) {
            // SAFETY: these words of the element lie within the slice, and the address is a multiple of their size.
            unsafe { Pattern::of_word(run[0]).write(self.home, at, run.len(), current)? };
            at += (run.len() * unit) as CUdeviceptr;
        }
        Ok(())
    }
}

/// A value as the driver's memsets take it.
#[derive(Clone, Copy)]
enum Pattern {
    Byte(u8),
    Half(u16),
    /// A word, and the number of them in an element.
    Words(u32, usize),
}

impl Pattern {
    /// None where no memset writes such elements.
    fn of<T: DevicePod>(value: T) -> Option<Self> {
        let bytes = bytes_of(slice::from_ref(&value));
        match bytes.len() {
            1 | 2 | 4 => Some(Self::of_word(bytes)),
            8 if bytes[..4] == bytes[4..] => match Self::of_word(&bytes[..4]) {
                Self::Words(word, _) => Some(Self::Words(word, 2)),
                Self::Byte(_) | Self::Half(_) => None,
            },
            _ => None,
        }
    }

    /// The pattern of 1, 2 or 4 bytes.
    fn of_word(bytes: &[u8]) -> Self {
        match *bytes {
            [byte] => Self::Byte(byte),
            [low, high] => Self::Half(u16::from_ne_bytes([low, high])),
            _ => {
                let mut word = [0; 4];
                word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                Self::Words(u32::from_ne_bytes(word), 1)
            }
        }
    }

    /// Enqueues a memset of so many elements.
    ///
    /// # Safety
    /// They lie at the address, which is a multiple of the pattern's word, and stay until the memset has run.
    unsafe fn write(self, home: &Stream, at: CUdeviceptr, len: usize, _current: &Current) -> Result<()> {
        let stream = home.as_raw();
        // SAFETY: as the caller promises.
        let (call, code) = unsafe {
            match self {
                Self::Byte(value) => ("cuMemsetD8Async", sys::cuMemsetD8Async(at, value, len, stream)),
                Self::Half(value) => ("cuMemsetD16Async", sys::cuMemsetD16Async(at, value, len, stream)),
                Self::Words(value, each) => ("cuMemsetD32Async", sys::cuMemsetD32Async(at, value, each * len, stream)),
            }
        };
        home.device().check(call, code)
    }
}
