//! The template arguments of scans of a user's text.

/// The template arguments of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanKernelPolicy {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Number of places of a thread. It is odd, so that threads with neighbouring places use different banks of shared memory.
    pub(super) unroll: u32,
}

/// Shared memory that a kernel has without opting in, less the part that holds no states.
const SHARED_BYTES: usize = 48 * 1024 - 64;

/// The largest state: the states of one warp fit into shared memory.
pub(super) const MOST_STATE_BYTES: usize = 1024;

impl ScanKernelPolicy {
    /// The policy for aggregates of `run_bytes` bytes.
    pub(super) fn of(run_bytes: usize) -> Self {
        // States stand in registers before they go to shared memory.
        let unroll = match run_bytes {
            0..=8 => 15,
            9..=16 => 7,
            17..=32 => 3,
            _ => 1,
        };
        let mut policy = Self { threads: 256, unroll };
        while policy.shared_bytes(run_bytes) > SHARED_BYTES && policy.threads > 32 {
            policy.threads /= 2;
        }
        policy
    }

    /// Shared memory for a state of each place, two of each warp and one of the block.
    fn shared_bytes(self, run_bytes: usize) -> usize {
        run_bytes * (self.tile() + self.threads as usize / 32 * 2 + 1)
    }

    /// Number of places of a tile.
    pub(super) fn tile(self) -> usize {
        (self.threads * self.unroll) as usize
    }

    /// The kernel with its template arguments, for the structure of that name.
    pub(super) fn template(self, structure: &str, all: bool) -> String {
        format!("gpu::algos::kernels::scan_kernel<{structure}, {all}, {}, {}>", self.threads, self.unroll)
    }
}

/// Bytes of a tile's aggregate: a state, and with segments a mark beside it.
pub(super) fn run_bytes(state_bytes: usize, align: usize, segments: bool) -> usize {
    let mark = size_of::<u32>();
    if segments { (state_bytes.next_multiple_of(mark) + mark).next_multiple_of(align.max(mark)) } else { state_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_room() {
        for bytes in 1..=MOST_STATE_BYTES {
            for run in [bytes, run_bytes(bytes, 16, true)] {
                let policy = ScanKernelPolicy::of(run);
                assert!(policy.shared_bytes(run) <= SHARED_BYTES, "{bytes}: {policy:?}");
                assert!(policy.threads >= 32 && policy.unroll % 2 == 1 && policy.unroll < 32);
            }
        }
        assert_eq!((run_bytes(1, 1, true), run_bytes(8, 8, true), run_bytes(12, 4, true)), (8, 16, 16));
    }
}
