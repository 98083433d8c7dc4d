//! Access to slices and packets by number.

use crate::partition::row_blocks;

use super::{NO_COLUMN, NO_DELTA, PACKET_ROWS, PACKET_SLICES, PacketMatrix, SLICE_ROWS, WIDE};

/// The slots of a slice.
pub(crate) struct Slice<'a, T> {
    pub(crate) columns: Columns<'a>,
    pub(crate) values: &'a [[T; SLICE_ROWS]],
}

/// The columns of a slice's slots.
pub(crate) enum Columns<'a> {
    Narrow { bases: &'a [u32], deltas: &'a [[u16; SLICE_ROWS]] },
    Wide(&'a [[u32; SLICE_ROWS]]),
}

/// The column at a base and a delta, where there is an entry.
#[inline(always)]
pub(crate) fn narrow_column(base: u32, delta: u16) -> Option<u32> {
    (delta != NO_DELTA).then(|| base.wrapping_add(delta.into())) // never wraps: see `check_column`
}

/// The column in a wide slot, where there is an entry.
#[inline(always)]
pub(crate) fn wide_column(column: u32) -> Option<u32> {
    (column != NO_COLUMN).then_some(column)
}

impl Columns<'_> {
    /// The column of the entry in a slot and a lane, where there is one.
    #[inline(always)]
    pub(crate) fn get(&self, slot: usize, lane: usize) -> Option<u32> {
        match self {
            Self::Narrow { bases, deltas } => narrow_column(bases[slot], deltas[slot][lane]),
            Self::Wide(columns) => wide_column(columns[slot][lane]),
        }
    }
}

impl<T> PacketMatrix<T> {
    /// Number of packets.
    pub(crate) fn packets(&self) -> usize {
        self.packet_orders.len()
    }

    /// The rows of a packet, from the first to behind the last.
    pub(crate) fn packet_rows(&self, packet: usize) -> std::ops::Range<usize> {
        packet * PACKET_ROWS..((packet + 1) * PACKET_ROWS).min(self.rows)
    }

    /// The slices of a packet, each with the position of its first lane.
    pub(crate) fn packet_slices(&self, packet: usize) -> impl Iterator<Item = (usize, Slice<'_, T>)> {
        let first = packet * PACKET_SLICES;
        let end = (first + PACKET_SLICES).min(self.slice_columns.len());
        (first..end).map(move |slice| ((slice - first) * SLICE_ROWS, self.slice(slice)))
    }

    fn slice(&self, slice: usize) -> Slice<'_, T> {
        let slots = self.slice_slots[slice] as usize..self.slice_slots[slice + 1] as usize;
        let place = (self.slice_columns[slice] & !WIDE) as usize;
        let place = place..place + slots.len();
        let columns = if self.slice_columns[slice] & WIDE != 0 {
            Columns::Wide(&self.wide_columns.as_chunks().0[place])
        } else {
            Columns::Narrow { bases: &self.bases[place.clone()], deltas: &self.deltas.as_chunks().0[place] }
        };
        Slice { columns, values: &self.values.as_chunks().0[slots] }
    }

    /// The row at a position of a packet, counted from its first; one beyond its rows where there is none.
    #[inline(always)]
    pub(crate) fn row_at(&self, packet: usize, position: usize) -> usize {
        match self.packet_order(packet) {
            None => position,
            Some(order) => order[position].into(),
        }
    }

    /// The order of a packet, where it has one.
    #[inline(always)]
    pub(crate) fn packet_order(&self, packet: usize) -> Option<&[u16; PACKET_ROWS]> {
        let blocks: &[[u16; PACKET_ROWS]] = self.order.as_chunks().0;
        match self.packet_orders[packet] {
            super::NATURAL => None,
            block => Some(&blocks[block as usize]),
        }
    }

    /// The numbers of a packet's long rows.
    pub(crate) fn long_rows_of(&self, packet: usize) -> std::ops::Range<usize> {
        if self.packet_orders[packet] == super::NATURAL {
            return 0..0;
        }
        let rows = self.packet_rows(packet);
        let before = |row: usize| self.long_rows.partition_point(|&long| (long as usize) < row);
        before(rows.start)..before(rows.end)
    }

    /// The positions of the entries of a long row.
    pub(crate) fn long_entries(&self, index: usize) -> std::ops::Range<usize> {
        self.long_starts[index] as usize..self.long_starts[index + 1] as usize
    }

    /// Cuts the packets into blocks by their rows, slots and long rows.
    pub(crate) fn cut_into_blocks(&mut self) {
        let mut work = Vec::with_capacity(self.packets() + 1);
        work.push(0);
        for packet in 0..self.packets() {
            let first = packet * PACKET_SLICES;
            let end = (first + PACKET_SLICES).min(self.slice_columns.len());
            let places = u64::from(self.slice_slots[end] - self.slice_slots[first]) * SLICE_ROWS as u64;
            let long = self.long_rows_of(packet);
            let long = self.long_starts[long.end] - self.long_starts[long.start];
            work.push(work[packet] + self.packet_rows(packet).len() as u64 + places + long);
        }
        self.blocks = row_blocks(&work).into_iter().map(|packet| (packet * PACKET_ROWS).min(self.rows)).collect();
    }
}
