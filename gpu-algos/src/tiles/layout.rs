//! The layout of operands in memory, and the parameters of a launch.

use std::mem::offset_of;

use gpu_array::{
    DType,
    expression::{AxisEntry, LeafParams, LoweredLeaf, MAX_AXES, PACKED, divisor},
    gpu_driver::LaunchConfig,
};
use smallvec::SmallVec;

use super::{axes::TileAxes, policy::TilePolicy};
use crate::{
    AlgoError, Result,
    common::{
        axes::Axis,
        launch::{Launch, MOST_BLOCKS, ScratchNeed, Words},
    },
    device::params::{BACKWARD, CONTIGUOUS, GRID_COUNTERS_BYTES, LINES, TileHead, TileParams},
};

/// Index in [`Launch::params`] of the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(TileHead, scratch) / size_of::<u64>();

/// Destination of a scan or selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileTarget<'t> {
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    /// Strides along the axes of the scanned expression.
    pub(crate) strides: &'t [isize],
}

/// Memory layout of the operands of a scan or selection, in the order of the walk.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLayout {
    pub(crate) axes: TileAxes,
    /// Whether neighbours lie along another axis than the scanned one ([`TileAxes::across`]). No flag of `mode` holds then.
    pub(crate) is_across: bool,
    /// Addresses of the first value: of the target, then of each leaf.
    bases: SmallVec<[u64; 5]>,
    bytes: SmallVec<[usize; 5]>,
    /// The flags among `CONTIGUOUS`, `BACKWARD` and `LINES` that hold.
    pub(crate) mode: u32,
    /// Name of the operation, and its shape, in errors.
    op: &'static str,
    shape: SmallVec<[usize; 4]>,
    selection: SelectTargets,
}

/// Addresses of a selection's other outputs; zeros in a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SelectTargets {
    /// The address of the number of selected values.
    pub(crate) count: u64,
    /// From one element of the target to the next, in elements.
    pub(crate) step: i64,
    /// The addresses of places beside values, and of lengths of runs.
    pub(crate) places: u64,
    pub(crate) lengths: u64,
}

impl MemoryLayout {
    pub(crate) fn of(
        op: &'static str,
        shape: &[usize],
        axes: TileAxes,
        leaves: &[LoweredLeaf<'_>],
        target: &TileTarget<'_>,
    ) -> Self {
        let dtypes = std::iter::once((target.dtype.bytes(), target.address));
        // The first value of a leaf without memory counts in steps of 1.
        let dtypes =
            dtypes.chain(leaves.iter().map(|leaf| (if leaf.is_place { 1 } else { leaf.dtype.bytes() }, leaf.address)));
        let (mut bases, mut bytes) = (SmallVec::new(), SmallVec::new());
        for ((size, address), &offset) in dtypes.zip(&axes.offsets) {
            bases.push(address.wrapping_add_signed((offset as i64).wrapping_mul(size as i64)));
            bytes.push(size);
        }
        let mut mode = if axes.line_count() > 1 { LINES } else { 0 };
        if let Some(steps) = axes.step_along() {
            let in_memory = || {
                let leaves = steps[1..].iter().zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(step, _)| *step);
                std::iter::once(steps[0]).chain(leaves.filter(|&step| step != 0))
            };
            // A single value has no direction.
            let one = axes.length() == 1 && axes.line_count() <= 1;
            if one || in_memory().all(|step| step == 1) {
                mode |= CONTIGUOUS;
            } else if in_memory().all(|step| step == -1) {
                mode |= CONTIGUOUS | BACKWARD;
            }
        }
        Self {
            axes,
            is_across: false,
            bases,
            bytes,
            mode,
            op,
            shape: shape.into(),
            selection: SelectTargets::default(),
        }
    }

