//! Reductions, scans and selection on the host: the definition as a loop (`..._serial`), and the version for large arrays that rayon runs.
//!
//! A reduction is an [`Operator`]; [`reduce_serial`] is its definition, [`reduce`](fn@reduce) does it on all threads, [`reduce_axes`] over some axes
//! of an array. [`Sum`], [`Mean`], [`Variance`], [`ArgMax`] and so on are operators, [`NanSum`] and its like leave NaN out, and there are functions
//! for whole arrays: [`sum`], [`mean`], [`var`], [`argmax`]. Element types are all of [`gpu_array::Element`], and the results have the types that
//! NumPy gives them.
//!
//! A scan is made of an operator that is [`Cumulative`], or of a closure ([`Associative`]): [`scan()`] along an axis, inclusive, exclusive or from
//! the end ([`Scan`]), [`segmented_scan`] and [`scan_by_key`] of parts of it; [`cumsum`], [`cumprod`], [`cummax`], [`cummin`].
//!
//! [`select`], [`copy_if`], [`compress`] and [`partition`] bring elements together that are selected, [`nonzero`] says where they are, [`unique`] and
//! [`run_length_encode`] find runs of equal ones. All keep the order.
//!
//! Floats are accumulated in f64 and rounded once. The same input gives the same bits on one thread and on sixty-four.
//!
//! Where NumPy differs: `sum` and `mean` of f32 are rounded once, and are inf only where the result is; NaN of all NaN, and -1 as its place,
//! are no error and no warning; of -0.0 and 0.0, `min` is the one and `max` the other, wherever they are.

mod columns;
mod extremes;
mod functions;
mod moments;
mod norms;
mod operand;
mod operator;
mod parallel;
mod reduce;
mod scan;
mod select;
mod sums;
#[cfg(test)]
mod tests;
mod vector_units;
mod vectors;
mod walk;
mod without_nan;

pub use extremes::{ArgMax, ArgMin, Found, Max, Min};
pub use functions::*;
pub use moments::{MeanVariance, Moments, StandardDeviation, Variance};
pub use norms::{NormL1, NormL2, NormMax, Squares};
pub use operand::{Accumulator, Operand};
pub use operator::{Operator, Places};
pub use reduce::{reduce, reduce_axes, reduce_serial};
pub use scan::*;
pub use select::*;
pub use sums::{All, Any, Count, Mean, Product, Sum};
pub use vectors::*;
pub use without_nan::{
    NanArgMax, NanArgMin, NanMax, NanMean, NanMin, NanProduct, NanStandardDeviation, NanSum, NanVariance, Skipping,
    SkipsNan, WithoutNan,
};
