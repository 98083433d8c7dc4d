//! The second pass: every packet fills its part of the arrays.

use rayon::prelude::*;

use super::order::{PacketRows, RowOrder};
use super::plan::{PacketPlan, PacketShape};
use super::{NATURAL, NO_COLUMN, NO_DELTA, NO_ROW, PACKET_ROWS, PACKET_SLICES, PacketMatrix, SLICE_ROWS, WIDE};
use crate::{CsrMatrix, Result, Scalar, SparseError};

impl PacketPlan {
    /// Makes the packets of the matrix that was planned for, or of one with the same pattern and other values.
    ///
    /// Determinism: bitwise, for any number of threads. Cost: one parallel pass over the matrix.
    ///
    /// A matrix with another pattern is refused or, where it fits into the plan, built all the same; it may then be
    /// larger than it would have to be.
    ///
    /// # Errors
    /// `Shape` when the matrix does not fit the plan: other dimensions, rows too long, columns too far apart, elements of
    /// another size.
    pub fn build<T: Scalar>(&self, matrix: &CsrMatrix<T>) -> Result<PacketMatrix<T>> {
        let planned = &self.description;
        if (matrix.rows(), matrix.cols(), matrix.nnz()) != (planned.rows, planned.cols, planned.nnz)
            || size_of::<T>() != planned.value_bytes
        {
            return Err(other_pattern());
        }
        let (narrow, wide) = (planned.columns16_bytes as usize / 64, planned.columns32_bytes as usize / 128);
        let (long_rows, long_entries) = (planned.long_rows, planned.long_entries());
        let mut packets = PacketMatrix {
            rows: matrix.rows(),
            cols: matrix.cols(),
            nnz: matrix.nnz(),
            slice_slots: self.slice_slots.clone(),
            slice_columns: self.slice_columns.clone(),
            bases: vec![0; narrow],
            deltas: vec![0; narrow * SLICE_ROWS],
            wide_columns: vec![0; wide * SLICE_ROWS],
            values: vec![T::zero(); (narrow + wide) * SLICE_ROWS],
            packet_orders: self.number_orders(),
            order: vec![0; planned.ordered_packets * PACKET_ROWS],
            long_rows: vec![0; long_rows],
            long_starts: vec![long_entries as u64; long_rows + 1],
            long_columns: vec![0; long_entries],
            long_values: vec![T::zero(); long_entries],
            diagonal: vec![T::zero(); matrix.rows().min(matrix.cols())],
            finite: true,
            description: planned.clone(),
            blocks: Vec::new(),
        };
        let parts = self.split(&mut packets);
        let finite = parts
            .into_par_iter()
            .map_init(BuildBuffers::default, |scratch, part| part.fill(matrix, self.cap, scratch))
            .try_reduce(|| true, |a, b| Ok(a & b))?;
        packets.finite = finite;
        packets.cut_into_blocks();
        Ok(packets)
    }

    fn number_orders(&self) -> Vec<u32> {
        let number = |next: &mut u32, packet: &PacketShape| {
            let ordered = packet.order != RowOrder::Natural;
            *next += u32::from(ordered);
            Some(if ordered { *next - 1 } else { NATURAL })
        };
        self.packets.iter().scan(0, number).collect()
    }

