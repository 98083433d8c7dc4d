//! The programs that a measurement runs.

use std::path::PathBuf;

/// A program that measures.
#[derive(Clone, Debug)]
pub(super) struct Bench {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Before the options.
    pub(super) arguments: Vec<String>,
    /// It takes criterion's options; else `--filter` and `--seconds`.
    pub(super) is_criterion: bool,
    /// One round in so many runs it.
    pub(super) every: usize,
}

impl Bench {
    pub(super) fn in_turn(&self, round: usize) -> bool {
        round.is_multiple_of(self.every)
    }
}

/// The programs of one revision.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub(super) label: String,
    pub(super) revision: String,
    pub(super) rustc: Option<String>,
    pub(super) benches: Vec<Bench>,
    /// Peers run with it.
    pub(super) peers: bool,
}
