//! Operands as tensor maps describe them: where they are, or copied.

use gpu_array::gpu_driver::{Device, Swizzle, TensorLayout, TensorMap, kernel_constants};
use smallvec::SmallVec;

use super::policy::{Products, TensorCoreTile};
use crate::{Result, matmul::problem::MatmulProblem};

/// Bytes that addresses and strides of a tensor map are multiples of.
const MAP_BYTES: usize = 16;

/// The most elements of an axis of a tensor map: coordinates are `int`, and tiles reach beyond the end.
const MOST: usize = i32::MAX as usize - 1024;

/// Elements of a map for each element of an operand, of so many bytes: the two parts of a complex number of 16.
fn units(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// An operand of a product, its rows or columns across k and its elements along k.
#[derive(Clone, Debug)]
pub(in crate::matmul) struct FactorLayout {
    address: u64,
    /// Bytes of an element.
    bytes: usize,
    across: usize,
    along: usize,
    across_stride: isize,
    along_stride: isize,
    /// Lengths and strides of the stack, the innermost axis first.
    batch: SmallVec<[(usize, isize); 4]>,
}

kernel_constants! {
    pub(super) const BOX_ORDERS: &str;
    /// Boxes of elements along k, for each row of a or column of b.
    const ALONG_K_BOXES: u32 = 0;
    /// Boxes of elements across k, for each value along k.
    const ACROSS_K_BOXES: u32 = 1;
}

/// The order of the elements of an operand in memory that a tensor map describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::matmul) enum BoxOrder {
    /// Elements along k are neighbours.
    AlongK,
    /// Elements across k are neighbours.
    AcrossK,
}

impl BoxOrder {
    /// The kernel's argument.
    pub(in crate::matmul) fn boxes(self) -> u32 {
        match self {
            Self::AlongK => ALONG_K_BOXES,
            Self::AcrossK => ACROSS_K_BOXES,
        }
    }
}

/// A copy of an operand: matrices one behind the other, each of rows of `pitch` elements.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    pub(super) address: u64,
    bytes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_stride: isize,
    pub(super) column_stride: isize,
    /// Axes of the stack that are not broadcast.
    pub(super) axes: SmallVec<[(usize, isize); 4]>,
    pub(super) matrices: usize,
}

impl Copied {
    /// Elements from one row to the next: whole packs of 8, of bytes of 16.
    pub(super) fn pitch(&self) -> usize {
        self.columns.next_multiple_of(if self.bytes == 1 { MAP_BYTES } else { 8 })
    }

    /// Whether packs of 16 bytes along a row are whole and aligned; of single bytes, whether packs of 4 are aligned in memory.
    pub(super) fn is_packed(&self) -> bool {
        if self.bytes == 1 {
            let is_multiple = |stride: isize| stride.unsigned_abs().is_multiple_of(4);
            let [near, far] = if self.is_transposed() {
                [self.row_stride, self.column_stride]
            } else {
                [self.column_stride, self.row_stride]
            };
            let axes = self.axes.iter().all(|&(_, step)| is_multiple(step));
            return near == 1 && is_multiple(far) && self.address.is_multiple_of(4) && axes;
        }
        let is_multiple = |stride: isize| stride.unsigned_abs().is_multiple_of(MAP_BYTES / self.bytes);
        self.column_stride == 1
            && self.columns.is_multiple_of(MAP_BYTES / self.bytes)
            && self.address.is_multiple_of(MAP_BYTES as u64)
            && is_multiple(self.row_stride)
            && self.axes.iter().all(|&(_, step)| is_multiple(step))
    }

    pub(super) fn is_transposed(&self) -> bool {
        self.row_stride.unsigned_abs() < self.column_stride.unsigned_abs()
    }

    /// Elements of the copy, with `parts` for each of the operand; None if there are too many.
    pub(super) fn elements(&self, parts: usize) -> Option<usize> {
        [self.rows, self.pitch(), parts].into_iter().try_fold(self.matrices, |all, next| all.checked_mul(next))
    }
}

