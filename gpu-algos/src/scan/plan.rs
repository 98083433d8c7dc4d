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

/// Blocks of a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;

pub(crate) type Words = SmallVec<[u64; 96]>;
pub(crate) type Leaves<'l> = SmallVec<[LoweredLeaf<'l>; 4]>;

/// A launch, but for the address of the scratch memory.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) words: Words,
    pub(crate) tiles: u32,
    /// Bytes that are zero between launches; 0 for one tile.
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

    /// Values before the first that make the packs of the operand whole; none where they are so without.
    fn shift(&self, operand: usize, width: usize) -> usize {
        let at = (self.bases[operand] / self.bytes[operand] as u64) as usize % width;
        if self.how & BACKWARD == 0 { at } else { (width - 1 - at) % width }
    }

    /// The words of the kernel and the number of its tiles. None where there is nothing to do.
    #[expect(clippy::too_many_arguments, reason = "each of its own kind")]
    pub(crate) fn launch(
        &self,
        shape: &[usize],
        leaves: &Leaves<'_>,
        policy: &Policy,
        state_bytes: usize,
        scalars: impl Iterator<Item = u64>,
    ) -> Result<Option<Launch>> {
        let (length, lines) = (self.axes.length(), self.axes.line_count());
        let count = length * lines;
        if count == 0 {
            return Ok(None);
        }
        for list in [&self.axes.scanned, &self.axes.lines] {
            if list.len() > MAX_AXES {
                return Err(AlgoError::TooManyAxes { op: "a scan", limit: MAX_AXES, got: list.len() });
            }
        }
        let width = policy.width as usize;
        let in_memory = || (1..).zip(leaves).filter(|(_, leaf)| !leaf.is_place).map(|(operand, _)| operand);
        let steps = self.axes.step_along().cloned().unwrap_or_default();
        let is_plain = self.how & PLAIN != 0;
        let shift = if is_plain { self.shift(in_memory().next().unwrap_or(0), width) } else { 0 };
        let whole = |operand: usize| is_plain && steps[operand] != 0 && self.shift(operand, width) == shift;
        let tiles = (count + shift).div_ceil(policy.tile());
        if tiles > MOST_BLOCKS {
            return Err(AlgoError::TooLarge { op: "a scan", shape: shape.to_vec() });
        }
        let wide = count + width > i32::MAX as usize;
        let mut words = Words::new();
        words.extend([count, length].map(|n| n as u64));
        words.extend([divisor(length), tiles as u64, 0, shift as u64, wide.into(), self.bases[0], whole(0).into()]);
        words.extend([self.axes.scanned.len(), self.axes.lines.len()].map(|n| n as u64));
        words.push(in_memory().all(whole).into());
        for &base in &self.bases[1..] {
            words.extend([base, 0]);
        }
        for list in [&self.axes.scanned, &self.axes.lines] {
            for axis in list {
                words.extend([axis.length as u64, divisor(axis.length.max(1))]);
                // Where the walk goes on from line to line the step is that of all values.
                let first = is_plain && std::ptr::eq(axis, &self.axes.scanned[0]);
                let along = if first { &steps } else { &axis.steps };
                words.extend(along.iter().map(|&step| step as u64));
            }
            words.extend(std::iter::repeat_n(0, (MAX_AXES - list.len()) * (2 + self.bases.len())));
        }
        words.extend(scalars);
        // A word with a mark for each four bytes of a state.
        let slot = 8 * state_bytes.div_ceil(4);
        let scratch_bytes = if tiles > 1 { 16 + tiles * slot } else { 0 };
        Ok(Some(Launch { words, tiles: tiles as u32, scratch_bytes }))
    }
}
