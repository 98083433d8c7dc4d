//! Packets from arrays that come from elsewhere, a device for one: looked through before anything trusts them.

use rayon::prelude::*;

use super::describe::{Counts, Description};
use super::slice::{Columns, wide_column};
use super::{MAX_SLOTS, NATURAL, NO_DELTA, NO_ROW, PACKET_ROWS, PacketMatrix, SLICE_ROWS, WIDE};
use crate::coo::check_dimensions;
use crate::{Result, Scalar, SparseError, start_threads};

/// The arrays of a [`PacketMatrix`], as they are described there; the rest follows from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawPackets<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) slice_slots: Vec<u32>,
    pub(crate) slice_columns: Vec<u32>,
    pub(crate) bases: Vec<u32>,
    pub(crate) deltas: Vec<u16>,
    pub(crate) wide_columns: Vec<u32>,
    pub(crate) values: Vec<T>,
    pub(crate) packet_orders: Vec<u32>,
    pub(crate) order: Vec<u16>,
    pub(crate) long_rows: Vec<u32>,
    pub(crate) long_starts: Vec<u64>,
    pub(crate) long_columns: Vec<u32>,
    pub(crate) long_values: Vec<T>,
}

/// `Ok` when `holds`, else the rule and where it is broken.
fn rule(holds: bool, rule: &'static str, at: usize) -> Result<()> {
    if holds { Ok(()) } else { Err(SparseError::Packets { rule, at }) }
}

/// The first place at which `broken` says so.
fn rule_for_all<E>(items: &[E], text: &'static str, broken: impl Fn(&E) -> bool) -> Result<()> {
    items.iter().position(broken).map_or(Ok(()), |at| rule(false, text, at))
}

impl<T: Scalar> PacketMatrix<T> {
    /// Puts arrays together that fit each other, each of which may be anything: they are checked in one parallel pass.
    ///
    /// It accepts all arrays with which products and [`to_csr`](Self::to_csr) can work, also those that
    /// [`from_csr`](Self::from_csr) would not make: a base may be lower than it could, a slice wide without need.
    ///
    /// # Errors
    /// `TooLarge` for dimensions or slots beyond the limits of the format, `Packets` for the first rule found broken.
    pub(crate) fn from_raw(raw: RawPackets<T>) -> Result<Self> {
        raw.check_lengths()?;
        raw.check_long_rows()?;
        let mut packets = raw.assemble();
        let mut diagonal = vec![T::zero(); packets.rows.min(packets.cols)];
        let (mut rest, mut parts) = (&mut diagonal[..], Vec::with_capacity(packets.packets()));
        for _ in 0..packets.packets() {
            parts.push(rest.split_off_mut(..PACKET_ROWS.min(rest.len())).unwrap_or_default());
        }
        start_threads()?;
        let found = parts.into_par_iter().enumerate().map(|(packet, part)| packets.check_packet(packet, part));
        let found = found.try_reduce(
            || Violation { entries: 0, finite: true },
            |a, b| Ok(Violation { entries: a.entries + b.entries, finite: a.finite & b.finite }),
        )?;
        (packets.diagonal, packets.finite, packets.nnz) = (diagonal, found.finite, found.entries);
        packets.description = Description::of_packets(&packets.counts());
        packets.cut_into_blocks();
        Ok(packets)
    }

    fn counts(&self) -> Counts {
        let widths = self.slice_slots.windows(2).map(|slots| slots[1] - slots[0]);
        Counts {
            rows: self.rows,
            cols: self.cols,
            nnz: self.nnz,
            value_bytes: size_of::<T>(),
            slices: self.slice_columns.len(),
            wide_slices: self.slice_columns.iter().filter(|&column| column & WIDE != 0).count(),
            longest_slice: widths.max().unwrap_or(0) as usize,
            packets: self.packets(),
            ordered_packets: self.order.len() / PACKET_ROWS,
            narrow_slots: self.bases.len(),
            wide_slots: self.wide_columns.len() / SLICE_ROWS,
            long_rows: self.long_rows.len(),
            long_entries: self.long_columns.len(),
        }
    }

