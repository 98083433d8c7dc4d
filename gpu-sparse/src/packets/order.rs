//! The order of rows within a packet.

use std::ops::Range;

use super::PACKET_ROWS;

/// The rows of a compressed matrix that make one packet.
#[derive(Clone, Copy)]
pub(super) struct PacketRows<'a> {
    /// The first of them.
    pub(super) first: usize,
    /// Their starts, and the end of the last.
    starts: &'a [u64],
    /// Rows with more entries are long.
    cap: usize,
}

/// How the rows of a packet follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// The matrix's order; no row is long.
    Natural,
    /// The matrix's order, without the long rows.
    ClosedUp,
    /// By length, the longest first, rows of one length in the matrix's order, without the long rows.
    Sorted,
}

impl<'a> PacketRows<'a> {
    pub(super) fn new(row_starts: &'a [u64], packet: usize, cap: usize) -> Self {
        let first = packet * PACKET_ROWS;
        let end = (first + PACKET_ROWS).min(row_starts.len() - 1);
        Self { first, starts: &row_starts[first..=end], cap }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn length(&self, row: usize) -> usize {
        (self.starts[row + 1] - self.starts[row]) as usize
    }

    pub(super) fn is_long(&self, row: usize) -> bool {
        self.length(row) > self.cap
    }

    /// The positions of the entries of a row, which counts from the packet's first.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// The positions of the entries of all its rows.
    pub(super) fn all_entries(&self) -> Range<usize> {
        self.starts[0] as usize..self.starts[self.count()] as usize
    }

    pub(super) fn long_rows(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.count()).filter(move |&row| self.is_long(row))
    }

    /// The row at each position, as far as there are rows that are not long.
    pub(super) fn arrange(&self, order: RowOrder, positions: &mut Vec<u16>) {
        positions.clear();
        if order == RowOrder::Natural {
            return positions.extend(0..self.count() as u16);
        }
        positions.extend((0..self.count() as u16).filter(|&row| !self.is_long(row.into())));
        if order == RowOrder::Sorted {
            positions.sort_unstable_by_key(|&row| (std::cmp::Reverse(self.length(row.into())), row));
        }
    }
}
