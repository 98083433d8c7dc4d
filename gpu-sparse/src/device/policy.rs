//! How the kernels are cut into blocks: functions of the problem alone, so that results have the same bits on every device.

/// Most blocks of a grid; kernels stride beyond. Also the room that partial sums need.
pub(crate) const MAX_BLOCKS: u32 = 4096;

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
        blocks(n, self.threads * self.items_per_thread)
    }
}

/// Tuning of the products: how many threads share a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPolicy {
    pub(crate) threads: u32,
    /// 1, 2, 4, 8, 16 or 32.
    pub(crate) lanes: u32,
}

impl RowPolicy {
    /// What [`RowPolicy::choose`] chooses from.
    pub(crate) const LANES: [u32; 6] = [1, 2, 4, 8, 16, 32];

    /// The policy with that many lanes, one of [`RowPolicy::LANES`].
    pub(crate) const fn with_lanes(lanes: u32) -> Self {
        Self { threads: 256, lanes }
    }

    /// As many threads per row as a row of mean length has entries, rounded up to a power of two: each makes one step, and
    /// neighbouring threads read neighbouring entries.
    pub(crate) fn choose(rows: usize, nnz: usize) -> Self {
        let mean = nnz.div_ceil(rows.max(1));
        Self::with_lanes(mean.clamp(1, 32).next_power_of_two() as u32)
    }

    /// Blocks for that many rows.
    pub(crate) fn blocks(&self, rows: usize) -> u32 {
        blocks(rows, self.threads / self.lanes)
    }
}

fn blocks(items: usize, per_block: u32) -> u32 {
    u32::try_from(items.div_ceil(per_block as usize)).unwrap_or(MAX_BLOCKS).clamp(1, MAX_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_follow_the_mean_row_length() {
        let lanes = |rows, nnz| RowPolicy::choose(rows, nnz).lanes;
        assert_eq!([lanes(0, 0), lanes(10, 0), lanes(10, 10), lanes(10, 11)], [1, 1, 1, 2]);
        assert_eq!([lanes(100, 500), lanes(100, 700), lanes(100, 2700), lanes(1, 5000)], [8, 8, 32, 32]);
        assert_eq!(lanes(1 << 20, usize::MAX), 32);
        assert!((0..4000).all(|nnz| RowPolicy::LANES.contains(&lanes(100, nnz))));
    }

    #[test]
    fn grids_cover_small_problems_and_are_bounded() {
        assert_eq!([0, 1, 1024, 1025, 1 << 22, (1 << 22) + 1].map(|n| VECTORS.blocks(n)), [1, 1, 1, 2, 4096, 4096]);
        assert_eq!(VECTORS.blocks(usize::MAX), MAX_BLOCKS);
        for lanes in RowPolicy::LANES {
            let policy = RowPolicy::with_lanes(lanes);
            let rows_per_block = 256 / lanes as usize;
            assert_eq!((policy.blocks(rows_per_block), policy.blocks(rows_per_block + 1)), (1, 2));
            assert_eq!(policy.blocks(usize::MAX), MAX_BLOCKS);
        }
    }
}
