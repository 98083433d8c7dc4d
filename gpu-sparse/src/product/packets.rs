//! Products of packets, on rayon's threads: the definition of a device's products, with the same bits.

use ndarray::{Array1, ArrayView1, ArrayViewMut1};
use rayon::prelude::*;

use super::fused::{Work, fused};
use super::{axpby, check_length, on_slices};
use crate::packets::{Columns, PACKET_ROWS, PacketMatrix, SLICE_ROWS, Slice, narrow_column, wide_column};
use crate::partition::sum_over_blocks;
use crate::{Result, Scalar};

/// Entries of a long row that are added up together.
pub(crate) const SEGMENT: usize = 4096;
/// Sums carried side by side in a segment.
pub(crate) const SEGMENT_LANES: usize = 256;

impl<T: Scalar> PacketMatrix<T> {
    /// `A x`, in a new array, with the bits of a device's product.
    ///
    /// A row's products are added in f64 by fused multiply-adds and rounded once. Only stored entries touch `x`: a NaN in `x`
    /// reaches a result only through an entry in its column.
    ///
    /// Shapes: `x` has `cols()` elements. Determinism: bitwise, for any number of threads. Cost: one pass over the matrix.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `cols()`.
    #[doc(alias("dot", "spmv", "A @ x"))]
    pub fn matvec<'x>(&self, x: impl Into<ArrayView1<'x, T>>) -> Result<Array1<T>> {
        let mut y = vec![T::zero(); self.rows];
        self.matvec_into(x, y.as_mut_slice())?;
        Ok(y.into())
    }

    /// `y = A x`; otherwise as [`matvec`](Self::matvec).
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`.
    ///
    /// ```
    /// let a = gpu_sparse::CsrMatrix::identity(2)?.to_packets()?;
    /// let mut y = [0.0; 2];
    /// a.matvec_into(&[1.0, 2.0], &mut y)?;
    /// assert_eq!(y, [1.0, 2.0]);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn matvec_into<'x, 'y>(
        &self,
        x: impl Into<ArrayView1<'x, T>>,
        y: impl Into<ArrayViewMut1<'y, T>>,
    ) -> Result<()> {
        self.combine("PacketMatrix::matvec_into", x.into(), y.into(), |sum, y| *y = T::from_f64(sum))
    }

    /// `y = alpha A x + beta y`, every operation rounded in f64, the result once more. With `beta` zero the old `y` is not
    /// read, so it may hold NaN.
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`.
    pub fn axpby_into<'x, 'y>(
        &self,
        alpha: T,
        x: impl Into<ArrayView1<'x, T>>,
        beta: T,
        y: impl Into<ArrayViewMut1<'y, T>>,
    ) -> Result<()> {
        self.combine("PacketMatrix::axpby_into", x.into(), y.into(), axpby(alpha, beta))
    }

    /// `finish(row sum, element of y)` for every row.
    fn combine(
        &self,
        op: &'static str,
        x: ArrayView1<'_, T>,
        y: ArrayViewMut1<'_, T>,
        finish: impl Fn(f64, &mut T) + Sync,
    ) -> Result<()> {
        on_slices(op, (self.rows, self.cols), x, y, |x, y| self.sweep(x, y, |sum, _, y| finish(sum, y)))
    }

    /// The pass behind every product: `finish(sum, row, element of y)` for every row. `x` has `cols`, `y` `rows` elements.
    fn sweep(&self, x: &[T], y: &mut [T], finish: impl Fn(f64, usize, &mut T) + Sync) {
        sum_over_blocks(&self.blocks, y, |rows, y| {
            for (packet, y) in (rows.start / PACKET_ROWS..).zip(y.chunks_mut(PACKET_ROWS)) {
                self.sweep_packet(packet, x, y, &finish);
            }
            0.0
        });
    }

    /// `r = b - A x`, rounded once.
    pub(crate) fn residual_into(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        const OP: &str = "PacketMatrix::residual";
        check_length(OP, "x", x.len(), self.cols)?;
        check_length(OP, "b", b.len(), self.rows)?;
        check_length(OP, "r", r.len(), self.rows)?;
        self.sweep(x, r, |sum, row, r| *r = T::from_f64(b[row].into() - sum));
        Ok(())
    }

    fn sweep_packet(&self, packet: usize, x: &[T], y: &mut [T], finish: &impl Fn(f64, usize, &mut T)) {
        let start = packet * PACKET_ROWS;
        for (first, slice) in self.packet_slices(packet) {
            for (lane, sum) in fused(Rows { slice, x }).into_iter().enumerate() {
                let row = self.row_at(packet, first + lane);
                if let Some(y) = y.get_mut(row) {
                    finish(sum, start + row, y);
                }
            }
        }
        for long in self.long_rows_of(packet) {
            let (row, entries) = (self.long_rows[long] as usize, self.long_entries(long));
            let sum = long_row_sum(&self.long_columns[entries.clone()], &self.long_values[entries], x);
            finish(sum, row, &mut y[row - start]);
        }
    }
}

/// The rows of a slice times `x`, each from its first entry to its last.
struct Rows<'a, T> {
    slice: Slice<'a, T>,
    x: &'a [T],
}

impl<T: Scalar> Work for Rows<'_, T> {
    type Output = [f64; SLICE_ROWS];

    #[inline(always)]
    fn run(self) -> [f64; SLICE_ROWS] {
        let Self { slice, x } = self;
        let mut sums = [0.0; SLICE_ROWS];
        match slice.columns {
            Columns::Narrow { bases, deltas } => {
                for ((&base, deltas), values) in bases.iter().zip(deltas).zip(slice.values) {
                    add_slot(&mut sums, deltas, values, x, |delta| narrow_column(base, delta));
                }
            }
            Columns::Wide(columns) => {
                for (columns, values) in columns.iter().zip(slice.values) {
                    add_slot(&mut sums, columns, values, x, wide_column);
                }
            }
        }
        sums
    }
}

#[inline(always)]
fn add_slot<T: Scalar, C: Copy>(
    sums: &mut [f64; SLICE_ROWS],
    columns: &[C; SLICE_ROWS],
    values: &[T; SLICE_ROWS],
    x: &[T],
    column: impl Fn(C) -> Option<u32>,
) {
    for ((sum, &place), &value) in sums.iter_mut().zip(columns).zip(values) {
        if let Some(column) = column(place) {
            *sum = add_product(*sum, value, x[column as usize]);
        }
    }
}

/// `sum + a b`, rounded once.
#[inline(always)]
fn add_product<T: Scalar>(sum: f64, a: T, b: T) -> f64 {
    let (a, b): (f64, f64) = (a.into(), b.into());
    // The product of two f32 is exact in f64, where nothing has to be fused.
    if size_of::<T>() == 4 { sum + a * b } else { a.mul_add(b, sum) }
}

/// A long row times `x`: the sums of its segments, from first to last.
fn long_row_sum<T: Scalar>(columns: &[u32], values: &[T], x: &[T]) -> f64 {
    let segments = columns.par_chunks(SEGMENT).zip(values.par_chunks(SEGMENT));
    let sums: Vec<f64> = segments.map(|(columns, values)| fused(Segment { columns, values, x })).collect();
    sums.into_iter().fold(0.0, |total, sum| total + sum)
}

/// One segment, as 256 threads add it up: thread `t` entries `t`, `t + 256`, ..., and then each warp in five steps.
struct Segment<'a, T> {
    columns: &'a [u32],
    values: &'a [T],
    x: &'a [T],
}

impl<T: Scalar> Work for Segment<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Self { columns, values, x } = self;
        let mut lanes = [0.0; SEGMENT_LANES];
        for (columns, values) in columns.chunks(SEGMENT_LANES).zip(values.chunks(SEGMENT_LANES)) {
            for ((lane, &column), &value) in lanes.iter_mut().zip(columns).zip(values) {
                *lane = add_product(*lane, value, x[column as usize]);
            }
        }
        let mut total = 0.0;
        for warp in lanes.as_chunks_mut::<SLICE_ROWS>().0 {
            for offset in [16, 8, 4, 2, 1] {
                // Lanes from `offset` on add something, too, but nothing of it reaches lane 0.
                for lane in 0..offset {
                    warp[lane] += warp[lane + offset];
                }
            }
            total += warp[0];
        }
        total
    }
}
