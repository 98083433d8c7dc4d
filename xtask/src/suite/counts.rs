//! The results that a program of tests prints at its end, by libtest or by a suite of ours.

use crate::evidence::Passed;

/// How many tests there were, summed over the results that a program prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
    /// How many results were printed: a program that dies prints none.
    pub(super) results: u64,
    /// The names of tests that failed.
    pub(super) failures: Vec<String>,
}

impl Counts {
    /// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; …` and `test name ... FAILED`.
    pub(super) fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                counts.results += 1;
                let result = result.split_once(". ").map_or("", |(_, numbers)| numbers);
                for (number, outcome) in result.split(';').filter_map(|part| part.trim().split_once(' ')) {
                    let number = number.parse().unwrap_or(0);
                    match outcome {
                        "passed" => counts.passed += number,
                        "failed" => counts.failed += number,
                        "ignored" => counts.ignored += number,
                        _ => {}
                    }
                }
            } else if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix("FAILED"))
                && let Some(name) = name.trim_end().strip_suffix("...")
            {
                counts.failures.push(name.trim_end().to_owned());
            }
        }
        counts
    }
}

impl From<Counts> for Passed {
    fn from(counts: Counts) -> Self {
        Self { passed: counts.passed, ignored: counts.ignored }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_and_failures_named() {
        let text = "running 3 tests\n\
            test device::fill  ... ok\n\
            test device::arange of 5 ... FAILED\n\
            test a ... ignored\n\
            test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s\n\
            the test result: ok. 90 passed\n\
            test result: ok. 20 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let got = Counts::of(text);
        let failures = vec!["device::arange of 5".to_owned()];
        assert_eq!(got, Counts { passed: 21, failed: 1, ignored: 1, results: 2, failures });
    }

    #[test]
    fn a_program_that_dies_has_no_result() {
        assert_eq!(Counts::of("running 3 tests\ntest a ... ok\n"), Counts::default());
        assert_eq!(Counts::of("test result: none\n"), Counts { results: 1, ..Counts::default() });
    }
}
