//! Tiles of products on tensor cores, and their estimated times.

use gpu_array::{DType, gpu_driver::Arch};

use crate::matmul::precision::Precision;

/// The tensor cores of an architecture, as the vendor's peaks compare them with its CUDA cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct TensorCores {
    /// Whether warpgroups multiply boxes that tensor maps describe (wgmma); else warps multiply tiles that they have copied (mma.sync).
    pub(super) has_warpgroups: bool,
    /// Multiplications of TF32 for one of f32 on CUDA cores.
    tf32: f64,
    /// Multiplications of 16 bits with sums of f32.
    halves: f64,
    /// Multiplications of 8 bits.
    bytes: f64,
}

impl TensorCores {
    const fn of_warps(tf32: f64, halves: f64, bytes: f64) -> Option<Self> {
        Some(Self { has_warpgroups: false, tf32, halves, bytes })
    }

    /// The tensor cores of an architecture; None before 8.0, whose tensor cores know f16 alone and copy nothing asynchronously.
    pub(super) fn of(arch: Arch) -> Option<Self> {
        *arch.tuned(&TENSOR_CORES)
    }

    /// The time of a product of f32 on CUDA cores, of which `strict` is the estimate, as it compares with that of products of bf16.
    ///
    /// The estimate is that of full tiles: at 512 8.9 us, where 12.0 were measured. H200, us, CUDA cores and six products of bf16 with a launch that splits
    /// each factor (about 2 us more than one for both): 384 8.0, 10.7; 512 12.0, 12.8; 640 23.3, 17.6; 768 30.4, 23.8.
    pub(super) fn strict_time(&self, strict: f64) -> f64 {
        if self.has_warpgroups { 1.55 * strict } else { strict }
    }
}

/// TFLOP/s of the vendor, f32 on CUDA cores, TF32, halves with sums of f32, bytes: A100 19.5, 156, 312, 624; RTX 3090 35.6, 35.6, 71, 285; RTX 4090 82.6,
/// 82.6, 165, 661; H100 67, 495, 989, 1979; RTX 5090 105, 105, 209, 838. Of those of 10.0 warps reach a part that was not measured: the numbers of 8.0
/// stand for it.
static TENSOR_CORES: [(Arch, Option<TensorCores>); 6] = [
    (Arch::new(7, 0), None),
    (Arch::new(8, 0), TensorCores::of_warps(8.0, 16.0, 32.0)),
    (Arch::new(8, 6), TensorCores::of_warps(1.0, 2.0, 8.0)),
    (
        Arch::new(9, 0),
        Some(TensorCores { has_warpgroups: true, tf32: 495.0 / 67.0, halves: 989.0 / 67.0, bytes: 1979.0 / 67.0 }),
    ),
    (Arch::new(10, 0), TensorCores::of_warps(8.0, 16.0, 32.0)),
    (Arch::new(12, 0), TensorCores::of_warps(1.0, 2.0, 8.0)),
];

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
    /// One product of i8, with sums of i32.
    I8,
    /// One product of u8, with sums of i32.
    U8,
}

impl Products {
    /// The products of elements of a type in a precision, if tensor cores compute them.
    pub(in crate::matmul) fn of(dtype: DType, precision: Precision) -> Option<Self> {
        match (dtype, precision) {
            (DType::F32, Precision::Tf32) => Some(Self::Tf32),
            (DType::F32, Precision::Emulated) => Some(Self::ThreeBf16),
            (DType::BF16, _) => Some(Self::Bf16),
            (DType::F16, _) => Some(Self::F16),
            (DType::I8, _) => Some(Self::I8),
            (DType::U8, _) => Some(Self::U8),
            _ => None,
        }
    }

    /// Bytes of an element in shared memory.
    pub(super) fn element_bytes(self) -> usize {
        match self {
            Self::Tf32 => 4,
            Self::ThreeBf16 | Self::Bf16 | Self::F16 => 2,
            Self::I8 | Self::U8 => 1,
        }
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
            Self::I8 => "gpu::S8",
            Self::U8 => "gpu::U8",
        }
    }

    /// The type of the results.
    pub(super) fn result(self) -> DType {
        match self {
            Self::Tf32 | Self::ThreeBf16 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
            Self::I8 | Self::U8 => DType::I32,
        }
    }

    /// Time of a multiplication, of that of a CUDA core.
    fn slots(self, cores: &TensorCores) -> f64 {
        match self {
            Self::Tf32 => 1.0 / cores.tf32,
            Self::ThreeBf16 => 6.0 / cores.halves,
            Self::Bf16 | Self::F16 => 1.0 / cores.halves,
            Self::I8 | Self::U8 => 1.0 / cores.bytes,
        }
    }
}

