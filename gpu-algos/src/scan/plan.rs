//! From the axes of a scan to a launch: how it goes, and the words.

use gpu_array::{
    DType,
    expression::{LoweredLeaf, divisor},
};
use smallvec::SmallVec;

use super::{axes::Axes, policy::Policy};
use crate::{AlgoError, Result};

/// As in gpu-array's `loop.cuh`.
const MAX_AXES: usize = 8;

/// As in `scan.cuh`.
pub(crate) const EXCLUSIVE: u32 = 1;
pub(crate) const BACKWARD: u32 = 2;
pub(crate) const PLAIN: u32 = 4;
pub(crate) const LINES: u32 = 8;
pub(crate) const FLAGS: u32 = 16;
pub(crate) const KEYS: u32 = 32;
/// Neighbours lie along another axis than the scanned one: the kernel `columns`, which has no other way but `EXCLUSIVE`.
pub(crate) const ACROSS: u32 = 64;

/// Blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

pub(crate) type Words = SmallVec<[u64; 96]>;
pub(crate) type Leaves<'l> = SmallVec<[LoweredLeaf<'l>; 4]>;

/// A launch, but for the address of the scratch memory.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) words: Words,
    pub(crate) blocks: u32,
    /// Bytes that are zero between launches; 0 where no block needs another's.
    pub(crate) scratch_bytes: usize,
}

/// Where [`Launch::words`] has the address of the scratch memory.
pub(crate) const SCRATCH_WORD: usize = 4;

/// Where a scan is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'t> {
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    /// Along the axes of what is scanned.
    pub(crate) strides: &'t [isize],
}

/// How the operands of a scan lie in memory, as it walks them.
#[derive(Clone, Debug)]
pub(crate) struct Lie {
    pub(crate) axes: Axes,
    /// Addresses of the first value: of the target, then of each leaf.
    bases: SmallVec<[u64; 5]>,
    bytes: SmallVec<[usize; 5]>,
    /// `PLAIN`, `BACKWARD` and `LINES`, where they hold.
    pub(crate) how: u32,
}

