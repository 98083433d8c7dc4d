//! The threads that host work runs on.

use std::{env, error::Error, sync::OnceLock};

use crate::{Result, SparseError};

/// More threads than any machine has use for: taking turns, they would not come to an end.
const MOST: usize = 1024;

/// Starts the threads that host work of this crate runs on: rayon's global pool, as `RAYON_NUM_THREADS` says.
///
/// Reading, products and solves begin with it, so a program need not call it. Calling it early tells an environment that cannot work before anything
/// else is done. A pool that the program has built itself is taken as it is.
///
/// # Cost
/// The first call starts the threads; later ones look at its outcome.
///
/// # Errors
/// `Threads` when the system refuses to start so many, or when `RAYON_NUM_THREADS` asks for more than 1024.
///
/// ```
/// gpu_sparse::start_threads()?;
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn start_threads() -> Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    STARTED.get_or_init(start).clone().map_err(|reason| SparseError::Threads { reason })
}

fn start() -> Result<(), String> {
    let asked = env::var("RAYON_NUM_THREADS").ok().and_then(|value| value.parse::<usize>().ok());
    let too_many = asked.filter(|&asked| asked > MOST);
    // Where there are too many, a pool of one keeps rayon from starting them later.
    let builder = rayon::ThreadPoolBuilder::new().num_threads(too_many.map_or(0, |_| 1));
    match (builder.build_global(), too_many) {
        (Ok(()), Some(asked)) => Err(format!("RAYON_NUM_THREADS={asked} asks for more than {MOST}")),
        (Ok(()), None) => Ok(()),
        // Without a cause it says that there is a pool already.
        (Err(error), _) => error.source().map_or(Ok(()), |cause| Err(cause.to_string())),
    }
}