    /// Checks the rows of a packet, whose arrays may be indexed, and sets its part of the diagonal.
    fn check_packet(&self, packet: usize, diagonal: &mut [T]) -> Result<Violation> {
        let rows = self.packet_rows(packet);
        self.check_order(packet)?;
        let mut found = Violation { entries: 0, finite: true };
        for (first, slice) in self.packet_slices(packet) {
            let counts = slice.columns.count();
            for (lane, &count) in counts.iter().enumerate() {
                let row = self.row_at(packet, first + lane);
                let at = rows.start + row.min(rows.len());
                rule(count == 0 || row < rows.len(), "entries belong to rows", at)?;
                let mut previous = None;
                for slot in 0..count as usize {
                    let column = self.check_column(&slice.columns, slot, lane, at)?;
                    rule(previous < Some(column), "the columns of a row rise", at)?;
                    previous = Some(column);
                    let value = slice.values[slot][lane];
                    found.finite &= value.is_finite();
                    if column as usize == at && row < diagonal.len() {
                        diagonal[row] = value;
                    }
                }
                found.entries += count as usize;
            }
        }
        for long in self.long_rows_of(packet) {
            let (row, entries) = (self.long_rows[long] as usize, self.long_entries(long));
            let (columns, values) = (&self.long_columns[entries.clone()], &self.long_values[entries]);
            rule(columns.is_sorted_by(|a, b| a < b), "the columns of a row rise", row)?;
            rule(columns.last().is_none_or(|&last| (last as usize) < self.cols), "columns lie in the matrix", row)?;
            found.finite &= values.iter().all(|value| value.is_finite());
            found.entries += columns.len();
            if let (Ok(entry), Some(out)) = (columns.binary_search(&(row as u32)), diagonal.get_mut(row - rows.start)) {
                *out = values[entry];
            }
        }
        Ok(found)
    }

    /// The column in a slot below the lane's number of entries, so that a place without an entry is a hole in the row.
    fn check_column(&self, columns: &Columns<'_>, slot: usize, lane: usize, row: usize) -> Result<u32> {
        let column = match columns {
            Columns::Narrow { deltas, .. } if deltas[slot][lane] == NO_DELTA => None,
            Columns::Narrow { bases, deltas } => Some(u64::from(bases[slot]) + u64::from(deltas[slot][lane])),
            Columns::Wide(columns) => wide_column(columns[slot][lane]).map(u64::from),
        };
        rule(column.is_some(), "rows have no holes", row)?;
        let inside = column.filter(|&column| column < self.cols as u64);
        rule(inside.is_some(), "columns lie in the matrix", row)?;
        Ok(inside.unwrap_or(0) as u32)
    }

    /// Checks that each row has one position within the slices, or is long.
    fn check_order(&self, packet: usize) -> Result<()> {
        let rows = self.packet_rows(packet);
        let Some(order) = self.packet_order(packet) else { return Ok(()) };
        let mut seen = [false; PACKET_ROWS];
        for long in self.long_rows_of(packet) {
            seen[self.long_rows[long] as usize - rows.start] = true;
        }
        let positions = rows.len().div_ceil(SLICE_ROWS) * SLICE_ROWS;
        for (position, &row) in order.iter().enumerate().filter(|&(_, &row)| row != NO_ROW) {
            let known = (row as usize) < rows.len() && position < positions;
            rule(known && !seen[row as usize], "an order has each row once", packet)?;
            seen[row as usize] = true;
        }
        rule(seen[..rows.len()].iter().all(|&seen| seen), "an order has each row once", packet)
    }
}

/// The number of entries of a packet, and whether all are finite.
struct Violation {
    entries: usize,
    finite: bool,
}

