//! Tests that need no device.
#![allow(missing_docs, unreachable_pub)]

mod errors;
mod known_answers;
mod statistics;
