//! The element types of einsums, and the products of their matrices: on a GPU those of stacks, on the host those of one pair.

use gpu_array::{
    Complex, GpuView, GpuViewMut, Numeric, bf16,
    expression::{Expr, IntoExpr},
    f16,
};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, IxDyn};

use crate::{
    Matmul, Result,
    matmul::{MatmulElement, RequestedPrecision},
    operators::{Accumulator, Summand},
    reduce::{Reduction, Summable, own_sum},
};

/// An element type of [`einsum`](fn@super::einsum): each number type.
///
/// Types of [`MatmulElement`](crate::matmul::MatmulElement) are multiplied by [`Matmul`]; smaller integers by sums of products.
pub trait EinsumElement: Numeric + Summable + Summand + sealed::Contracts {}

mod sealed {
    use gpu_array::{GpuView, GpuViewMut};
    use ndarray::{ArrayView2, ArrayViewMut2, IxDyn};

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
        /// Writes the product of two matrices on the host into c, whose elements are 0.
        fn multiply_on_host(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, c: ArrayViewMut2<'_, Self>);
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
            fn multiply_on_host(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, c: ArrayViewMut2<'_, Self>) {
                matrix_product(a, b, c);
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
            fn multiply_on_host(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, c: ArrayViewMut2<'_, Self>) {
                sums_on_host(a, b, c);
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

fn matrix_product<T: MatmulElement>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, c: ArrayViewMut2<'_, T>) {
    T::multiply(a, b, c);
}

/// Each result as the sum of a row times a column.
fn sums_on_host<T: EinsumElement>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>) {
    for (row, mut results) in a.rows().into_iter().zip(c.rows_mut()) {
        for (column, result) in b.columns().into_iter().zip(&mut results) {
            let terms = row.iter().zip(column).map(|(x, y)| x.accumulated().times(y.accumulated()));
            *result = T::narrowed(T::rounded(terms.fold(T::Accumulator::ZERO, Accumulator::plus)));
        }
    }
}
