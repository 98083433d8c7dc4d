//! Matrix products as operands of expressions.

use std::{any::Any, error::Error, marker::PhantomData, sync::Arc};

use gpu_array::{
    ArrayError, GpuArray,
    expression::{Deferred, Evaluated, Expr, Gpu, IntoExpr, Lowered, deferred},
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};
use smallvec::SmallVec;

use super::{
    element::MatmulElement,
    precision::RequestedPrecision,
    problem::MatmulShape,
    product::{Factor, MatrixProduct, multiply, multiply_arrays},
};
use crate::{
    AlgoError, Result,
    common::{
        array_operand::in_memory,
        launch::allocate,
        operand::{operand, owned_right, scalars},
        shape::dim_of,
    },
};

const OP: &str = "matmul";

owned_right! { ['a, T: MatmulElement, K: Dimension] MatrixProduct<'a, T, K>, T, K }
operand! { ['a, T: MatmulElement, K: Dimension] MatrixProduct<'a, T, K>, T, K, Gpu }

/// `scalar op product`.
macro_rules! scalar_product {
    ($scalar:ty, $trait:ident, $method:ident) => {
        impl<'a, K: Dimension> std::ops::$trait<MatrixProduct<'a, $scalar, K>> for $scalar {
            type Output = <$scalar as std::ops::$trait<Expr<'a, $scalar, K>>>::Output;
            fn $method(self, right: MatrixProduct<'a, $scalar, K>) -> Self::Output {
                std::ops::$trait::$method(self, right.into_expr())
            }
        }
    };
}
scalars! { scalar_product; i32 i64 u32 u64 f32 f64 }

impl<'a, T: MatmulElement, K: Dimension> MatrixProduct<'a, T, K> {
    /// The product as an expression: it is computed before the kernel that reads it, on the same stream.
    ///
    /// # Cost
    /// The launches of [`MatrixProduct::eval`], into an array that the expression reads in its own launch, once.
    ///
    /// # Example
    /// ```no_run
    /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
    ///
    /// let device = Device::first()?;
    /// let x = GpuArray::<f32, _>::full(&device, (300, 200), 1.0)?;
    /// let (weights, bias) = (GpuArray::full(&device, (200, 100), 0.5)?, GpuArray::full(&device, 100, -1.0)?);
    /// let layer = (x.matmul(&weights) + &bias).maximum(0.0).eval()?; // two launches
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    pub fn into_expr(self) -> Expr<'a, T, K> {
        let Self { a, b, home, precision, .. } = self;
        let (a, b) = match (a.assembled, b.assembled) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(error), _) | (_, Err(error)) => return Expr::failed(error),
        };
        let shape = MatmulShape::of(OP, a.shape(), b.shape());
        let dim = shape.and_then(|shape| Ok(dim_of::<K>(OP, &shape.result())?));
        let product = LazyProduct::<T> { precision, _element: PhantomData };
        match dim {
            Ok(dim) => deferred(Arc::new(product), [a, b], dim, home),
            Err(error) => Expr::failed(error.into_array_error(OP)),
        }
    }
}

/// A product of factors that come when it is evaluated.
#[derive(Debug)]
struct LazyProduct<T> {
    precision: RequestedPrecision,
    _element: PhantomData<fn() -> T>,
}

impl<T: MatmulElement> Deferred for LazyProduct<T> {
    fn name(&self) -> &'static str {
        OP
    }

    fn key(&self) -> SmallVec<[u64; 8]> {
        SmallVec::from_slice(&[self.precision.precision as u64, u64::from(self.precision.is_forced)])
    }

    fn evaluate(
        &self,
        operands: &[&Lowered<'_>],
        home: Option<&Stream>,
    ) -> std::result::Result<Vec<Evaluated>, Box<dyn Error + Send + Sync>> {
        let (home, &[a, b]) = (home.ok_or(ArrayError::NoHome)?, operands) else {
            return Err(ArrayError::NoArrays { op: OP }.into());
        };
        let product = self.product([a, b], home).map_err(|error: AlgoError| error.into_array_error(OP))?;
        Ok(vec![Evaluated::new::<T, IxDyn, Gpu>(product)?])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: MatmulElement> LazyProduct<T> {
    fn product(&self, factors: [&Lowered<'_>; 2], home: &Stream) -> Result<GpuArray<T, IxDyn>> {
        let shape = MatmulShape::of(OP, factors[0].shape(), factors[1].shape())?;
        let mut product = allocate::<T, IxDyn>(home, dim_of(OP, &shape.result())?)?;
        let once = (T::one(), T::ZERO);
        // Arrays are read where they are; other factors become one.
        let computed =
            |factor: &Lowered<'_>| factor.array().is_none().then(|| factor.eval_on_device::<T>(home)).transpose();
        let (a, b) = (computed(factors[0])?, computed(factors[1])?);
        let (on_left, on_right) = (lowered(a.as_ref())?, lowered(b.as_ref())?);
        let left = on_left.as_ref().map_or_else(|| in_memory(factors[0]), in_memory)?;
        let right = on_right.as_ref().map_or_else(|| in_memory(factors[1]), in_memory)?;
        if multiply_arrays(OP, &shape, [left, right], home, once, self.precision, &mut product.view_mut())? {
            return Ok(product);
        }
        drop((on_left, on_right));
        // Numbers of 16 bits that no kernel takes, which are computed in f32.
        let whole = |factor: &Lowered<'_>| factor.eval_on_device::<T>(home);
        let (a, b) = (a.map_or_else(|| whole(factors[0]), Ok)?, b.map_or_else(|| whole(factors[1]), Ok)?);
        let factors = [Factor::new((&a).into_expr()), Factor::new((&b).into_expr())];
        multiply(OP, [&factors[0], &factors[1]], home, once, self.precision, product.view_mut())?;
        Ok(product)
    }
}

fn lowered<T: MatmulElement>(array: Option<&GpuArray<T, IxDyn>>) -> Result<Option<Lowered<'_>>> {
    Ok(array.map(|array| array.into_expr().lower()).transpose()?)
}