impl Lie {
    pub(crate) fn of(axes: Axes, leaves: &Leaves<'_>, target: &Target<'_>) -> Self {
        let dtypes = std::iter::once((target.dtype.bytes(), target.address));
        // A place counts in steps of 1.
        let dtypes =
            dtypes.chain(leaves.iter().map(|leaf| (if leaf.is_place { 1 } else { leaf.dtype.bytes() }, leaf.address)));
        let (mut bases, mut bytes) = (SmallVec::new(), SmallVec::new());
        for ((size, address), &offset) in dtypes.zip(&axes.offsets) {
            bases.push(address.wrapping_add_signed((offset as i64).wrapping_mul(size as i64)));
            bytes.push(size);
        }
        let mut how = if axes.line_count() > 1 { LINES } else { 0 };
        if let Some(steps) = axes.step_along() {
            let in_memory = || {
                let leaves = steps[1..].iter().zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(step, _)| *step);
                std::iter::once(steps[0]).chain(leaves.filter(|&step| step != 0))
            };
            // One value has no direction.
            let one = axes.length() == 1 && axes.line_count() <= 1;
            if one || in_memory().all(|step| step == 1) {
                how |= PLAIN;
            } else if in_memory().all(|step| step == -1) {
                how |= PLAIN | BACKWARD;
            }
        }
        Self { axes, bases, bytes, how }
    }

    /// The same for [`Axes::across`].
    pub(crate) fn across(axes: Axes, leaves: &Leaves<'_>, target: &Target<'_>) -> Self {
        Self { how: ACROSS, ..Self::of(axes, leaves, target) }
    }

    /// Values before the first that make the packs of the operand whole; none where they are so without.
    fn shift(&self, operand: usize, width: usize) -> usize {
        let at = (self.bases[operand] / self.bytes[operand] as u64) as usize % width;
        if self.how & BACKWARD == 0 { at } else { (width - 1 - at) % width }
    }

    /// The launch of a scan of at least one value on a device that has `resident` blocks at once; a slot has `slot` bytes.
    pub(crate) fn launch(
        &self,
        shape: &[usize],
        leaves: &Leaves<'_>,
        policy: &Policy,
        slot: usize,
        resident: usize,
        scalars: impl Iterator<Item = u64>,
    ) -> Result<Launch> {
        for list in [&self.axes.scanned, &self.axes.lines] {
            if list.len() > MAX_AXES {
                return Err(AlgoError::TooManyAxes { op: "a scan", limit: MAX_AXES, got: list.len() });
            }
        }
        let too_large = || AlgoError::TooLarge { op: "a scan", shape: shape.to_vec() };
        let is_across = self.how & ACROSS != 0;
        let Cut { head, blocks, scratch_bytes } = match is_across {
            true => self.columns(leaves, policy, slot, resident),
            false => self.lines(leaves, policy, slot, resident),
        }
        .filter(|cut| cut.blocks <= MOST_BLOCKS)
        .ok_or_else(too_large)?;
        let mut words = Words::new();
        words.extend(head);
        for &base in &self.bases[1..] {
            words.extend([base, 0]);
        }
        for list in [&self.axes.scanned, &self.axes.lines] {
            for axis in list {
                words.extend([axis.length as u64, divisor(axis.length.max(1))]);
                // Where the walk goes on from line to line the step is that of all values.
                let first = self.how & PLAIN != 0 && std::ptr::eq(axis, &self.axes.scanned[0]);
                let along = self.axes.step_along().filter(|_| first).unwrap_or(&axis.steps);
                words.extend(along.iter().map(|&step| step as u64));
            }
            words.extend(std::iter::repeat_n(0, (MAX_AXES - list.len()) * (2 + self.bases.len())));
        }
        words.extend(scalars);
        Ok(Launch { words, blocks: blocks as u32, scratch_bytes })
    }

    /// Of the kernel `lines`.
    fn lines(&self, leaves: &Leaves<'_>, policy: &Policy, slot: usize, resident: usize) -> Option<Cut> {
        let length = self.axes.length();
        let count = length * self.axes.line_count();
        let width = policy.width as usize;
        let in_memory = || (1..).zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(operand, _)| operand);
        let steps = self.axes.step_along().cloned().unwrap_or_default();
        let is_plain = self.how & PLAIN != 0;
        let shift = if is_plain { self.shift(in_memory().next().unwrap_or(0), width) } else { 0 };
        let whole = |operand: usize| is_plain && steps[operand] != 0 && self.shift(operand, width) == shift;
        let tiles = (count + shift).div_ceil(policy.tile());
        u32::try_from(tiles).ok()?;
        let wide = count + width > i32::MAX as usize;
        let ranks = [self.axes.scanned.len(), self.axes.lines.len()].map(|rank| rank as u64);
        let head = [
            count as u64,
            length as u64,
            divisor(length),
            tiles as u64,
            0,
            shift as u64,
            wide.into(),
            self.bases[0],
            whole(0).into(),
            ranks[0],
            ranks[1],
            in_memory().all(whole).into(),
        ];
        let scratch_bytes = if tiles > 1 { DESK + tiles.checked_mul(slot)? } else { 0 };
        Some(Cut { head, blocks: tiles.min(resident), scratch_bytes })
    }

    /// Of the kernel `columns`.
    fn columns(&self, leaves: &Leaves<'_>, policy: &Policy, slot: usize, resident: usize) -> Option<Cut> {
        let Policy { width, threads, unroll } = *policy;
        let (width, rows) = (width as usize, self.axes.length());
        let inner = &self.axes.lines[0];
        let row_packs = inner.length.div_ceil(width);
        let packs = row_packs * self.axes.lines[1..].iter().map(|axis| axis.length).product::<usize>();
        let lanes = packs.next_power_of_two().min(32);
        let groups = packs.div_ceil(lanes);
        let tiles = rows.div_ceil(threads as usize / lanes * unroll as usize);
        u32::try_from(tiles).ok()?;
        // Whether each row of a pack's columns begins at a whole one.
        let whole = |operand: usize| {
            let others = self.axes.lines[1..].iter().chain(&self.axes.scanned);
            inner.steps[operand] == 1
                && (self.bases[operand] / self.bytes[operand] as u64).is_multiple_of(width as u64)
                && others.into_iter().all(|axis| axis.steps[operand] % width as isize == 0)
        };
        let in_memory = (1..).zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(operand, _)| operand);
        let head = [
            rows as u64,
            packs as u64,
            divisor(row_packs),
            tiles as u64,
            0,
            lanes.trailing_zeros().into(),
            (packs > i32::MAX as usize).into(),
            self.bases[0],
            whole(0).into(),
            self.axes.scanned.len() as u64,
            self.axes.lines.len() as u64,
            in_memory.into_iter().all(whole).into(),
        ];
        let of_group = (resident / groups).clamp(1, tiles);
        let slots = groups.checked_mul(tiles)?.checked_mul(lanes * width)?.checked_mul(slot)?;
        let scratch_bytes = if of_group > 1 { groups * DESK + slots } else { 0 };
        Some(Cut { head, blocks: groups.checked_mul(of_group)?, scratch_bytes })
    }
}

/// The first words of a kernel, as its contract says, and how many blocks it has.
struct Cut {
    head: [u64; 12],
    blocks: usize,
    scratch_bytes: usize,
}

/// Bytes at the head of a group's scratch memory.
const DESK: usize = 16;
