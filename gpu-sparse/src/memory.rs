//! Memory whose size comes from the outside, asked for before it is taken: where the system refuses, that is an error and not the process's end.

use crate::{Result, SparseError};

/// Checks that the system would give so many bytes now.
pub(crate) fn room_for(purpose: &'static str, bytes: u64) -> Result<()> {
    let probe = |bytes: usize| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    match usize::try_from(bytes) {
        Ok(bytes) if probe(bytes) => Ok(()),
        _ => Err(SparseError::OutOfMemory { purpose, bytes }),
    }
}
