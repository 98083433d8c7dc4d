//! Memory whose size comes from the outside, asked for before it is taken: where the system refuses, that is an error and not the process's end.

use gpu_array::is_to_be_had;

use crate::{Result, SparseError};

/// Checks that the system would give so many bytes now.
pub(crate) fn room_for(purpose: &'static str, bytes: u64) -> Result<()> {
    match usize::try_from(bytes) {
        Ok(bytes) if is_to_be_had(bytes) => Ok(()),
        _ => Err(SparseError::OutOfMemory { purpose, bytes }),
    }
}
