//! The one decision of a scan: the kernel with its template arguments, and the grid.

use gpu_array::expression::divisor;

use super::policy::{ScanAlgorithm, ScanOperands, ScanPolicy, ScanProblem};
use crate::{
    Result,
    block::slot_bytes,
    common::launch::{DeviceLimits, Occupancy, ScratchNeed},
    device::params::{GRID_COUNTERS_BYTES, TileHead},
    tiles::{layout::GridShape, policy::TilePolicy},
};

/// The chosen kernel, compiled, and its grid.
pub(super) struct ScanPlan<K> {
    pub(super) kernel: K,
    pub(super) policy: ScanPolicy,
    pub(super) grid: GridShape,
}

/// Chooses the kernel, its template arguments and the grid.
///
/// # Errors
/// `TooManyAxes`, `TooLarge`; those of `compile`.
pub(super) fn choose<K: Occupancy>(
    problem: &ScanProblem<'_>,
    device: &DeviceLimits,
    compile: impl FnOnce(&ScanPolicy) -> Result<K>,
) -> Result<ScanPlan<K>> {
    let ScanProblem { layout, operands, .. } = *problem;
    layout.check_axes()?;
    let policy = ScanPolicy::of(problem, device);
    let kernel = compile(&policy)?;
    let tile = &policy.tile;
    let resident = kernel.blocks(tile.block(), tile.shared_bytes)? * device.multiprocessors;
    let slot = slot_bytes(operands.state_bytes);
    let grid = match policy.algorithm {
        ScanAlgorithm::SinglePass | ScanAlgorithm::Pipelined { .. } => {
            layout.tile_grid(operands.leaves, tile, slot, resident)?
        }
        ScanAlgorithm::SingleWave { tiles_per_block } => {
            let grid = layout.tile_grid(operands.leaves, tile, slot, resident)?;
            GridShape { blocks: (grid.head.tiles as usize).div_ceil(tiles_per_block as usize), ..grid }
        }
        ScanAlgorithm::Rows => row_grid(problem, tile, resident)?,
        ScanAlgorithm::Columns => column_grid(problem, tile, None, slot, resident)?,
        ScanAlgorithm::ColumnStrips { lanes } => column_grid(problem, tile, Some(lanes as usize), slot, resident)?,
    };
    Ok(ScanPlan { kernel, policy, grid })
}

/// The grid of the kernel `scan_rows`: [`MemoryLayout::is_packed`] holds, and lines are whole packs.
fn row_grid(problem: &ScanProblem<'_>, tile: &TilePolicy, resident: usize) -> Result<GridShape> {
    let ScanProblem { layout, operands: ScanOperands { leaves, .. }, .. } = *problem;
    let all = layout.tile_grid(leaves, tile, 0, resident)?.head;
    let of_row = layout.axes.length().div_ceil(tile.values());
    let head = TileHead { tiles: u32::try_from(of_row).map_err(|_| layout.too_large())?, ..all };
    layout.grid(head, layout.axes.line_count().min(resident), ScratchNeed::None)
}

/// The grid of the kernel `scan_columns`, or of `scan_column_strips` with `lanes` packs of columns for a block.
fn column_grid(
    problem: &ScanProblem<'_>,
    tile: &TilePolicy,
    lanes: Option<usize>,
    slot: usize,
    resident: usize,
) -> Result<GridShape> {
    let ScanProblem { layout, operands: ScanOperands { leaves, .. }, .. } = *problem;
    let (width, rows) = (tile.vector_size as usize, layout.axes.length());
    let row_packs = layout.axes.lines[0].length.div_ceil(width);
    let packs = row_packs * layout.axes.lines[1..].iter().map(|axis| axis.length).product::<usize>();
    // Blocks of `scan_columns` form a group for each set of lanes.
    let (lanes, resident) = match lanes {
        None => (packs.next_power_of_two().min(32), resident),
        Some(lanes) => (lanes, 0),
    };
    let groups = packs.div_ceil(lanes);
    let tiles = rows.div_ceil(tile.threads as usize / lanes * tile.vectors_per_thread as usize);
    let head = TileHead {
        count: rows as u64,
        packs: packs as u64,
        row_divisor: divisor(row_packs),
        tiles: u32::try_from(tiles).map_err(|_| layout.too_large())?,
        log_lanes: lanes.trailing_zeros(),
        is_wide: (packs > i32::MAX as usize).into(),
        ..layout.head(leaves, |operand| layout.is_whole_in_rows(operand, width))
    };
    let of_group = (resident / groups).clamp(1, tiles);
    let slots = || groups.checked_mul(tiles)?.checked_mul(lanes * width)?.checked_mul(slot);
    let scratch = if of_group > 1 {
        ScratchNeed::Cleared(groups * GRID_COUNTERS_BYTES + slots().ok_or_else(|| layout.too_large())?)
    } else {
        ScratchNeed::None
    };
    let blocks = groups.checked_mul(of_group).ok_or_else(|| layout.too_large())?;
    layout.grid(head, blocks, scratch)
}

#[cfg(test)]
mod tests {
    use gpu_array::{DType, expression::LoweredLeaf};

    use super::{super::options::OP, *};
    use crate::tiles::{
        axes::TileAxes,
        layout::{MemoryLayout, TileTarget},
    };

    /// Whether a scan of bytes, broadcast along the middle of three axes so that no axes can be joined, divides by wide numbers.
    fn is_wide(shape: [usize; 3], is_across: bool) -> u64 {
        let strides = [(shape[1] * shape[2]) as isize, shape[2] as isize, 1];
        let broadcast = [shape[2] as isize, 0, 1];
        let target = TileTarget { address: 1 << 40, dtype: DType::U8, strides: &strides };
        let leaf = LoweredLeaf { address: 1 << 41, dtype: DType::U8, is_place: false, strides: &broadcast };
        let leaves = [leaf];
        let layout = match is_across {
            true => {
                let axes = TileAxes::across(&shape, &strides, &[&broadcast], 0, false);
                MemoryLayout::across(OP, &shape, axes.expect("neighbours lie across"), &leaves, &target)
            }
            false => {
                let axes = TileAxes::of(&shape, &strides, &[&broadcast], Some(2), false);
                MemoryLayout::of(OP, &shape, axes, &leaves, &target)
            }
        };
        let operands = ScanOperands { leaves: &leaves, state_bytes: 8, result_bytes: 1 };
        let problem = ScanProblem { layout: &layout, operands, mode: 0, epilogue_reads: false };
        let tile = TilePolicy::new(128, 16, 4);
        let grid = match is_across {
            true => column_grid(&problem, &tile, None, 16, 1000),
            false => layout.tile_grid(&leaves, &tile, 16, 1000),
        };
        grid.expect("a grid").head.is_wide
    }

    #[test]
    fn places_beyond_31_bits_are_found_by_wide_division() {
        for is_across in [false, true] {
            assert_eq!(is_wide([1000, 1000, 64], is_across), 0, "{is_across}");
        }
        assert_eq!(is_wide([1 << 15, 1 << 15, 2], false), 1);
        assert_eq!(is_wide([2, 1 << 18, 1 << 18], true), 1);
        // A number of packs that 31 bits count does not need wide division.
        assert_eq!(is_wide([2, 1, 16 * ((1 << 31) - 1)], true), 0);
    }
}
