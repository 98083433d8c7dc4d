//! The methods that arrays and views have in common.

mod read;
mod write;
