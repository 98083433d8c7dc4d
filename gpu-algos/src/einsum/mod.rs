//! Sums of products by labels of axes: NumPy's `einsum`, made of views, reductions, products and [`matmul`](mod@crate::matmul).
//!
//! ```no_run
//! use gpu_algos::{einsum::einsum, gpu_array::{GpuArray, gpu_driver::Device}};
//!
//! let device = Device::first()?;
//! let a = GpuArray::<f32, _>::full(&device, (8, 300, 200), 1.0)?;
//! let b = GpuArray::<f32, _>::full(&device, (200, 400), 2.0)?;
//! let x = GpuArray::<f32, _>::full(&device, 400, 3.0)?;
//! let c = einsum("bij,jk->bik", (&a, &b))?; // matrix products
//! let y = einsum("bij,jk,k->bi", (&a, &b, &x))?; // b x first, then a with that
//! let columns = einsum("bij->bj", [&a])?; // sums over one axis
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! [`kron`] and [`inner`] are NumPy's; its `outer` is the expression [`outer`](gpu_array::expression::outer), its `trace` the sum of
//! [`diagonal_of`](gpu_array::GpuArray::diagonal_of).
//!
//! `subscripts.rs` reads the text, `plan.rs` makes of it a list of steps, and `device.rs` computes these on a GPU;
//! [`host::einsum`](crate::host::einsum) does on the host, and [`reference::einsum`](crate::reference::einsum) is the definition.
//!
//! Tests: `tests/gpu/einsum.rs` (the reference), `numpy/einsums.rs` (NumPy's `einsum`).

mod device;
pub(crate) mod element;
mod operands;
pub(crate) mod plan;
pub(crate) mod products;
pub(crate) mod subscripts;

use gpu_array::{GpuArray, GpuView};
use ndarray::IxDyn;

pub use element::EinsumElement;
pub use operands::{EinsumOperand, EinsumOperands};
pub use products::{inner, kron};

use crate::{Result, matmul::RequestedPrecision};

