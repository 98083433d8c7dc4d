//! Tiles and loads of a product: plain data, chosen from shape, strides, element type and device.

use std::iter;

use gpu_array::{DType, gpu_driver::Arch};

use super::{
    boxes::BoxedOperands,
    params::{
        ALONG_K, ALONG_OUTER, COUNTER_BYTES, CUDA_CORES, PACKS, PACKS_ALONG_K, TENSOR_CORES, TENSOR_CORES_OF_BOXES,
    },
    plan::MatmulGrid,
    problem::MatmulProblem,
    tensor_cores::BoxOrder,
};
use crate::common::launch::{DeviceLimits, MOST_BLOCKS, ScratchNeed, tuned};

/// The tile of a block, and the facts by which its speed is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatmulTile {
    block_m: usize,
    block_n: usize,
    block_k: usize,
    /// Sums of a thread: rows and columns.
    thread_m: usize,
    thread_n: usize,
    /// Tiles in shared memory, those that are being copied among them.
    stages: usize,
    /// Blocks of a multiprocessor, for which the compiler limits registers.
    resident: usize,
    /// Blocks that keep a multiprocessor busy: fewer are not done sooner.
    busy: usize,
    /// Share of the arithmetic units that it uses, in percent.
    efficiency: usize,
    /// The units that multiply: `CUDA_CORES` or `TENSOR_CORES`.
    unit: u32,
}

/// Bytes of a pack.
pub(super) const PACK_BYTES: usize = 16;

impl MatmulTile {
    const fn new([block_m, block_n, block_k]: [usize; 3], (thread_m, thread_n): (usize, usize), stages: usize) -> Self {
        Self {
            block_m,
            block_n,
            block_k,
            thread_m,
            thread_n,
            stages,
            resident: 1,
            busy: 1,
            efficiency: 100,
            unit: CUDA_CORES,
        }
    }

    const fn on_tensor_cores(self) -> Self {
        Self { unit: TENSOR_CORES, ..self }
    }

    const fn of_boxes(self) -> Self {
        Self { unit: TENSOR_CORES_OF_BOXES, ..self }
    }

    const fn speed(self, resident: usize, busy: usize, efficiency: usize) -> Self {
        Self { resident, busy, efficiency, ..self }
    }

    /// Rows and columns of threads in a warp.
    fn warp(&self) -> (usize, usize) {
        if self.unit != CUDA_CORES || self.block_n < 8 * self.thread_n { (8, 4) } else { (4, 8) }
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        let (rows, columns) = self.warp();
        let warps = (self.block_m / (rows * self.thread_m)) * (self.block_n / (columns * self.thread_n));
        // One warp copies; or a warpgroup, which gives its registers to the others.
        let copying = match self.unit {
            TENSOR_CORES_OF_BOXES if self.thread_m * self.thread_n > 32 => 4,
            TENSOR_CORES_OF_BOXES => 1,
            _ => 0,
        };
        32 * (warps + copying) as u32
    }

    /// Dynamic shared memory of a block.
    pub(super) fn shared_bytes(&self, dtype: DType) -> usize {
        if self.unit == TENSOR_CORES_OF_BOXES {
            // Boxes begin at a multiple of 1024 bytes within.
            return self.stages * self.block_k * (self.block_m + self.block_n) * dtype.bytes() + 1024;
        }
        let pad = if self.unit == TENSOR_CORES { 4 } else { PACK_BYTES / dtype.bytes() };
        self.stages * self.block_k * (self.block_m + self.block_n + 2 * pad) * dtype.bytes()
    }

    /// Rows and columns.
    pub(super) fn area(&self) -> [usize; 2] {
        [self.block_m, self.block_n]
    }

    pub(super) fn is_of_boxes(&self) -> bool {
        self.unit == TENSOR_CORES_OF_BOXES
    }

    /// The C++ type.
    pub(super) fn text(&self) -> String {
        let Self { block_m, block_n, block_k, thread_m, thread_n, stages, resident, unit, .. } = self;
        format!(
            "gpu::matmul::MatmulTile<{block_m}, {block_n}, {block_k}, {thread_m}, {thread_n}, {stages}, {resident}, {unit}>"
        )
    }

