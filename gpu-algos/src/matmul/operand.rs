//! Matrix products as operands of expressions.
#![expect(unsafe_code, reason = "an implementation of a trait that writes device memory")]

use std::{any::Any, error::Error, marker::PhantomData, sync::Arc};

use gpu_array::{
    ArrayError, GpuArray, bf16,
    expression::{Around, Deferred, Evaluated, Expr, Gpu, IntoExpr, Lowered, Within, deferred},
    f16,
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};
use smallvec::SmallVec;

use super::{
    element::MatmulElement,
    precision::RequestedPrecision,
    problem::MatmulShape,
    product::{Factor, MatrixProduct, multiply, multiply_around, multiply_arrays},
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
    ($scalar:ty, $element:ty, $trait:ident, $method:ident) => {
        impl<'a, K: Dimension> std::ops::$trait<MatrixProduct<'a, $element, K>> for $scalar {
            type Output = <$scalar as std::ops::$trait<Expr<'a, $element, K>>>::Output;
            fn $method(self, right: MatrixProduct<'a, $element, K>) -> Self::Output {
                std::ops::$trait::$method(self, right.into_expr())
            }
        }
    };
}
scalars! { scalar_product; i32 i64 u32 u64 f16 bf16 f32 f64; i32 beside f16 bf16 f32 f64, f64 beside i32 i64 u32 u64 f16 bf16 }

impl<'a, T: MatmulElement, K: Dimension> MatrixProduct<'a, T, K> {
    /// The product as an expression: the product's kernel evaluates the expression around it too (an epilogue), or the product is computed first, on the
    /// same stream.
    ///
    /// # Rounding
    /// That of the expression of the computed array: the product is rounded to its type, of f16 and bf16 too, and so is each operation of the expression.
    ///
    /// # Determinism
    /// The bits are those of [`MatrixProduct::eval`] and the expression of its result, whether the expression is evaluated by the product's kernel or
    /// apart. That kernel has the same sums in the same order; where it would not, the expression is evaluated apart.
    ///
    /// # Cost
    /// The launches of [`MatrixProduct::eval`] and no other, no further pass over the result, and no array for the product, if
    /// - the expression has the shape and the type of the product, one value, and at most 8 arrays and scalars, of which arrays are broadcast as they are
    ///   (a row, a column, one element, in each matrix of a stack or in all of them), and places ([`index`](gpu_array::expression::index)) count;
    /// - its operations are few and short, such as `+ - *`, comparisons, `maximum` and `where_`: two of them may be divisions, square roots or exponentials,
    ///   as in the logistic function, none a sine, a logarithm or a power;
    /// - the result lies by rows, in C order or with gaps;
    /// - the product is none with a vector and none of a stack of small matrices (those whose sizes are at most 64), and of f16 and bf16 it is on tensor
    ///   cores.
    ///
    /// Else the product goes into an array, which the expression reads in its own launch, once. The product may be used twice, as in `&p * &p`; of several
    /// products the last one takes the expression, and those before it go into arrays. A new value of an array may be made of the old one
    /// ([`update`](GpuArray::update)): `c.update(|c| c * 0.5 + a.matmul(&b))`.
    ///
    /// # Example
    /// ```no_run
    /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
    ///
    /// let device = Device::first()?;
    /// let x = GpuArray::<f32, _>::full(&device, (300, 200), 1.0)?;
    /// let (weights, bias) = (GpuArray::full(&device, (200, 100), 0.5)?, GpuArray::full(&device, 100, -1.0)?);
    /// let layer = (x.matmul(&weights) + &bias).maximum(0.0).eval()?; // one launch
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

// SAFETY: the launch with an epilogue writes every element of the target, or none is made; arguments go to no other computation.
unsafe impl<T: MatmulElement> Deferred for LazyProduct<T> {
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
        match self.within(operands, None, home.ok_or(ArrayError::NoHome)?)? {
            Within::Alone(product) => Ok(product),
            Within::Whole => Ok(Vec::new()),
        }
    }

    fn may_evaluate_around(&self) -> bool {
        true
    }

    fn evaluate_around(
        &self,
        operands: &[&Lowered<'_>],
        around: &Around<'_, '_>,
        home: &Stream,
    ) -> std::result::Result<Within, Box<dyn Error + Send + Sync>> {
        Ok(self.within(operands, Some(around), home)?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: MatmulElement> LazyProduct<T> {
    fn within(
        &self,
        operands: &[&Lowered<'_>],
        around: Option<&Around<'_, '_>>,
        home: &Stream,
    ) -> std::result::Result<Within, ArrayError> {
        let &[a, b] = operands else { return Err(ArrayError::NoArrays { op: OP }) };
        let product = self.product([a, b], around, home);
        match product.map_err(|error: AlgoError| error.into_array_error(OP))? {
            Some(product) => Ok(Within::Alone(vec![Evaluated::new::<T, IxDyn, Gpu>(product)?])),
            None => Ok(Within::Whole),
        }
    }

    /// The product as an array; None where its kernel has written the values of the expression around it.
    fn product(
        &self,
        factors: [&Lowered<'_>; 2],
        around: Option<&Around<'_, '_>>,
        home: &Stream,
    ) -> Result<Option<GpuArray<T, IxDyn>>> {
        let shape = MatmulShape::of(OP, factors[0].shape(), factors[1].shape())?;
        let once = (T::one(), T::ZERO);
        let mut product: GpuArray<T, IxDyn>;
        // Arrays are read where they are; other factors become one.
        let computed =
            |factor: &Lowered<'_>| factor.array().is_none().then(|| factor.eval_on_device::<T>(home)).transpose();
        let (a, b) = (computed(factors[0])?, computed(factors[1])?);
        let (on_left, on_right) = (lowered(a.as_ref())?, lowered(b.as_ref())?);
        let left = on_left.as_ref().map_or_else(|| in_memory(factors[0]), in_memory)?;
        let right = on_right.as_ref().map_or_else(|| in_memory(factors[1]), in_memory)?;
        let arrays = [left, right];
        if let Some(around) = around
            && multiply_around::<T>(OP, &shape, &arrays, home, self.precision, around)?
        {
            return Ok(None);
        }
        product = allocate::<T, IxDyn>(home, dim_of(OP, &shape.result())?)?;
        if multiply_arrays(OP, &shape, arrays, home, once, self.precision, &mut product.view_mut())? {
            return Ok(Some(product));
        }
        drop((on_left, on_right));
        // Numbers of 16 bits that no kernel takes, which are computed in f32.
        let whole = |factor: &Lowered<'_>| factor.eval_on_device::<T>(home);
        let (a, b) = (a.map_or_else(|| whole(factors[0]), Ok)?, b.map_or_else(|| whole(factors[1]), Ok)?);
        let factors = [Factor::new((&a).into_expr()), Factor::new((&b).into_expr())];
        multiply(OP, [&factors[0], &factors[1]], home, once, self.precision, product.view_mut())?;
        Ok(Some(product))
    }
}

fn lowered<T: MatmulElement>(array: Option<&GpuArray<T, IxDyn>>) -> Result<Option<Lowered<'_>>> {
    Ok(array.map(|array| array.into_expr().lower()).transpose()?)
}
