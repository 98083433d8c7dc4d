//! The kernel of a product and its template arguments, and the estimate by which tile and grid are chosen.

use std::iter;

use gpu_array::{DType, gpu_driver::Arch};

use super::{
    boxes::BoxedOperands,
    constants::{ALONG_K, ALONG_OUTER, CUDA_CORES, CUDA_CORES_ALONG_K, PACKS, PACKS_ALONG_K},
    grid::MatmulGrid,
    problem::MatmulProblem,
    tensor_cores::BoxOrder,
    tile::{COMPLEX, DOUBLE, DOUBLE_COMPLEX, MatmulTile, NARROW, PACK_BYTES, SKINNY, WIDE, WIDE_COMPLEX},
};
use crate::common::launch::DeviceLimits;

/// The kernels whose blocks compute tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileKernel {
    Tiles,
    /// Tiles, whose blocks have equal shares of all steps.
    Shares,
    /// Tiles of few columns.
    Skinny,
    /// Tiles that are copied box by box.
    Boxes,
}

impl TileKernel {
    /// The kernel of a tile, in a grid whose blocks have equal shares or not.
    pub(super) fn of(tile: &MatmulTile, has_equal_shares: bool) -> Self {
        match has_equal_shares {
            _ if tile.is_of_boxes() => Self::Boxes,
            _ if tile.is_skinny() => Self::Skinny,
            true => Self::Shares,
            false => Self::Tiles,
        }
    }

    /// Its name in C++.
    fn name(self) -> &'static str {
        match self {
            Self::Tiles => "matmul",
            Self::Shares => "matmul_shares",
            Self::Skinny => "matmul_skinny",
            Self::Boxes => "matmul_boxes",
        }
    }
}

/// The kernel and its template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatmulPolicy {
    pub(super) kernel: TileKernel,
    pub(super) tile: MatmulTile,
    pub(super) load_a: u32,
    pub(super) load_b: u32,
    /// Whether c is written in packs. It is a parameter of the kernel.
    pub(super) is_c_packed: bool,
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
        Self { kernel: TileKernel::of(&tile, grid.has_equal_shares), tile, load_a, load_b, is_c_packed }
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
        let (element, Self { kernel, tile, load_a, load_b, .. }) = (cuda_element(dtype), self);
        let (kernel, tile) = (kernel.name(), tile.text());
        format!("gpu::algos::matmul::{kernel}<{element}, {tile}, {load_a}, {load_b}")
    }

    /// All that the program depends on.
    pub(super) fn key(&self, dtype: DType) -> impl Iterator<Item = u64> {
        let loads =
            u64::from(self.kernel == TileKernel::Shares) << 63 | u64::from(self.load_a) << 32 | u64::from(self.load_b);
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
    } else if matches!(tile.unit, CUDA_CORES | CUDA_CORES_ALONG_K) && problem.is_packed_along_k(operand, width) {
        PACKS_ALONG_K
    } else if inner.unsigned_abs() < outer.unsigned_abs() {
        ALONG_K
    } else {
        ALONG_OUTER
    }
}

/// Fewer terms of a result are not worth the division of k among the warps of a block.
const SKINNY_TERMS: usize = 512;

/// The most columns of a tile of few.
pub(super) const MOST_SKINNY_COLUMNS: usize = SKINNY[0].block_n;

/// The tiles of few columns that have room for those of the result, if they have enough rows and the kernel can copy packs of a.
pub(super) fn skinny_tiles(problem: &MatmulProblem) -> impl Iterator<Item = &'static MatmulTile> {
    let width = PACK_BYTES / problem.dtype.bytes();
    let fits = problem.dtype.bytes() == 4
        && problem.k >= SKINNY_TERMS
        && (problem.is_packed(1, width) || problem.is_packed_along_k(1, width));
    let (rows, columns) = (problem.m, problem.n);
    SKINNY.iter().filter(move |tile| fits && columns <= tile.block_n && rows >= tile.block_m)
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

