//! Seeds of random tests: a failure says them, and a variable repeats them.

use std::{cell::RefCell, ops::Range, thread};

use crate::{Outcome, Rng, number};

/// The variable that holds the seed of a run.
const VARIABLE: &str = "GPU_TESTS_SEED";

thread_local! {
    /// Seeds that the test of this thread took.
    static TAKEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A generator from the seed in `GPU_TESTS_SEED`, or from `default` where that is not set.
///
/// A test of a [`Suite`](crate::Suite) that fails names the seeds that it took in its own thread.
///
/// # Panics
/// Where the variable holds no whole number.
pub fn rng(default: u64) -> Rng {
    let seed = number(VARIABLE, default);
    TAKEN.with_borrow_mut(|taken| taken.push(seed));
    Rng(seed)
}

/// Seeds to try one after another: those of the range, or the one in `GPU_TESTS_SEED` alone.
///
/// The test names the seed at which it fails.
///
/// # Panics
/// Where the variable holds no whole number, or the last one.
pub fn seeds(all: Range<u64>) -> Range<u64> {
    if std::env::var_os(VARIABLE).is_none() {
        return all;
    }
    let seed = number(VARIABLE, 0);
    seed..seed.checked_add(1).expect("a seed that another one follows")
}

/// Tells the seeds of a test that panics.
struct Told;

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() && !taken().is_empty() {
            eprintln!("{}", taken());
        }
    }
}

/// The seeds that were taken, as text; empty where there is none.
fn taken() -> String {
    TAKEN.with_borrow(|taken| match &taken[..] {
        [] => String::new(),
        [seed] => format!(" ({VARIABLE}={seed})"),
        seeds => format!(" (seeds {seeds:?})"),
    })
}

/// Runs a test, and adds the seeds that it took to its error.
pub(crate) fn told(test: impl FnOnce() -> Outcome) -> Outcome {
    TAKEN.with_borrow_mut(Vec::clear);
    let _told = Told;
    test().map_err(|error| format!("{error}{}", taken()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_their_seeds() {
        let failing = |seeds: &[u64]| {
            let test = || {
                for &seed in seeds {
                    let _ = rng(seed);
                }
                Err("wrong".into())
            };
            told(test).unwrap_err().to_string()
        };
        // Where the variable is set all tests have its seed.
        if std::env::var_os(VARIABLE).is_none() {
            assert_eq!(failing(&[7]), "wrong (GPU_TESTS_SEED=7)");
            assert_eq!(failing(&[7, 9]), "wrong (seeds [7, 9])");
            assert_eq!(seeds(3..7), 3..7);
        }
        assert_eq!(failing(&[]), "wrong");
        assert!(told(|| Ok(())).is_ok());
    }
}