/// The tile of a block, and the stages of its operands in shared memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TensorCoreTile {
    pub(super) products: Products,
    pub(super) block_m: usize,
    pub(super) block_n: usize,
    stages: usize,
    /// Share of the tensor cores' peak.
    efficiency: f64,
    /// How warps divide the tile; None where warpgroups do.
    pub(super) warps: Option<MmaWarps>,
    /// Neighbouring blocks, one below the other in c, that share tiles of b: a tile has the rows of all of them.
    pub(super) cluster: usize,
}

/// Rows and columns of a warp, and blocks of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MmaWarps {
    rows: usize,
    columns: usize,
    pub(super) resident: usize,
}

impl TensorCoreTile {
    /// Bytes of a row in shared memory, over which swizzling goes.
    pub(super) const ROW_BYTES: usize = 128;

    const fn new(products: Products, [block_m, block_n]: [usize; 2], stages: usize, efficiency: f64) -> Self {
        Self { products, block_m, block_n, stages, efficiency, warps: None, cluster: 1 }
    }

    /// A tile of warps with so many rows and columns.
    const fn by_mma_warps(self, [rows, columns]: [usize; 2], resident: usize) -> Self {
        Self { warps: Some(MmaWarps { rows, columns, resident }), ..self }
    }

    /// A tile of clusters of so many blocks.
    const fn by_clusters(self, cluster: usize) -> Self {
        Self { cluster, ..self }
    }

    /// Rows of a tile of all blocks of a cluster.
    pub(super) fn rows(&self) -> usize {
        self.block_m * self.cluster
    }

    /// Threads of a block: warps; or a warpgroup for each 64 rows, and one that copies.
    pub(super) fn threads(&self) -> u32 {
        match self.warps {
            Some(MmaWarps { rows, columns, .. }) => (32 * (self.block_m / rows) * (self.block_n / columns)) as u32,
            None => (128 * (self.block_m / 64 + 1)) as u32,
        }
    }

    /// Dynamic shared memory of a block, which begins at a multiple of 1024 bytes within.
    pub(super) fn shared_bytes(&self) -> usize {
        self.stages * self.products.parts() * (self.block_m + self.block_n) * Self::ROW_BYTES + 1024
    }

    /// The C++ type.
    pub(super) fn text(&self) -> String {
        let Self { products, block_m, block_n, stages, cluster, .. } = self;
        let (kind, parts) = (products.type_name(), products.parts());
        match self.warps {
            None => {
                let cluster = if *cluster > 1 { format!(", {cluster}") } else { String::new() };
                format!("gpu::algos::matmul::WarpgroupTile<{kind}, {parts}, {block_m}, {block_n}, {stages}{cluster}>")
            }
            Some(MmaWarps { rows, columns, resident }) => format!(
                "gpu::algos::matmul::MmaTile<{kind}, {parts}, {block_m}, {block_n}, {rows}, {columns}, {stages}, {resident}>"
            ),
        }
    }

    /// The fields of the C++ type, for a key.
    pub(super) fn key(&self) -> u64 {
        let Self { products, block_m, block_n, stages, cluster, .. } = *self;
        // Four bits each; rows and columns are multiples of 16.
        let warps = self
            .warps
            .map_or(0, |MmaWarps { rows, columns, resident }| rows | ((columns / 16) << 8) | (resident << 12));
        (cluster as u64) << 56
            | (products as u64) << 48
            | (block_m as u64) << 32
            | (block_n as u64) << 16
            | (warps | stages) as u64
    }

    /// The estimated time of `waves` tiles of a multiprocessor, in multiplications of its CUDA cores.
    pub(super) fn time(&self, waves: usize, k: usize, cores: &TensorCores) -> f64 {
        let row = Self::ROW_BYTES / self.products.element_bytes();
        let steps = (k.next_multiple_of(row) + OVERHEAD) as f64;
        let area = (self.block_m * self.block_n) as f64;
        waves as f64 * area * steps * self.products.slots(cores) / self.efficiency
    }
}

/// The fixed cost of a tile, its start and its end, in values along k.
const OVERHEAD: usize = 96; // tune gpu-algos.warpgroup_overhead: 64 96 128; gemm-(tf32|emulated)/.*/gpu-algos/device