    /// The fields of the C++ type, for a key.
    fn key(&self) -> [u64; 3] {
        let Self { block_m, block_n, block_k, thread_m, thread_n, stages, resident, unit, .. } = *self;
        let pair = |high: usize, low: usize| (high as u64) << 32 | low as u64;
        [pair(block_m, block_n), pair(block_k, stages << 8 | resident), pair(thread_m << 8 | thread_n, unit as usize)]
    }
}

/// The kernel's template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatmulPolicy {
    pub(super) tile: MatmulTile,
    pub(super) load_a: u32,
    pub(super) load_b: u32,
    /// Whether c is written in packs. It is a parameter of the kernel.
    pub(super) is_c_packed: bool,
    /// Whether the kernel is that of equal shares.
    pub(super) has_equal_shares: bool,
}

impl MatmulPolicy {
    pub(super) fn new(
        problem: &MatmulProblem,
        tile: MatmulTile,
        grid: &MatmulGrid,
        boxed: Option<&BoxedOperands>,
    ) -> Self {
        let loads = boxed.filter(|_| tile.is_of_boxes()).map(|boxed| boxed.orders().map(BoxOrder::boxes));
        let [load_a, load_b] = loads.unwrap_or_else(|| [1, 2].map(|operand| load_of(problem, &tile, operand)));
        let is_c_packed = problem.is_packed(0, PACK_BYTES / problem.dtype.bytes());
        Self { tile, load_a, load_b, is_c_packed, has_equal_shares: grid.has_equal_shares }
    }

    /// The C++ expression of the kernel.
    pub(super) fn template(&self, dtype: DType) -> String {
        format!("{}>", self.template_arguments(dtype))
    }

    /// The C++ expression of the kernel with parameters of a type of their own.
    pub(super) fn template_of(&self, dtype: DType, params: &str) -> String {
        format!("{}, {params}>", self.template_arguments(dtype))
    }

    fn template_arguments(&self, dtype: DType) -> String {
        let (element, tile, Self { load_a, load_b, .. }) = (cuda_element(dtype), self.tile.text(), self);
        let kernel = match (self.tile.is_of_boxes(), self.has_equal_shares) {
            (true, _) => "matmul_boxes",
            (false, true) => "matmul_shares",
            (false, false) => "matmul",
        };
        format!("gpu::matmul::{kernel}<{element}, {tile}, {load_a}, {load_b}")
    }

    /// All that the program depends on.
    pub(super) fn key(&self, dtype: DType) -> impl Iterator<Item = u64> {
        let loads = u64::from(self.has_equal_shares) << 63 | u64::from(self.load_a) << 32 | u64::from(self.load_b);
        self.tile.key().into_iter().chain([loads, element_key(dtype)])
    }
}

/// The way in which the tiles of an operand (1 is a, 2 is b) come into shared memory. Packs along k pass through registers, of which the threads of
/// tensor cores have none left: with them 0.85 of cuBLAS's speed, without 0.94 (H200, f64, 4096 x 4096).
fn load_of(problem: &MatmulProblem, tile: &MatmulTile, operand: usize) -> u32 {
    let (outer, inner) = match operand {
        1 => (problem.a.row, problem.a.column),
        _ => (problem.b.column, problem.b.row),
    };
    let width = PACK_BYTES / problem.dtype.bytes();
    if problem.is_packed(operand, width) {
        PACKS
    } else if tile.unit == CUDA_CORES && problem.is_packed_along_k(operand, width) {
        PACKS_ALONG_K
    } else if inner.unsigned_abs() < outer.unsigned_abs() {
        ALONG_K
    } else {
        ALONG_OUTER
    }
}

/// The type that the kernel computes in: integers wrap, so signed ones are computed as unsigned ones. Numbers of 16 bits have other kernels.
pub(super) fn cuda_element(dtype: DType) -> &'static str {
    match (dtype.is_float() || dtype.is_complex(), dtype.bytes()) {
        (true, _) => dtype.cuda_name(),
        (false, 4) => "uint32_t",
        (false, _) => "uint64_t",
    }
}

