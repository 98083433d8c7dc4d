//! Operators of reductions and scans on the host, which [`reference`](mod@crate::reference) defines and [`host`](crate::host) computes fast.
//!
//! An [`Operator`] has a state, which takes one value after another and combines with that of other values. [`Sum`], [`Mean`], [`Variance`], [`ArgMax`]
//! and so on are operators; [`NanSum`] and its like leave NaN out. Element types are all of [`gpu_array::Element`] ([`Summand`]; those with an
//! order are [`Operand`]), and the results have the types that NumPy gives them. Floats are accumulated in f64 and rounded once.
//!
//! An operator that is [`Cumulative`] can be scanned; [`Associative`] makes one of a closure. [`ScanKind`] says which values make each result.
//!
//! Where NumPy differs: `sum` and `mean` of f32 are rounded once, and are inf only where the result is; NaN of all NaN, and -1 as its place,
//! are no error and no warning; of -0.0 and 0.0, `min` is the one and `max` the other, wherever they are.

pub(crate) mod checks;
mod cumulative;
mod extremes;
mod moments;
mod moments_state;
pub(crate) mod named;
mod norms;
mod operand;
mod operator;
mod sums;
pub(crate) mod vector_units;
mod without_nan;

pub use cumulative::{Associative, Cumulative, ScanKind};
pub use extremes::{ArgMax, ArgMin, Found, Max, Min};
pub use moments::{MeanVariance, StandardDeviation, Variance};
pub use moments_state::{Moments, PartMoments};
pub use norms::{NormL1, NormL2, NormMax, Squares};
pub use operand::{Accumulator, MomentsOf, Operand, Summand};
pub(crate) use operator::{LANES, take_run};
pub use operator::{Operator, Places};
pub use sums::{All, Any, Count, Mean, Product, Sum};
pub use without_nan::{
    NanArgMax, NanArgMin, NanMax, NanMean, NanMin, NanProduct, NanStandardDeviation, NanSum, NanVariance, Skipping,
    SkipsNan, WithoutNan,
};