/// An operand in memory that a tensor map describes.
#[derive(Clone, Debug)]
pub(in crate::matmul) struct MappedOperand {
    pub(in crate::matmul) order: BoxOrder,
    pub(super) address: u64,
    pub(super) across: usize,
    pub(super) along: usize,
    /// Elements from one row of the map to the next, and from one matrix to the next.
    pub(super) row_stride: usize,
    pub(super) matrix_stride: usize,
    matrices: usize,
    /// Matrices of the map from one index of the stack to the next, along each of its axes.
    pub(in crate::matmul) matrix_steps: SmallVec<[isize; 4]>,
}

impl FactorLayout {
    /// Operand 1 (a) or 2 (b) of a problem.
    pub(in crate::matmul) fn of(problem: &MatmulProblem, operand: usize) -> Self {
        let (matrix, across, strides) = match operand {
            1 => (&problem.a, problem.m, (problem.a.row, problem.a.column)),
            _ => (&problem.b, problem.n, (problem.b.column, problem.b.row)),
        };
        Self {
            address: matrix.address,
            bytes: problem.dtype.bytes(),
            across,
            along: problem.k,
            across_stride: strides.0,
            along_stride: strides.1,
            batch: problem.batch.iter().map(|axis| (axis.length, axis.steps[operand])).collect(),
        }
    }

    /// Matrices that are not the same.
    fn matrices(&self) -> usize {
        self.batch.iter().filter(|(_, step)| *step != 0).map(|&(length, _)| length).product()
    }

    /// Bytes of the elements, each once.
    pub(super) fn bytes(&self) -> usize {
        [self.across, self.along, self.bytes].into_iter().fold(self.matrices(), usize::saturating_mul)
    }

    /// Whether a copy of this factor of TF32 takes less time than to pass it through registers where it is: it is small beside the other one, and there
    /// are few terms, so that the sums of each tile, which lie in other rows then, are stored for longer than they are added. H200, us, 131072 x 64 x 64:
    /// 22.2 with a copy, 25.1 without (cuBLASLt 23.5).
    pub(super) fn is_copied_soon(&self, other: &Self) -> bool {
        self.along <= 128 && self.across >= 64 && self.bytes() <= other.bytes() / 64
    }

    /// Bytes that a copy reads and writes.
    pub(super) fn copied_bytes(&self, products: Products) -> usize {
        (self.bytes() / self.bytes).saturating_mul(self.bytes + products.element_bytes() * products.parts())
    }

    pub(super) fn fits_a_map(&self) -> bool {
        let most = MOST / units(self.bytes);
        self.across <= most && self.along <= most && self.matrices() <= MOST / 3
    }

    /// The operand where it is, if a tensor map can describe it.
    pub(in crate::matmul) fn in_place(&self) -> Option<MappedOperand> {
        let (order, row_stride, [rows, columns]) = match (self.along_stride, self.across_stride) {
            (1, across) => (BoxOrder::AlongK, across, [self.across, self.along]),
            (along, 1) => (BoxOrder::AcrossK, along, [self.along, self.across]),
            _ => return None,
        };
        let mut stacked = self.batch.iter().filter(|(_, step)| *step != 0);
        let (matrices, step) = stacked.next().copied().unwrap_or((1, 0));
        let is_whole = |stride: isize| stride >= 0 && (stride as usize * self.bytes).is_multiple_of(MAP_BYTES);
        // One row alone has any stride. Rows that overlap are not among those that CUDA documents.
        let row_stride = if rows == 1 { columns.next_multiple_of(MAP_BYTES) as isize } else { row_stride };
        let fits = self.fits_a_map()
            && self.address.is_multiple_of(MAP_BYTES as u64)
            && [row_stride, step].into_iter().all(is_whole)
            && row_stride.unsigned_abs() >= columns
            && stacked.next().is_none()
            && [row_stride, step].into_iter().all(|stride| stride < (1 << 40) / self.bytes as isize);
        fits.then(|| MappedOperand {
            order,
            address: self.address,
            across: self.across,
            along: self.along,
            row_stride: row_stride as usize,
            // One matrix alone has any stride, too.
            matrix_stride: if matrices == 1 { row_stride } else { step } as usize,
            matrices,
            matrix_steps: self.batch.iter().map(|(_, step)| isize::from(*step != 0)).collect(),
        })
    }

