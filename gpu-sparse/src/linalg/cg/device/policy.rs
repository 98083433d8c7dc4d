//! How the vector passes are cut into blocks: a function of the length alone, so that results have the same bits on every device.

use crate::product::device::blocks;

/// Tuning of the vector passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorPolicy {
    pub(crate) threads: u32,
    /// Elements that a thread loads at a time.
    pub(crate) batch: u32,
    /// Most blocks of a grid; kernels stride beyond.
    max_blocks: u32,
}

/// Measured on an H200 (132 multiprocessors), where 4 elements at a time reach 4.1 TB/s for any grid from 2000 blocks on.
pub(crate) const VECTORS: VectorPolicy = VectorPolicy {
    threads: 256,
    batch: 4,
    max_blocks: 2112, // tune gpu-sparse.vector_blocks: 1056 2112 4224; cg200.*/f64/poisson.*/wall
};

impl VectorPolicy {
    /// Blocks for `n` elements.
    pub(crate) fn blocks(&self, n: usize) -> u32 {
        blocks(n.div_ceil((self.threads * self.batch) as usize), self.max_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_cover_short_vectors_and_are_bounded() {
        assert_eq!([0, 1, 1024, 1025, 1 << 24, usize::MAX].map(|n| VECTORS.blocks(n)), [1, 1, 1, 2, 2112, 2112]);
    }
}
