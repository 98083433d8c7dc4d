//! The methods that arrays and views have in common.

mod like;
mod print;
mod read;
mod write;
