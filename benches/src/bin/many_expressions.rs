//! A program of 300 expressions, no two alike, for the time that they take the compiler:
//!
//! ```text
//! cargo build --release -p benches --bin many_expressions    # the build
//! touch benches/src/bin/many_expressions.rs
//! time cargo build --release -p benches --bin many_expressions
//! ```
#![forbid(unsafe_code)]

use gpu_array::{GpuArray, Result};
use gpu_driver::Device;

/// A statement for each of 4 operators, 5 functions and 5 forms: 100.
macro_rules! expressions {
    ($x:ident, $y:ident, $elements:ident) => {
        expressions!(@operator $x, $y, $elements, + - * /);
    };
    (@operator $x:ident, $y:ident, $elements:ident, $($operator:tt)*) => {
        $(expressions!(@function $x, $y, $elements, $operator, sin cos exp sqrt tanh);)*
    };
    (@function $x:ident, $y:ident, $elements:ident, $operator:tt, $($function:ident)*) => {
        $(
            $elements += (2.0 * &$x $operator $y.$function()).eval()?.len();
            $elements += ((&$x $operator &$y).$function() - &$x).eval()?.len();
            $elements += ($x.$function() $operator 3.0).minimum(&$y).eval()?.len();
            $elements += (&$x * &$x $operator $y.abs().$function()).eval()?.len();
            $elements += (-&$y $operator $x.$function() * 0.5 + 1.0).eval()?.len();
        )*
    };
}

/// 100 over vectors of f32, 100 over matrices of f64 and a row, 100 over f32 of rank 3 and a vector.
fn main() -> Result<()> {
    let device = Device::for_tests()?;
    let mut elements = 0;
    let (x, y) = (GpuArray::full(&device, 8, 0.5_f32)?, GpuArray::full(&device, 8, 0.25_f32)?);
    expressions!(x, y, elements);
    let (x, y) = (GpuArray::full(&device, (2, 4), 0.5_f64)?, GpuArray::full(&device, (1, 4), 0.25_f64)?);
    expressions!(x, y, elements);
    let (x, y) = (GpuArray::full(&device, (2, 2, 2), 0.5_f32)?, GpuArray::full(&device, 2, 0.25_f32)?);
    expressions!(x, y, elements);
    println!("{elements} elements");
    Ok(())
}
