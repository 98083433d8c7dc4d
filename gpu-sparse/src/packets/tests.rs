//! Internals.
