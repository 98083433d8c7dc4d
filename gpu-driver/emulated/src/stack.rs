//! The stacks of the emulated threads.

use std::ops::Range;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Room of a thread for its local variables and calls, twice that of a GPU; pages that are not touched take no memory.
pub(super) const BYTES: usize = 1024 * 1024;
/// Stacks start this far from each other within a page's distance. Each is mapped at a page's start, and a thousand threads
/// whose innermost frames all lie at the same place of a page would share a few sets of the cache.
const STEP: usize = 17 * 64;
const STEPS: usize = 60;

/// A mapped stack with a guard page, and its start.
pub(super) struct ThreadStack {
    mapped: DefaultStack,
    base: StackPointer,
}

impl ThreadStack {
    /// The `number`-th stack; None when the system has no memory.
    pub(super) fn new(number: usize) -> Option<Self> {
        let mapped = DefaultStack::new(BYTES).ok()?;
        let base = StackPointer::new(mapped.base().get() - number % STEPS * STEP)?;
        Some(Self { mapped, base })
    }

    /// The addresses of the thread's own memory.
    pub(super) fn addresses(&self) -> Range<usize> {
        self.mapped.limit().get()..self.mapped.base().get()
    }
}

// SAFETY: the mapped stack has the guard page, and more than 900 KiB of it are left below `base`.
unsafe impl Stack for ThreadStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.mapped.limit()
    }
}
