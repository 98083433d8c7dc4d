//! The one decision of a selection: the kernel with its template arguments, and the grid.

use super::policy::{SelectPolicy, SelectProblem};
use crate::{
    Result,
    common::launch::{DeviceLimits, Occupancy},
    device::params::REJECTED,
    tiles::layout::GridShape,
};

/// The name of the operation in errors.
pub(super) const OP: &str = "a selection";

/// Bytes of a tile's slot: the tile's count, and the mark of a slot beside it.
const SLOT_BYTES: usize = 8;

/// The chosen kernel, compiled, and its grid.
pub(super) struct SelectPlan<K> {
    pub(super) kernel: K,
    pub(super) policy: SelectPolicy,
    pub(super) grid: GridShape,
}

/// Chooses the kernel, its template arguments and the grid.
///
/// # Errors
/// `TooManyAxes`, `TooLarge`; those of `compile`.
pub(super) fn choose<K: Occupancy>(
    problem: &SelectProblem<'_>,
    device: &DeviceLimits,
    compile: impl FnOnce(&SelectPolicy) -> Result<K>,
) -> Result<SelectPlan<K>> {
    let SelectProblem { layout, leaves, mode, .. } = *problem;
    layout.check_axes()?;
    let policy = SelectPolicy::of(problem, device);
    let kernel = compile(&policy)?;
    let tile = &policy.tile;
    let resident = kernel.blocks(tile.block(), tile.shared_bytes)? * device.multiprocessors;
    // With REJECTED the total needs a slot after those of the tiles: two slots per tile leave room for it.
    let slot = if mode & REJECTED != 0 { 2 * SLOT_BYTES } else { SLOT_BYTES };
    let grid = layout.tile_grid(leaves, tile, slot, resident)?;
    Ok(SelectPlan { kernel, policy, grid })
}