/// Bytes that a multiprocessor reads or writes while its CUDA cores multiply once, of device memory: 4.2 TB/s by 132 beside 128 at 1.755 GHz.
const BYTES_PER_SLOT: f64 = 0.14;

/// Launches of a copy take this long: 3 us of 128 multiplications at 1.755 GHz.
const LAUNCH_SLOTS: f64 = 674_000.0;

/// The estimated time of a copy of so many bytes, read and written, on `multiprocessors`.
pub(in crate::matmul) fn copy_time(bytes: usize, multiprocessors: usize) -> f64 {
    LAUNCH_SLOTS + time_of_bytes(bytes, multiprocessors)
}

fn time_of_bytes(bytes: usize, multiprocessors: usize) -> f64 {
    bytes as f64 / (multiprocessors as f64 * BYTES_PER_SLOT)
}

/// The launch that splits both factors of f32 takes this long: 2.2 us.
const SPLIT_LAUNCH_SLOTS: f64 = 500_000.0;

/// The estimated time of the launch that splits both factors, of so many bytes, read and written.
pub(super) fn split_time(bytes: usize, multiprocessors: usize) -> f64 {
    SPLIT_LAUNCH_SLOTS + time_of_bytes(bytes, multiprocessors)
}

/// The largest first. One H100, TFLOP/s at 4096 without the copies: TF32 395 (cuBLAS 411); bf16 797 (cuBLAS 801), with tiles of 128 x 128 523, with
/// clusters of two that share a tile of b 515; six products of bf16 144, with sums on CUDA cores after 16 or 32 terms in place of 64, 120 and 138, with 32
/// terms a stage 91.
///
/// One H200, us at 512 and 1024, in C order: bf16 3.2 with 64 x 64 and 5.9 with 128 x 64 (cuBLAS 3.2 and 5.4; 128 x 64 at 512 4.0, 64 x 128 at 1024 7.3);
/// TF32 6.0 with 64 x 64 and 11.4 with 128 x 64 (cuBLAS 7.2 and 11.8), with b transposed 4.4 and 8.3 (cuBLAS 5.4 and 11.6). Of those of bf16 at 1024 the
/// products take 2.3, at the peak of the tensor cores; 64 steps along k alone take 3.2. One warp that copies in place of four has the same times.
pub(super) const TILES: &[TensorCoreTile] = &[
    TensorCoreTile::new(Products::Tf32, [128, 256], 4, 0.81).by_clusters(2),
    TensorCoreTile::new(Products::Tf32, [128, 256], 4, 0.79),
    TensorCoreTile::new(Products::Tf32, [128, 128], 6, 0.62),
    TensorCoreTile::new(Products::Tf32, [128, 64], 8, 0.55),
    TensorCoreTile::new(Products::Tf32, [64, 128], 8, 0.50),
    TensorCoreTile::new(Products::Tf32, [64, 64], 8, 0.38),
    TensorCoreTile::new(Products::ThreeBf16, [128, 128], 2, 0.85),
    TensorCoreTile::new(Products::ThreeBf16, [64, 128], 3, 0.60),
    TensorCoreTile::new(Products::ThreeBf16, [64, 64], 4, 0.45),
    TensorCoreTile::new(Products::Bf16, [128, 256], 4, 0.76).by_clusters(2),
    TensorCoreTile::new(Products::Bf16, [128, 256], 4, 0.74),
    TensorCoreTile::new(Products::Bf16, [128, 128], 6, 0.54),
    TensorCoreTile::new(Products::Bf16, [128, 64], 8, 0.55),
    TensorCoreTile::new(Products::Bf16, [64, 128], 8, 0.45),
    TensorCoreTile::new(Products::Bf16, [64, 64], 8, 0.35),
    TensorCoreTile::new(Products::F16, [128, 256], 4, 0.76).by_clusters(2),
    TensorCoreTile::new(Products::F16, [128, 256], 4, 0.74),
    TensorCoreTile::new(Products::F16, [128, 128], 6, 0.54),
    TensorCoreTile::new(Products::F16, [128, 64], 8, 0.55),
    TensorCoreTile::new(Products::F16, [64, 128], 8, 0.45),
    TensorCoreTile::new(Products::F16, [64, 64], 8, 0.35),
    TensorCoreTile::new(Products::I8, [128, 256], 4, 0.76).by_clusters(2),
    TensorCoreTile::new(Products::I8, [128, 256], 4, 0.74),
    TensorCoreTile::new(Products::I8, [128, 128], 6, 0.54),
    TensorCoreTile::new(Products::I8, [128, 64], 8, 0.55),
    TensorCoreTile::new(Products::I8, [64, 128], 8, 0.45),
    TensorCoreTile::new(Products::I8, [64, 64], 8, 0.35),
    TensorCoreTile::new(Products::U8, [128, 256], 4, 0.76).by_clusters(2),
    TensorCoreTile::new(Products::U8, [128, 256], 4, 0.74),
    TensorCoreTile::new(Products::U8, [128, 128], 6, 0.54),
    TensorCoreTile::new(Products::U8, [128, 64], 8, 0.55),
    TensorCoreTile::new(Products::U8, [64, 128], 8, 0.45),
    TensorCoreTile::new(Products::U8, [64, 64], 8, 0.35),
];

