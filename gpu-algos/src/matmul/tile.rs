//! Tiles of the blocks of a product, and those that there are for each type.

use gpu_array::DType;

use super::constants::{CUDA_CORES, CUDA_CORES_ALONG_K, TENSOR_CORES, TENSOR_CORES_OF_BOXES};

/// The tile of a block, and the facts by which its speed is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatmulTile {
    pub(super) block_m: usize,
    pub(super) block_n: usize,
    pub(super) block_k: usize,
    /// Sums of a thread: rows and columns.
    pub(super) thread_m: usize,
    pub(super) thread_n: usize,
    /// Tiles in shared memory, those that are being copied among them.
    pub(super) stages: usize,
    /// Blocks of a multiprocessor, for which the compiler limits registers.
    pub(super) resident: usize,
    /// Blocks that keep a multiprocessor busy: fewer are not done sooner.
    pub(super) busy: usize,
    /// Share of the arithmetic units that it uses, in percent.
    pub(super) efficiency: usize,
    /// The units that multiply: `CUDA_CORES` or another one of constants.rs.
    pub(super) unit: u32,
}

/// Bytes of a pack.
pub(super) const PACK_BYTES: usize = 16;

/// Warps of a block that divide k.
const SKINNY_WARPS: u32 = 4;

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

    const fn along_k(self) -> Self {
        Self { unit: CUDA_CORES_ALONG_K, ..self }
    }

    const fn speed(self, resident: usize, busy: usize, efficiency: usize) -> Self {
        Self { resident, busy, efficiency, ..self }
    }

    /// Rows and columns of threads in a warp.
    fn warp(&self) -> (usize, usize) {
        if self.unit != CUDA_CORES || self.block_n < 8 * self.thread_n { (8, 4) } else { (4, 8) }
    }

    /// Threads of a block.
    pub(super) fn threads(&self, dtype: DType) -> u32 {
        if self.is_skinny() {
            return 32 * SKINNY_WARPS;
        }
        let (rows, columns) = self.warp();
        let warps = (self.block_m / (rows * self.thread_m)) * (self.block_n / (columns * self.thread_n));
        // One warp copies; or a warpgroup, which gives its registers to the others.
        let copying = match self.unit {
            TENSOR_CORES_OF_BOXES if self.thread_m * self.thread_n * dtype.bytes() > 256 => 4,
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
        let pad = match self.unit {
            TENSOR_CORES => {
                if dtype.is_complex() {
                    1
                } else {
                    4
                }
            }
            CUDA_CORES_ALONG_K => 2 * PACK_BYTES / dtype.bytes(),
            _ => PACK_BYTES / dtype.bytes(),
        };
        self.stages * self.block_k * (self.block_m + self.block_n + 2 * pad) * dtype.bytes()
    }

    /// Rows and columns.
    pub(super) fn area(&self) -> [usize; 2] {
        [self.block_m, self.block_n]
    }

    pub(super) fn is_of_boxes(&self) -> bool {
        self.unit == TENSOR_CORES_OF_BOXES
    }

    /// Whether the kernel is that of few columns.
    pub(super) fn is_skinny(&self) -> bool {
        self.unit == CUDA_CORES_ALONG_K
    }

    /// The C++ type.
    pub(super) fn text(&self) -> String {
        let Self { block_m, block_n, block_k, thread_m, thread_n, stages, resident, unit, .. } = self;
        format!(
            "gpu::algos::matmul::MatmulTile<{block_m}, {block_n}, {block_k}, {thread_m}, {thread_n}, {stages}, {resident}, {unit}>"
        )
    }

    /// The fields of the C++ type, for a key.
    pub(super) fn key(&self) -> [u64; 3] {
        let Self { block_m, block_n, block_k, thread_m, thread_n, stages, resident, unit, .. } = *self;
        let pair = |high: usize, low: usize| (high as u64) << 32 | low as u64;
        [pair(block_m, block_n), pair(block_k, stages << 8 | resident), pair(thread_m << 8 | thread_n, unit as usize)]
    }
}

