//! How products are cut into blocks: functions of the matrix alone, so that results have the same bits on every device.

use crate::device::{SEGMENT, SweepUnits};
use crate::product::packets;

const _: () = assert!(SEGMENT == packets::SEGMENT as u64, "the host adds the same segments");

/// Tuning of the products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductPolicy {
    pub(crate) threads: u32,
    /// Most blocks that sweep the rows, beside those for long rows.
    max_csr_blocks: u32,
    /// Most blocks that sweep packets, while a warp has at most `slices_per_warp` slices; beyond, `many_packet_blocks`.
    few_packet_blocks: u32,
    slices_per_warp: usize,
    many_packet_blocks: u32,
}

/// Measured on an H200 (132 multiprocessors). Compressed rows want the eight blocks that a multiprocessor holds and no more; packets the
/// four that it holds while that leaves little work for each (512^2: 15.1 us an iteration with 528 blocks, 16.8 with 1024), and some
/// waves of them beyond (256^3: within 1 % from 1056 to 4096).
pub(crate) const PRODUCTS: ProductPolicy = ProductPolicy {
    threads: 256,
    max_csr_blocks: 1056, // tune gpu-sparse.csr_blocks: 528 1056 2112; (spmv|cg200)/.*/gpu-sparse-csr/(device|wall)
    few_packet_blocks: 528, // tune gpu-sparse.few_packet_blocks: 264 528 1056; (spmv|cg200)/.*/gpu-sparse-packets/(device|wall)
    slices_per_warp: 32,
    many_packet_blocks: 2112, // tune gpu-sparse.many_packet_blocks: 1056 2112 4224; (spmv|cg200)/.*/gpu-sparse-packets/(device|wall)
};

impl ProductPolicy {
    /// Blocks that sweep these units.
    pub(crate) fn sweep_blocks(&self, units: SweepUnits) -> u32 {
        match units {
            SweepUnits::RowBlocks(count) => self.csr_blocks(count),
            SweepUnits::Slices(count) => self.packet_blocks(count),
        }
    }

    /// Blocks that sweep a matrix in compressed rows cut into that many blocks of rows.
    fn csr_blocks(&self, row_blocks: usize) -> u32 {
        blocks(row_blocks, self.max_csr_blocks)
    }

    /// Blocks that sweep that many slices, one for each warp.
    fn packet_blocks(&self, slices: usize) -> u32 {
        let wanted = slices.div_ceil(self.threads as usize / 32);
        let little_work = wanted <= self.few_packet_blocks as usize * self.slices_per_warp;
        blocks(wanted, if little_work { self.few_packet_blocks } else { self.many_packet_blocks })
    }
}

/// The number of blocks that are wanted, at least one and at most `most`.
pub(crate) fn blocks(wanted: usize, most: u32) -> u32 {
    u32::try_from(wanted).unwrap_or(most).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block's threads add up a segment as the lanes of the host do.
    #[test]
    fn both_sides_add_segments_alike() {
        assert_eq!(PRODUCTS.threads as usize, packets::SEGMENT_LANES);
    }

    #[test]
    fn grids_cover_small_problems_and_are_bounded() {
        assert_eq!([0, 1, 8, 9, 1 << 14, usize::MAX].map(|n| PRODUCTS.packet_blocks(n)), [1, 1, 1, 2, 528, 2112]);
        assert_eq!([0, 1, 7, 1057].map(|n| PRODUCTS.csr_blocks(n)), [1, 1, 7, 1056]);
    }
}
