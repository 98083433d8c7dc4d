//! The types, operators and functions by which users write expressions.
//!
//! `expr.rs` has the types, and `arrays.rs` makes expressions of arrays. `operators.rs`, `scalars.rs`, `functions.rs`, `math.rs`, `make.rs`, `matrices.rs`,
//! `along.rs` and `unravel.rs` build larger ones of them; `views.rs` has those of parts of arrays, `parts.rs` the parts that are written, `deferred.rs`
//! those of computations of other crates.
//! `evaluate.rs`, `assign.rs` and `precompile.rs` hand them over to the evaluators of a backend (`expr/backend.rs`).

mod along;
mod arrays;
mod assign;
mod deferred;
mod evaluate;
mod expr;
mod functions;
mod make;
mod math;
mod matrices;
mod operators;
mod parts;
mod precompile;
mod scalars;
mod unravel;
mod views;

pub use along::{take_along_axis, take_axis};
pub use arrays::{constant, host, host_owned};
pub use deferred::deferred;
pub use evaluate::{Values, eval_all};
pub use expr::{ArrayMut, Backend, Expr, Gpu, Host, IntoExpr, IntoOperand, Operand, Operation, OwnedRhs, Rhs};
pub(crate) use expr::{INTERNAL, Internal};
pub use functions::{complex, where_};
pub(crate) use make::as_i64;
pub use make::{
    Outside, arange, diff, diff_n, flip, gather, index, indices_as_i64, linspace, linspace_without_end, pad, repeat,
    roll, source, take, tile,
};
pub use matrices::{diag, eye, eye_of, outer, tril, triu};
pub use parts::PartsMut;
pub use precompile::{Precompile, precompile};
pub use scalars::promoted;
pub use unravel::{ravel_multi_index, unravel_index};
