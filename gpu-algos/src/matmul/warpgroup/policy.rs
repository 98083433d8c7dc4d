//! Tiles of products on Hopper's tensor cores, and their estimated times.

use gpu_array::DType;

use crate::matmul::precision::Precision;

/// The products of tensor cores that make a product of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::matmul) enum Products {
    /// One product of TF32, for one of f32.
    Tf32,
    /// Six products of bf16, for one of f32.
    ThreeBf16,
    /// One product of bf16.
    Bf16,
    /// One product of f16.
    F16,
}

impl Products {
    /// The products of elements of a type in a precision, if tensor cores compute them.
    pub(in crate::matmul) fn of(dtype: DType, precision: Precision) -> Option<Self> {
        match (dtype, precision) {
            (DType::F32, Precision::Tf32) => Some(Self::Tf32),
            (DType::F32, Precision::Emulated) => Some(Self::ThreeBf16),
            (DType::BF16, _) => Some(Self::Bf16),
            (DType::F16, _) => Some(Self::F16),
            _ => None,
        }
    }

    /// Bytes of an element in shared memory.
    pub(super) fn element_bytes(self) -> usize {
        if self == Self::Tf32 { 4 } else { 2 }
    }

    /// Neighbours in a row of c that a thread has when an epilogue is applied to them.
    pub(super) fn store_width(self) -> usize {
        if self.result().is_half() { 2 } else { 4 }
    }

    /// Parts of an element.
    pub(super) fn parts(self) -> usize {
        if self == Self::ThreeBf16 { 3 } else { 1 }
    }

    /// The name of the type of elements in `warpgroup.cuh`.
    fn type_name(self) -> &'static str {
        match self {
            Self::Tf32 => "gpu::TF32",
            Self::ThreeBf16 | Self::Bf16 => "gpu::BF16",
            Self::F16 => "gpu::F16",
        }
    }

    /// The type of the results.
    pub(super) fn result(self) -> DType {
        match self {
            Self::Tf32 | Self::ThreeBf16 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }

    /// Time of a multiplication, of that of a CUDA core: the vendor's peaks are 495 and 989 TFLOP/s beside 67.
    fn slots(self) -> f64 {
        match self {
            Self::Tf32 => 67.0 / 495.0,
            Self::ThreeBf16 => 6.0 * 67.0 / 989.0,
            Self::Bf16 | Self::F16 => 67.0 / 989.0,
        }
    }
}

/// The tile of a block, and the stages of its operands in shared memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WarpgroupTile {
    pub(super) products: Products,
    pub(super) block_m: usize,
    pub(super) block_n: usize,
    stages: usize,
    /// Percentage of the tensor cores' peak.
    efficiency: f64,
}

impl WarpgroupTile {
    /// Bytes of a row in shared memory, over which swizzling goes.
    pub(super) const ROW_BYTES: usize = 128;

    const fn new(products: Products, [block_m, block_n]: [usize; 2], stages: usize, efficiency: f64) -> Self {
        Self { products, block_m, block_n, stages, efficiency }
    }

    /// Threads of a block: a warpgroup for each 64 rows, and one that copies.
    pub(super) fn threads(&self) -> u32 {
        (128 * (self.block_m / 64 + 1)) as u32
    }

    /// Dynamic shared memory of a block, which begins at a multiple of 1024 bytes within.
    pub(super) fn shared_bytes(&self) -> usize {
        self.stages * self.products.parts() * (self.block_m + self.block_n) * Self::ROW_BYTES + 1024
    }

    /// The C++ type.
    pub(super) fn text(&self) -> String {
        let Self { products, block_m, block_n, stages, .. } = self;
        let (kind, parts) = (products.type_name(), products.parts());
        format!("gpu::matmul::WarpgroupTile<{kind}, {parts}, {block_m}, {block_n}, {stages}>")
    }

    /// The fields of the C++ type, for a key.
    pub(super) fn key(&self) -> u64 {
        let Self { products, block_m, block_n, stages, .. } = *self;
        (products as u64) << 48 | (block_m as u64) << 32 | (block_n as u64) << 16 | stages as u64
    }

