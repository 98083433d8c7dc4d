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

/// The types of random programs: all but the complex ones, which `tests/complex` tests.
pub const REAL: [gpu_array::DType; 11] = {
    let [bool, i8, i16, i32, i64, u8, u16, u32, u64, _, _, f32, f64, _, _] = gpu_array::DType::ALL;
    [bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64]
};
