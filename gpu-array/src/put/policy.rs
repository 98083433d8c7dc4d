//! Tuning of writes at computed places: plain data, passed as template arguments.

use gpu_driver::Arch;

use super::params::PutHead;
use crate::{DType, expression::device::MAX_AXES};

/// A kernel of `put.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutKernel {
    /// Checks the indices, and finds the last one of each place.
    Claim,
    /// Checks the indices.
    Check,
    /// Writes elements of so many bytes.
    Write(usize),
    /// Combines integers with the values.
    Combine(PutOperation, DType),
}

/// A kernel with its template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PutPolicy {
    pub(super) kernel: PutKernel,
    /// Threads of a block, each of which takes one index, or one slot of `Write` behind `Claim`.
    pub(super) threads: usize,
}

/// Numbers that depend on the architecture.
#[derive(Clone, Copy, Debug)]
struct PutTuning {
    threads: usize,
}

const SM_90: PutTuning = PutTuning {
    threads: 256, // tune gpu-array.put_threads: 128 256 512; put/.*/gpu-array/wall
};

/// By architecture, the oldest first.
static TUNING: [(Arch, PutTuning); 1] = [(Arch::new(9, 0), SM_90)];

/// How an integer at an index is combined with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum PutOperation {
    /// Their sum, which wraps.
    Sum,
    /// The lesser.
    Minimum,
    /// The greater.
    Maximum,
}

impl PutOperation {
    pub(super) const ALL: [Self; 3] = [Self::Sum, Self::Minimum, Self::Maximum];

    /// The element types that a kernel combines. Sums of signed integers are those of unsigned ones.
    pub(super) fn dtypes(self) -> &'static [DType] {
        match self {
            Self::Sum => &[DType::U8, DType::U16, DType::U32, DType::U64],
            Self::Minimum | Self::Maximum => {
                use DType::{I8, I16, I32, I64, U8, U16, U32, U64};
                &[I8, U8, I16, U16, I32, U32, I64, U64]
            }
        }
    }

    /// The type as which a kernel combines integers of a type; None where no kernel does.
    pub(super) fn combined_as(self, dtype: DType) -> Option<DType> {
        let same_bits = match dtype {
            DType::I8 if self == Self::Sum => DType::U8,
            DType::I16 if self == Self::Sum => DType::U16,
            DType::I32 if self == Self::Sum => DType::U32,
            DType::I64 if self == Self::Sum => DType::U64,
            other => other,
        };
        self.dtypes().contains(&same_bits).then_some(same_bits)
    }
}

impl PutPolicy {
    pub(super) fn of(kernel: PutKernel, arch: Arch) -> Self {
        Self { kernel, threads: arch.tuned(&TUNING).threads }
    }

    /// The kernel with its template arguments.
    pub(super) fn template(self) -> String {
        let Self { kernel, threads } = self;
        match kernel {
            PutKernel::Claim => format!("put_claim<true, {MAX_AXES}, {threads}>"),
            PutKernel::Check => format!("put_claim<false, {MAX_AXES}, {threads}>"),
            PutKernel::Write(16) => format!("put_write<gpu::array::PutPair, {MAX_AXES}, {threads}>"),
            PutKernel::Write(bytes) => format!("put_write<uint{}_t, {MAX_AXES}, {threads}>", 8 * bytes),
            PutKernel::Combine(operation, dtype) => {
                // The types of the atomic functions, which elements of 8 and 16 bits do without.
                let element = match dtype {
                    DType::I8 => "int8_t",
                    DType::U8 => "uint8_t",
                    DType::I16 => "int16_t",
                    DType::U16 => "uint16_t",
                    DType::I32 => "int",
                    DType::U32 => "unsigned int",
                    DType::I64 => "long long",
                    _ => "unsigned long long",
                };
                format!("put_combine<gpu::array::Put{operation:?}, {element}, {MAX_AXES}, {threads}>")
            }
        }
    }
}

impl PutKernel {
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
            Self::Combine(operation, dtype) => 256 + 256 * operation as u64 + dtype as u64,
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
