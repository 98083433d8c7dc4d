//! Matrix products on a device, into arrays that are there.

use gpu_algos::{
    MatrixProduct,
    matmul::{MatmulElement, Precision, matmul_i32_into},
    prelude::*,
};
use gpu_array::{Complex, Element, Float, GpuArray, GpuView, bf16, f16};
use gpu_sparse::Scalar;
use ndarray::{Array2, Array3, Axis, Ix1, Ix2, Ix3};

use super::BY;
use crate::{
    algos::{Arithmetic, Product},
    data,
    harness::{Gpu, Harness, Outcome},
};

pub(super) fn figures(harness: &mut Harness) {
    of_type::<f32>(harness, |product, arithmetic| {
        product.precision(match arithmetic {
            Arithmetic::Tf32 => Precision::Tf32,
            Arithmetic::Emulated => Precision::Emulated,
            _ => Precision::Strict,
        })
    });
    of_type::<f64>(harness, |product, _| product);
    halves::<f16>(harness, "f16", Arithmetic::F16);
    halves::<bf16>(harness, "bf16", Arithmetic::Bf16);
    bytes(harness);
    complex::<f32>(harness, "c64");
    complex::<f64>(harness, "c128");
    let [own, tf32, of_f16, of_bf16] = Product::layers(harness.set());
    layer::<f32>(harness, "f32", own, |product| product);
    layer::<f32>(harness, "f32", tf32, |product| product.precision(Precision::Tf32));
    layer::<f16>(harness, "f16", of_f16, |product| product);
    layer::<bf16>(harness, "bf16", of_bf16, |product| product);
}

/// A product, a row and no negative values, in one expression.
fn layer<T: MatmulElement + Float + Into<f64>>(
    harness: &mut Harness,
    dtype: &'static str,
    product: Product,
    in_precision: for<'a> fn(MatrixProduct<'a, T, Ix2>) -> MatrixProduct<'a, T, Ix2>,
) {
    harness.figure(product.layer_operation(), dtype, product.name(), BY).work(product.work::<T>()).on_gpu(
        |gpu| {
            let array = |rows: usize, columns: usize, values: Vec<f32>| -> Outcome<GpuArray<T, Ix2>> {
                let values = values.into_iter().map(|value| T::rounded_from_f64(value.into())).collect();
                Ok(GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec((rows, columns), values)?)?)
            };
            let (Product { m, k, n, .. }, [a, b]) = (product, product.factors::<f32>());
            let c = GpuArray::zeros(gpu.stream(), (m, n))?;
            Ok((array(m, k, a)?, array(k, n, b)?, array(1, n, product.bias())?, c))
        },
        move |(a, b, bias, c)| Ok(c.assign((in_precision(a.matmul(&*b)) + &*bias).maximum(T::ZERO))?),
        |(.., c), ()| {
            let c = c.as_device_vec().to_vec()?.into_iter().map(|value| Into::<f64>::into(value) as f32);
            Ok(product.check_layer(&c.collect::<Vec<f32>>()))
        },
    );
}

/// Products of numbers of 16 bits.
fn halves<T: MatmulElement + Float + Into<f64>>(harness: &mut Harness, dtype: &'static str, arithmetic: Arithmetic) {
    for product in Product::half_cases(harness.set(), arithmetic) {
        let (operation, case) = (product.operation(), product.name());
        harness.figure(operation, dtype, case, BY).work(product.work::<T>()).on_gpu(
            |gpu| {
                let rounded = |value: &f32| T::rounded_from_f64((*value).into());
                Matrices::<T>::of(
                    gpu,
                    product,
                    product.factors::<f32>().map(|factor| factor.iter().map(rounded).collect()),
                )
            },
            |matrices| matrices.multiply(|product, _| product),
            |matrices, ()| {
                let c: Vec<f32> = matrices
                    .c
                    .as_device_vec()
                    .to_vec()?
                    .into_iter()
                    .map(|value| Into::<f64>::into(value) as f32)
                    .collect();
                Ok(product.check(&c))
            },
        );
    }
}

/// Products of i8 with results of i32.
fn bytes(harness: &mut Harness) {
    for product in Product::half_cases(harness.set(), Arithmetic::I8) {
        let Product { m, k, n, is_right_transposed, .. } = product;
        harness.figure(product.operation(), "i8", product.name(), BY).work(product.work::<i8>()).on_gpu(
            |gpu| {
                let [a, b] = product.bytes();
                let b_shape = if is_right_transposed { (n, k) } else { (k, n) };
                let a = GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec((m, k), a)?)?;
                let b = GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec(b_shape, b)?)?;
                Ok((a, b, GpuArray::<i32, Ix2>::zeros(gpu.stream(), (m, n))?))
            },
            move |(a, b, c)| {
                let b = if is_right_transposed { b.t() } else { b.view() };
                Ok(matmul_i32_into(&*a, b, c)?)
            },
            |(.., c), ()| Ok(product.check_sums(&c.as_device_vec().to_vec()?)),
        );
    }
}

/// Products of complex numbers.
fn complex<T: Scalar>(harness: &mut Harness, dtype: &'static str)
where
    Complex<T>: MatmulElement + Element,
{
    for product in Product::complex_cases(harness.set()) {
        let Product { m, k, n, is_right_transposed, .. } = product;
        harness.figure(product.operation(), dtype, product.name(), BY).work(product.complex_work()).on_gpu(
            |gpu| {
                let [a, b] = product.complex_factors::<T>();
                let b_shape = if is_right_transposed { (n, k) } else { (k, n) };
                let a = GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec((m, k), a)?)?;
                let b = GpuArray::from_ndarray(gpu.stream(), &Array2::from_shape_vec(b_shape, b)?)?;
                Ok((a, b, GpuArray::<Complex<T>, Ix2>::zeros(gpu.stream(), (m, n))?))
            },
            move |(a, b, c)| {
                let b = if is_right_transposed { b.t() } else { b.view() };
                Ok(a.matmul(b).write_into(c)?)
            },
            |(.., c), ()| Ok(product.check_complex(&c.as_device_vec().to_vec()?)),
        );
    }
}

/// A product in an arithmetic.
type In<T> = for<'a> fn(MatrixProduct<'a, T, Ix3>, Arithmetic) -> MatrixProduct<'a, T, Ix3>;

fn of_type<T: Scalar + MatmulElement>(harness: &mut Harness, in_arithmetic: In<T>) {
    for product in Product::cases(harness.set(), size_of::<T>()) {
        let (operation, case) = (product.operation(), product.name());
        harness.figure(operation, data::dtype::<T>(), case, BY).work(product.work::<T>()).on_gpu(
            |gpu| Matrices::<T>::of(gpu, product, product.factors::<T>()),
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

impl<T: MatmulElement> Matrices<T> {
    fn of(gpu: &Gpu, product: Product, [a, b]: [Vec<T>; 2]) -> Outcome<Self> {
        let Product { matrices, m, k, n, .. } = product;
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
