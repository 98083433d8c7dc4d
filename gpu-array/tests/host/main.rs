//! Expressions on the CPU: random ones against definitions of their own, and the meaning of each operation.
#![allow(missing_docs, unreachable_pub)]

#[path = "../random/mod.rs"]
mod random;

#[path = "../complex/mod.rs"]
mod complex;
#[path = "complex.rs"]
mod complex_numbers;
mod programs;
mod semantics;
mod serialized;
mod structure;
mod threads;
