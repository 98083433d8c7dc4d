//! The threads that host work runs on.

use std::{env, error::Error, hint::black_box, num::NonZero, sync::OnceLock, thread};

use crate::{ArrayError, Result};

/// More threads than any machine has use for: taking turns, they would not come to an end.
const MOST: usize = 1024;

/// Bytes of a thread's stack, as Rust's standard library chooses it, with room for the thread's first allocations.
const STACK: usize = (2 << 20) + (64 << 10);

/// The variables that rayon takes the number of threads from; a number in the first hides the second, which is its old name.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// Starts the threads that work on the host runs on: rayon's global pool, as `RAYON_NUM_THREADS` says.
///
/// Expressions on the host begin with it and return its error, so a program need not call it. Functions of gpu-algos' `host` and of gpu-random begin with
/// it too, and go on with one thread where `RAYON_NUM_THREADS` or memory is the reason. Calling it early tells an environment that cannot work before
/// anything else is done. A pool that the program has built itself is taken as it is, and within any pool nothing is started.
///
/// # Cost
/// The first call starts the threads; later ones look at its outcome.
///
/// # Errors
/// `Threads` when the system refuses to start so many, or when `RAYON_NUM_THREADS` (or `RAYON_RS_NUM_CPUS` in its place) asks for more
/// than 1024.
///
/// ```
/// gpu_array::start_threads()?;
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn start_threads() -> Result<()> {
    if rayon::current_thread_index().is_some() {
        return Ok(());
    }
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    STARTED.get_or_init(start).clone().map_err(|reason| ArrayError::Threads { reason })
}

fn start() -> Result<(), String> {
    let refusal = refusal();
    // Where threads are refused, a pool of one keeps rayon from starting them later.
    let builder = rayon::ThreadPoolBuilder::new().num_threads(usize::from(refusal.is_some()));
    match (builder.build_global(), refusal) {
        (Ok(()), Some(refusal)) => Err(refusal),
        (Ok(()), None) => Ok(()),
        // Without a cause it says that there is a pool already.
        (Err(error), _) => error.source().map_or(Ok(()), |cause| Err(cause.to_string())),
    }
}

/// Why rayon's pool is not started as it would be. Memory for the stacks is asked for beforehand: where those that start first use up the address
/// space, an allocation of one of them would end the process before the system has refused the next.
fn refusal() -> Option<String> {
    let (origin, threads) = match asked() {
        Some((name, asked)) if asked > MOST => return Some(format!("{name}={asked} asks for more than {MOST}")),
        // Rayon takes 0 as no number.
        Some((name, asked)) if asked > 0 => (name, asked),
        _ => ("the number of cores", thread::available_parallelism().map_or(1, NonZero::get)),
    };
    let bytes = threads * STACK;
    (!is_to_be_had(bytes)).then(|| format!("{bytes} bytes for the stacks of {threads} ({origin}) were refused"))
}

/// The variable that rayon goes by, and its number: the first that holds one, as rayon itself chooses.
fn asked() -> Option<(&'static str, usize)> {
    VARIABLES.into_iter().find_map(|name| Some((name, env::var(name).ok()?.parse().ok()?)))
}

/// Whether the system would give so many bytes of memory now.
#[doc(hidden)]
pub fn is_to_be_had(bytes: usize) -> bool {
    let mut memory = Vec::<u8>::new();
    let reserved = memory.try_reserve_exact(bytes);
    // The compiler may leave out an allocation that nobody looks at.
    black_box(&memory);
    reserved.is_ok()
}
