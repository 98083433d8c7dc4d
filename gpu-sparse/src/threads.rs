//! The threads that host work runs on.

use std::{env, error::Error, sync::OnceLock};

use crate::{Result, SparseError};

/// More threads than any machine has use for: taking turns, they would not come to an end.
const MOST: usize = 1024;

/// The variables that rayon takes the number of threads from; a number in the first hides the second, which is its old name.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// Starts the threads that host work of this crate runs on: rayon's global pool, as `RAYON_NUM_THREADS` says.
///
/// Reading, products and solves begin with it, so a program need not call it. Calling it early tells an environment that cannot work before anything
/// else is done. A pool that the program has built itself is taken as it is.
///
/// # Cost
/// The first call starts the threads; later ones look at its outcome.
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
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    STARTED.get_or_init(start).clone().map_err(|reason| SparseError::Threads { reason })
}

fn start() -> Result<(), String> {
    let too_many = asked().filter(|&(_, asked)| asked > MOST);
    // Where there are too many, a pool of one keeps rayon from starting them later.
    let builder = rayon::ThreadPoolBuilder::new().num_threads(too_many.map_or(0, |_| 1));
    match (builder.build_global(), too_many) {
        (Ok(()), Some((name, asked))) => Err(format!("{name}={asked} asks for more than {MOST}")),
        (Ok(()), None) => Ok(()),
        // Without a cause it says that there is a pool already.
        (Err(error), _) => error.source().map_or(Ok(()), |cause| Err(cause.to_string())),
    }
}

/// The variable that rayon goes by, and its number: the first that holds one, as rayon itself chooses.
fn asked() -> Option<(&'static str, usize)> {
    VARIABLES.into_iter().find_map(|name| Some((name, env::var(name).ok()?.parse().ok()?)))
}
