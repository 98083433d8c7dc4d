//! `cargo xtask mutants`: changes one place at a time, and sees whether a test fails.
//!
//! A mutant that no test notices is a hole in the tests, or a change without effect. Kernels are mutated as text (`kernels.rs`); Rust
//! is mutated by `cargo-mutants` (`rust.rs`). Which mutants are tried depends on the seed alone. No part of `ci`: a hundred mutants take an hour
//! or more.

pub(crate) mod kernels;
mod rust;

use std::{collections::BTreeMap, fmt, fs, path::PathBuf, time::Duration};

use serde::Serialize;

use crate::{Outcome, programs};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many mutants of kernels are tried.
    #[arg(long, default_value_t = 60)]
    kernels: usize,
    /// How many mutants of Rust are tried; needs `cargo install cargo-mutants`.
    #[arg(long, default_value_t = 40)]
    rust: usize,
    /// Chooses the mutants.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Mutates files whose path contains this text alone.
    #[arg(long, default_value = "")]
    file: String,
    /// The longest that a mutant's tests may take, in seconds; one that takes longer is caught.
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// How many mutants of kernels are tried at a time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Prints the mutants and tries none.
    #[arg(long)]
    list: bool,
    /// The file of the report.
    #[arg(long, default_value = "mutants.json")]
    out: PathBuf,
}

/// The fate of a mutant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// A test failed, whose name is here, or none ended in time.
    Caught(String),
    /// All tests passed.
    Survived,
    /// It does not compile; another one takes its place.
    Unviable,
}

/// A change of one place.
#[derive(Clone, Debug, Serialize)]
struct Mutant {
    file: String,
    line: usize,
    /// The line before and after, or the change in cargo-mutants' words.
    change: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.change)
    }
}

#[derive(Debug, Serialize)]
struct Tried {
    #[serde(flatten)]
    mutant: Mutant,
    fate: Fate,
    seconds: f64,
}

/// Tries the mutants, prints each, and writes the report.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut tried = Vec::new();
    if arguments.kernels > 0 {
        tried.extend(kernels::run(arguments)?);
    }
    if arguments.rust > 0 {
        tried.extend(rust::run(arguments)?);
    }
    if arguments.list {
        return Ok(());
    }
    let out = programs::root().join(&arguments.out);
    fs::write(&out, serde_json::to_string_pretty(&tried)? + "\n")?;
    let viable: Vec<_> = tried.iter().filter(|tried| tried.fate != Fate::Unviable).collect();
    let survivors: Vec<_> = viable.iter().filter(|tried| tried.fate == Fate::Survived).collect();
    let mut files = BTreeMap::<&str, [usize; 2]>::new();
    for tried in &viable {
        let [caught, all] = files.entry(&tried.mutant.file).or_default();
        *caught += usize::from(tried.fate != Fate::Survived);
        *all += 1;
    }
    for (file, [caught, all]) in files {
        println!("{caught:4} of {all:3} caught in {file}");
    }
    for survivor in &survivors {
        println!("SURVIVED {}", survivor.mutant);
    }
    println!("{} of {} caught; {}", viable.len() - survivors.len(), viable.len(), out.display());
    Ok(())
}

fn tell(tried: &Tried) {
    let fate = match &tried.fate {
        Fate::Caught(by) => format!("caught by {by}"),
        Fate::Survived => "SURVIVED".to_owned(),
        Fate::Unviable => "does not compile".to_owned(),
    };
    println!("{} ({:.0} s): {fate}", tried.mutant, tried.seconds);
}

/// All of `items` in an order that the seed alone decides.
fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    // SplitMix64 (Steele, Lea, Flood 2014), and a Fisher-Yates shuffle.
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        items.swap(last, ((word ^ (word >> 31)) % (last as u64 + 1)) as usize);
    }
    items
}

fn limit(arguments: &Arguments) -> Duration {
    Duration::from_secs(arguments.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_alone_decides_the_order() {
        let order = |seed| shuffled((0..100).collect(), seed);
        let mut sorted: Vec<u32> = order(1);
        assert!(sorted == order(1) && sorted != order(2));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
