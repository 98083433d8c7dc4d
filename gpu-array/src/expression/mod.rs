//! Fused elementwise expressions: whole formulas as one kernel on a GPU, or as one pass of the CPU's threads.
//!
//! Operators and functions on `&GpuArray`, views, scalars and other expressions build an [`Expr`], and so do operators on a `GpuArray` itself, which
//! gives it up: `a.matvec(&p)? * 0.85`. [`Expr::eval`] computes the expression, [`eval_all`] several together,
//! [`GpuArray::assign`](crate::GpuArray::assign) and [`GpuArray::update`](crate::GpuArray::update) write in place, and so do `+=`
//! and its like. Arrays on the host are taken by [`host`](host()), and the same expression is evaluated by rayon.
//!
//! # Semantics
//! | | |
//! |---|---|
//! | types | known to the compiler: [`Promote`](crate::Promote) is NumPy's table (i32 with f32 gives f64). A scalar has the array's element type, or is real beside complex numbers of its precision, or has the type of a literal, which follows the array's as NumPy's scalars of Python do ([`Rhs`]) |
//! | shapes | broadcast as in NumPy; shapes that do not fit are an error of `eval` |
//! | `+ - *` | integers wrap; floats round once and are never contracted to a fused multiply-add ([`Expr::fma`] is one) |
//! | `/` | of integers gives f64 |
//! | complex numbers | [`Numeric`](crate::Numeric) has their `+ - * /` and `eq`; `real`, `imag`, `conj`, `abs`, `arg`, [`complex()`], and `sqrt`, `exp`, `log`, `pow`, trigonometric and hyperbolic functions; they have no order |
//! | f16, bf16 | computed in f32 and rounded, each operation by itself: [`Float`](crate::Float) |
//! | `%`, `floor_divide` | NumPy's: the remainder has the divisor's sign; integers by 0 give 0. `fmod` is C's and Rust's |
//! | `& \| ^ !` | of integers bit by bit, of `bool` logic |
//! | `<< >>` | by the width or more, or by less than 0, gives 0, for a negative left side too |
//! | comparisons | methods `eq ne lt le gt ge`, which give `bool` |
//! | `cast` | float to integer cuts and saturates, NaN gives 0; integers wrap |
//! | `minimum`, `maximum` | give NaN where one of both is; `fmin`, `fmax` the other |
//! | reductions, scans | those of `gpu-algos` are operands, `&x - x.mean()`: each is computed before the expression's own kernel, once ([`Deferred`]) |
//! | sharing | a value that is used twice, by a clone or a reference, is computed once |
//! | | an array that is used twice in one shape is read once, among the first 64 of an expression |
//!
//! # Functions of arrays of either place
//! CuPy's `get_array_module` is a function of anything that is an expression: one text for arrays of a GPU, of the host, and parts of larger expressions.
//! ```
//! use gpu_array::{Float, expression::{Expr, IntoExpr, host}};
//!
//! /// `log(1 + exp(x))` without overflow.
//! fn softplus<'a, T: Float, X: IntoExpr<'a, Elem = T>>(x: X) -> Expr<'a, T, X::Dim, X::Backend> {
//!     let x = x.into_expr();
//!     x.maximum(T::zero()) + (-x.abs()).exp().log1p()
//! }
//! let x = ndarray::array![1000.0, -1000.0];
//! assert_eq!(softplus(host(&x)).eval()?, ndarray::array![1000.0, 0.0]); // and softplus(&y), softplus(&y - 1.0) of a GpuArray
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! Such a function is also the counterpart of `@cupy.fuse`: nothing is computed before `eval`, and then in one kernel. A closure that is called with
//! several expressions needs its types, `|d: &Expr<'_, f64, Ix1>| …`; a function is plainer. Reductions of either place ask for `Reduces` of `gpu-algos`.
//! A function that writes takes an [`ArrayMut`] or a [`Backend`]'s array, and [`PartsMut`] has the parts of it to write.
//!
//! # Determinism
//! Everything has the same bits on the CPU, on every GPU and on the emulated device, but for which NaN it is, and for the mathematical functions,
//! which keep to the bounds that their documentation gives. On one device the same call gives the same bits.
//!
//! # Cost
//! Each array is read once and each value written once, in accesses of 16 bytes where elements lie behind one another. An expression has up to four
//! kernels, each compiled when it is first needed: for elements that all lie behind one another, for any strides, for long rows, and for arrays
//! that lie along another axis than the result (a transposed matrix comes through shared memory). The kernel for rows of a table knows which arrays
//! are constant along a row; nothing else of shapes, scalars and strides is compiled in. [Deferred] operands are computed before, by their own
//! kernels. Compiling takes some 100 ms, loading from the cache on disk well under one;
//! [`precompile`] does it ahead, for many at once. On the emulated device each new form of expression costs one run of the C++ compiler, about 0.2 s; after
//! that it is in the cache on disk.
//!
//! # Limits
//! A kernel has at most 4096 operations (arrays and scalars are none; conversions between f32 and numbers of 16 bits are some), and its arrays and scalars
//! fit into 4096 bytes of parameters; beyond, `eval` is an error. The CPU has no limit.
//!
//! # Modules
//! Each of these uses only those before it. `graph` has values without their types, and the steps into which they are assembled. `host` and `device`
//! evaluate steps. `resolve` evaluates the [deferred] operands that come before, and `job` all of it: it allocates results and starts an evaluator.
//! `operand` has operands of kernels that take neighbours only. `syntax` has the types, operators and functions by which users write expressions.
//!
//! Tests: `tests/gpu/expressions.rs`, `programs.rs` (random expressions), `structure.rs` (large graphs, errors), `math.rs` and `precise/` (functions),
//! `owned.rs`, `counts.rs` (driver calls), `seam.rs` (loops of other crates); `tests/host/semantics.rs` (definitions).

pub(crate) mod device;
pub(crate) mod graph;
mod host;
pub(crate) mod job;
pub(crate) mod operand;
mod resolve;
pub(crate) mod samples;
mod syntax;

pub use crate::layout::checked_len;
pub use crate::put::{PutOperation, put_combine};
pub use crate::registry::KERNELS;
pub use device::{
    AxisEntry, COMPLEX_HEADERS, CONSTANT, HALF_HEADERS, HEADERS, LeafParams, MAX_AXES, PACKED, PACKS, STRIDED, divisor,
    loop_program, pack_bytes,
};
pub use graph::{
    Around, Assembled, Chain, Deferred, Evaluated, Lowered, LoweredLeaf, LoweredTarget, Scope, Source, Stage, Within,
};
pub use resolve::Ready;
pub(crate) use syntax::as_i64;
pub use syntax::{
    ArrayMut, Backend, Expr, Gpu, Host, IntoExpr, IntoOperand, Operand, Operation, Outside, OwnedRhs, PartsMut,
    Precompile, Rhs, Values, arange, complex, constant, deferred, diag, diff, diff_n, eval_all, eye, eye_of, flip,
    gather, host, host_owned, index, indices_as_i64, linspace, linspace_without_end, outer, pad, precompile, promoted,
    ravel_multi_index, repeat, roll, source, take, take_along_axis, take_axis, tile, tril, triu, unravel_index, where_,
};
pub(crate) use syntax::{INTERNAL, Internal};
