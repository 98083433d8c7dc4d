//! The element types of einsums, and the products of their matrices.

use gpu_array::{
    Complex, GpuView, GpuViewMut, Numeric, bf16,
    expression::{Expr, IntoExpr},
    f16, start_threads,
};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, indices};
use rayon::prelude::*;

use crate::{
    Matmul, Result, host,
    matmul::RequestedPrecision,
    operators::{Accumulator, Summand},
    reduce::{Reduction, Summable, own_sum},
    reference::matmul::matrix_at,
};

/// An element type of [`einsum`](fn@super::einsum): each number type.
///
/// Types of [`MatmulElement`](crate::matmul::MatmulElement) are multiplied by [`Matmul`]; smaller integers by sums of products.
pub trait EinsumElement: Numeric + Summable + Summand + sealed::Contracts {}

mod sealed {
    use gpu_array::{GpuView, GpuViewMut};
    use ndarray::{ArrayD, ArrayViewD, IxDyn};

    use crate::{Result, matmul::RequestedPrecision, operators::Summand};

    /// Sums and products in the type itself.
    pub trait Contracts: Summand {
        /// The sum in the type of elements: integers wrap.
        fn narrowed(sum: <Self as Summand>::Sum) -> Self;
        /// Multiplies stacks of matrices of shapes (.., m, k) and (.., k, n); the precision is one of f32.
        fn multiply(
            a: GpuView<'_, Self, IxDyn>,
            b: GpuView<'_, Self, IxDyn>,
            c: GpuViewMut<'_, Self, IxDyn>,
            precision: RequestedPrecision,
        ) -> Result<()>;
        /// [`multiply`](Self::multiply) on the host.
        fn multiply_on_host(a: ArrayViewD<'_, Self>, b: ArrayViewD<'_, Self>) -> Result<ArrayD<Self>>;
    }
}

/// Types whose matrices have kernels, and the product in a precision.
macro_rules! by_matmul {
    ($($type:ty, $product:ident, $precision:ident => $chosen:expr;)*) => {$(
        impl EinsumElement for $type {}
        impl sealed::Contracts for $type {
            fn narrowed(sum: <Self as Summand>::Sum) -> Self {
                sum as Self
            }
            fn multiply(
                a: GpuView<'_, Self, IxDyn>,
                b: GpuView<'_, Self, IxDyn>,
                c: GpuViewMut<'_, Self, IxDyn>,
                $precision: RequestedPrecision,
            ) -> Result<()> {
                let $product = a.matmul(b);
                $chosen.write_into(c)
            }
            fn multiply_on_host(a: ArrayViewD<'_, Self>, b: ArrayViewD<'_, Self>) -> Result<ArrayD<Self>> {
                host::matmul(a, b)
            }
        }
    )*};
}
by_matmul! {
    f16, product, _any => product; bf16, product, _any => product; f64, product, _any => product;
    i32, product, _any => product; i64, product, _any => product; u32, product, _any => product;
    u64, product, _any => product; f32, product, precision => product.precision(precision);
    Complex<f32>, product, _any => product; Complex<f64>, product, _any => product;
}

/// Other types, whose products are added by reductions.
macro_rules! by_sums {
    ($($type:ty;)*) => {$(
        impl EinsumElement for $type {}
        impl sealed::Contracts for $type {
            fn narrowed(sum: <Self as Summand>::Sum) -> Self {
                sum as Self
            }
            fn multiply(
                a: GpuView<'_, Self, IxDyn>,
                b: GpuView<'_, Self, IxDyn>,
                c: GpuViewMut<'_, Self, IxDyn>,
                _: RequestedPrecision,
            ) -> Result<()> {
                sums_of_products(&a, &b, c)
            }
            fn multiply_on_host(a: ArrayViewD<'_, Self>, b: ArrayViewD<'_, Self>) -> Result<ArrayD<Self>> {
                Ok(sums_on_host(&a, &b))
            }
        }
    )*};
}
by_sums! {
    i8; i16; u8; u16;
}

/// One reduction, which reads each matrix as often as the other has rows or columns.
fn sums_of_products<T: EinsumElement>(
    a: &GpuView<'_, T, IxDyn>,
    b: &GpuView<'_, T, IxDyn>,
    c: GpuViewMut<'_, T, IxDyn>,
) -> Result<()> {
    let last = a.ndim();
    let products = a.insert_axis(Axis(last))?.into_expr() * b.insert_axis(Axis(last - 2))?;
    let products: Expr<'_, T, IxDyn> = products;
    let sums: Reduction<'_, T, IxDyn> = own_sum(&products);
    sums.axes(&[Axis(last - 1)]).write_into(c)
}

/// The rows of all results by all threads, each sum by one.
fn sums_on_host<T: EinsumElement>(a: &ArrayViewD<'_, T>, b: &ArrayViewD<'_, T>) -> ArrayD<T> {
    let stack = a.ndim() - 2;
    let (m, n) = (a.shape()[stack], b.shape()[stack + 1]);
    let places: Vec<IxDyn> = indices(&a.shape()[..stack]).into_iter().collect();
    let row = |at: usize| -> Vec<T> {
        let (a, b) = (matrix_at(a, places[at / m].slice()), matrix_at(b, places[at / m].slice()));
        let row = a.row(at % m);
        let sum = |column: ndarray::ArrayView1<'_, T>| {
            let terms = row.iter().zip(column).map(|(x, y)| x.accumulated().times(y.accumulated()));
            T::narrowed(T::rounded(terms.fold(T::Accumulator::ZERO, Accumulator::plus)))
        };
        b.columns().into_iter().map(sum).collect()
    };
    // Where there are no threads there is one.
    let _ = start_threads();
    let rows: Vec<Vec<T>> = (0..places.len() * m).into_par_iter().map(row).collect();
    let shape = [&a.shape()[..=stack], &[n]].concat();
    Array::from_shape_vec(shape, rows.concat()).unwrap_or_else(|_| unreachable!("a sum for each place"))
}
