//! Criterion benches, ours and the peers', and the code that they have in common.
//!
//! Each bench program is a `main` of a few lines over a function of [`programs`], which calls the figures of an area ([`memory`], [`arrays`],
//! [`sparse`], [`algos`], [`primitives`], [`random`]) and then those of the peers. [`harness`] times, checks and records; [`peers`] does the same
//! work with others' libraries and the same inputs. A new primitive is one function that describes its figures, called from an area's module or a
//! new one with a bench target of its own.
#![deny(unsafe_code)]

pub mod algos;
pub mod arrays;
pub mod data;
pub mod harness;
pub mod memory;
pub mod peers;
pub mod primitives;
pub mod programs;
pub mod random;
pub mod sparse;
