//! Rows of bytes at equal distances, as copies and memsets of two and three dimensions take them.

/// The place of rows in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) start: usize,
    /// Bytes from a row to the next.
    pub(crate) pitch: usize,
    /// Bytes from a layer of rows to the next.
    pub(crate) layer: usize,
}

/// Number and length of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxRows {
    /// Bytes of a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

impl BoxRows {
    /// Bytes from the first one to the end of the last row; None where they exceed the address space. There is a row at least.
    pub(crate) fn extent(self, at: Spread) -> Option<usize> {
        let (rows, layers) = (at.pitch.checked_mul(self.height - 1)?, at.layer.checked_mul(self.depth - 1)?);
        let bytes = rows.checked_add(layers)?.checked_add(self.width)?;
        at.start.checked_add(bytes).map(|_| bytes)
    }

    /// The address of each row.
    pub(crate) fn starts(self, at: Spread) -> impl Iterator<Item = usize> {
        (0..self.depth).flat_map(move |z| (0..self.height).map(move |y| at.start + z * at.layer + y * at.pitch))
    }
}
