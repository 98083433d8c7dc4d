//! Elements of host arrays at offsets from the first.
#![expect(
    unsafe_code,
    reason = "an expression's leaf may be broadcast, reversed or cut otherwise than the array that it reads"
)]

use super::rows::Rows;
use crate::element::HostPart;

/// A host array that is read at offsets (in elements) from its first element.
///
/// Offsets are checked against the least and the greatest of the array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'v, T> {
    part: HostPart<'v, T>,
    least: isize,
    greatest: isize,
}

impl<'v, T: Copy> Reader<'v, T> {
    /// None for an array without elements.
    pub(super) fn new(part: HostPart<'v, T>) -> Option<Self> {
        let (least, greatest) = part.extent()?;
        Some(Self { part, least, greatest })
    }

    /// The element at `offset`; none outside of the array.
    ///
    /// # Safety
    /// The offset, where it is between the least and the greatest of the array's, is one of an element: the array may have gaps.
    pub(super) unsafe fn get(&self, offset: isize) -> Option<T> {
        // SAFETY: as the caller promises.
        unsafe { self.slice(offset, 1) }.map(|one| one[0])
    }

    /// The elements at `offset..offset + len`; none where one of them is outside.
    ///
    /// # Safety
    /// The promise of [`Reader::get`] for each of the offsets.
    pub(super) unsafe fn slice(&self, offset: isize, len: usize) -> Option<&'v [T]> {
        let last = offset.checked_add(isize::try_from(len.checked_sub(1)?).ok()?)?;
        if offset < self.least || last > self.greatest {
            return None;
        }
        // SAFETY: the offsets are between those of elements of the array, so they are in its allocation, and the caller promises that they are
        // elements of the array, which is borrowed for 'v.
        Some(unsafe { std::slice::from_raw_parts(self.part.first().offset(offset), len) })
    }

    /// The elements of the places `start..start + out.len()`; none where one of them is outside.
    ///
    /// # Safety
    /// The promise of [`Reader::get`] for the offset of each place.
    pub(super) unsafe fn copy(&self, rows: &Rows, start: usize, out: &mut [T]) -> Option<()> {
        let (least, greatest) = rows.extent()?;
        if least < self.least || greatest > self.greatest {
            return None;
        }
        let first = self.part.first();
        rows.for_each(start, out.len(), |places, offset, stride| {
            let out = &mut out[places];
            match stride {
                // SAFETY: as the caller promises.
                1 => unsafe { self.slice(offset, out.len()) }.into_iter().for_each(|row| out.copy_from_slice(row)),
                // SAFETY: as the caller promises.
                0 => unsafe { self.get(offset) }.into_iter().for_each(|element| out.fill(element)),
                _ => {
                    for (i, out) in out.iter_mut().enumerate() {
                        // SAFETY: as in `slice`; the rows are within the extent that was checked.
                        *out = unsafe { *first.offset(offset + i as isize * stride) };
                    }
                }
            }
        });
        Some(())
    }
}