/// The largest tile has 16 x 8 sums of a thread: 128 multiplications for 6 accesses of 16 bytes to shared memory. About one multiplication in
/// seven has its operands in one bank of registers (counted in the machine code of NVRTC 13.0, sm_90), more where the sums of a row are not walked to
/// and fro; its bound was not profiled.
///
/// H200, of cuBLAS 13.1's speed: 1.02, 1.06, 0.97 and 1.02 at 4096 (neither, a, b, both transposed), 1.03 at 8192, 1.06 at 1024 (64 x 128, two blocks
/// a tile). At 4096: 0.94 with 32 steps along k and two stages, 0.93 with two blocks of 128 x 128 a multiprocessor, 0.96 without fragments that are
/// read ahead.
///
/// H200, the time of flat products in us: 8192 x 32 results of 8192 terms 138 (128 x 32, six blocks a tile; four 159, 8 x 8 sums of a thread 154, 256 x
/// 32 156; 146 where the sums of blocks were added a row at a time), 257 x 4093 of 1031 terms 66 (32 x 256, equal shares; 68 with sums added a row at a
/// time; three blocks a tile 78, 64 x 128 86 to 88), 131072 x 64 of 64 terms 48 to 50 (128 x 64, 64 x 64 and 256 x 64 alike). 257 x 4093 with the last
/// row as a reduction, in a launch of its own, 100.
pub(super) const NARROW: &[MatmulTile] = &[
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
/// Tiles of all columns, where there are few, of elements of 4 bytes: a warp has all rows and columns of a tile, and the warps of a block divide k.
///
/// H200, 8192 rows and 8192 terms, us, beside cuBLAS 13.1 (137 for 4 to 32 columns): 32 columns 111, 16 columns 75, 4 columns 71; 8 rows 67 (131). A read of
/// as many bytes takes 62. With 128 x 32 and one of k for all warps (`NARROW`) 138 whatever the number of columns. Tried: 8 x 16 sums of a thread 126, 4
/// x 32 145, more than three blocks of 8 x 8 spill. In a program of its own, profiled (32 columns, 8 x 8): 62 % of the multiplications that a multiprocessor
/// could do, issue slots busy 78 %; a third of a cycle of each instruction is a wait for operands in the same bank of registers.
pub(super) const SKINNY: &[MatmulTile] = &[
    MatmulTile::new([64, 32, 32], (8, 8), 4).speed(3, 3, 88).along_k(),
    MatmulTile::new([64, 16, 32], (4, 8), 4).speed(4, 4, 64).along_k(),
    MatmulTile::new([64, 8, 64], (4, 4), 2).speed(4, 4, 34).along_k(),
];
/// Integers of 8 bytes, and f64 where tensor cores do not know it.
pub(super) const WIDE: &[MatmulTile] = &[
    MatmulTile::new([128, 128, 8], (8, 8), 3).speed(1, 1, 90),
    MatmulTile::new([64, 64, 8], (8, 4), 3).speed(4, 2, 80),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(8, 4, 60),
    MatmulTile::new([16, 32, 8], (4, 4), 3).speed(16, 8, 50),
];
/// H200, of cuBLAS 13.1's speed: 0.93, 0.92, 0.86 and 0.90 at 4096 (neither, a, b, both transposed), 0.93 at 8192, 0.88 at 1024, 1.11 at 512. Warps
/// of 64 x 32 instead of 32 x 64 reach 0.94, 0.89, 0.88 and 0.91 at 4096, warps of 32 x 32 0.69, 32 steps along k 0.75, and packs along k that stand
/// together in shared memory 0.83 (neither transposed) and 0.74 (b transposed). Without fragments that are read ahead it is 0.61 to 0.65.
/// Instructions of 8 values along k in place of 4 take 1.1 to 1.4 times as long. 257 x 4093 of 1031 terms, whose rows are no whole packs, takes 79 us
/// with equal shares of 128 x 128 (cuBLAS 75; 90 without, 98 and 105 with 64 x 128 and 64 x 64, 108 with 32 x 64). 512 x 512 takes 13.6 us with 64 x
/// 32, 14.3 with 64 x 64 and two blocks a tile.
pub(super) const DOUBLE: &[MatmulTile] = &[
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
/// 8192 (19.2 and 19.6 ms; with all copies in a loop 20.0). With pointers in place of `gpu::SharedAddress` NVRTC computes addresses of 32 bits with 64, and
/// the loop of the largest tile has 263 instructions in place of 164, with 32 values along k 480 in place of 299, of which 72 are loads of spilled registers:
/// 1.04, 0.93, 0.95 and 0.96 with 16 values along k. The efficiencies are the slopes of a program of its own: us for 128 values along k 8.50, 4.34, 2.32,
/// 1.36, and 1.38 for two blocks of 32 x 32 (one alone 1.13); begin and end are 2 to 4 us. Warps of 16 x 16 read as many bytes of shared memory as there are
/// cycles for.
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
///
/// H200, complex numbers of 8 bytes, in us at 1024 and ms at 4096, beside cuBLAS 13.1 (167 us, 10.2 ms): 128 x 64 276 with one block of 4 warps a
/// multiprocessor, 185 with two that share a tile, 10.9 ms; with 8 x 4 sums of a thread 184, 11.4 ms; 64 x 64 186, with equal shares 178, 11.2 ms.
pub(super) const COMPLEX: &[MatmulTile] = &[
    MatmulTile::new([128, 64, 8], (8, 8), 3).speed(1, 2, 90),
    MatmulTile::new([64, 64, 8], (8, 4), 3).speed(2, 1, 89),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(8, 4, 60),
    MatmulTile::new([16, 32, 8], (4, 4), 3).speed(16, 8, 50),
];
pub(super) const WIDE_COMPLEX: &[MatmulTile] = &[
    MatmulTile::new([64, 64, 8], (4, 4), 3).speed(1, 1, 90),
    MatmulTile::new([32, 32, 8], (4, 4), 3).speed(4, 2, 70),
    MatmulTile::new([16, 32, 8], (2, 4), 3).speed(8, 4, 50),
];
/// Complex numbers of 16 bytes where tensor cores know f64. H200, of cuBLAS 13.1's speed: 0.97 at 4096 (64 x 128), 0.87 with 64 x 64.
pub(super) const DOUBLE_COMPLEX: &[MatmulTile] = &[
    MatmulTile::new([64, 128, 8], (4, 8), 4).speed(1, 1, 92).on_tensor_cores(),
    MatmulTile::new([64, 64, 8], (4, 4), 4).speed(1, 1, 88).on_tensor_cores(),
    MatmulTile::new([32, 64, 8], (2, 4), 4).speed(2, 1, 70).on_tensor_cores(),
    MatmulTile::new([32, 32, 8], (2, 4), 4).speed(4, 2, 60).on_tensor_cores(),
];

/// Complex numbers of 16 bytes on Hopper, where a warp of its own copies boxes of both operands.
///
/// H200, beside cuBLAS 13.1: 146 us at 1024 (152), 9.45 ms at 4096, whatever is transposed (10.7). At 1024 151 us with 64 x 64, 172 with 32 x 64; at 512
/// 21.9 us with 32 x 32, 23.8 with 32 x 64, 25.2 with 64 x 64 and two blocks a tile, 39.0 with one. On CUDA cores 377 us and 23.9 ms.
pub(super) const COMPLEX_BOXES: &[MatmulTile] = &[
    MatmulTile::new([64, 128, 16], (4, 8), 4).speed(1, 1, 99).of_boxes(),
    MatmulTile::new([64, 64, 16], (4, 4), 6).speed(1, 1, 95).of_boxes(),
    MatmulTile::new([32, 64, 16], (2, 4), 8).speed(1, 1, 82).of_boxes(),
    MatmulTile::new([32, 32, 16], (2, 4), 6).speed(2, 1, 88).of_boxes(),
];