/// Tiles of a multiprocessor one behind the other, with fewer of which clusters do not pay. H200, us, clusters of two and single blocks in turn, two runs. At
/// 8192, 16 tiles: f16 1509 and 1584, 1578 and 1579; with b transposed 1496 and 1573, 1519 and 1550; bf16 1492 and 1484, 1491 and 1477; with b transposed
/// 1470 and 1552, 1524 and 1479; i8 790 and 802, 767 and 794; TF32 3093 and 3106, 3054 and 3088: 2 % less on average. At 4096, four tiles: f16 194 and 187,
/// bf16 179 and 183, TF32 379 and 369; at 2048, one tile, f16 24.3 and 23.6.
pub(super) const LEAST_WAVES_OF_CLUSTERS: usize = 8;

/// Tiles of `matmul_mma`, whose warps multiply on tensor cores, the largest first. Their efficiencies are estimates. Run on an H200, whose own kernel is
/// `matmul_warpgroup`, the largest reach at 4096 in bf16 384 TFLOP/s, in TF32 198, of i8 715, of six products of bf16 61. At 384 TFLOP/s the tensor cores
/// are busy for 60 % of the time, with two warps a scheduler. Without loading factors a step ahead, and with each address swizzled by itself, it
/// was 266 TFLOP/s.
pub(super) const MMA_TILES: &[TensorCoreTile] = &[
    TensorCoreTile::new(Products::Tf32, [128, 256], 3, 0.75).by_mma_warps([64, 64], 1),
    TensorCoreTile::new(Products::Tf32, [128, 128], 3, 0.70).by_mma_warps([64, 32], 1),
    TensorCoreTile::new(Products::Tf32, [64, 64], 3, 0.50).by_mma_warps([32, 32], 2),
    TensorCoreTile::new(Products::ThreeBf16, [64, 128], 2, 0.60).by_mma_warps([32, 32], 1),
    TensorCoreTile::new(Products::ThreeBf16, [64, 64], 2, 0.50).by_mma_warps([32, 32], 1),
    TensorCoreTile::new(Products::Bf16, [128, 256], 3, 0.75).by_mma_warps([64, 64], 1),
    TensorCoreTile::new(Products::Bf16, [128, 128], 3, 0.70).by_mma_warps([64, 32], 1),
    TensorCoreTile::new(Products::Bf16, [64, 64], 3, 0.50).by_mma_warps([32, 32], 2),
    TensorCoreTile::new(Products::F16, [128, 256], 3, 0.75).by_mma_warps([64, 64], 1),
    TensorCoreTile::new(Products::F16, [128, 128], 3, 0.70).by_mma_warps([64, 32], 1),
    TensorCoreTile::new(Products::F16, [64, 64], 3, 0.50).by_mma_warps([32, 32], 2),
    TensorCoreTile::new(Products::I8, [128, 256], 3, 0.75).by_mma_warps([64, 64], 1),
    TensorCoreTile::new(Products::I8, [128, 128], 3, 0.70).by_mma_warps([64, 32], 1),
    TensorCoreTile::new(Products::I8, [64, 64], 3, 0.50).by_mma_warps([32, 32], 2),
    TensorCoreTile::new(Products::U8, [128, 256], 3, 0.75).by_mma_warps([64, 64], 1),
    TensorCoreTile::new(Products::U8, [128, 128], 3, 0.70).by_mma_warps([64, 32], 1),
    TensorCoreTile::new(Products::U8, [64, 64], 3, 0.50).by_mma_warps([32, 32], 2),
];
