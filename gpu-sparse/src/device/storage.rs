//! A matrix's arrays in device memory, and the structures by which kernels take them.
#![expect(unsafe_code, reason = "structures of device addresses as kernel arguments")]

use std::ffi::c_void;
use std::marker::PhantomData;

use gpu_driver::{Argument, DeviceVec, Stream, kernel_constants};

use crate::packets::RawPackets as HostPackets;
use crate::partition::row_blocks_of;
use crate::{CsrMatrix, PacketMatrix, Result, Scalar, SparseError};

kernel_constants! {
    pub(crate) const ROW_CONSTANTS: &str;
    /// Entries that a block of the product in compressed rows takes at a time.
    pub(crate) const CSR_ITEMS: u64 = 2048;
    /// Entries of a segment of a long row.
    pub(crate) const SEGMENT: u64 = 4096;
}

/// A structure in which a kernel takes a matrix: a format and an element type.
pub(crate) trait Raw: Copy + 'static {
    type Element: Scalar;
    /// The structure's name in CUDA C++.
    fn cuda_name() -> String;
}

/// The arrays of a format in device memory.
pub(crate) trait Stored {
    type Raw: Raw;
    /// The addresses, good while this is.
    fn raw(&self) -> Self::Raw;
    /// The units in which blocks of a product take the rows that are not long.
    fn sweep_units(&self) -> SweepUnits;
    fn long_rows(&self) -> &LongRows;
}

/// The rows of a matrix, but for the long ones, in the units that a product's blocks take, and the number of units.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SweepUnits {
    /// Blocks of compressed rows, one for each block of threads.
    RowBlocks(usize),
    /// Slices of packets, one for each warp.
    Slices(usize),
}

/// A matrix as a kernel's argument, ordered by `home`.
pub(crate) struct View<'a, R> {
    raw: R,
    home: &'a Stream,
}

impl<'a, R: Raw> View<'a, R> {
    /// `home` orders the memory of `matrix`: its own stream, or one that it will follow.
    pub(crate) fn new(matrix: &'a impl Stored<Raw = R>, home: &'a Stream) -> Self {
        Self { raw: matrix.raw(), home }
    }
}

// SAFETY: `raw` is laid out as the structure that it names (repr(C), sizes asserted on both sides), and holds addresses of
// memory that is borrowed, shared, for the lifetime; `home` orders it, as `View::new` asks.
unsafe impl<R: Raw> Argument for View<'_, R> {
    fn cuda_type() -> String {
        R::cuda_name()
    }
    fn value(&self) -> *const c_void {
        std::ptr::from_ref(&self.raw).cast()
    }
    fn home(&self) -> Option<&Stream> {
        Some(self.home)
    }
}

/// `LongRows` in long_rows.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawLongRows {
    columns: u64,
    values: u64,
    rows: u64,
    begins: u64,
    ends: u64,
    first_segments: u64,
    owners: u64,
    count: u32,
    segments: u32,
}

/// Segments that a grid has room for beside the blocks that sweep.
const MAX_SEGMENTS: u64 = (1 << 31) - (1 << 16);

/// The long rows, and their cut into segments.
pub(crate) struct LongRows {
    rows: DeviceVec<u32>,
    begins: DeviceVec<u64>,
    ends: DeviceVec<u64>,
    first_segments: DeviceVec<u32>,
    owners: DeviceVec<u32>,
    /// Whether some row has more than one segment, so that blocks exchange sums.
    divided: bool,
}