/// A number for that type.
pub(super) fn element_key(dtype: DType) -> u64 {
    u64::from(dtype.is_float()) << 32 | u64::from(dtype.is_complex()) << 33 | dtype.bytes() as u64
}

/// Numbers that depend on the architecture, by which tiles are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatmulTuning {
    /// Tiles for elements of 4 bytes and for integers of 8, the largest first.
    narrow: &'static [MatmulTile],
    wide: &'static [MatmulTile],
    /// Tiles for f64.
    double: &'static [MatmulTile],
    /// Tiles for complex numbers of 8 and of 16 bytes.
    complex: &'static [MatmulTile],
    wide_complex: &'static [MatmulTile],
    /// The fixed cost of a block, its start and its end, in steps along k.
    overhead: usize,
    /// The fewest values along k for which a block shares a tile with others.
    least_share: usize,
}

/// The largest tile has 16 x 8 sums of a thread: 128 multiplications for 6 accesses of 16 bytes to shared memory. About one multiplication in
/// seven has its operands in one bank of registers (counted in the machine code of NVRTC 13.0, sm_90), more where the sums of a row are not walked to
/// and fro; its bound was not profiled.
///
/// H200, of cuBLAS 13.1's speed: 1.02, 1.06, 0.97 and 1.02 at 4096 (neither, a, b, both transposed), 1.03 at 8192, 1.06 at 1024 (64 x 128, two blocks
/// a tile). At 4096: 0.94 with 32 steps along k and two stages, 0.93 with two blocks of 128 x 128 a multiprocessor, 0.96 without fragments that are
/// read ahead.
///
/// H200, the time of flat products in us, with the launch: 8192 x 32 results of 8192 terms 145 (128 x 32, six blocks a tile; four 159, 8 x 8 sums of a
/// thread 154, 256 x 32 156), 257 x 4093 of 1031 terms 80 (32 x 256, three blocks a tile; 64 x 128 86 to 88), 131072 x 64 of 64 terms 48 to 50 (128 x
/// 64, 64 x 64 and 256 x 64 alike). 257 x 4093 with the last row as a reduction, in a launch of its own, 100.
const NARROW: &[MatmulTile] = &[
    MatmulTile::new([128, 256, 16], (16, 8), 3).speed(1, 1, 96),
    MatmulTile::new([128, 128, 16], (8, 8), 3).speed(1, 1, 88),
    MatmulTile::new([64, 128, 16], (8, 8), 3).speed(2, 2, 89),
    MatmulTile::new([32, 256, 16], (8, 8), 3).speed(3, 2, 92),
    MatmulTile::new([128, 64, 16], (8, 8), 3).speed(3, 2, 80),
    MatmulTile::new([64, 64, 16], (8, 4), 3).speed(4, 2, 72),
    MatmulTile::new([128, 32, 16], (8, 4), 4).speed(4, 3, 70),
    MatmulTile::new([32, 64, 16], (4, 4), 4).speed(4, 2, 64),
    MatmulTile::new([32, 32, 16], (4, 4), 4).speed(8, 4, 55),
    MatmulTile::new([16, 32, 8], (4, 4), 3).speed(16, 8, 45),
];
/// Integers of 8 bytes, and f64 where tensor cores do not know it.
const WIDE: &[MatmulTile] = &[
    MatmulTile::new([128, 128, 8], (8, 8), 3).speed(1, 1, 90),
    MatmulTile::new([64, 64, 8], (8, 4), 3).speed(4, 2, 80),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(8, 4, 60),
    MatmulTile::new([16, 32, 8], (4, 4), 3).speed(16, 8, 50),
];
/// H200, of cuBLAS 13.1's speed: 0.93, 0.92, 0.86 and 0.90 at 4096 (neither, a, b, both transposed), 0.93 at 8192, 0.88 at 1024, 1.11 at 512. Warps of
/// 64 x 32 instead of 32 x 64 reach 0.94, 0.89, 0.88 and 0.91 at 4096, warps of 32 x 32 0.69, 32 steps along k 0.75, and packs along k that stand
/// together in shared memory 0.83 (neither transposed) and 0.74 (b transposed). Without fragments that are read ahead it is 0.61 to 0.65. Instructions
/// of 8 values along k in place of 4 take 1.1 to 1.4 times as long. 512 x 512 takes 13.6 us with 64 x 32, 14.3 with 64 x 64 and two blocks a tile.
const DOUBLE: &[MatmulTile] = &[
    MatmulTile::new([128, 128, 16], (4, 16), 3).speed(1, 1, 95).on_tensor_cores(),
    MatmulTile::new([64, 128, 16], (4, 8), 4).speed(1, 1, 90).on_tensor_cores(),
    MatmulTile::new([64, 64, 16], (4, 8), 3).speed(2, 1, 72).on_tensor_cores(),
    MatmulTile::new([64, 32, 16], (4, 4), 4).speed(3, 1, 66).on_tensor_cores(),
    MatmulTile::new([32, 64, 16], (2, 4), 4).speed(2, 1, 60).on_tensor_cores(),
    MatmulTile::new([32, 32, 16], (2, 4), 4).speed(4, 2, 50).on_tensor_cores(),
];

