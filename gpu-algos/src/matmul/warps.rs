//! Products with few values along k, of which a warp computes a tile: the tile, the grid and the estimated time.

use gpu_array::{DType, expression::MAX_AXES};

use super::{grid::MatmulGrid, policy::cuda_element, problem::MatmulProblem, tile::PACK_BYTES};
use crate::common::launch::{DeviceLimits, MOST_BLOCKS, ScratchNeed};

/// The tile of a warp, and the facts by which its speed is estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpTile {
    block_m: usize,
    block_n: usize,
    /// Values along k that are copied at once.
    block_k: usize,
    /// Sums of a thread: rows and columns.
    thread_m: usize,
    thread_n: usize,
    stages: usize,
    /// Warps of a block.
    warps: usize,
    /// Blocks of a multiprocessor.
    resident: usize,
    /// Share of the arithmetic units that it uses, in percent.
    efficiency: usize,
    /// The fixed cost of a tile, its start and its end, in steps along k.
    overhead: usize,
    /// The most values along k of a b that all warps of a block read; 0 where each copies its own.
    terms: usize,
}

/// H200, f32, us, beside cuBLAS 13.1, as NVRTC compiles it: 16384 products of 64 x 64 231 (294), 4096 of 128 x 128 407 (426). ncu, of the first: 66 % of the
/// memory's rate, 2.94 instructions a cycle; stalls for each instruction 0.35 dispatch, 0.18 fixed latencies, 0.11 global memory. Also tried there: two
/// stages and three blocks 260, 8 values along k and three blocks 238 (three stages) and 251 (four), 64 x 64 with 16 x 8 sums 251 (8 values) and 300 (16,
/// two stages), 64 x 32 255. Until offsets of a thread stayed in registers: 235 and 441.
///
/// nvcc makes faster code of the same text. With it, in one program: 16384 products of 64 x 64 222 (295), 131072 x 64 of 64 terms 33.1, 32768 x 256 of 256
/// terms 102 (100). The number of warps matters: two for each scheduler. 10 and 12 of a multiprocessor take 1.2 times as long, 16 spill. Tried besides, 16384
/// products of 64 x 64: 64 x 64 with 16 x 8 sums of a thread 229 (8 values along k at once), 239 (16), 64 x 32 with 8 x 8 sums 245, 4 stages 230, 32 values
/// along k at once 250, 8 values 245, copies that stand among the products 260. Two values along k of a row at once take as long with these tiles.
pub(super) static TILE: WarpTile = WarpTile {
    block_m: 32,
    block_n: 64,
    block_k: 16,
    thread_m: 8,
    thread_n: 8,
    stages: 3,
    warps: 4,
    resident: 2,
    efficiency: 84,
    overhead: 6,
    terms: 0,
};

/// The tile where one b serves all tiles. H200, us, 131072 x 64 of 64 terms: 29.2, with a b for each warp 32.8 (cuBLAS 38.4); three blocks of a multiprocessor
/// 33.1, with four stages 34.4; one block of 8 warps 31.6, of 12 32.9; 32 values along k at once 30.6 (three stages), 35.2 (two stages, three blocks), 8 34.5;
/// 64 x 64 with 16 x 8 sums of a thread 34.4. ncu: 70 % of the issue slots of a busy multiprocessor, of whose instructions 81 % are multiplications; stalls for
/// each instruction 0.27 dispatch, 0.17 global memory, 0.13 fixed latencies, 0.12 instructions, 0.11 shared memory.
pub(super) static SHARED_RIGHT: WarpTile = WarpTile { terms: 64, ..TILE };

/// The most values along k: with more, other tiles read less.
const MOST_TERMS: usize = 1024;

/// The grid and the estimated time, in multiplications of a multiprocessor.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpPlan {
    pub(super) tile: &'static WarpTile,
    pub(super) grid: MatmulGrid,
    pub(super) is_c_packed: bool,
    pub(super) time: u128,
}

impl WarpPlan {
    /// The plan for a problem that the kernel takes: elements of 4 bytes, a and b in rows of whole packs.
    pub(super) fn of(problem: &MatmulProblem, device: &DeviceLimits) -> Option<Self> {
        let MatmulProblem { dtype, m, n, k, .. } = *problem;
        let (width, matrices) = (PACK_BYTES / dtype.bytes(), problem.matrices());
        let has_one_right = n <= SHARED_RIGHT.block_n && problem.batch.iter().all(|axis| axis.steps[2] == 0);
        let tile = if has_one_right && k <= SHARED_RIGHT.terms { &SHARED_RIGHT } else { &TILE };
        let (tiles_m, tiles_n) = (m.div_ceil(tile.block_m), n.div_ceil(tile.block_n));
        let tiles = tiles_m.checked_mul(tiles_n)?.checked_mul(matrices).filter(|&tiles| tiles <= MOST_BLOCKS)?;
        let fits = dtype.bytes() == 4
            && (1..=MOST_TERMS).contains(&k)
            && problem.batch.len() <= MAX_AXES
            && problem.is_packed_along_k(1, width)
            && problem.is_packed(2, width)
            && tile.shared_bytes() <= device.most_shared_bytes;
        if !fits {
            return None;
        }
        let resident = device.multiprocessors * tile.resident;
        let launched = tiles.div_ceil(tile.warps).min(resident);
        let grid = MatmulGrid {
            tiles_m,
            tiles_n,
            splits: 1,
            k_per_split: k,
            has_equal_shares: false,
            blocks: tiles,
            launched,
            scratch: ScratchNeed::None,
        };
        // All warps of a multiprocessor share its units, also where some have no tile left.
        let rounds = tiles.div_ceil(resident * tile.warps);
        let (together, area) = (tile.resident * tile.warps, tile.block_m * tile.block_n);
        let steps = k.next_multiple_of(tile.block_k) + tile.overhead;
        let time = (rounds * together) as u128 * (area * steps * 100 / tile.efficiency) as u128;
        Some(Self { tile, grid, is_c_packed: problem.is_packed(0, width), time })
    }
}

impl WarpTile {
    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        32 * self.warps as u32
    }

    /// Dynamic shared memory of a block: in each stage rows of a with a pack behind each and rows of b, or all of b once.
    pub(super) fn shared_bytes(&self) -> usize {
        let row_of_b = 4 * self.block_n;
        let of_stage = if self.terms == 0 { self.block_k * row_of_b } else { 0 };
        let stage = self.block_m * (4 * self.block_k + PACK_BYTES) + of_stage;
        self.terms * row_of_b + self.warps * self.stages * stage
    }

    /// A number for the tile's program.
    pub(super) fn key(&self) -> u64 {
        self.terms as u64
    }

    /// The C++ expression of the kernel.
    pub(super) fn template(&self, dtype: DType) -> String {
        let Self { block_m, block_n, block_k, thread_m, thread_n, stages, warps, resident, terms, .. } = self;
        let terms = if *terms == 0 { String::new() } else { format!(", {terms}") };
        let tile = format!(
            "gpu::algos::matmul::WarpTile<{block_m}, {block_n}, {block_k}, {thread_m}, {thread_n}, {stages}, {warps}, {resident}{terms}>"
        );
        format!("gpu::algos::matmul::matmul_warps<{}, {tile}>", cuda_element(dtype))
    }
}
