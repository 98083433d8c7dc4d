//! The first pass: how large each slice gets, in which order its rows come, and where everything will lie.

use rayon::prelude::*;

use super::describe::{Counts, Description, Format};
use super::order::{PacketRows, RowOrder};
use super::{MAX_SLOTS, PACKET_ROWS, PACKET_SLICES, SLICE_ROWS, WIDE};
use crate::{CsrMatrix, Result, Scalar, SparseError, start_threads};

/// The largest difference of two columns that share a narrow slot: one less than the mark of an empty place.
const MAX_SPAN: u32 = 0xFFFE;

/// Bytes of the order of an ordered packet.
const ORDER_BYTES: u64 = 2 * PACKET_ROWS as u64;

/// The plan of a [`PacketMatrix`](super::PacketMatrix): sizes and decisions, before any of its arrays is made.
///
/// ```
/// use gpu_sparse::{Format, PacketPlan, gallery::Poisson};
///
/// let a = Poisson::two_d(200, 200).build::<f64>()?;
/// let plan = PacketPlan::new(&a)?;
/// println!("{}", plan.description());
/// if plan.format() == Format::Packets {
///     assert_eq!(plan.build(&a)?.to_csr(), a);
/// }
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PacketPlan {
    pub(super) cap: usize,
    pub(super) slice_slots: Vec<u32>,
    pub(super) slice_columns: Vec<u32>,
    pub(super) packets: Vec<PacketShape>,
    pub(super) description: Description,
}

/// The order chosen for one packet, and its long rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketShape {
    pub(super) order: RowOrder,
    pub(super) long_rows: usize,
    pub(super) long_entries: usize,
}

/// The width of one slice, and whether its columns take 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SliceShape {
    /// Slots.
    pub(super) width: u32,
    pub(super) wide: bool,
}

impl PacketPlan {
    /// Plans with the default cap on the length of a row: four times the mean (rounded up), but at least 64 and at most 1024.
    ///
    /// Determinism: a function of the pattern and of the size of an element alone. Cost: one parallel pass over the columns.
    ///
    /// # Errors
    /// `TooLarge` when there would be 2^31 slots or more.
    pub fn new<T: Scalar>(matrix: &CsrMatrix<T>) -> Result<Self> {
        let mean = matrix.nnz().div_ceil(matrix.rows().max(1));
        Self::with_long_row_cap(matrix, mean.saturating_mul(4).clamp(64, 1024))
    }

    /// Plans with rows of more than `cap` entries kept apart.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with_long_row_cap<T: Scalar>(matrix: &CsrMatrix<T>, cap: usize) -> Result<Self> {
        start_threads()?;
        let mut slices = vec![SliceShape::default(); matrix.rows().div_ceil(SLICE_ROWS)];
        let packets: Vec<PacketShape> = slices
            .par_chunks_mut(PACKET_SLICES)
            .enumerate()
            .map_init(PlanBuffers::default, |scratch, (packet, slices)| {
                let rows = PacketRows::new(matrix.row_starts(), packet, cap);
                Packet { rows, columns: matrix.columns(), value_bytes: size_of::<T>() as u64 }.shape(slices, scratch)
            })
            .collect();
        let placed = place(&slices)?;
        let counts = Counts {
            rows: matrix.rows(),
            cols: matrix.cols(),
            nnz: matrix.nnz(),
            value_bytes: size_of::<T>(),
            slices: slices.len(),
            wide_slices: slices.iter().filter(|slice| slice.wide).count(),
            longest_slice: slices.iter().map(|slice| slice.width as usize).max().unwrap_or(0),
            packets: packets.len(),
            ordered_packets: packets.iter().filter(|packet| packet.order != RowOrder::Natural).count(),
            narrow_slots: placed.narrow_slots,
            wide_slots: placed.wide_slots,
            long_rows: packets.iter().map(|packet| packet.long_rows).sum(),
            long_entries: packets.iter().map(|packet| packet.long_entries).sum(),
        };
        let description = Description::of_packets(&counts);
        Ok(Self { cap, slice_slots: placed.slots, slice_columns: placed.columns, packets, description })
    }

    /// The format in which products on a GPU are expected to be faster.
    ///
    /// Both are taken to be limited by memory, packets also by the time that a thread needs for the slots of its row, one
    /// after another. An estimate from the sizes alone: nothing is run.
    pub fn format(&self) -> Format {
        self.description.advice()
    }

    /// The arrays of the packets and their bytes.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The description of the same matrix in compressed rows, with the reason for which packets pay or do not.
    pub fn csr_description(&self) -> Description {
        self.description.csr_instead()
    }
}

/// The starts of the slices, and the number of slots of each kind.
#[derive(Debug)]
pub(super) struct PlacedSlice {
    pub(super) slots: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) narrow_slots: usize,
    pub(super) wide_slots: usize,
}

