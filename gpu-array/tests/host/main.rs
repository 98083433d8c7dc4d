//! Expressions on the CPU: random ones against definitions of their own, and the meaning of each operation.
#![allow(missing_docs, unreachable_pub)]

#[path = "../random/mod.rs"]
mod random;

mod programs;
mod semantics;
mod structure;
