//! The parts of `gpu-driver` that its emulated device needs too. Users find the public ones in `gpu_driver`.
//!
//! * [`DriverError`] with the driver's result codes, and the environment variables whose wrong values it reports;
//! * the structures of `cuLaunchKernelEx` and of copies of rows, the functions of the table whose arguments both sides spell out;
//! * the folder of compiled programs, the keys of its entries, and the rules by which files are trusted;
//! * whether this process is the child of a fork;
//! * tokens of CUDA C++, and whether a text reads files that no key holds.
//!
//! Nothing here calls the driver or a compiler.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod cache;
pub mod codes;
pub mod copies;
mod debug_by_text;
pub mod environment;
mod error;
pub mod fork;
pub mod includes;
pub mod launch;
pub mod lexer;
pub mod private;
pub mod texels;

/// The name of the header that every kernel may include.
pub const PRELUDE_NAME: &str = "prelude.cuh";

pub use codes::CudaCode;
pub use error::{ArgumentMismatch, CompileError, CudaVersion, DriverError, JitError, Result};

/// A lock whose data stays right when a thread panics with it: each holder leaves it whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
