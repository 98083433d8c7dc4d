//! The template arguments of scans of a user's text: plain data, chosen from the state and the architecture.

use gpu_array::gpu_driver::Arch;

/// The template arguments of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanKernelPolicy {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Number of places of a thread. It is odd, so that threads with neighbouring places use different banks of shared memory.
    pub(super) vectors_per_thread: u32,
}

/// Numbers that depend on the architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanKernelTuning {
    /// Threads of a block, unless shared memory has room for fewer.
    threads: u32,
    /// Number of places of a thread for aggregates of at most 8 bytes, of 16 and of 32. States stand in registers before they go to shared memory.
    vectors_of_8_bytes: u32,
    vectors_of_16_bytes: u32,
    vectors_of_32_bytes: u32,
}

const SM_90: ScanKernelTuning = ScanKernelTuning {
    threads: 256, // tune gpu-algos.scan_kernel_threads: 128 256 512; inclusive-scan/.*/gpu-algos-kernel/device
    vectors_of_8_bytes: 15, // tune gpu-algos.scan_kernel_vectors: 7 15 23; inclusive-scan/.*/gpu-algos-kernel/device
    vectors_of_16_bytes: 7,
    vectors_of_32_bytes: 3,
};

/// By architecture, the oldest first.
static TUNING: [(Arch, ScanKernelTuning); ScanKernelTuning::COUNT] = [(Arch::new(9, 0), SM_90)];

impl ScanKernelTuning {
    /// The number of tunings.
    pub(super) const COUNT: usize = 1;

    /// The number of the tuning of an architecture.
    pub(super) fn number(arch: Arch) -> usize {
        let tuned: *const Self = arch.tuned(&TUNING);
        TUNING.iter().position(|(_, tuning)| std::ptr::eq(tuning, tuned)).unwrap_or(0)
    }
}

/// Shared memory that a kernel has without opting in, less the part that holds no states.
const SHARED_BYTES: usize = 48 * 1024 - 64;

/// The largest state: the states of one warp fit into shared memory.
pub(super) const MOST_STATE_BYTES: usize = 1024;

impl ScanKernelPolicy {
    /// The policy for aggregates of `run_bytes` bytes.
    pub(super) fn of(run_bytes: usize, arch: Arch) -> Self {
        let tuning = arch.tuned(&TUNING);
        let vectors_per_thread = match run_bytes {
            0..=8 => tuning.vectors_of_8_bytes,
            9..=16 => tuning.vectors_of_16_bytes,
            17..=32 => tuning.vectors_of_32_bytes,
            _ => 1,
        };
        let mut policy = Self { threads: tuning.threads, vectors_per_thread };
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
        (self.threads * self.vectors_per_thread) as usize
    }

    /// The kernel with its template arguments, for the structure of that name.
    pub(super) fn template(self, structure: &str, all: bool) -> String {
        format!("gpu::algos::kernels::scan_kernel<{structure}, {all}, {}, {}>", self.threads, self.vectors_per_thread)
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
                let policy = ScanKernelPolicy::of(run, Arch::new(9, 0));
                assert!(policy.shared_bytes(run) <= SHARED_BYTES, "{bytes}: {policy:?}");
                assert!(policy.threads >= 32 && policy.vectors_per_thread % 2 == 1 && policy.vectors_per_thread < 32);
            }
        }
        assert_eq!((run_bytes(1, 1, true), run_bytes(8, 8, true), run_bytes(12, 4, true)), (8, 16, 16));
    }
}