    /// The layout of a scan with [`TileAxes::across`].
    pub(crate) fn across(
        op: &'static str,
        shape: &[usize],
        axes: TileAxes,
        leaves: &[LoweredLeaf<'_>],
        target: &TileTarget<'_>,
    ) -> Self {
        Self { is_across: true, mode: 0, ..Self::of(op, shape, axes, leaves, target) }
    }

    /// The layout of a selection with these outputs.
    pub(crate) fn with_selection(self, selection: SelectTargets) -> Self {
        Self { selection, ..self }
    }

    /// Number of values of all lines.
    pub(crate) fn count(&self) -> usize {
        self.axes.length() * self.axes.line_count()
    }

    /// Reports more axes than a kernel supports.
    pub(crate) fn check_axes(&self) -> Result<()> {
        let got = self.axes.scanned.len().max(self.axes.lines.len());
        if got > MAX_AXES {
            return Err(AlgoError::TooManyAxes { op: self.op, limit: MAX_AXES, got });
        }
        Ok(())
    }

    pub(crate) fn too_large(&self) -> AlgoError {
        AlgoError::TooLarge { op: self.op, shape: self.shape.to_vec() }
    }

    /// Values before the first one that align the packs of the operand; 0 if they are aligned already.
    fn peel(&self, operand: usize, width: usize) -> usize {
        let at = (self.bases[operand] / self.bytes[operand] as u64) as usize % width;
        if self.mode & BACKWARD == 0 { at } else { (width - 1 - at) % width }
    }

    /// Whether the packs of all operands are aligned in memory, except those at the ends.
    pub(crate) fn is_packed(&self, leaves: &[LoweredLeaf<'_>], width: usize) -> bool {
        let peel = self.peel_of_packs(leaves, width);
        self.whole(0, width, peel) && self.are_leaves_packed(leaves, width)
    }

    /// Whether the packs of all leaves are aligned in memory, except those at the ends.
    pub(crate) fn are_leaves_packed(&self, leaves: &[LoweredLeaf<'_>], width: usize) -> bool {
        let peel = self.peel_of_packs(leaves, width);
        in_memory(leaves).all(|operand| self.whole(operand, width, peel))
    }

    /// Whether the first value begins a pack of the first leaf.
    pub(crate) fn is_aligned(&self, leaves: &[LoweredLeaf<'_>], width: usize) -> bool {
        self.peel_of_packs(leaves, width) == 0
    }

    /// Values before the first one that align the packs of the first leaf.
    fn peel_of_packs(&self, leaves: &[LoweredLeaf<'_>], width: usize) -> usize {
        if self.mode & CONTIGUOUS == 0 {
            return 0;
        }
        self.peel(in_memory(leaves).next().unwrap_or(0), width)
    }

    /// Whether the packs of the operand are aligned if the first one begins `peel` values before the first value.
    fn whole(&self, operand: usize, width: usize, peel: usize) -> bool {
        let steps = self.axes.step_along().filter(|_| self.mode & CONTIGUOUS != 0);
        steps.is_some_and(|steps| steps[operand] != 0) && self.peel(operand, width) == peel
    }

    /// The launch of a kernel with this grid. The last argument is the scalars of the expressions, and their extra words.
    pub(crate) fn launch(
        &self,
        grid: GridShape,
        policy: &TilePolicy,
        (scalars, extra): (impl Iterator<Item = u64>, impl Iterator<Item = u64>),
    ) -> Launch {
        let GridShape { head, blocks, scratch } = grid;
        // If lines continue one another, the first step is that of all values.
        let along = self.axes.step_along().filter(|_| self.mode & CONTIGUOUS != 0);
        let first = self.axes.scanned.first().map(|axis| AxisEntry::new(axis.length, along.unwrap_or(&axis.steps)));
        let others = self.axes.scanned.iter().skip(1).map(axis_params);
        let scanned: SmallVec<[_; 4]> = first.into_iter().chain(others).collect();
        let mut params = Words::new();
        TileParams {
            head,
            leaves: self.bases[1..].iter().map(|&address| LeafParams { address, kind: PACKED }),
            scanned: AxisEntry::list(scanned.into_iter(), self.bases.len()),
            lines: AxisEntry::list(self.axes.lines.iter().map(axis_params), self.bases.len()),
            scalars,
            extra,
        }
        .write(&mut params);
        let shared_bytes = policy.shared_bytes;
        let config = LaunchConfig { grid: (blocks as u32).into(), block: policy.block().into(), shared_bytes };
        Launch { params, scratch_word: SCRATCH_WORD, scratch, config }
    }

    /// The grid of a kernel whose blocks share the tiles of all lines. The device runs `resident` blocks at once; a slot has `slot` bytes.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn tile_grid(
        &self,
        leaves: &[LoweredLeaf<'_>],
        policy: &TilePolicy,
        slot: usize,
        resident: usize,
    ) -> Result<GridShape> {
        let (count, width) = (self.count(), policy.vector_size as usize);
        let peel = self.peel_of_packs(leaves, width);
        let tiles = (count + peel).div_ceil(policy.values());
        let scratch = match tiles.checked_mul(slot) {
            _ if tiles <= 1 => ScratchNeed::None,
            Some(slots) => ScratchNeed::Cleared(GRID_COUNTERS_BYTES + slots),
            None => return Err(self.too_large()),
        };
        let length = self.axes.length();
        let head = TileHead {
            count: count as u64,
            length: length as u64,
            length_divisor: divisor(length),
            peel: peel as u64,
            tiles: u32::try_from(tiles).map_err(|_| self.too_large())?,
            is_wide: (count + width > i32::MAX as usize).into(),
            ..self.head(leaves, |operand| self.whole(operand, width, peel))
        };
        self.grid(head, tiles.min(resident), scratch)
    }

    /// A grid of so many blocks.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn grid(&self, head: TileHead, blocks: usize, scratch: ScratchNeed) -> Result<GridShape> {
        if blocks > MOST_BLOCKS {
            return Err(self.too_large());
        }
        Ok(GridShape { head, blocks, scratch })
    }

    /// The fields that all kernels have, where `whole` says whether packs of an operand are aligned; zeros in the others.
    pub(crate) fn head(&self, leaves: &[LoweredLeaf<'_>], whole: impl Fn(usize) -> bool) -> TileHead {
        TileHead {
            target: self.bases[0],
            selected: self.selection.count,
            step: self.selection.step,
            places: self.selection.places,
            lengths: self.selection.lengths,
            scanned_rank: self.axes.scanned.len() as u32,
            line_rank: self.axes.lines.len() as u32,
            is_target_packed: whole(0).into(),
            are_leaves_packed: in_memory(leaves).all(whole).into(),
            count: 0,
            length: 0,
            length_divisor: 0,
            packs: 0,
            row_divisor: 0,
            scratch: 0,
            peel: 0,
            tiles: 0,
            log_lanes: 0,
            is_wide: 0,
        }
    }

    /// Whether the operand's packs of columns are aligned in every row.
    pub(crate) fn is_whole_in_rows(&self, operand: usize, width: usize) -> bool {
        let inner = &self.axes.lines[0];
        let others = self.axes.lines[1..].iter().chain(&self.axes.scanned);
        inner.steps[operand] == 1
            && (self.bases[operand] / self.bytes[operand] as u64).is_multiple_of(width as u64)
            && others.into_iter().all(|axis| axis.steps[operand] % width as isize == 0)
    }

    /// Whether the packs of all operands are aligned in every row.
    pub(crate) fn is_packed_in_rows(&self, leaves: &[LoweredLeaf<'_>], width: usize) -> bool {
        self.is_whole_in_rows(0, width) && in_memory(leaves).all(|operand| self.is_whole_in_rows(operand, width))
    }
}

/// The numbers of the operands that are leaves in memory.
fn in_memory(leaves: &[LoweredLeaf<'_>]) -> impl Iterator<Item = usize> {
    (1..).zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(operand, _)| operand)
}

fn axis_params(axis: &Axis) -> AxisEntry<'_> {
    AxisEntry::new(axis.length, &axis.steps)
}

/// The first parameters of a kernel, with the number of blocks and the scratch memory.
pub(crate) struct GridShape {
    pub(crate) head: TileHead,
    pub(crate) blocks: usize,
    pub(crate) scratch: ScratchNeed,
}