const SM_80: MatmulTuning = MatmulTuning {
    narrow: NARROW,
    wide: WIDE,
    double: DOUBLE,
    complex: COMPLEX,
    wide_complex: DOUBLE_COMPLEX,
    overhead: 32,     // tune gpu-algos.matmul_overhead: 16 32 64; gemm/.*/gpu-algos/device
    least_share: 128, // tune gpu-algos.matmul_least_share: 64 128 256; gemm/.*/gpu-algos/device
};
const SM_70: MatmulTuning = MatmulTuning { double: WIDE, wide_complex: WIDE_COMPLEX, ..SM_80 };

/// By architecture, the oldest first. Tensor cores know f64 from 8.0 on.
static TUNING: [(Arch, MatmulTuning); 2] = [(Arch::new(7, 0), SM_70), (Arch::new(8, 0), SM_80)];

/// Static shared memory of a kernel of tiles, to the alignment of the dynamic one behind it.
const STATIC_BYTES: usize = 128;

/// Steps along k that a block could take while it adds the sums of another one.
const COMBINED: usize = 8;

/// Multiplications that a multiprocessor could do while blocks of boxes that share a tile, or those of equal shares, leave their sums and arrive: about a
/// microsecond. The other grids were tuned without it.
const ARRIVAL: u128 = 250_000;

impl MatmulTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        arch.tuned(&TUNING)
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

    /// The least estimated time of tiles and of the grids that are accepted, and its tile and grid; None if no grid is small enough.
    pub(super) fn fastest<'t>(
        &self,
        problem: &MatmulProblem,
        tiles: impl Iterator<Item = &'t MatmulTile>,
        accepts: impl Fn(&MatmulGrid) -> bool,
        device: &DeviceLimits,
    ) -> Option<(u128, MatmulTile, MatmulGrid)> {
        let fitting = tiles.filter(|tile| tile.shared_bytes(problem.dtype) + STATIC_BYTES <= device.most_shared_bytes);
        let plans = fitting
            .flat_map(|tile| iter::repeat(tile).zip(MatmulGrid::of_tile(problem, tile, self.least_share, device)));
        let plans = plans.filter(|(_, grid)| accepts(grid));
        let plans = plans.map(|(tile, grid)| (self.time(problem, tile, &grid, device), tile, grid));
        // The first of the fastest, which has the largest tile.
        plans.min_by_key(|(time, ..)| *time).map(|(time, &tile, grid)| (time, tile, grid))
    }

    /// The estimated time: the multiplications of a multiprocessor at its peak.
    fn time(&self, problem: &MatmulProblem, tile: &MatmulTile, grid: &MatmulGrid, device: &DeviceLimits) -> u128 {
        let blocks = grid.blocks.div_ceil(device.multiprocessors).max(tile.busy);
        // A step of complex numbers takes as long as four, so as much else is fewer of them.
        let longer = if problem.dtype.is_complex() { 4 } else { 1 };
        let combining = if grid.splits > 1 { COMBINED * (grid.splits + 1) } else { 0 };
        // An equal share is mostly of two tiles.
        let (along_k, overhead) = match grid.has_equal_shares {
            true => (grid.k_per_split, 2 * self.overhead),
            false => (grid.k_per_split.min(problem.k), self.overhead),
        };
        let steps = along_k + (overhead + combining) / longer;
        let area = (tile.block_m * tile.block_n) as u128;
        let has_arrivals = grid.has_equal_shares || grid.splits > 1 && tile.is_of_boxes();
        let arrival = if has_arrivals { ARRIVAL / longer as u128 } else { 0 };
        blocks as u128 * area * steps as u128 * 100 / tile.efficiency as u128 + arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::constants::TENSOR_CORES;

    #[test]
    fn threads_have_equal_shares_of_the_copies_of_every_load() {
        for (_, tuning) in &TUNING {
            for dtype in [DType::F32, DType::F64, DType::U32, DType::U64, DType::C64, DType::C128] {
                for tile in tuning.tiles(dtype) {
                    let (threads, width) = (tile.threads(dtype) as usize, PACK_BYTES / dtype.bytes());
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
