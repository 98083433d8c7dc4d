//! Packets of slices: the format that GPUs read fastest.
//!
//! Rows are cut into *packets* of 1024 and these into *slices* of 32, in natural order or in an order of the packet's own. A
//! slice is as wide as its longest row and has that many *slots* of 32 places, one for each of its rows: entry `k` of a row
//! lies in slot `k`. So 32 neighbouring threads, one for each row, read neighbouring values. A slice is *narrow*, its columns
//! 16 bits wide and counted from a base for each slot, where those of a slot are never more than 65,534 apart; else it is
//! *wide*. Rows far longer than the others are kept apart, compressed.

mod advice;
mod build;
mod decode;
mod describe;
mod order;
mod plan;
mod raw;
mod slice;

#[cfg(test)]
mod tests;

pub use describe::{Description, Format};
pub use plan::PacketPlan;
pub(crate) use raw::RawPackets;
pub(crate) use slice::{Columns, Slice, narrow_column, wide_column};

use gpu_driver::kernel_constants;

use crate::{CsrMatrix, Result, Scalar};

kernel_constants! {
    pub(crate) const PACKET_CONSTANTS: &str;
    /// Rows of a packet.
    pub(crate) const PACKET_ROWS: usize = 1024;
    /// In `slice_columns`: the slice's columns take 32 bits.
    pub(crate) const WIDE: u32 = 0x80000000;
    /// In `packet_orders`: the packet's rows are in natural order.
    pub(crate) const NATURAL: u32 = 0xffffffff;
    /// In `order`: no row is here.
    pub(crate) const NO_ROW: u16 = 0xffff;
    /// In `deltas`: no entry is here.
    pub(crate) const NO_DELTA: u16 = 0xffff;
    /// In `wide_columns`: no entry is here.
    pub(crate) const NO_COLUMN: u32 = 0xffffffff;
}
/// Rows of a slice, places of a slot.
pub(crate) const SLICE_ROWS: usize = 32;
/// Slices of a packet.
pub(crate) const PACKET_SLICES: usize = PACKET_ROWS / SLICE_ROWS;
/// Slots that a matrix can have.
pub(crate) const MAX_SLOTS: u64 = (1 << 31) - 1;

/// A sparse matrix in packets of slices: the format of products on a GPU where it pays.
///
/// Made of a [`CsrMatrix`] and turned back into the same one, bit for bit; it cannot be changed. On the host it serves as the
/// reference of the device's products, which have the same bits: a row is added up by fused multiply-adds in f64, from the
/// first column to the last, and rounded once. A row of more entries than the cap (see [`PacketPlan::with_long_row_cap`]) is
/// added up in 256 interleaved sums for every 4096 entries.
///
/// ```
/// use gpu_sparse::{PacketMatrix, gallery::Poisson};
///
/// let a = Poisson::three_d(30, 30, 30).build::<f64>()?;
/// let packets = PacketMatrix::from_csr(&a)?;
/// assert_eq!(packets.to_csr(), a);
/// assert!(packets.description().bytes_per_nonzero() < packets.description().csr_bytes_per_nonzero());
/// println!("{}", packets.description());
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PacketMatrix<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    /// The first slot of each slice, and at the end the number of slots.
    pub(crate) slice_slots: Vec<u32>,
    /// The start of each slice's columns: a slot of `deltas` and `bases` or, with [`WIDE`] set, a slot of `wide_columns`.
    pub(crate) slice_columns: Vec<u32>,
    /// The smallest column of each narrow slot, 0 where there is none.
    pub(crate) bases: Vec<u32>,
    /// 32 a narrow slot: column less base, or [`NO_DELTA`].
    pub(crate) deltas: Vec<u16>,
    /// 32 a wide slot: the column, or [`NO_COLUMN`].
    pub(crate) wide_columns: Vec<u32>,
    /// 32 a slot; zero where there is no entry.
    pub(crate) values: Vec<T>,
    /// For each packet the index of its block of 1024 elements in `order`, or [`NATURAL`].
    pub(crate) packet_orders: Vec<u32>,
    /// 1024 an ordered packet: the row at each position, counted from the packet's first, or [`NO_ROW`].
    pub(crate) order: Vec<u16>,
    /// The rows kept apart, rising.
    pub(crate) long_rows: Vec<u32>,
    /// The start of each long row in `long_columns` and `long_values`, and at the end their length.
    pub(crate) long_starts: Vec<u64>,
    pub(crate) long_columns: Vec<u32>,
    pub(crate) long_values: Vec<T>,
    /// The elements `a_ii`, zero where nothing is stored.
    pub(crate) diagonal: Vec<T>,
    /// Whether all entries are.
    pub(crate) finite: bool,
    description: Description,
    /// Boundaries, in rows, of the blocks of packets that run in parallel.
    pub(crate) blocks: Vec<usize>,
}

impl<T: Scalar> PacketMatrix<T> {
    /// Converts a matrix to packets, whether they pay or not: a [`PacketPlan`] tells before anything is filled.
    ///
    /// Determinism: bitwise, for any number of threads. Cost: two parallel passes over the matrix.
    ///
    /// # Errors
    /// `TooLarge` when there would be 2^31 slots or more.
    pub fn from_csr(matrix: &CsrMatrix<T>) -> Result<Self> {
        PacketPlan::new(matrix)?.build(matrix)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries, explicit zeros included, padding not.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The arrays of the matrix and their bytes.
    pub fn description(&self) -> &Description {
        &self.description
    }
}

impl<T: Scalar> CsrMatrix<T> {
    /// Converts to packets: [`PacketMatrix::from_csr`].
    ///
    /// # Errors
    /// The errors of [`PacketMatrix::from_csr`].
    pub fn to_packets(&self) -> Result<PacketMatrix<T>> {
        PacketMatrix::from_csr(self)
    }
}
