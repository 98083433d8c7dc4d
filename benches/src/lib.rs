//! Criterion benches, ours and the peers', and the code that they have in common.
//!
//! Each bench program is a `main` of a few lines over a function here: [`memory`], [`arrays`], [`sparse`], [`algos`], [`primitives`],
//! [`random`]. [`harness`] times, checks and records; [`peers`] does the same work with others' libraries and the same inputs. A new primitive is one
//! function that describes its figures, called from one of these modules or a new one with a bench target of its own.
#![deny(unsafe_code)]

pub mod algos;
pub mod arrays;
pub mod data;
pub mod harness;
pub mod memory;
pub mod peers;
pub mod primitives;
pub mod random;
pub mod sparse;