impl LongRows {
    fn upload(home: &Stream, rows: &[u32], begins: &[u64], ends: &[u64]) -> Result<Self> {
        let (mut first_segments, mut owners) = (Vec::new(), Vec::new());
        if !rows.is_empty() {
            first_segments.push(0);
        }
        for (number, (begin, end)) in begins.iter().zip(ends).enumerate() {
            let segments = (end - begin).div_ceil(SEGMENT).max(1) as usize;
            owners.resize(owners.len() + segments, number as u32);
            first_segments.push(owners.len() as u32);
        }
        if owners.len() as u64 > MAX_SEGMENTS {
            let (quantity, value) = ("segments of long rows", owners.len() as u64);
            return Err(SparseError::TooLarge { quantity, value, limit: MAX_SEGMENTS });
        }
        Ok(Self {
            rows: DeviceVec::from_slice(home, rows)?,
            begins: DeviceVec::from_slice(home, begins)?,
            ends: DeviceVec::from_slice(home, ends)?,
            divided: owners.len() > rows.len(),
            first_segments: DeviceVec::from_slice(home, &first_segments)?,
            owners: DeviceVec::from_slice(home, &owners)?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn segments(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Rows and segments that need a place for the sums that blocks exchange: none where each row has one segment.
    pub(crate) fn scratch(&self) -> (usize, usize) {
        if self.divided { (self.rows.len(), self.owners.len()) } else { (0, 0) }
    }

    fn raw<T: Scalar>(&self, columns: &DeviceVec<u32>, values: &DeviceVec<T>) -> RawLongRows {
        RawLongRows {
            columns: columns.as_raw(),
            values: values.as_raw(),
            rows: self.rows.as_raw(),
            begins: self.begins.as_raw(),
            ends: self.ends.as_raw(),
            first_segments: self.first_segments.as_raw(),
            owners: self.owners.as_raw(),
            count: self.rows.len() as u32,
            segments: self.segments(),
        }
    }
}

/// Compressed rows.
pub(crate) struct Csr<T: Scalar> {
    row_starts: DeviceVec<u64>,
    columns: DeviceVec<u32>,
    values: DeviceVec<T>,
    blocks: DeviceVec<u32>,
    block_entries: DeviceVec<u64>,
    long_rows: LongRows,
}

/// `Csr` in csr.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawCsr<T> {
    row_starts: u64,
    blocks: u64,
    block_entries: u64,
    long_rows: RawLongRows,
    block_count: u32,
    rows: u32,
    element: PhantomData<T>,
}

const _: () = assert!(size_of::<RawCsr<f32>>() == 96);

impl<T: Scalar> Raw for RawCsr<T> {
    type Element = T;
    fn cuda_name() -> String {
        format!("gpu_sparse::Csr<{}>", T::CUDA_NAME)
    }
}

impl<T: Scalar> Csr<T> {
    pub(crate) fn upload(home: &Stream, a: &CsrMatrix<T>) -> Result<Self> {
        let starts = a.row_starts();
        let blocks = row_blocks_of(starts, CSR_ITEMS);
        let length = |row: usize| starts[row + 1] - starts[row];
        // A row that is too long has a block to itself.
        let alone = blocks.windows(2).filter(|pair| pair[1] == pair[0] + 1).map(|pair| pair[0]);
        let long: Vec<usize> = alone.filter(|&row| length(row) > CSR_ITEMS).collect();
        let rows: Vec<u32> = long.iter().map(|&row| row as u32).collect();
        let begins: Vec<u64> = long.iter().map(|&row| starts[row]).collect();
        let ends: Vec<u64> = long.iter().map(|&row| starts[row + 1]).collect();
        let block_entries: Vec<u64> = blocks.iter().map(|&row| starts[row]).collect();
        let blocks: Vec<u32> = blocks.into_iter().map(|row| row as u32).collect();
        Ok(Self {
            row_starts: DeviceVec::from_slice(home, starts)?,
            columns: DeviceVec::from_slice(home, a.columns())?,
            values: DeviceVec::from_slice(home, a.values())?,
            blocks: DeviceVec::from_slice(home, &blocks)?,
            block_entries: DeviceVec::from_slice(home, &block_entries)?,
            long_rows: LongRows::upload(home, &rows, &begins, &ends)?,
        })
    }

    pub(crate) fn download(&self, cols: usize) -> Result<CsrMatrix<T>> {
        let rows = self.row_starts.len() - 1;
        CsrMatrix::from_parts(rows, cols, self.row_starts.to_vec()?, self.columns.to_vec()?, self.values.to_vec()?)
    }
}

impl<T: Scalar> Stored for Csr<T> {
    type Raw = RawCsr<T>;

    fn raw(&self) -> RawCsr<T> {
        RawCsr {
            row_starts: self.row_starts.as_raw(),
            blocks: self.blocks.as_raw(),
            block_entries: self.block_entries.as_raw(),
            long_rows: self.long_rows.raw(&self.columns, &self.values),
            block_count: (self.blocks.len() - 1) as u32,
            rows: (self.row_starts.len() - 1) as u32,
            element: PhantomData,
        }
    }

    fn sweep_units(&self) -> SweepUnits {
        SweepUnits::RowBlocks(self.blocks.len() - 1)
    }

    fn long_rows(&self) -> &LongRows {
        &self.long_rows
    }
}

/// Packets.
pub(crate) struct Packets<T: Scalar> {
    slice_slots: DeviceVec<u32>,
    slice_columns: DeviceVec<u32>,
    bases: DeviceVec<u32>,
    deltas: DeviceVec<u16>,
    wide_columns: DeviceVec<u32>,
    values: DeviceVec<T>,
    packet_orders: DeviceVec<u32>,
    order: DeviceVec<u16>,
    long_columns: DeviceVec<u32>,
    long_values: DeviceVec<T>,
    long_rows: LongRows,
    rows: u32,
}

/// `Packets` in packets.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawPackets<T> {
    slice_slots: u64,
    slice_columns: u64,
    bases: u64,
    deltas: u64,
    wide_columns: u64,
    values: u64,
    packet_orders: u64,
    order: u64,
    long_rows: RawLongRows,
    slices: u32,
    rows: u32,
    element: PhantomData<T>,
}

const _: () = assert!(size_of::<RawPackets<f32>>() == 136);

impl<T: Scalar> Raw for RawPackets<T> {
    type Element = T;
    fn cuda_name() -> String {
        format!("gpu_sparse::Packets<{}>", T::CUDA_NAME)
    }
}

impl<T: Scalar> Packets<T> {
    pub(crate) fn upload(home: &Stream, a: &PacketMatrix<T>) -> Result<Self> {
        let starts = &a.long_starts;
        Ok(Self {
            slice_slots: DeviceVec::from_slice(home, &a.slice_slots)?,
            slice_columns: DeviceVec::from_slice(home, &a.slice_columns)?,
            bases: DeviceVec::from_slice(home, &a.bases)?,
            deltas: DeviceVec::from_slice(home, &a.deltas)?,
            wide_columns: DeviceVec::from_slice(home, &a.wide_columns)?,
            values: DeviceVec::from_slice(home, &a.values)?,
            packet_orders: DeviceVec::from_slice(home, &a.packet_orders)?,
            order: DeviceVec::from_slice(home, &a.order)?,
            long_columns: DeviceVec::from_slice(home, &a.long_columns)?,
            long_values: DeviceVec::from_slice(home, &a.long_values)?,
            long_rows: LongRows::upload(home, &a.long_rows, &starts[..starts.len() - 1], &starts[1..])?,
            rows: a.rows() as u32,
        })
    }

    pub(crate) fn download(&self, cols: usize) -> Result<PacketMatrix<T>> {
        let mut long_starts = self.long_rows.begins.to_vec()?;
        long_starts.push(self.long_values.len() as u64);
        PacketMatrix::from_raw(HostPackets {
            rows: self.rows as usize,
            cols,
            slice_slots: self.slice_slots.to_vec()?,
            slice_columns: self.slice_columns.to_vec()?,
            bases: self.bases.to_vec()?,
            deltas: self.deltas.to_vec()?,
            wide_columns: self.wide_columns.to_vec()?,
            values: self.values.to_vec()?,
            packet_orders: self.packet_orders.to_vec()?,
            order: self.order.to_vec()?,
            long_rows: self.long_rows.rows.to_vec()?,
            long_starts,
            long_columns: self.long_columns.to_vec()?,
            long_values: self.long_values.to_vec()?,
        })
    }
}

impl<T: Scalar> Stored for Packets<T> {
    type Raw = RawPackets<T>;

    fn raw(&self) -> RawPackets<T> {
        RawPackets {
            slice_slots: self.slice_slots.as_raw(),
            slice_columns: self.slice_columns.as_raw(),
            bases: self.bases.as_raw(),
            deltas: self.deltas.as_raw(),
            wide_columns: self.wide_columns.as_raw(),
            values: self.values.as_raw(),
            packet_orders: self.packet_orders.as_raw(),
            order: self.order.as_raw(),
            long_rows: self.long_rows.raw(&self.long_columns, &self.long_values),
            slices: self.slice_columns.len() as u32,
            rows: self.rows,
            element: PhantomData,
        }
    }

    fn sweep_units(&self) -> SweepUnits {
        SweepUnits::Slices(self.slice_columns.len())
    }

    fn long_rows(&self) -> &LongRows {
        &self.long_rows
    }
}