/// f64 on Hopper, where a warp of its own copies boxes of both operands.
///
/// H200, of cuBLAS 13.1's speed, one round: 1.10 at 512 (7.15 us, cuBLAS 7.90), 0.98 at 1024 (40.7 and 40.0), 1.02 at 4096 (2.24 ms and 2.29) and 1.02 at
/// 8192 (19.2 and 19.6 ms). With pointers in place of `gpu::SharedAddress` NVRTC computes addresses of 32 bits with 64, and the loop of the largest tile has
/// 263 instructions in place of 164, with 32 values along k 480 in place of 299, of which 72 are loads of spilled registers: 1.04, 0.93, 0.95 and 0.96 with 16
/// values along k. The efficiencies are the slopes of a program of its own: us for 128 values along k 8.50, 4.34, 2.32, 1.36, and 1.38 for two blocks of
/// 32 x 32 (one alone 1.13); begin and end are 2 to 4 us. Warps of 16 x 16 read as many bytes of shared memory as there are cycles for.
///
/// Tried: products of 4, 8 and 16 values along k have the same times at 4096, 16 spill there; 512 takes 9.6, 9.5 and 8.5 us, and 7.3 with 32 in place of
/// 16 values along k a stage. Copies by a thread of a warp that multiplies: 512 9.4, 1024 53, 4096 3.1 ms, with two blocks of 128 x 64 a multiprocessor
/// 2.6 ms. Four warps in place of eight: 512 8.4, 1024 46. Clusters of two that share boxes: 512 21, 1024 61, 4096 2.7 ms. 64 x 64 with two parts of k
/// that a cluster adds in shared memory: 512 9.0. Pairs read at once need moves of registers for products of 8.
pub(super) const BOXES: &[MatmulTile] = &[
    MatmulTile::new([128, 128, 32], (8, 8), 3).speed(1, 1, 99).of_boxes(),
    MatmulTile::new([64, 128, 32], (4, 8), 4).speed(1, 1, 97).of_boxes(),
    MatmulTile::new([64, 64, 32], (4, 4), 6).speed(1, 1, 91).of_boxes(),
    MatmulTile::new([64, 32, 32], (2, 4), 8).speed(1, 1, 78).of_boxes(),
    MatmulTile::new([32, 32, 32], (2, 4), 6).speed(2, 1, 77).of_boxes(),
];

/// A product of complex numbers is four of real ones, so they need less of shared memory than those.
const COMPLEX: &[MatmulTile] = &[
    MatmulTile::new([128, 64, 8], (8, 8), 3).speed(1, 1, 90),
    MatmulTile::new([64, 64, 8], (8, 4), 3).speed(2, 1, 84),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(8, 4, 60),
    MatmulTile::new([16, 32, 8], (4, 4), 3).speed(16, 8, 50),
];
const WIDE_COMPLEX: &[MatmulTile] = &[
    MatmulTile::new([64, 64, 8], (4, 4), 3).speed(1, 1, 90),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(4, 2, 70),
    MatmulTile::new([16, 32, 8], (2, 4), 3).speed(8, 4, 50),
];