impl<T: Scalar> RawPackets<T> {
    /// Checks all that makes it safe to look at a slice, an order or a long row.
    fn check_lengths(&self) -> Result<()> {
        check_dimensions(self.rows, self.cols)?;
        let (slices, packets) = (self.rows.div_ceil(SLICE_ROWS), self.rows.div_ceil(PACKET_ROWS));
        rule(self.slice_slots.len() == slices + 1, "one start for each slice and the end", self.slice_slots.len())?;
        rule(self.slice_columns.len() == slices, "one place of columns for each slice", self.slice_columns.len())?;
        rule(self.packet_orders.len() == packets, "one order for each packet", self.packet_orders.len())?;
        let slots = self.values.len() / SLICE_ROWS;
        if slots as u64 > MAX_SLOTS {
            let value = slots as u64;
            return Err(SparseError::TooLarge { quantity: "slots of the packets", value, limit: MAX_SLOTS });
        }
        rule(self.values.len() == slots * SLICE_ROWS, "32 values for each slot", self.values.len())?;
        rule(self.slice_slots[0] == 0, "slots start at 0", 0)?;
        rule(self.slice_slots[slices] as usize == slots, "slots end with the values", slices)?;
        let falls = self.slice_slots.windows(2).position(|slots| slots[0] > slots[1]);
        rule(falls.is_none(), "slots rise", falls.unwrap_or(0))?;
        rule(self.deltas.len() == self.bases.len() * SLICE_ROWS, "32 deltas for each base", self.deltas.len())?;
        let wide = self.wide_columns.len() / SLICE_ROWS;
        rule(self.wide_columns.len() == wide * SLICE_ROWS, "32 columns for each wide slot", self.wide_columns.len())?;
        for (slice, (slots, &column)) in self.slice_slots.windows(2).zip(&self.slice_columns).enumerate() {
            let places = if column & WIDE != 0 { wide } else { self.bases.len() };
            let end = (column & !WIDE) as usize + (slots[1] - slots[0]) as usize;
            rule(end <= places, "columns of slices lie in their array", slice)?;
        }
        rule(self.bases.len() + wide == slots, "columns for each slot", self.bases.len() + wide)?;
        let orders = self.order.len() / PACKET_ROWS;
        rule(self.order.len() == orders * PACKET_ROWS, "1024 rows for each order", self.order.len())?;
        rule_for_all(&self.packet_orders, "orders lie in their array", |&order| {
            order != NATURAL && order as usize >= orders
        })
    }

    fn check_long_rows(&self) -> Result<()> {
        let (rows, starts) = (&self.long_rows, &self.long_starts);
        rule(starts.len() == rows.len() + 1, "one start for each long row and the end", starts.len())?;
        rule(self.long_columns.len() == self.long_values.len(), "a column for each value", self.long_columns.len())?;
        rule(starts[0] == 0, "long rows start at 0", 0)?;
        rule(starts[rows.len()] == self.long_values.len() as u64, "long rows end with their values", rows.len())?;
        rule(starts.is_sorted(), "starts of long rows rise", 0)?;
        rule(rows.is_sorted_by(|a, b| a < b), "long rows rise", 0)?;
        rule_for_all(rows, "long rows lie in the matrix", |&row| row as usize >= self.rows)?;
        rule_for_all(rows, "packets with long rows have an order", |&row| {
            self.packet_orders[row as usize / PACKET_ROWS] == NATURAL
        })
    }

    fn assemble(self) -> PacketMatrix<T> {
        PacketMatrix {
            rows: self.rows,
            cols: self.cols,
            nnz: 0,
            slice_slots: self.slice_slots,
            slice_columns: self.slice_columns,
            bases: self.bases,
            deltas: self.deltas,
            wide_columns: self.wide_columns,
            values: self.values,
            packet_orders: self.packet_orders,
            order: self.order,
            long_rows: self.long_rows,
            long_starts: self.long_starts,
            long_columns: self.long_columns,
            long_values: self.long_values,
            diagonal: Vec::new(),
            finite: true,
            description: Description::of_csr(0, 0, 0, size_of::<T>()),
            blocks: Vec::new(),
        }
    }
}
