//! From the axes of a scan to a launch: its mode, its grid and its params.

use std::mem::offset_of;

use gpu_array::{
    DType,
    expression::{AxisParams, LeafParams, MAX_AXES, PACKED, divisor},
    gpu_driver::LaunchConfig,
};
use smallvec::SmallVec;

use super::{
    axes::ScanAxes,
    policy::{Algorithm, Policy},
};
pub(crate) use crate::reduce::axes::Leaves;
use crate::{
    AlgoError, Result,
    device::params::{BACKWARD, CONTIGUOUS, GRID_COUNTERS_BYTES, LINES, TileHead, TileParams},
    launch::{Launch, MOST_BLOCKS, ScratchNeed, Words},
    reduce::axes::Axis,
};

pub(crate) const OP: &str = "a scan";

/// Neighbours lie along another axis than the scanned one. Kernels of such scans have no other flag but `EXCLUSIVE`.
pub(crate) const ACROSS: u32 = 64;

/// Index in [`Launch::params`] of the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(TileHead, scratch) / size_of::<u64>();

/// Destination of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanTarget<'t> {
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    /// Strides along the axes of the scanned expression.
    pub(crate) strides: &'t [isize],
}

/// Memory layout of a scan's operands, in the order of the walk.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLayout {
    pub(crate) axes: ScanAxes,
    /// Addresses of the first value: of the target, then of each leaf.
    bases: SmallVec<[u64; 5]>,
    bytes: SmallVec<[usize; 5]>,
    /// The flags among `CONTIGUOUS`, `BACKWARD`, `LINES` and `ACROSS` that hold.
    pub(crate) mode: u32,
    /// Name of the operation in errors.
    op: &'static str,
    pub(crate) selection: Selection,
}

/// Addresses of a selection's other outputs: nothing in a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection {
    /// The address of the number of selected values.
    pub(crate) count: u64,
    /// From one element of the target to the next, in elements.
    pub(crate) step: i64,
    /// The addresses of places beside values, and of lengths of runs.
    pub(crate) places: u64,
    pub(crate) lengths: u64,
}

impl MemoryLayout {
    pub(crate) fn of(op: &'static str, axes: ScanAxes, leaves: &Leaves<'_>, target: &ScanTarget<'_>) -> Self {
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
        Self { axes, bases, bytes, mode, op, selection: Selection::default() }
    }

    /// The layout of a scan with [`ScanAxes::across`].
    pub(crate) fn across(axes: ScanAxes, leaves: &Leaves<'_>, target: &ScanTarget<'_>) -> Self {
        Self { mode: ACROSS, ..Self::of(OP, axes, leaves, target) }
    }

    /// Values before the first one that align the packs of the operand; 0 if they are aligned already.
    fn peel(&self, operand: usize, width: usize) -> usize {
        let at = (self.bases[operand] / self.bytes[operand] as u64) as usize % width;
        if self.mode & BACKWARD == 0 { at } else { (width - 1 - at) % width }
    }

    /// Whether the packs of all operands are aligned in memory, except those at the ends.
    pub(crate) fn is_packed(&self, leaves: &Leaves<'_>, width: usize) -> bool {
        let peel = self.peel_of_packs(leaves, width);
        self.whole(0, width, peel) && self.are_leaves_packed(leaves, width)
    }

    /// Whether the packs of all leaves are aligned in memory, except those at the ends.
    pub(crate) fn are_leaves_packed(&self, leaves: &Leaves<'_>, width: usize) -> bool {
        let peel = self.peel_of_packs(leaves, width);
        in_memory(leaves).all(|operand| self.whole(operand, width, peel))
    }

    /// Whether the first value begins a pack of the first leaf.
    pub(crate) fn is_aligned(&self, leaves: &Leaves<'_>, policy: &Policy) -> bool {
        self.peel_of_packs(leaves, policy.width as usize) == 0
    }

