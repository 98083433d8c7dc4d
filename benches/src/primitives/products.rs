//! Matrix products on a device, into arrays that are there.

use gpu_algos::{
    MatrixProduct,
    matmul::{MatmulElement, Precision},
    prelude::*,
};
use gpu_array::{GpuArray, GpuView};
use gpu_sparse::Scalar;
use ndarray::{Array3, Axis, Ix1, Ix2, Ix3};

use super::BY;
use crate::{
    algos::{Arithmetic, Product},
    data,
    harness::{Gpu, Harness, Outcome},
};

pub(super) fn figures(harness: &mut Harness) {
    of_type::<f32>(harness, |product, arithmetic| {
        product.precision(match arithmetic {
            Arithmetic::Own => Precision::Strict,
            Arithmetic::Tf32 => Precision::Tf32,
            Arithmetic::Emulated => Precision::Emulated,
        })
    });
    of_type::<f64>(harness, |product, _| product);
}

/// A product in an arithmetic.
type In<T> = for<'a> fn(MatrixProduct<'a, T, Ix3>, Arithmetic) -> MatrixProduct<'a, T, Ix3>;

fn of_type<T: Scalar + MatmulElement>(harness: &mut Harness, in_arithmetic: In<T>) {
    for product in Product::cases(harness.set(), size_of::<T>()) {
        let (operation, case) = (product.operation(), product.name());
        harness.figure(operation, data::dtype::<T>(), case, BY).work(product.work::<T>()).on_gpu(
            |gpu| Matrices::<T>::new(gpu, product),
            move |matrices| matrices.multiply(in_arithmetic),
            |matrices, ()| Ok(product.check(&matrices.c.as_device_vec().to_vec()?)),
        );
    }
}

/// The factors as they lie in memory, and the result.
struct Matrices<T: MatmulElement> {
    product: Product,
    a: GpuArray<T, Ix3>,
    b: GpuArray<T, Ix3>,
    c: GpuArray<T, Ix3>,
}

impl<T: Scalar + MatmulElement> Matrices<T> {
    fn new(gpu: &Gpu, product: Product) -> Outcome<Self> {
        let Product { matrices, m, k, n, .. } = product;
        let [a, b] = product.factors::<T>();
        let shape =
            |rows, columns, by_columns| if by_columns { (matrices, columns, rows) } else { (matrices, rows, columns) };
        let a = Array3::from_shape_vec(shape(m, k, product.is_left_transposed), a)?;
        let b = Array3::from_shape_vec(shape(k, n, product.is_right_transposed), b)?;
        let (a, b) = (GpuArray::from_ndarray(gpu.stream(), &a)?, GpuArray::from_ndarray(gpu.stream(), &b)?);
        Ok(Self { product, a, b, c: GpuArray::zeros(gpu.stream(), (matrices, m, n))? })
    }

    fn multiply(&mut self, in_arithmetic: In<T>) -> Outcome {
        let Self { product, a, b, c } = self;
        let (a, b) = (seen(a, product.is_left_transposed)?, seen(b, product.is_right_transposed)?);
        if product.n == 1 {
            let (a, x): (GpuView<'_, T, Ix2>, GpuView<'_, T, Ix1>) = (a.index_axis(Axis(0), 0)?, b.reshape(product.k)?);
            return Ok(a.matmul(x).write_into(c.reshape_mut(product.m)?)?);
        }
        Ok(in_arithmetic(a.matmul(b), product.arithmetic).write_into(c)?)
    }
}

/// The stack of matrices that lie by rows or by columns.
fn seen<T: MatmulElement>(array: &GpuArray<T, Ix3>, by_columns: bool) -> gpu_array::Result<GpuView<'_, T, Ix3>> {
    if by_columns { array.swap_axes(Axis(1), Axis(2)) } else { Ok(array.view()) }
}
