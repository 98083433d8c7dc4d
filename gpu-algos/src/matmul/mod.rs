//! Matrix products: NumPy's `a @ b` for vectors, matrices and stacks of matrices, and BLAS's gemm.
//!
//! ```no_run
//! use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::gemm, prelude::*};
//! use ndarray::{Axis, s};
//!
//! let device = Device::first()?;
//! let a = GpuArray::<f32, _>::full(&device, (300, 200), 1.0)?;
//! let b = GpuArray::<f32, _>::full(&device, (200, 400), 2.0)?;
//! let c = a.matmul(&b).eval()?; // (300, 400)
//! let squares = a.t().matmul(&a).eval()?; // a transposed view is read where it is
//! let y = a.matmul(b.index_axis(Axis(1), 0)?).eval()?; // a column of b: 300 values
//! let mut d = GpuArray::zeros(&device, (301, 400))?;
//! a.matmul(&b).write_into(d.slice_mut(s![1.., ..])?)?; // into a view
//! gemm(0.5, &a, &b, 1.0, d.slice_mut(s![1.., ..])?)?; // d[1..] += 0.5 a b
//! let bias = GpuArray::<f32, _>::full(&device, 400, -1.0)?;
//! let layer = (a.matmul(&b) + &bias).maximum(0.0).eval()?; // one launch: the product's kernel adds and compares before it writes
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! # Names of BLAS
//! Most of BLAS is a line of expressions, one launch each. Strides and increments are those of views: `x.slice(s![..;2])?` has `incx = 2`.
//!
//! | BLAS | here |
//! |---|---|
//! | `axpy`: `y += alpha x` | `y += alpha * &x`; `y.update(\|y\| y + alpha * &x)?` returns the error |
//! | `scal`: `x *= alpha`; `copy`, `swap` | `x *= alpha`; `y.assign(&x)?`; `std::mem::swap(&mut x, &mut y)` |
//! | `rot`: `(c x + s y, c y - s x)` | [`eval_all`](gpu_array::expression::eval_all)`((c * &x + s * &y, c * &y - s * &x))?` |
//! | `dot`, `dotu`; `dotc` | [`x.dot(&y)`](crate::Reductions::dot); [`x.vdot(&y)`](crate::Reductions::vdot) |
//! | `nrm2`; `asum` | [`x.norm_l2()`](crate::Reductions::norm_l2); [`x.norm_l1()`](crate::Reductions::norm_l1), of complex numbers BLAS's is `(z.real().abs() + z.imag().abs()).sum()` |
//! | `iamax`, `iamin` | `x.abs().argmax()`, `x.abs().argmin()`, counted from 0 |
//! | `gemv`, `gemm`, also batched | [`gemm`], or [`a.matmul(&b)`](Matmul::matmul); transposes are views, `a.t()` |
//! | cuBLAS' `gemmStridedBatched`; `gemmBatched` | `a.matmul(&b)` of stacks, arrays of three axes; [`matmul_each`]`(&a, &b)?` of lists of arrays |
//! | `ger`, `geru`: `a += alpha x y^T`; `gerc` | `a += alpha * `[`outer`](gpu_array::expression::outer)`(&x, &y)`; with `y.conj()` |
//! | `syr`: the triangle of `a += alpha x x^T` | `a += alpha * tril(outer(&x, &x), 0)` |
//! | `trmv`, `trmm` | the product with [`tril`](gpu_array::expression::tril)`(&a, 0)` or `triu`, computed into an array first |
//! | `symv`, `symm`, of which a lower triangle is stored | the product with `tril(&a, 0) + triu(a.t(), 1)`, computed into an array first |
//! | `trsv`, `trsm` of small matrices | [`solve_triangular`](crate::linalg::solve_triangular) |
//!
//! `problem.rs` has NumPy's rules for shapes, and brings operands into the order of the kernel. `policy.rs` estimates the time of each tile
//! (`tile.rs`) and grid (`grid.rs`), and `plan.rs` takes the least. `program.rs` and `launch.rs` compile and launch `device/matmul.cuh`, which
//! multiplies f64 and complex f64 on tensor cores where they know f64, `device/matmul_shares.cuh` where blocks with equal shares of all tiles are
//! done sooner than several for each tile, or `device/matmul_skinny.cuh` for few columns or rows and many terms, whose blocks' warps divide k; on
//! Hopper `device/matmul_boxes.cuh` does, with bulk copies of both operands where tensor maps describe these (`boxes.rs`), of complex numbers with
//! `device/complex_boxes.cuh`. [`Precision`] lets products of f32 take tensor cores; those of f16 and bf16 take them by default (`tensor_cores/`),
//! except before 8.0, for small stacks, and where few results of many terms are estimated to be faster in f32. Products of integers of 8 bits with
//! results of 32 bits ([`matmul_i32`]) take these too (`integers.rs`).
//! An expression around a product becomes a part of either kernel (`epilogue.rs`, `device/fused_epilogue.cuh`), as a template argument that plain
//! products do not have.
//! Stacks of matrices of up to 64 rows and columns have a kernel of their own (`stack.rs`, `device/matmul_stack.cuh`), and so have products of 32
//! bits with many tiles and few values along k (`warps.rs`, `device/matmul_warps.cuh`), which warps compute on CUDA cores. Matrices of a list, each in an
//! array of its own, are found by a table (`lists.rs`, `device/listed.cuh`). Products with vectors are reductions (`vectors.rs`).
//! [`tensordot`] makes of sums over pairs of axes one product of matrices (`tensordot.rs`);
//! [`einsum`](mod@crate::einsum) takes labels of axes instead.
//!
//! Tests: `tests/gpu/matmul.rs` (known answers, shapes), `matmul_random.rs` (layouts), `matmul_inputs.rs` (error bounds), `matmul_epilogues.rs`,
//! `matmul_lists.rs` and `tensordot.rs`; by element type `matmul_doubles.rs`, `matmul_halves.rs`, `matmul_complex.rs`, `matmul_integers.rs`; by kernel
//! `matmul_precisions.rs`, `matmul_older.rs`, `matmul_skinny.rs`; `result_hashes_families.rs` (bits), `choices.txt` (the kernel of each problem).

mod boxes;
#[cfg(test)]
mod choices;
mod constants;
mod dims;
mod element;
mod epilogue;
mod grid;
mod integers;
mod launch;
mod lists;
mod methods;
mod operand;
mod params;
mod plan;
mod policy;
mod precision;
mod problem;
mod product;
mod program;
pub(crate) mod samples;
mod stack;
mod tensor_cores;
mod tensordot;
mod tile;
mod vectors;
mod warps;

pub use dims::MatmulDim;
pub use element::MatmulElement;
pub use integers::{ByteElement, matmul_i32, matmul_i32_into};
pub use lists::{matmul_each, matmul_each_into};
pub use methods::{Matmul, gemm, gemm_with_precision};
pub use precision::Precision;
#[doc(hidden)]
pub use precision::RequestedPrecision;
pub use product::MatrixProduct;
pub use tensordot::{SummedAxes, tensordot, tensordot_into, tensordot_with_precision};

pub(crate) use problem::{Lengths, MatmulShape, Matrix};
pub(crate) use tensordot::Contraction;
