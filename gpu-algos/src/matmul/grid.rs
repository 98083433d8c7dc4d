//! The division of a product among blocks: the grids that a tile may have.

use super::{
    constants::{COUNTER_BYTES, CUDA_CORES, TENSOR_CORES},
    problem::MatmulProblem,
    tile::MatmulTile,
};
use crate::common::launch::{DeviceLimits, MOST_BLOCKS, ScratchNeed};

/// Numbers of blocks that may share a tile.
const SPLITS: [usize; 18] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// The division of results, and of the terms of each, among blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatmulGrid {
    /// Rows and columns of tiles of a matrix.
    pub(super) tiles_m: usize,
    pub(super) tiles_n: usize,
    /// Blocks that share a tile; the most of a tile where blocks have equal shares.
    pub(super) splits: usize,
    /// Values along k that each of these sums; with equal shares the most of a block.
    pub(super) k_per_split: usize,
    /// Whether each block has an equal share of all steps along k of all tiles, in place of the same number of blocks for each tile.
    pub(super) has_equal_shares: bool,
    pub(super) blocks: usize,
    /// Blocks of the launch, which take the others behind their first one.
    pub(super) launched: usize,
    pub(super) scratch: ScratchNeed,
}

impl MatmulGrid {
    /// The grids of a tile, without and with several blocks for each, which then have at least `least_share` values along k.
    pub(super) fn of_tile(
        problem: &MatmulProblem,
        tile: &MatmulTile,
        least_share: usize,
        device: &DeviceLimits,
    ) -> impl Iterator<Item = Self> {
        let (tiles_m, tiles_n) = (problem.m.div_ceil(tile.block_m), problem.n.div_ceil(tile.block_n));
        let tiles = tiles_m.checked_mul(tiles_n).and_then(|tiles| tiles.checked_mul(problem.matrices()));
        let tiles = tiles.filter(|&tiles| tiles <= MOST_BLOCKS);
        let resident = device.multiprocessors * tile.resident;
        let few = tiles.is_some_and(|tiles| tiles < resident);
        let shared = tiles.is_some_and(|tiles| tiles <= COUNTER_BYTES / size_of::<u32>()) && few;
        let most = if shared { (problem.k / least_share).max(1) } else { 1 };
        let (k, step, bytes) = (problem.k, tile.block_k, tile.block_m * tile.block_n * problem.dtype.bytes());
        let of_splits = tiles.into_iter().flat_map(move |tiles| {
            SPLITS.into_iter().take_while(move |&wanted| wanted <= most).map(move |wanted| {
                let k_per_split = k.div_ceil(wanted).next_multiple_of(step).max(step);
                let splits = k.div_ceil(k_per_split).max(1);
                let blocks = tiles * splits;
                let scratch = if splits > 1 { ScratchNeed::Counted(blocks * bytes) } else { ScratchNeed::None };
                let is_persistent = tile.is_of_boxes() && splits == 1;
                let launched = if is_persistent { blocks.min(resident) } else { blocks };
                let has_equal_shares = false;
                Self { tiles_m, tiles_n, splits, k_per_split, has_equal_shares, blocks, launched, scratch }
            })
        });
        let tiles = tiles.filter(|_| shared && matches!(tile.unit, CUDA_CORES | TENSOR_CORES));
        let tiles = tiles.map(|tiles| [tiles_m, tiles_n, tiles]);
        of_splits.chain(tiles.and_then(|tiles| Self::equal_shares(problem, tile, tiles, least_share, device)))
    }

    /// The grid of as many blocks as run at once, with equal shares of the steps of all tiles; None where a share would be small.
    fn equal_shares(
        problem: &MatmulProblem,
        tile: &MatmulTile,
        [tiles_m, tiles_n, tiles]: [usize; 3],
        least_share: usize,
        device: &DeviceLimits,
    ) -> Option<Self> {
        let (blocks, of_tile) = (device.multiprocessors * tile.resident, problem.k.div_ceil(tile.block_k));
        let steps = tiles.checked_mul(of_tile)?;
        // The kernel multiplies steps by blocks, and counts along k, in 32 bits.
        let counted = [steps.checked_add(1)?.checked_mul(blocks)?, of_tile.checked_mul(tile.block_k)?];
        let is_counted = counted.iter().all(|&number| number < 1 << 32);
        let least = steps / blocks;
        if !is_counted || least * tile.block_k < least_share {
            return None;
        }
        let splits = (of_tile - 1).div_ceil(least) + 1;
        let scratch = ScratchNeed::Counted(tiles * splits * tile.block_m * tile.block_n * problem.dtype.bytes());
        let k_per_split = steps.div_ceil(blocks) * tile.block_k;
        Some(Self { tiles_m, tiles_n, splits, k_per_split, has_equal_shares: true, blocks, launched: blocks, scratch })
    }
}