/// Sums of products of elements by labels of axes: NumPy's `einsum(subscripts, *operands)`. Does not wait.
///
/// With the labels `ij,jk->ik` the result is `c[i, k] = sum a[i, j] b[j, k]` over j: each letter is an index, and all products with one index of the
/// labels of the result are added. The result is a new array in C order.
///
/// | subscripts | NumPy | result |
/// |---|---|---|
/// | `ij->ji` | `a.T` | the transpose, as a copy |
/// | `ii->i`, `ii` | `a.diagonal()`, `a.trace()` | elements with equal indices, and their sum |
/// | `ij->j` | `a.sum(axis=0)` | sums over an axis |
/// | `i,j->ij` | `np.outer(x, y)` | products of all pairs |
/// | `i,i` | `x @ y` | the sum of products |
/// | `ij,ij->i` | `np.vecdot(a, b)` | sums of products of rows (complex numbers are not conjugated) |
/// | `...ij,...jk` | `a @ b` | stacks of matrix products |
/// | `i,ij,j` | `x @ a @ y` | a bilinear form |
///
/// # Subscripts
/// A letter from a to z or from A to Z for each axis, and a comma between operands; spaces have no meaning. `...` stands for any axes of an operand,
/// which are counted from the last one and broadcast. Without `->` the labels of the result are those of `...`, then the letters that stand once, in the
/// order of ASCII, in which capitals come first.
///
/// # Shapes
/// A letter that stands twice in one operand takes its diagonal, for which both axes have one length. Axes with one label in several operands have one
/// length, or length 1, which is broadcast. Operands are arrays and views of any ranks and layouts, `[&a, &b]` or `(&a, &b)`.
///
/// # Element types
/// [`EinsumElement`], the same for all operands and the result: each number type. Sums and products are those of [`Matmul`](crate::Matmul) and of
/// [`Reductions::sum`](crate::Reductions::sum), but of integers in their own type, in which they wrap (NumPy's einsum does so too). The arrays that the
/// steps below make have the type of the elements, so each step rounds to it. NaN and infinities propagate as in these steps, which may give another
/// result than single products where a sum overflows: `i,j->` multiplies two sums, and gives NaN if one is infinite and the other 0.
///
/// # Order of evaluation
/// 1. Diagonals and transposes are views. An axis of length 1 that is broadcast is left out.
/// 2. An operand is summed over the labels that it has alone, and that the result has not.
/// 3. If no label is left to be summed, one expression multiplies all operands, from left to right.
/// 4. Else two operands are joined, and their product takes the last position; step 3 follows. The common labels of both that neither another
///    operand nor the result has are summed: matrices are multiplied, in stacks over the other common labels. The pair is one with labels to be summed, if
///    there is any; of these the one with the fewest multiplications, then with the smallest product, then the first by position.
///
/// Shapes alone decide this order.
///
/// # Determinism
/// As [`Matmul`](crate::Matmul) and [`Reductions`](crate::Reductions): bitwise the same from run to run on one device, for one text, shape and layout.
///
/// # Cost
/// One launch and one array for each step 2, 3 and 4, the last of which is the result; without any step, one copy. A matrix product reads arrays where
/// they are if their free axes, and their summed axes, can be joined into one each; otherwise it copies them first, by one launch each; a
/// result whose axes cannot be joined within the wanted order takes one more. Integers of 8 and 16 bits have no matrix kernel: one
/// reduction computes each product, and reads each matrix as often as the other has rows or columns.
///
/// # Errors
/// `Subscripts` for a sign that is out of place, `SubscriptOperands` for another number of operands, `SubscriptAxes` for another number of axes,
/// `LabelLength` for axes with one label that differ in length; `Array` with `TooLarge` for a result or product that no array can have, and with the
/// errors of expressions; `TooManyAxes`; `Driver`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{einsum::einsum, gpu_array::{GpuArray, gpu_driver::Device}};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1, 2], [3, 4]])?;
/// let x = GpuArray::from_vec(&device, [10, 1])?;
/// assert_eq!(einsum("ij,j->i", (&a, &x))?.to_ndarray()?, array![12, 34].into_dyn());
/// assert_eq!(einsum("ii", [&a])?.get()?, 5);
/// assert_eq!(einsum("i,ij,j", (&x, &a, &x))?.get()?, 154);
/// let error = einsum("ij,jk", (&a, a.reshape((4, 1))?)).unwrap_err();
/// assert_eq!(error.to_string(), "einsum of `ij,jk`: an axis `j` has length 4 in operand 1, one of operand 0 has 2");
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("contraction", "bilinear", "batched", "Einstein"))]
pub fn einsum<'a, T: EinsumElement>(
    subscripts: &str,
    operands: impl EinsumOperands<GpuView<'a, T, IxDyn>>,
) -> Result<GpuArray<T, IxDyn>> {
    device::einsum(subscripts, operands.into_views(), RequestedPrecision::default())
}

/// [`einsum()`] of f32, whose matrix products are computed in a [`Precision`](crate::matmul::Precision).
///
/// Sums over the labels of one operand, products without a sum, and products with vectors are those of [`einsum()`].
///
/// # Errors
/// As [`einsum()`].
///
/// # Example
/// ```no_run
/// use gpu_algos::{einsum::einsum_with_precision, gpu_array::{GpuArray, gpu_driver::Device}, matmul::Precision};
///
/// let device = Device::first()?;
/// let queries = GpuArray::<f32, _>::full(&device, (4, 16, 512, 64), 0.5)?;
/// let keys = GpuArray::<f32, _>::full(&device, (4, 16, 512, 64), 0.25)?;
/// let scores = einsum_with_precision(Precision::Tf32, "bhqd,bhkd->bhqk", [&queries, &keys])?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn einsum_with_precision<'a>(
    precision: impl Into<RequestedPrecision>,
    subscripts: &str,
    operands: impl EinsumOperands<GpuView<'a, f32, IxDyn>>,
) -> Result<GpuArray<f32, IxDyn>> {
    device::einsum(subscripts, operands.into_views(), precision.into())
}