    /// A copy in an order, and how a map describes it at an address.
    pub(super) fn copied(&self, order: BoxOrder, parts: usize) -> (Copied, impl Fn(u64) -> MappedOperand + '_) {
        let (rows, columns) = match order {
            BoxOrder::AlongK => ((self.across, self.across_stride), (self.along, self.along_stride)),
            BoxOrder::AcrossK => ((self.along, self.along_stride), (self.across, self.across_stride)),
        };
        let copied = Copied {
            address: self.address,
            bytes: self.bytes,
            rows: rows.0,
            columns: columns.0,
            row_stride: rows.1,
            column_stride: columns.1,
            axes: self.batch.iter().filter(|(_, step)| *step != 0).copied().collect(),
            matrices: self.matrices(),
        };
        let mut before = 1;
        let steps = self.batch.iter().map(|&(length, step)| {
            let of_axis = if step == 0 { 0 } else { before };
            before *= if step == 0 { 1 } else { length as isize };
            of_axis
        });
        let (matrix_steps, pitch): (SmallVec<[isize; 4]>, _) = (steps.collect(), copied.pitch());
        let (matrices, row_count) = (copied.matrices * parts, copied.rows);
        let operand = move |address| MappedOperand {
            order,
            address,
            across: self.across,
            along: self.along,
            row_stride: pitch,
            matrix_stride: row_count * pitch,
            matrices,
            matrix_steps: matrix_steps.clone(),
        };
        (copied, operand)
    }

    /// The order in which the operand is copied with the fewest accesses.
    pub(super) fn nearest_order(&self) -> BoxOrder {
        if self.along_stride.unsigned_abs() <= self.across_stride.unsigned_abs() {
            BoxOrder::AlongK
        } else {
            BoxOrder::AcrossK
        }
    }
}

impl MappedOperand {
    /// Whether rows of elements of so many bytes are whole chunks of 16 bytes, as warps copy them. Tensor maps have rows of any length.
    pub(super) fn has_whole_chunks(&self, bytes: usize) -> bool {
        let columns = if self.order == BoxOrder::AlongK { self.along } else { self.across };
        (columns * bytes).is_multiple_of(MAP_BYTES)
    }

    /// The map of the operand, whose elements have `bytes` and `parts`, with boxes of `across` elements across k where they lie along k, else of `along`
    /// values along k.
    pub(in crate::matmul) fn map(
        &self,
        device: &Device,
        [bytes, parts]: [usize; 2],
        [across, along]: [usize; 2],
    ) -> Result<TensorMap> {
        let (columns, rows) = match self.order {
            BoxOrder::AlongK => (self.along, self.across),
            BoxOrder::AcrossK => (self.across, self.along),
        };
        // A box of rows of 128 bytes: a panel, or the tile.
        let row = TensorCoreTile::ROW_BYTES / bytes;
        let units = units(bytes);
        let box_rows = if self.order == BoxOrder::AlongK { across } else { along };
        let layout = TensorLayout {
            address: self.address,
            element_bytes: bytes / units,
            lengths: [(columns * units) as u64, rows as u64, self.matrices as u64],
            strides: [(self.row_stride * bytes) as u64, (self.matrix_stride * bytes) as u64],
            box_lengths: [(row * units) as u32, box_rows as u32, parts as u32],
            swizzle: Swizzle::Rows128,
        };
        Ok(TensorMap::new(device, &layout)?)
    }
}
