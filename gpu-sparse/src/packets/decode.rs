//! Back to compressed rows.

use rayon::prelude::*;

use super::slice::Columns;
use super::{NO_COLUMN, NO_DELTA, PACKET_ROWS, PacketMatrix, SLICE_ROWS};
use crate::{CsrMatrix, Scalar, start_threads};

impl<T: Scalar> PacketMatrix<T> {
    /// The matrix in compressed rows: that of which it was made, bit for bit.
    ///
    /// Cost: two parallel passes over the packets.
    pub fn to_csr(&self) -> CsrMatrix<T> {
        let mut row_starts = vec![0_u64; self.rows + 1];
        let _ = start_threads();
        row_starts[1..].par_chunks_mut(PACKET_ROWS).enumerate().for_each(|(packet, lengths)| {
            self.row_lengths(packet, lengths);
        });
        for row in 0..self.rows {
            row_starts[row + 1] += row_starts[row];
        }
        let (mut columns, mut values) = (vec![0_u32; self.nnz], vec![T::zero(); self.nnz]);
        let (mut rest_columns, mut rest_values) = (&mut columns[..], &mut values[..]);
        let mut parts = Vec::with_capacity(self.packets());
        for packet in 0..self.packets() {
            let rows = self.packet_rows(packet);
            let starts = &row_starts[rows.start..=rows.end];
            let count = (starts[rows.len()] - starts[0]) as usize;
            let part_columns = rest_columns.split_off_mut(..count).unwrap_or_default();
            parts.push((starts, part_columns, rest_values.split_off_mut(..count).unwrap_or_default()));
        }
        parts.into_par_iter().enumerate().for_each(|(packet, (starts, columns, values))| {
            self.unpack(packet, starts, columns, values);
        });
        CsrMatrix::from_canonical(self.rows, self.cols, row_starts, columns, values)
    }

    /// The number of entries of each row of a packet; the former numbers mean nothing.
    fn row_lengths(&self, packet: usize, lengths: &mut [u64]) {
        for (first, slice) in self.packet_slices(packet) {
            for (lane, &count) in slice.columns.count().iter().enumerate() {
                if let Some(length) = lengths.get_mut(self.row_at(packet, first + lane)) {
                    *length = count.into();
                }
            }
        }
        let start = self.packet_rows(packet).start;
        for long in self.long_rows_of(packet) {
            lengths[self.long_rows[long] as usize - start] = self.long_entries(long).len() as u64;
        }
    }

    /// Writes the entries of a packet's rows, which start at `starts` (`columns` and `values` at the first of them).
    fn unpack(&self, packet: usize, starts: &[u64], columns: &mut [u32], values: &mut [T]) {
        let place = |row: usize| (starts[row] - starts[0]) as usize..(starts[row + 1] - starts[0]) as usize;
        for (first, slice) in self.packet_slices(packet) {
            for lane in 0..SLICE_ROWS {
                let row = self.row_at(packet, first + lane);
                if row + 1 >= starts.len() {
                    continue;
                }
                let out = columns[place(row)].iter_mut().zip(&mut values[place(row)]);
                for (slot, (column, value)) in out.enumerate() {
                    *column = slice.columns.get(slot, lane).unwrap_or(NO_COLUMN);
                    *value = slice.values[slot][lane];
                }
            }
        }
        let start = self.packet_rows(packet).start;
        for long in self.long_rows_of(packet) {
            let (row, entries) = (self.long_rows[long] as usize - start, self.long_entries(long));
            columns[place(row)].copy_from_slice(&self.long_columns[entries.clone()]);
            values[place(row)].copy_from_slice(&self.long_values[entries]);
        }
    }
}

impl Columns<'_> {
    /// The number of entries in each lane.
    pub(super) fn count(&self) -> [u32; SLICE_ROWS] {
        let mut counts = [0; SLICE_ROWS];
        match self {
            Self::Narrow { deltas, .. } => {
                for slot in *deltas {
                    counts.iter_mut().zip(slot).for_each(|(count, &delta)| *count += u32::from(delta != NO_DELTA));
                }
            }
            Self::Wide(columns) => {
                for slot in *columns {
                    counts.iter_mut().zip(slot).for_each(|(count, &column)| *count += u32::from(column != NO_COLUMN));
                }
            }
        }
        counts
    }
}