    /// Gives every packet its parts of the arrays.
    fn split<'a, T>(&'a self, packets: &'a mut PacketMatrix<T>) -> Vec<Part<'a, T>> {
        let PacketMatrix { bases, deltas, wide_columns, values, order, .. } = packets;
        let PacketMatrix { long_rows, long_starts, long_columns, long_values, diagonal, .. } = packets;
        let (mut bases, mut deltas, mut wide_columns) = (&mut bases[..], &mut deltas[..], &mut wide_columns[..]);
        let (mut values, mut order, mut diagonal) = (&mut values[..], &mut order[..], &mut diagonal[..]);
        let (mut long_rows, mut long_starts) = (&mut long_rows[..], &mut long_starts[..]);
        let (mut long_columns, mut long_values) = (&mut long_columns[..], &mut long_values[..]);
        let mut long_start = 0;
        let mut parts = Vec::with_capacity(self.packets.len());
        for (packet, &shape) in self.packets.iter().enumerate() {
            let first = packet * PACKET_SLICES;
            let columns = &self.slice_columns[first..(first + PACKET_SLICES).min(self.slice_columns.len())];
            let slots = &self.slice_slots[first..=first + columns.len()];
            let all = (slots[columns.len()] - slots[0]) as usize;
            let is_wide = |&(column, _): &(&u32, &[u32])| column & WIDE != 0;
            let wide = columns.iter().zip(slots.windows(2)).filter(is_wide);
            let wide = wide.map(|(_, slots)| (slots[1] - slots[0]) as usize).sum::<usize>();
            parts.push(Part {
                packet,
                shape,
                slice_slots: slots,
                slice_columns: columns,
                bases: take(&mut bases, all - wide),
                deltas: take(&mut deltas, (all - wide) * SLICE_ROWS),
                wide_columns: take(&mut wide_columns, wide * SLICE_ROWS),
                values: take(&mut values, all * SLICE_ROWS),
                order: take(&mut order, if shape.order == RowOrder::Natural { 0 } else { PACKET_ROWS }),
                long_start,
                long_rows: take(&mut long_rows, shape.long_rows),
                long_starts: take(&mut long_starts, shape.long_rows),
                long_columns: take(&mut long_columns, shape.long_entries),
                long_values: take(&mut long_values, shape.long_entries),
                diagonal: take(&mut diagonal, PACKET_ROWS),
            });
            long_start += shape.long_entries as u64;
        }
        parts
    }
}

/// The first `count` elements, or all there are.
fn take<'a, E>(rest: &mut &'a mut [E], count: usize) -> &'a mut [E] {
    let count = count.min(rest.len());
    rest.split_off_mut(..count).unwrap_or_default()
}

fn other_pattern() -> SparseError {
    let (expected, got) = ("the pattern that was planned for".into(), "one that does not fit".into());
    SparseError::Shape { op: "PacketPlan::build", expected, got }
}

/// The parts of the arrays that one packet owns.
struct Part<'a, T> {
    packet: usize,
    shape: PacketShape,
    slice_slots: &'a [u32],
    slice_columns: &'a [u32],
    bases: &'a mut [u32],
    deltas: &'a mut [u16],
    wide_columns: &'a mut [u32],
    values: &'a mut [T],
    order: &'a mut [u16],
    long_start: u64,
    long_rows: &'a mut [u32],
    long_starts: &'a mut [u64],
    long_columns: &'a mut [u32],
    long_values: &'a mut [T],
    diagonal: &'a mut [T],
}

/// Memory that a thread uses for one packet after another.
#[derive(Default)]
struct BuildBuffers {
    positions: Vec<u16>,
    columns: Vec<[u32; SLICE_ROWS]>,
}

