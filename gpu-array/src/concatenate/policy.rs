//! Tuning of joined arrays: plain data, passed as template arguments.

use gpu_driver::PARAMETER_BYTES;

use super::params::{ConcatenateHead, PartEntry};
use crate::expression::device::MAX_AXES;

/// Parts of a launch that has few of them, whose parameters are short.
const FEW_PARTS: usize = 4;

/// Elements from which on a part that lies along another axis than the result gets a launch of its own, through shared memory. Below it the
/// launch would take longer than the reads of single elements.
pub(super) const TRANSPOSED_ELEMENTS: usize = 1 << 16;

/// The template arguments of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinPolicy {
    /// Bytes of an element.
    pub(super) bytes: usize,
    /// Axes that the parameters have room for.
    pub(super) rank: usize,
    /// Parts that they have room for; none where the table of parts lies in device memory.
    pub(super) parts: usize,
    /// Threads of a block.
    pub(super) threads: usize,
    /// Packs or elements of a thread.
    pub(super) items: usize,
}

impl JoinPolicy {
    /// The policy of some parts with that number of axes, at most `MAX_AXES`.
    pub(super) fn of(bytes: usize, rank: usize, parts: usize) -> Self {
        let rank = if rank < 3 { rank } else { MAX_AXES };
        let most = most_parts(rank);
        let parts = match parts {
            0..=FEW_PARTS => FEW_PARTS,
            _ if parts <= most => most,
            _ => 0,
        };
        let threads = 256; // tune gpu-array.concatenate_threads: 128 256 512; concatenate/.*/gpu-array/device
        let items = 4; // tune gpu-array.concatenate_items: 1 2 4 8; concatenate/.*/gpu-array/device
        // Four packs of bytes and the offsets of many axes would spill on sm_100.
        let items = if bytes == 1 && rank == MAX_AXES { items.min(2) } else { items };
        Self { bytes, rank, parts, threads, items }
    }

    /// This policy with as many parts as parameters have room for.
    pub(super) fn with_most_parts(self) -> Self {
        Self { parts: most_parts(self.rank), ..self }
    }

    /// Elements of a pack.
    pub(super) fn pack(&self) -> usize {
        16 / self.bytes
    }

    /// Words of the lists of parameters: lengths, strides, parts.
    pub(super) fn list_words(&self) -> [usize; 3] {
        [self.rank, self.rank, self.parts.max(1) * PartEntry::words(self.rank)]
    }

    /// Whether the table of parts lies in device memory, since the parameters have no room for it.
    pub(super) fn is_table_in_memory(&self) -> bool {
        self.parts == 0
    }

    /// Words of all parameters.
    pub(super) fn words(&self) -> usize {
        size_of::<ConcatenateHead>() / size_of::<u64>() + self.list_words().iter().sum::<usize>()
    }

    /// The kernel with its template arguments.
    pub(super) fn template(&self) -> String {
        let Self { bytes, rank, parts, threads, items } = self;
        let element = if *bytes == 16 { "uint4".to_owned() } else { format!("uint{}_t", 8 * bytes) };
        format!("concatenate<{element}, {rank}, {parts}, {threads}, {items}>")
    }
}

/// Parts that fit into a kernel's parameters.
fn most_parts(rank: usize) -> usize {
    let others = size_of::<ConcatenateHead>() / size_of::<u64>() + 2 * rank;
    (PARAMETER_BYTES / size_of::<u64>() - others) / PartEntry::words(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_fit_and_have_room_for_a_hundred_flat_arrays() {
        for rank in [1, 2, 3, MAX_AXES] {
            for parts in [1, FEW_PARTS, FEW_PARTS + 1, 1000] {
                let policy = JoinPolicy::of(4, rank, parts);
                assert!(policy.words() * size_of::<u64>() <= PARAMETER_BYTES, "{policy:?}");
                assert!(policy.rank >= rank, "{policy:?}");
            }
        }
        assert!(most_parts(1) >= 100);
        assert!(!JoinPolicy::of(4, 1, 100).is_table_in_memory() && JoinPolicy::of(4, 1, 1000).is_table_in_memory());
        assert_eq!(JoinPolicy::of(2, 1, 1).template(), "concatenate<uint16_t, 1, 4, 256, 4>");
        assert_eq!(JoinPolicy::of(16, 1, 1).template(), "concatenate<uint4, 1, 4, 256, 4>");
    }
}