    /// Values before the first one that align the packs of the first leaf.
    fn peel_of_packs(&self, leaves: &Leaves<'_>, width: usize) -> usize {
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

    /// The launch of a scan of at least one value. The device runs `resident` blocks at once; a slot has `slot` bytes.
    /// The last argument is what the expressions pass: their scalars, and their extra words.
    pub(crate) fn launch(
        &self,
        shape: &[usize],
        leaves: &Leaves<'_>,
        policy: &Policy,
        slot: usize,
        resident: usize,
        (scalars, extra): (impl Iterator<Item = u64>, impl Iterator<Item = u64>),
    ) -> Result<Launch> {
        for list in [&self.axes.scanned, &self.axes.lines] {
            if list.len() > MAX_AXES {
                return Err(AlgoError::TooManyAxes { op: self.op, limit: MAX_AXES, got: list.len() });
            }
        }
        let too_large = || AlgoError::TooLarge { op: self.op, shape: shape.to_vec() };
        let GridShape { head, blocks, scratch } = match policy.algorithm {
            Algorithm::SinglePass | Algorithm::Pipelined { .. } => self.lines(leaves, policy, slot, resident),
            Algorithm::SingleWave { parts } => self
                .lines(leaves, policy, slot, resident)
                .map(|cut| GridShape { blocks: (cut.head.tiles as usize).div_ceil(parts as usize), ..cut }),
            Algorithm::Rows => self.along(leaves, policy, resident),
            Algorithm::Columns => self.columns(leaves, policy, slot, resident, 32),
            Algorithm::ColumnStrips { lanes } => self.columns(leaves, policy, slot, 0, lanes as usize),
        }
        .filter(|cut| cut.blocks <= MOST_BLOCKS)
        .ok_or_else(too_large)?;
        // If lines continue one another, the first step is that of all values.
        let along = self.axes.step_along().filter(|_| self.mode & CONTIGUOUS != 0);
        let first = self.axes.scanned.first().map(|axis| AxisParams::new(axis.length, along.unwrap_or(&axis.steps)));
        let others = self.axes.scanned.iter().skip(1).map(axis_params);
        let scanned: SmallVec<[_; 4]> = first.into_iter().chain(others).collect();
        let mut params = Words::new();
        TileParams {
            head,
            leaves: self.bases[1..].iter().map(|&address| LeafParams { address, kind: PACKED }),
            scanned: AxisParams::list(scanned.into_iter(), self.bases.len()),
            lines: AxisParams::list(self.axes.lines.iter().map(axis_params), self.bases.len()),
            scalars,
            extra,
        }
        .write(&mut params);
        let block = policy.threads + policy.helpers;
        let config =
            LaunchConfig { grid: (blocks as u32).into(), block: block.into(), shared_bytes: policy.shared_bytes };
        Ok(Launch { params, scratch_word: SCRATCH_WORD, scratch, config })
    }

    /// The grid of the kernels `scan_single_pass`, `scan_pipelined` and `scan_single_wave`, and of those of selections.
    fn lines(&self, leaves: &Leaves<'_>, policy: &Policy, slot: usize, resident: usize) -> Option<GridShape> {
        let length = self.axes.length();
        let count = length * self.axes.line_count();
        let width = policy.width as usize;
        let peel = self.peel_of_packs(leaves, width);
        let whole = |operand: usize| self.whole(operand, width, peel);
        let tiles = (count + peel).div_ceil(policy.tile());
        let head = TileHead {
            count: count as u64,
            length: length as u64,
            length_divisor: divisor(length),
            peel: peel as u64,
            tiles: u32::try_from(tiles).ok()?,
            is_wide: (count + width > i32::MAX as usize).into(),
            ..self.head(leaves, whole)
        };
        let scratch = if tiles > 1 {
            ScratchNeed::Cleared(GRID_COUNTERS_BYTES + tiles.checked_mul(slot)?)
        } else {
            ScratchNeed::None
        };
        Some(GridShape { head, blocks: tiles.min(resident), scratch })
    }

    /// The grid of the kernel `scan_rows`: [`Self::is_packed`] holds, and lines are whole packs.
    fn along(&self, leaves: &Leaves<'_>, policy: &Policy, resident: usize) -> Option<GridShape> {
        let lines = self.axes.line_count();
        let mut cut = self.lines(leaves, policy, 0, resident)?;
        cut.head.tiles = u32::try_from(self.axes.length().div_ceil(policy.tile())).ok()?;
        Some(GridShape { blocks: lines.min(resident), scratch: ScratchNeed::None, ..cut })
    }

    /// The fields that all kernels have, where `whole` says whether packs of an operand are aligned; zeros in the others.
    fn head(&self, leaves: &Leaves<'_>, whole: impl Fn(usize) -> bool) -> TileHead {
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
    fn is_whole_in_rows(&self, operand: usize, width: usize) -> bool {
        let inner = &self.axes.lines[0];
        let others = self.axes.lines[1..].iter().chain(&self.axes.scanned);
        inner.steps[operand] == 1
            && (self.bases[operand] / self.bytes[operand] as u64).is_multiple_of(width as u64)
            && others.into_iter().all(|axis| axis.steps[operand] % width as isize == 0)
    }

    /// Whether the packs of all operands are aligned in every row.
    pub(crate) fn is_packed_in_rows(&self, leaves: &Leaves<'_>, width: usize) -> bool {
        self.is_whole_in_rows(0, width) && in_memory(leaves).all(|operand| self.is_whole_in_rows(operand, width))
    }

    /// The grid of the kernels `scan_columns` and `scan_column_strips`, with at most `most_lanes` lanes. Each group of `scan_column_strips` has one block.
    fn columns(
        &self,
        leaves: &Leaves<'_>,
        policy: &Policy,
        slot: usize,
        resident: usize,
        most_lanes: usize,
    ) -> Option<GridShape> {
        let Policy { width, threads, unroll, .. } = *policy;
        let (width, rows) = (width as usize, self.axes.length());
        let inner = &self.axes.lines[0];
        let row_packs = inner.length.div_ceil(width);
        let packs = row_packs * self.axes.lines[1..].iter().map(|axis| axis.length).product::<usize>();
        let is_shared = policy.algorithm == Algorithm::Columns;
        let lanes = if is_shared { packs.next_power_of_two().min(most_lanes) } else { most_lanes };
        let groups = packs.div_ceil(lanes);
        let tiles = rows.div_ceil(threads as usize / lanes * unroll as usize);
        let head = TileHead {
            count: rows as u64,
            packs: packs as u64,
            row_divisor: divisor(row_packs),
            tiles: u32::try_from(tiles).ok()?,
            log_lanes: lanes.trailing_zeros(),
            is_wide: (packs > i32::MAX as usize).into(),
            ..self.head(leaves, |operand| self.is_whole_in_rows(operand, width))
        };
        let of_group = (resident / groups).clamp(1, tiles);
        let scratch = if of_group > 1 {
            let slots = groups.checked_mul(tiles)?.checked_mul(lanes * width)?.checked_mul(slot)?;
            ScratchNeed::Cleared(groups * GRID_COUNTERS_BYTES + slots)
        } else {
            ScratchNeed::None
        };
        Some(GridShape { head, blocks: groups.checked_mul(of_group)?, scratch })
    }
}

/// The numbers of the operands that are leaves in memory.
fn in_memory(leaves: &Leaves<'_>) -> impl Iterator<Item = usize> {
    (1..).zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(operand, _)| operand)
}

fn axis_params(axis: &Axis) -> AxisParams<'_> {
    AxisParams::new(axis.length, &axis.steps)
}