const SM_80: MatmulTuning = MatmulTuning {
    narrow: NARROW,
    wide: WIDE,
    double: DOUBLE,
    complex: COMPLEX,
    wide_complex: WIDE_COMPLEX,
    overhead: 32,     // tune gpu-algos.matmul_overhead: 16 32 64; gemm/.*/gpu-algos/device
    least_share: 128, // tune gpu-algos.matmul_least_share: 64 128 256; gemm/.*/gpu-algos/device
};
const SM_70: MatmulTuning = MatmulTuning { double: WIDE, ..SM_80 };

/// By architecture, the oldest first. Tensor cores know f64 from 8.0 on.
static TUNING: [(Arch, MatmulTuning); 2] = [(Arch::new(7, 0), SM_70), (Arch::new(8, 0), SM_80)];

/// Numbers of blocks that may share a tile.
const SPLITS: [usize; 18] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Steps along k that a block could take while it adds the sums of another one.
const COMBINED: usize = 8;

/// Multiplications that a multiprocessor could do while blocks of boxes that share a tile leave their sums and arrive: about a microsecond. The other tiles
/// were tuned without it.
const ARRIVAL: u128 = 250_000;

impl MatmulTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        tuned(&TUNING, arch)
    }

    /// The tiles for elements of a type, the largest first.
    pub(super) fn tiles(&self, dtype: DType) -> &'static [MatmulTile] {
        match (dtype.bytes(), dtype.is_float()) {
            (4, _) => self.narrow,
            (8, true) => self.double,
            (8, false) if dtype.is_complex() => self.complex,
            (8, _) => self.wide,
            _ => self.wide_complex,
        }
    }

    /// The least estimated time, and its tile and grid; None if no grid is small enough.
    pub(super) fn fastest(
        &self,
        problem: &MatmulProblem,
        boxed: Option<&BoxedOperands>,
        device: &DeviceLimits,
    ) -> Option<(u128, MatmulTile, MatmulGrid)> {
        let boxes = if boxed.is_some() { BOXES } else { &[] };
        let fitting = boxes.iter().chain(self.tiles(problem.dtype));
        let fitting = fitting.filter(|tile| tile.shared_bytes(problem.dtype) <= device.most_shared_bytes);
        let plans = fitting.flat_map(|tile| iter::repeat(tile).zip(self.grids(problem, tile, device)));
        let plans = plans.map(|(tile, grid)| (self.time(problem, tile, &grid, device), tile, grid));
        // The first of the fastest, which has the largest tile.
        plans.min_by_key(|(time, ..)| *time).map(|(time, &tile, grid)| (time, tile, grid))
    }

    /// The grids of a tile, without and with several blocks for each.
    fn grids(
        &self,
        problem: &MatmulProblem,
        tile: &MatmulTile,
        device: &DeviceLimits,
    ) -> impl Iterator<Item = MatmulGrid> {
        let (tiles_m, tiles_n) = (problem.m.div_ceil(tile.block_m), problem.n.div_ceil(tile.block_n));
        let tiles = tiles_m.checked_mul(tiles_n).and_then(|tiles| tiles.checked_mul(problem.matrices()));
        let tiles = tiles.filter(|&tiles| tiles <= MOST_BLOCKS);
        let few = tiles.is_some_and(|tiles| tiles < device.multiprocessors * tile.resident);
        let shared = tiles.is_some_and(|tiles| tiles <= COUNTER_BYTES / size_of::<u32>()) && few;
        let most = if shared { (problem.k / self.least_share).max(1) } else { 1 };
        let (k, step, bytes) = (problem.k, tile.block_k, tile.block_m * tile.block_n * problem.dtype.bytes());
        let of_splits = tiles.into_iter().flat_map(move |tiles| {
            SPLITS.into_iter().take_while(move |&wanted| wanted <= most).map(move |wanted| {
                let k_per_split = k.div_ceil(wanted).next_multiple_of(step).max(step);
                let splits = k.div_ceil(k_per_split).max(1);
                let blocks = tiles * splits;
                let scratch = if splits > 1 { ScratchNeed::Counted(blocks * bytes) } else { ScratchNeed::None };
                let is_persistent = tile.is_of_boxes() && splits == 1;
                let resident = device.multiprocessors * tile.resident;
                let launched = if is_persistent { blocks.min(resident) } else { blocks };
                let has_equal_shares = false;
                MatmulGrid { tiles_m, tiles_n, splits, k_per_split, has_equal_shares, blocks, launched, scratch }
            })
        });
        let tiles = tiles.filter(|_| shared && tile.unit == CUDA_CORES);
        of_splits.chain(tiles.and_then(|tiles| self.equal_shares(problem, tile, [tiles_m, tiles_n, tiles], device)))
    }

    /// The grid of as many blocks as run at once, with equal shares of the steps of all tiles; None where a share would be small.
    fn equal_shares(
        &self,
        problem: &MatmulProblem,
        tile: &MatmulTile,
        [tiles_m, tiles_n, tiles]: [usize; 3],
        device: &DeviceLimits,
    ) -> Option<MatmulGrid> {
        let (blocks, of_tile) = (device.multiprocessors * tile.resident, problem.k.div_ceil(tile.block_k));
        let steps = tiles.checked_mul(of_tile)?;
        // The kernel multiplies steps by blocks in 32 bits.
        let is_counted = steps.checked_add(1)?.checked_mul(blocks)? < 1 << 32;
        let least = steps / blocks;
        if !is_counted || least * tile.block_k < self.least_share {
            return None;
        }
        let splits = (of_tile - 1).div_ceil(least) + 1;
        let scratch = ScratchNeed::Counted(tiles * splits * tile.block_m * tile.block_n * problem.dtype.bytes());
        let k_per_split = steps.div_ceil(blocks) * tile.block_k;
        Some(MatmulGrid {
            tiles_m,
            tiles_n,
            splits,
            k_per_split,
            has_equal_shares: true,
            blocks,
            launched: blocks,
            scratch,
        })
    }

    /// The estimated time: the multiplications of a multiprocessor at its peak.
    fn time(&self, problem: &MatmulProblem, tile: &MatmulTile, grid: &MatmulGrid, device: &DeviceLimits) -> u128 {
        let blocks = grid.blocks.div_ceil(device.multiprocessors).max(tile.busy);
        let combining = if grid.splits > 1 { COMBINED * (grid.splits + 1) } else { 0 };
        // An equal share is mostly of two tiles.
        let (along_k, overhead) = match grid.has_equal_shares {
            true => (grid.k_per_split, 2 * self.overhead),
            false => (grid.k_per_split.min(problem.k), self.overhead),
        };
        let steps = along_k + overhead + combining;
        let area = (tile.block_m * tile.block_n) as u128;
        let arrival = if grid.splits > 1 && tile.is_of_boxes() { ARRIVAL } else { 0 };
        blocks as u128 * area * steps as u128 * 100 / tile.efficiency as u128 + arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_equal_shares_of_the_copies_of_every_load() {
        for (_, tuning) in &TUNING {
            for dtype in [DType::F32, DType::F64, DType::U32, DType::U64, DType::C64, DType::C128] {
                for tile in tuning.tiles(dtype) {
                    let (threads, width) = (tile.threads() as usize, PACK_BYTES / dtype.bytes());
                    assert!(threads.is_power_of_two(), "{tile:?}");
                    for (load, along, x_pack, k_pack) in [
                        (PACKS, 1, width, 1),
                        (ALONG_OUTER, 1, 1, 1),
                        (ALONG_K, 8, 1, 1),
                        (PACKS_ALONG_K, if tile.unit == TENSOR_CORES { tile.block_k / width } else { 2 }, 1, width),
                    ] {
                        for length in [tile.block_m, tile.block_n] {
                            let (items, items_k, across) = (length / x_pack, tile.block_k / k_pack, threads / along);
                            assert!((items * items_k).is_multiple_of(threads), "{dtype:?} {tile:?} {load}");
                            assert!(items_k.is_multiple_of(along), "{dtype:?} {tile:?} {load}");
                            assert!(across.is_multiple_of(items) || items.is_multiple_of(across), "{tile:?} {load}");
                        }
                    }
                }
            }
        }
    }
}