impl<T: Scalar> Part<'_, T> {
    /// Fills it; returns whether all its entries are finite.
    fn fill(mut self, matrix: &CsrMatrix<T>, cap: usize, scratch: &mut BuildBuffers) -> Result<bool> {
        let rows = PacketRows::new(matrix.row_starts(), self.packet, cap);
        self.fill_long_rows(matrix, rows)?;
        rows.arrange(self.shape.order, &mut scratch.positions);
        if !self.order.is_empty() {
            let (filled, rest) = self.order.split_at_mut(scratch.positions.len());
            filled.copy_from_slice(&scratch.positions);
            rest.fill(NO_ROW);
        }
        let mut lanes = scratch.positions.chunks(SLICE_ROWS);
        for (slots, &column) in self.slice_slots.windows(2).zip(self.slice_columns) {
            let (width, wide) = ((slots[1] - slots[0]) as usize, column & WIDE != 0);
            let values = take(&mut self.values, width * SLICE_ROWS).as_chunks_mut().0;
            let source = Entries { matrix, rows, lanes: lanes.next().unwrap_or_default() };
            if wide {
                let columns = take(&mut self.wide_columns, width * SLICE_ROWS).as_chunks_mut().0;
                source.transpose(columns, values)?;
            } else {
                scratch.columns.resize(width, [NO_COLUMN; SLICE_ROWS]);
                source.transpose(&mut scratch.columns, values)?;
                let (bases, deltas) = (take(&mut self.bases, width), take(&mut self.deltas, width * SLICE_ROWS));
                narrow(&scratch.columns, bases, deltas.as_chunks_mut().0)?;
            }
        }
        for (row, diagonal) in self.diagonal.iter_mut().enumerate() {
            let entries = rows.entries(row);
            if let Ok(entry) = matrix.columns()[entries.clone()].binary_search(&((rows.first + row) as u32)) {
                *diagonal = matrix.values()[entries.start + entry];
            }
        }
        Ok(matrix.values()[rows.all_entries()].iter().fold(true, |finite, value| finite & value.is_finite()))
    }

    fn fill_long_rows(&mut self, matrix: &CsrMatrix<T>, rows: PacketRows<'_>) -> Result<()> {
        let (mut index, mut filled) = (0, 0);
        for row in rows.long_rows() {
            let entries = rows.entries(row);
            let place = filled..filled + entries.len();
            if index == self.long_rows.len() || place.end > self.long_columns.len() {
                return Err(other_pattern());
            }
            self.long_rows[index] = (rows.first + row) as u32;
            self.long_starts[index] = self.long_start + filled as u64;
            self.long_columns[place.clone()].copy_from_slice(&matrix.columns()[entries.clone()]);
            self.long_values[place.clone()].copy_from_slice(&matrix.values()[entries]);
            (index, filled) = (index + 1, place.end);
        }
        let as_planned = (index, filled) == (self.long_rows.len(), self.long_columns.len());
        as_planned.then_some(()).ok_or_else(other_pattern)
    }
}

/// The rows of one slice.
struct Entries<'a, T> {
    matrix: &'a CsrMatrix<T>,
    rows: PacketRows<'a>,
    lanes: &'a [u16],
}

impl<T: Scalar> Entries<'_, T> {
    /// Writes entry `k` of each row to slot `k`. Values must be zero before.
    fn transpose(&self, columns: &mut [[u32; SLICE_ROWS]], values: &mut [[T; SLICE_ROWS]]) -> Result<()> {
        columns.fill([NO_COLUMN; SLICE_ROWS]);
        for (lane, &row) in self.lanes.iter().enumerate() {
            let entries = self.rows.entries(row.into());
            if entries.len() > columns.len() {
                return Err(other_pattern());
            }
            let source = self.matrix.columns()[entries.clone()].iter().zip(&self.matrix.values()[entries]);
            for ((columns, values), (&column, &value)) in columns.iter_mut().zip(values.iter_mut()).zip(source) {
                (columns[lane % SLICE_ROWS], values[lane % SLICE_ROWS]) = (column, value);
            }
        }
        Ok(())
    }
}

/// Columns as differences from the smallest of each slot.
fn narrow(columns: &[[u32; SLICE_ROWS]], bases: &mut [u32], deltas: &mut [[u16; SLICE_ROWS]]) -> Result<()> {
    for ((columns, base), deltas) in columns.iter().zip(bases).zip(deltas) {
        let smallest = columns.iter().copied().min().unwrap_or(NO_COLUMN);
        *base = if smallest == NO_COLUMN { 0 } else { smallest };
        let mut largest = 0;
        for (delta, &column) in deltas.iter_mut().zip(columns) {
            let difference = if column == NO_COLUMN { 0 } else { column - smallest };
            largest = difference.max(largest);
            *delta = if column == NO_COLUMN { NO_DELTA } else { difference as u16 };
        }
        if largest >= NO_DELTA.into() {
            return Err(other_pattern());
        }
    }
    Ok(())
}
