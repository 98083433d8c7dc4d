//! Scans: each value combined with all values before it.
//!
//! ```no_run
//! use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
//! use ndarray::Axis;
//!
//! let device = Device::first()?;
//! let x = GpuArray::<f32, _>::full(&device, (1000, 300), 2.0)?;
//! let by_column = x.cumsum().axis(Axis(0)).eval()?; // each column's sums from its first row on
//! let from_behind = (&x * &x).cumsum().axis(Axis(1)).reverse().eval()?; // squares, from the end of each row
//! let offsets = x.cumsum().exclusive().eval()?; // 300,000 values in C order, as NumPy's; the first is 0
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! One launch reads and writes each value once. There are six kernels, of which `policy.rs` takes the first that fits. Those with tiles in shared memory
//! need packs that are aligned alike in all arrays, and an epilogue without arrays of its own.
//!
//! | kernel | values | least size |
//! |---|---|---|
//! | `scan_column_strips` | along a strided axis (for example axis 0 in C order) | 256 rows, and strips of columns for nearly all multiprocessors |
//! | `scan_columns` | every other strided axis | none |
//! | `scan_pipelined` | one contiguous line, with segments or without | four tiles for each multiprocessor |
//! | `scan_single_wave` | one contiguous line, with segments or without | a tile for each eighth multiprocessor; shared memory holds all tiles |
//! | `scan_rows` | contiguous lines without segments | two lines for each multiprocessor |
//! | `scan_single_pass` | all others; the plainest | none |
//!
//! Tests: `tests/gpu/scans.rs` (known answers, lengths, orders of blocks), `scans_random.rs` (layouts), `scans_large.rs`, `result_hashes.rs` (bits),
//! `block.rs` (the prefixes of tiles), `choices.txt` (the kernel of each problem).

#[cfg(test)]
mod choices;
mod epilogue;
mod families;
mod in_place;
mod launch;
mod lazy;
mod methods;
mod operand;
mod options;
mod place;
mod plan;
mod policy;
pub(crate) mod samples;

pub use in_place::ScansInPlace;
pub use lazy::{InPlace, Scan, ScanBackend};
pub use methods::Scans;
pub use place::ScansOf;

/// Parts that scans of a user's text need too.
pub(crate) use {epilogue::RESULT_WORD, launch::SINGLE_PASS, options::OP};
