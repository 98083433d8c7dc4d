//! Random expressions: a program as plain data, built for either place, and computed by definitions of its own.
#![allow(dead_code, unreachable_pub, reason = "two test targets use parts of it")]

pub mod any;
pub mod build;
pub mod layout;
pub mod program;
pub mod value;

pub use any::{Any, AnyArray};
pub use build::build;
pub use program::{Kind, Program};
pub use testkit::Layout;
pub use value::{Grid, Value};