    /// The estimated time of `waves` tiles, in multiplications of a multiprocessor's CUDA cores.
    pub(super) fn time(&self, waves: usize, k: usize) -> f64 {
        let row = Self::ROW_BYTES / self.products.element_bytes();
        let steps = (k.next_multiple_of(row) + OVERHEAD) as f64;
        let area = (self.block_m * self.block_n) as f64;
        waves as f64 * area * steps * self.products.slots() / self.efficiency
    }
}

/// Values along k that begin and end of a tile are worth.
const OVERHEAD: usize = 96; // tune gpu-algos.warpgroup_overhead: 64 96 128; gemm-(tf32|emulated)/.*/gpu-algos/device

/// Bytes that a multiprocessor reads or writes while its CUDA cores multiply once, of device memory: 4.2 TB/s by 132 beside 128 at 1.755 GHz.
const BYTES_PER_SLOT: f64 = 0.14;

/// Launches of a copy take this long: 3 us of 128 multiplications at 1.755 GHz.
const LAUNCH_SLOTS: f64 = 674_000.0;

/// The estimated time of a copy of so many bytes, read and written, on `multiprocessors`.
pub(super) fn copy_time(bytes: usize, multiprocessors: usize) -> f64 {
    LAUNCH_SLOTS + bytes as f64 / (multiprocessors as f64 * BYTES_PER_SLOT)
}

/// The largest first. One H100, TFLOP/s at 4096 without the copies: TF32 395 (cuBLAS 411); bf16 797 (cuBLAS 801), with tiles of 128 x 128 523, with
/// clusters of two that share a tile of b 515; six products of bf16 144, with sums on CUDA cores after 16 or 32 terms in place of 64, 120 and 138, with 32
/// terms a stage 91.
///
/// One H200, us at 512 and 1024, in C order: bf16 3.2 with 64 x 64 and 5.9 with 128 x 64 (cuBLAS 3.2 and 5.4; 128 x 64 at 512 4.0, 64 x 128 at 1024 7.3);
/// TF32 6.3 with 64 x 64 and 12.4 with 128 x 64 (cuBLAS 7.0 and 12.7), with b transposed 4.4 and 8.3 (cuBLAS 5.4 and 11.6). Of those of bf16 at 1024 the
/// products take 2.3, at the peak of the tensor cores; 64 steps along k alone take 3.2. One warp that copies in place of four has the same times.
pub(super) const TILES: &[WarpgroupTile] = &[
    WarpgroupTile::new(Products::Tf32, [128, 256], 4, 0.79),
    WarpgroupTile::new(Products::Tf32, [128, 128], 6, 0.62),
    WarpgroupTile::new(Products::Tf32, [128, 64], 8, 0.55),
    WarpgroupTile::new(Products::Tf32, [64, 128], 8, 0.50),
    WarpgroupTile::new(Products::Tf32, [64, 64], 8, 0.38),
    WarpgroupTile::new(Products::ThreeBf16, [128, 128], 2, 0.85),
    WarpgroupTile::new(Products::ThreeBf16, [64, 128], 3, 0.60),
    WarpgroupTile::new(Products::ThreeBf16, [64, 64], 4, 0.45),
    WarpgroupTile::new(Products::Bf16, [128, 256], 4, 0.74),
    WarpgroupTile::new(Products::Bf16, [128, 128], 6, 0.54),
    WarpgroupTile::new(Products::Bf16, [128, 64], 8, 0.55),
    WarpgroupTile::new(Products::Bf16, [64, 128], 8, 0.45),
    WarpgroupTile::new(Products::Bf16, [64, 64], 8, 0.35),
    WarpgroupTile::new(Products::F16, [128, 256], 4, 0.74),
    WarpgroupTile::new(Products::F16, [128, 128], 6, 0.54),
    WarpgroupTile::new(Products::F16, [128, 64], 8, 0.55),
    WarpgroupTile::new(Products::F16, [64, 128], 8, 0.45),
    WarpgroupTile::new(Products::F16, [64, 64], 8, 0.35),
];
