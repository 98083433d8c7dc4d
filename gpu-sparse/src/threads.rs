//! The threads that host work runs on.

use gpu_array::ArrayError;

use crate::{Result, SparseError};

/// Starts the threads that host work of this crate runs on: [`gpu_array::start_threads`].
///
/// Reading, products and solves begin with it, so a program need not call it. Calling it early tells an environment that cannot work before anything
/// else is done.
///
/// # Errors
/// `Threads` when the system refuses to start so many, or when `RAYON_NUM_THREADS` (or `RAYON_RS_NUM_CPUS` in its place) asks for more
/// than 1024.
///
/// ```
/// gpu_sparse::start_threads()?;
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn start_threads() -> Result<()> {
    gpu_array::start_threads().map_err(|error| match error {
        ArrayError::Threads { reason } => SparseError::Threads { reason },
        other => other.into(),
    })
}
