//! The methods that arrays and views have in common.

mod print;
mod read;
mod write;
