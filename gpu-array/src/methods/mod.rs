//! The methods that arrays and views have in common.
//!
//! Tests: `tests/gpu/views.rs`, `indexing.rs`, `either_place.rs` (on a device and on the host).

mod like;
mod print;
mod read;
mod write;
