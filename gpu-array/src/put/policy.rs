//! Tuning of writes at computed places: plain data, passed as template arguments.

use super::params::PutHead;
use crate::expression::device::MAX_AXES;

/// A kernel of `put.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutKernel {
    /// Checks the indices, and finds the last one of each place.
    Claim,
    /// Checks the indices.
    Check,
    /// Writes elements of so many bytes.
    Write(usize),
    /// Adds to integers of so many bytes, 4 or 8.
    Add(usize),
}

impl PutKernel {
    /// Threads of a block.
    pub(super) const fn threads() -> usize {
        256
    }

    /// Words of the lists of parameters: lengths, strides.
    pub(super) const fn list_words() -> [usize; 2] {
        [MAX_AXES; 2]
    }

    /// Words of all parameters.
    pub(super) const fn words() -> usize {
        size_of::<PutHead>() / size_of::<u64>() + 2 * MAX_AXES
    }

    /// A word that tells the kernel from the others.
    pub(super) fn key(self) -> u64 {
        match self {
            Self::Claim => 0,
            Self::Check => 1,
            Self::Write(bytes) => 16 + bytes as u64,
            Self::Add(bytes) => 32 + bytes as u64,
        }
    }

    /// The kernel with its template arguments.
    pub(super) fn template(self) -> String {
        let threads = Self::threads();
        match self {
            Self::Claim => format!("put_claim<true, {MAX_AXES}, {threads}>"),
            Self::Check => format!("put_claim<false, {MAX_AXES}, {threads}>"),
            Self::Write(bytes) => format!("put_write<uint{}_t, {MAX_AXES}, {threads}>", 8 * bytes),
            Self::Add(4) => format!("put_add<unsigned int, {MAX_AXES}, {threads}>"),
            Self::Add(_) => format!("put_add<unsigned long long, {MAX_AXES}, {threads}>"),
        }
    }
}

/// Slots for that many indices of an array of that length.
///
/// Where the places themselves are few, each has a slot. Else places share slots by a hash; at most two thirds of the slots are taken, so that a
/// search looks at few of them.
pub(super) fn slots(count: usize, length: usize) -> Option<usize> {
    let hashed = (count.checked_mul(3)?.div_ceil(2) + 1).checked_next_power_of_two()?;
    Some(hashed.min(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_places_or_half_as_many_again_as_indices() {
        assert_eq!(slots(10, 5), Some(5));
        assert_eq!(slots(10, 16), Some(16));
        assert_eq!(slots(10, 17), Some(16));
        assert_eq!(slots(0, 1000), Some(1));
        assert_eq!(slots(11, 1000), Some(32));
        assert_eq!(slots(usize::MAX / 2, usize::MAX), None);
        for count in 1..1000 {
            let found = slots(count, usize::MAX).unwrap_or(0);
            assert!(found.is_power_of_two() && 3 * count <= 2 * found, "{count}: {found}");
        }
    }
}
