//! How the kernels are cut into blocks: functions of the problem alone, so that results have the same bits on every device.

/// Most blocks of a grid; kernels stride beyond. Also the room that partial sums need.
pub(crate) const MAX_BLOCKS: u32 = 4096;

/// Entries that a block of the product in compressed rows takes at a time; `Csr::ITEMS` in csr.cuh.
pub(crate) const CSR_ITEMS: u64 = 2048;

/// Tuning of the vector passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorPolicy {
    pub(crate) threads: u32,
    /// Elements for each thread, until there are [`MAX_BLOCKS`].
    items_per_thread: u32,
}

pub(crate) const VECTORS: VectorPolicy = VectorPolicy { threads: 256, items_per_thread: 4 };

impl VectorPolicy {
    /// Blocks for `n` elements.
    pub(crate) fn blocks(&self, n: usize) -> u32 {
        blocks(n.div_ceil((self.threads * self.items_per_thread) as usize))
    }
}

/// Tuning of the products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductPolicy {
    pub(crate) threads: u32,
}

pub(crate) const PRODUCTS: ProductPolicy = ProductPolicy { threads: 256 };

impl ProductPolicy {
    /// Blocks that sweep a matrix in compressed rows cut into that many blocks of rows.
    pub(crate) fn csr_blocks(&self, row_blocks: usize) -> u32 {
        blocks(row_blocks)
    }

    /// Blocks that sweep that many slices, one for each warp.
    pub(crate) fn packet_blocks(&self, slices: usize) -> u32 {
        blocks(slices.div_ceil((self.threads / 32) as usize))
    }
}

fn blocks(wanted: usize) -> u32 {
    u32::try_from(wanted).unwrap_or(MAX_BLOCKS).clamp(1, MAX_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_cover_small_problems_and_are_bounded() {
        assert_eq!([0, 1, 1024, 1025, 1 << 22, (1 << 22) + 1].map(|n| VECTORS.blocks(n)), [1, 1, 1, 2, 4096, 4096]);
        assert_eq!([0, 1, 8, 9, 32_768, 32_769].map(|n| PRODUCTS.packet_blocks(n)), [1, 1, 1, 2, 4096, 4096]);
        assert_eq!([0, 1, 7, 4097].map(|n| PRODUCTS.csr_blocks(n)), [1, 1, 7, 4096]);
        assert_eq!([VECTORS.blocks(usize::MAX), PRODUCTS.csr_blocks(usize::MAX)], [MAX_BLOCKS; 2]);
    }
}
