//! Memory whose size comes from the outside, asked for before it is taken: where the system refuses, that is an error and not the process's end.

use std::hint::black_box;

use crate::{Result, SparseError};

/// Checks that the system would give so many bytes now.
pub(crate) fn room_for(purpose: &'static str, bytes: u64) -> Result<()> {
    match usize::try_from(bytes) {
        Ok(bytes) if is_to_be_had(bytes) => Ok(()),
        _ => Err(SparseError::OutOfMemory { purpose, bytes }),
    }
}

/// Whether the system would give so many bytes now.
pub(crate) fn is_to_be_had(bytes: usize) -> bool {
    let mut memory = Vec::<u8>::new();
    let reserved = memory.try_reserve_exact(bytes);
    // The compiler may leave out an allocation that nobody looks at.
    black_box(&memory);
    reserved.is_ok()
}
