//! Reductions as operands of expressions.
#![expect(unsafe_code, reason = "implementations of a trait that writes device memory")]

use std::{any::Any, error::Error, sync::Arc};

use gpu_array::{
    ArrayError, Element, bf16,
    expression::{Chain, Deferred, Evaluated, Expr, Gpu, Host, Lowered, deferred},
    f16,
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};
use smallvec::SmallVec;

use super::{
    map_rows::{self, may_be_stage},
    reduction::{ReduceBackend, ReduceOperation, Reduced, Reduction},
    results::{Pair, Results},
};
use crate::common::{
    operand::{operand, owned_right, scalars},
    operator::DeviceOperator,
    shape::dim_of,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

owned_right! { ['a, O: Element, D: Dimension, K: Dimension] Reduction<'a, O, D, K>, O, K }
operand! { ['a, O: Element, D: Dimension, K: Dimension, P: ReduceBackend] Reduction<'a, O, D, K, P>, O, K, P }

/// `scalar op reduction`.
macro_rules! scalar_reduction {
    ($scalar:ty, $element:ty, $trait:ident, $method:ident) => {
        impl<'a, D: Dimension, K: Dimension, P: ReduceBackend> std::ops::$trait<Reduction<'a, $element, D, K, P>>
            for $scalar
        {
            type Output = <$scalar as std::ops::$trait<Expr<'a, $element, K, P>>>::Output;
            fn $method(self, right: Reduction<'a, $element, D, K, P>) -> Self::Output {
                std::ops::$trait::$method(self, right.into_expr())
            }
        }
    };
}
scalars! { scalar_reduction; i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; i32 beside f16 bf16 f32 f64, f64 beside i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 }

impl<'a, O: Element, D: Dimension, K: Dimension, P: ReduceBackend> Reduction<'a, O, D, K, P> {
    /// The result as an expression: it is computed before the kernel or pass that reads it, on the same stream.
    ///
    /// Operators and functions that take expressions take a reduction as it is, and it has the most usual of their methods:
    /// ```
    /// use gpu_algos::prelude::*;
    /// use gpu_array::expression::host;
    /// let x = ndarray::array![3.0, 4.0];
    /// let root = host(&x).mean().sqrt() + host(&x).max().into_expr().hypot(3.0);
    /// assert_eq!(root.eval()?[()], 3.5f64.sqrt() + 5.0);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn into_expr(self) -> Expr<'a, O, K, P> {
        match self.into_parts() {
            Ok((assembled, operation, dim, home)) => deferred(Arc::new(operation), [assembled], dim, home),
            Err(error) => Expr::failed(error.into_array_error("a reduction")),
        }
    }
}

// SAFETY: the launch of a chain writes every element of the target, or none is made; arguments go to no other computation.
unsafe impl<O: Element> Deferred for ReduceOperation<O> {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn key(&self) -> SmallVec<[u64; 8]> {
        let mut key =
            SmallVec::from_slice(&[self.operator.key(), self.operator.value as u64, u64::from(self.keeps_axes)]);
        if let Reduced::These(axes) = &self.reduced {
            key.push(axes.len() as u64);
            key.extend(axes.iter().map(|&axis| axis as u64));
        }
        key
    }

    fn evaluate(&self, operands: &[&Lowered<'_>], home: Option<&Stream>) -> Outcome<Vec<Evaluated>> {
        let Some(home) = home else {
            let lowered = operands[0];
            let on_host =
                || O::on_host(self.on_host(lowered)?, dim_of("a reduction", &self.lengths(lowered.shape())?)?);
            let array = on_host().map_err(|error| error.into_array_error(self.name()))?;
            return Ok(vec![Evaluated::new::<O, IxDyn, Host>(array)?]);
        };
        Ok(vec![Evaluated::new::<O, IxDyn, Gpu>(self.on_device::<O>(&self.operator, operands[0], home)?)?])
    }

    fn with(&self, other: &dyn Deferred) -> Option<Arc<dyn Deferred>> {
        let other: &Self = other.as_any().downcast_ref()?;
        if self.host.is_some() || (&self.reduced, self.keeps_axes) != (&other.reduced, other.keeps_axes) {
            return None;
        }
        let (operator, is_swapped) = self.operator.with(&other.operator)?;
        Some(Arc::new(Both { operation: self.clone(), operator, is_swapped }))
    }

    fn of_rows(&self, ndim: usize) -> Option<&dyn Any> {
        let is_of_rows = match &self.reduced {
            Reduced::All => ndim == 1,
            Reduced::These(axes) => axes[..] == [ndim.checked_sub(1)?],
        };
        (is_of_rows && may_be_stage(&self.operator)).then_some(&self.operator)
    }

    fn evaluate_chain(&self, chain: &Chain<'_, '_>, home: &Stream) -> Outcome<bool> {
        Ok(map_rows::run(chain, home).map_err(|error| error.into_array_error(self.name()))?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<O: Results> ReduceOperation<O> {
    /// The results `R` of an operator over the axes of the operation.
    fn on_device<R: Results>(
        &self,
        operator: &DeviceOperator,
        lowered: &Lowered<'_>,
        home: &Stream,
    ) -> Result<R::Arrays<IxDyn, Gpu>, ArrayError> {
        let compute = || self.try_on_device::<R>(operator, lowered, home);
        compute().map_err(|error| error.into_array_error(operator.name()))
    }

    fn try_on_device<R: Results>(
        &self,
        operator: &DeviceOperator,
        lowered: &Lowered<'_>,
        home: &Stream,
    ) -> crate::Result<R::Arrays<IxDyn, Gpu>> {
        let dim = dim_of("a reduction", &self.lengths(lowered.shape())?)?;
        let arrays = R::allocate(home, dim)?;
        self.enqueue(operator, lowered, R::strides(&arrays), (&R::addresses(&arrays), &[]), home)?;
        Ok(arrays)
    }
}

/// Two reductions of one operand in one pass, such as the mean and the standard deviation.
#[derive(Debug)]
struct Both<O: Results> {
    /// The first of the two.
    operation: ReduceOperation<O>,
    operator: DeviceOperator,
    /// The second result of the operator is that of the first reduction.
    is_swapped: bool,
}

// SAFETY: it writes no target; arguments go to no other computation.
unsafe impl<O: Element> Deferred for Both<O> {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn key(&self) -> SmallVec<[u64; 8]> {
        let mut key = self.operation.key();
        key.push(self.operator.key());
        key
    }

    fn evaluate(&self, operands: &[&Lowered<'_>], home: Option<&Stream>) -> Outcome<Vec<Evaluated>> {
        let home = home.ok_or(ArrayError::NoHome)?;
        let (first, second) = self.operation.on_device::<Pair<O, O>>(&self.operator, operands[0], home)?;
        let mut results = vec![Evaluated::new::<O, IxDyn, Gpu>(first)?, Evaluated::new::<O, IxDyn, Gpu>(second)?];
        if self.is_swapped {
            results.reverse();
        }
        Ok(results)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
