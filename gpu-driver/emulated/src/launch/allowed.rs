//! Addresses at which the thread that runs may access memory, as far as they are known without a search.

use std::ops::Range;

/// Allocations that are remembered: most kernels read two arrays and write one.
const RECENT: usize = 4;

/// The stack of the thread that runs, and the allocations that the launch accessed last. Nothing is released or allocated while a launch runs, so an
/// access within one of them needs no other question.
#[derive(Debug)]
pub(crate) struct Allowed {
    stack: Range<usize>,
    recent: [Range<usize>; RECENT],
    /// The number of the allocation that the next one replaces.
    oldest: usize,
}

impl Allowed {
    pub(super) fn new() -> Self {
        Self { stack: 0..0, recent: [const { 0..0 }; RECENT], oldest: 0 }
    }

    /// Sets the stack of the thread that runs from now on.
    pub(super) fn set_stack(&mut self, stack: &Range<usize>) {
        self.stack = stack.clone();
    }

    /// Remembers an allocation.
    pub(crate) fn add(&mut self, allocation: Range<usize>) {
        self.recent[self.oldest] = allocation;
        self.oldest = (self.oldest + 1) % RECENT;
    }

    /// Whether all of `bytes` at `address` lie in one of the ranges.
    #[inline]
    pub(crate) fn holds(&self, address: usize, bytes: usize) -> bool {
        lies_in(&self.stack, address, bytes) || self.recent.iter().any(|range| lies_in(range, address, bytes))
    }
}

/// Whether all of `bytes` at `address` lie in a range.
#[inline]
pub(super) fn lies_in(range: &Range<usize>, address: usize, bytes: usize) -> bool {
    range.contains(&address) && bytes <= range.end - address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_lie_within_one_range() {
        let mut allowed = Allowed::new();
        assert!(!allowed.holds(0, 0) && !allowed.holds(0, 1));
        allowed.set_stack(&(4096..8192));
        allowed.add(10_000..10_016);
        allowed.add(10_016..10_020);
        assert!(allowed.holds(4096, 4096) && allowed.holds(8191, 1) && allowed.holds(10_012, 4));
        assert!(!allowed.holds(4095, 1) && !allowed.holds(8192, 1) && !allowed.holds(8191, 2));
        assert!(!allowed.holds(10_012, 8) && !allowed.holds(10_000, usize::MAX));
        (0..RECENT).for_each(|at| allowed.add(20_000 + at * 100..20_050 + at * 100));
        assert!(!allowed.holds(10_000, 1) && allowed.holds(20_000, 50) && allowed.holds(20_349, 1));
    }
}