/// The first parameters of a kernel, with the number of blocks and the scratch memory.
struct GridShape {
    head: TileHead,
    blocks: usize,
    scratch: ScratchNeed,
}

#[cfg(test)]
mod tests {
    use gpu_array::expression::LoweredLeaf;

    use super::*;

    /// The first params of a scan of bytes, broadcast along the middle of three axes, so that no axes can be joined.
    fn head(shape: [usize; 3], algorithm: Algorithm) -> Vec<u64> {
        let strides = [(shape[1] * shape[2]) as isize, shape[2] as isize, 1];
        let broadcast = [shape[2] as isize, 0, 1];
        let target = ScanTarget { address: 1 << 40, dtype: DType::U8, strides: &strides };
        let leaf = LoweredLeaf { address: 1 << 41, dtype: DType::U8, is_place: false, strides: &broadcast };
        let axes = match algorithm {
            Algorithm::Columns => {
                ScanAxes::across(&shape, &strides, &[&broadcast], 0, false).expect("neighbours lie across")
            }
            _ => ScanAxes::of(&shape, &strides, &[&broadcast], Some(2), false),
        };
        let leaves: Leaves<'_> = [leaf].into_iter().collect();
        let policy = Policy { algorithm, ..Policy::new(128, 16, 4) };
        let layout = MemoryLayout::of(OP, axes, &leaves, &target);
        let launch = layout.launch(&shape, &leaves, &policy, 16, 1000, (std::iter::empty(), std::iter::empty()));
        launch.expect("a launch").params[..size_of::<TileHead>() / size_of::<u64>()].to_vec()
    }

    #[test]
    fn places_beyond_31_bits_are_found_by_wide_division() {
        const WIDE: usize = offset_of!(TileHead, is_wide) / size_of::<u64>();
        for algorithm in [Algorithm::SinglePass, Algorithm::Columns] {
            assert_eq!(head([1000, 1000, 64], algorithm)[WIDE], 0, "{algorithm:?}");
        }
        assert_eq!(head([1 << 15, 1 << 15, 2], Algorithm::SinglePass)[WIDE], 1);
        assert_eq!(head([2, 1 << 18, 1 << 18], Algorithm::Columns)[WIDE], 1);
        // A number of packs that 31 bits count does not need wide division.
        assert_eq!(head([2, 1, 16 * ((1 << 31) - 1)], Algorithm::Columns)[WIDE], 0);
    }
}