/// Puts slice after slice.
pub(super) fn place(slices: &[SliceShape]) -> Result<PlacedSlice> {
    // At most 2^32 slots in each of 2^27 slices: no sum overflows.
    let total = slices.iter().map(|slice| u64::from(slice.width)).sum::<u64>();
    if total > MAX_SLOTS {
        return Err(SparseError::TooLarge { quantity: "slots of the packets", value: total, limit: MAX_SLOTS });
    }
    let (mut narrow, mut wide) = (0, 0);
    let (mut slots, mut columns) = (Vec::with_capacity(slices.len() + 1), Vec::with_capacity(slices.len()));
    for slice in slices {
        slots.push(narrow + wide);
        columns.push(if slice.wide { wide | WIDE } else { narrow });
        *(if slice.wide { &mut wide } else { &mut narrow }) += slice.width;
    }
    slots.push(narrow + wide);
    Ok(PlacedSlice { slots, columns, narrow_slots: narrow as usize, wide_slots: wide as usize })
}

/// Memory that a thread uses for one packet after another.
#[derive(Default)]
struct PlanBuffers {
    positions: Vec<u16>,
    sorted: Vec<SliceShape>,
    smallest: Vec<u32>,
    largest: Vec<u32>,
}

/// A packet to be shaped.
struct Packet<'a> {
    rows: PacketRows<'a>,
    columns: &'a [u32],
    value_bytes: u64,
}

impl Packet<'_> {
    /// Chooses the order of the rows and shapes the slices.
    fn shape(&self, slices: &mut [SliceShape], scratch: &mut PlanBuffers) -> PacketShape {
        let (mut long_rows, mut long_entries) = (0, 0);
        for row in self.rows.long_rows() {
            long_rows += 1;
            long_entries += self.rows.length(row);
        }
        let shape = |order| PacketShape { order, long_rows, long_entries };
        // An order must be had anyway where rows are long; else it has to save more than it takes.
        let (unsorted, price) = if long_rows > 0 { (RowOrder::ClosedUp, 0) } else { (RowOrder::Natural, ORDER_BYTES) };
        let bytes = self.measure(unsorted, slices, scratch);
        // Lower bounds of sorting: slots without padding; then, which costs a sort, with the padding that is left.
        let entries = self.rows.all_entries().len() - long_entries;
        if self.at_least(entries.div_ceil(SLICE_ROWS)) + price >= bytes {
            return shape(unsorted);
        }
        self.rows.arrange(RowOrder::Sorted, &mut scratch.positions);
        let slots = scratch.positions.chunks(SLICE_ROWS).map(|rows| self.rows.length(rows[0].into())).sum();
        if self.at_least(slots) + price >= bytes {
            return shape(unsorted);
        }
        let mut sorted = std::mem::take(&mut scratch.sorted);
        sorted.clear();
        sorted.resize(slices.len(), SliceShape::default());
        let pays = self.measure(RowOrder::Sorted, &mut sorted, scratch) + price < bytes;
        if pays {
            slices.copy_from_slice(&sorted);
        }
        scratch.sorted = sorted;
        shape(if pays { RowOrder::Sorted } else { unsorted })
    }

    /// Bytes of so many narrow slots.
    fn at_least(&self, slots: usize) -> u64 {
        self.bytes(slots as u64, false)
    }

    fn bytes(&self, slots: u64, wide: bool) -> u64 {
        let places = SLICE_ROWS as u64;
        slots * (places * self.value_bytes + if wide { places * 4 } else { places * 2 + 4 })
    }

    /// Shapes the slices for rows in `order`; returns the bytes of their slots.
    fn measure(&self, order: RowOrder, slices: &mut [SliceShape], scratch: &mut PlanBuffers) -> u64 {
        let mut positions = std::mem::take(&mut scratch.positions);
        self.rows.arrange(order, &mut positions);
        let mut rows = positions.chunks(SLICE_ROWS);
        let mut bytes = 0;
        for slice in slices {
            *slice = self.measure_slice(rows.next().unwrap_or_default(), scratch);
            bytes += self.bytes(slice.width.into(), slice.wide);
        }
        scratch.positions = positions;
        bytes
    }

    fn measure_slice(&self, rows: &[u16], scratch: &mut PlanBuffers) -> SliceShape {
        let width = rows.iter().map(|&row| self.rows.length(row.into())).max().unwrap_or(0);
        let PlanBuffers { smallest, largest, .. } = scratch;
        smallest.clear();
        smallest.resize(width, u32::MAX);
        largest.clear();
        largest.resize(width, 0);
        for &row in rows {
            let columns = &self.columns[self.rows.entries(row.into())];
            for ((smallest, largest), &column) in smallest.iter_mut().zip(largest.iter_mut()).zip(columns) {
                *smallest = column.min(*smallest);
                *largest = column.max(*largest);
            }
        }
        // Each slot has an entry, that of the longest row.
        let wide = smallest.iter().zip(largest.iter()).any(|(smallest, largest)| largest - smallest > MAX_SPAN);
        SliceShape { width: width as u32, wide }
    }
}
