//! Products of stacks of small matrices, of which a block computes several: the tiles, and the kernel's template arguments.

use gpu_array::{DType, gpu_driver::Arch};

use super::{constants::NARROW_PACK, policy::cuda_element, problem::MatmulProblem, tile::PACK_BYTES};
use crate::common::launch::{DeviceLimits, MOST_BLOCKS};

/// The tile of a matrix in shared memory, and the work of a thread and of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackTile {
    /// Rows and columns, of which the matrices have as many or fewer.
    size: usize,
    /// Sums of a thread: rows and columns.
    thread_m: usize,
    thread_n: usize,
    /// Matrices of a block.
    matrices: usize,
    /// Blocks of a multiprocessor with elements of 4 bytes, for which the compiler limits registers.
    resident: usize,
}

impl StackTile {
    const fn new(size: usize, (thread_m, thread_n): (usize, usize), matrices: usize, resident: usize) -> Self {
        Self { size, thread_m, thread_n, matrices, resident }
    }
}

/// The smallest first. H200, f32, stacks of 2^20 matrices of 8 x 8, 2^18 of 16 x 16, 2^16 of 32 x 32 and 2^14 of 64 x 64: 227, 200, 237 and 302 us, where
/// cuBLAS 13.1 takes 2042, 669, 301 and 303 us. The first with 4 x 4 sums of a thread take 253 to 268 us, the second with 4 x 8 205 us, the third with
/// 4 matrices a block 317 us, the last with 8 x 8 sums 324 us. Of f16 the second takes 148 us and the third 186 (cuBLASLt 783 and 207), with fewer blocks of
/// the third on a multiprocessor, and one load after another, 325.
pub(super) const TILES: [StackTile; 4] = [
    StackTile::new(8, (2, 4), 32, 8),
    StackTile::new(16, (2, 8), 8, 8),
    StackTile::new(32, (8, 4), 2, 10),
    StackTile::new(64, (4, 8), 1, 4),
];

/// The bytes of a sum of elements of a type, which are those of an element in shared memory.
fn sum_bytes(dtype: DType) -> usize {
    dtype.bytes().max(size_of::<f32>())
}

/// Whether elements are widened on the way to shared memory.
pub(super) fn is_narrow(dtype: DType) -> bool {
    dtype.bytes() < sum_bytes(dtype)
}

/// Blocks for each multiprocessor, with fewer of which a block has one matrix, or a part of one.
const LEAST_WAVES: usize = 4;

/// The kernel's template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackPolicy {
    pub(super) tile: StackTile,
    pub(super) is_a_packed: bool,
    pub(super) is_b_packed: bool,
    /// Whether c is written in packs. It is a parameter of the kernel.
    pub(super) is_c_packed: bool,
}

impl StackPolicy {
    /// The policy for a stack of small matrices; None for other problems.
    pub(super) fn of(problem: &MatmulProblem, device: &DeviceLimits) -> Option<Self> {
        let MatmulProblem { dtype, m, n, k, .. } = *problem;
        let tile = *TILES.iter().find(|tile| m.max(n).max(k) <= tile.size)?;
        let width = if is_narrow(dtype) { NARROW_PACK as usize } else { PACK_BYTES / dtype.bytes() };
        let policy = Self {
            tile,
            is_a_packed: problem.is_packed_along_k(1, width),
            is_b_packed: problem.is_packed(2, width),
            is_c_packed: problem.is_packed(0, PACK_BYTES / sum_bytes(dtype)),
        };
        let blocks = policy.blocks(problem);
        // Narrow elements else take a launch for each factor and one for the result: not faster, where most of the tile, or of the device, is idle too.
        let is_always_faster = is_narrow(dtype) && Self::is_small(problem);
        let fits = problem.batch.len() == 1
            && blocks <= MOST_BLOCKS
            && (is_always_faster
                || 4 * m * n >= tile.size * tile.size && blocks >= LEAST_WAVES * device.multiprocessors)
            && policy.shared_bytes(dtype) <= device.most_shared_bytes
            && !policy.is_slower_than_tensor_cores(dtype, device);
        fits.then_some(policy)
    }

    /// Whether the tile is the largest, beside which a kernel for larger matrices is faster where it takes these.
    pub(super) fn is_of_largest(&self) -> bool {
        self.tile == TILES[TILES.len() - 1]
    }

    /// Whether tiles on tensor cores are faster. H200, 8192 products of 64 x 64 of f64: 222 us by them, 266 by this kernel, 192 by cuBLAS 13.1.
    fn is_slower_than_tensor_cores(&self, dtype: DType, device: &DeviceLimits) -> bool {
        dtype == DType::F64 && device.arch >= Arch::new(8, 0) && self.is_of_largest()
    }

    /// Whether the matrices of a stack are so small that a block has several.
    pub(super) fn is_small(problem: &MatmulProblem) -> bool {
        problem.matrices() > 1 && problem.m.max(problem.n).max(problem.k) <= 32
    }

    /// Blocks of a launch.
    pub(super) fn blocks(&self, problem: &MatmulProblem) -> usize {
        problem.matrices().div_ceil(self.tile.matrices)
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        let StackTile { size, thread_m, thread_n, matrices, .. } = self.tile;
        (size / thread_m * (size / thread_n) * matrices) as u32
    }

    /// Dynamic shared memory of a block.
    pub(super) fn shared_bytes(&self, dtype: DType) -> usize {
        let StackTile { size, matrices, .. } = self.tile;
        matrices * size * (2 * size * sum_bytes(dtype) + PACK_BYTES)
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
        let Self { tile, is_a_packed, is_b_packed, .. } = self;
        let StackTile { size, thread_m, thread_n, matrices, resident } = tile;
        let element = if is_narrow(dtype) { dtype.cuda_name() } else { cuda_element(dtype) };
        let resident = (4 * resident / sum_bytes(dtype)).max(1);
        let tile = format!("gpu::algos::matmul::StackTile<{size}, {thread_m}, {thread_n}, {matrices}, {resident}>");
        format!("gpu::algos::matmul::matmul_stack<{element}, {tile}, {is_a_packed}, {is_b_packed}")
    }

    /// The template arguments besides the element type, for a key.
    pub(super) fn key(&self) -> [u64; 2] {
        [self.tile.size as u64, u64::from(self.is_a_packed) << 1 | u64::from(self.is_b_packed)]
    }
}
